package usher

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"secondhop/fixtures/manifests"
	"secondhop/internal/envtest"
)

// rig is one API server for all tests, with usher's rights as its manifest has
// them and nothing more.
type rig struct {
	server *envtest.Server
	admin  kubernetes.Interface
	user   envtest.User
	used   *usage
	rights map[string]bool
}

// TestServer runs usher against a real API server. The parts run one after the other,
// since each is a cluster with its own ushers.
func TestServer(t *testing.T) {
	t.Parallel()
	user := envtest.ServiceAccount(manifests.LabNamespace, "usher")
	server := envtest.Start(t, user)
	admin, err := kubernetes.NewForConfig(server.Admin())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{server: server, admin: admin, user: user, used: &usage{seen: map[string]bool{}}}
	newPlayground(t, admin, manifests.LabNamespace)
	r.rights = applyRights(t, admin)
	for _, part := range []struct {
		name string
		run  func(*playground, *rig)
	}{
		{"numbers", testNumbers},
		{"ended and unmatched pods", testLosers},
		{"count and annotation", testCount},
		{"slot services", testSlotServices},
		{"numbers written by hand", testByHand},
		{"metrics", testMetrics},
		{"late write of a former leader", testLateWrite},
		{"stolen lease", testStolenLease},
		{"churn", testChurn},
		{"wrong rule is caught", testWrongRule},
		{"late view", testLateView},
	} {
		t.Run(part.name, func(t *testing.T) {
			name := strings.ReplaceAll(part.name, " ", "-")
			part.run(newPlayground(t, admin, name), r)
		})
	}
	t.Run("rights", func(t *testing.T) {
		if t.Failed() {
			t.Skip("the parts before did not run to their end")
		}
		for right := range r.rights {
			if !r.used.has(right) {
				t.Errorf("usher may %s but never does", right)
			}
		}
	})
}

// applyRights applies what usher's manifest has of RBAC and returns the rights.
func applyRights(t *testing.T, client kubernetes.Interface) map[string]bool {
	t.Helper()
	text, err := manifests.Usher{Namespace: manifests.LabNamespace, Image: "none"}.Render()
	if err != nil {
		t.Fatal(err)
	}
	rights := map[string]bool{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rbac, create := client.RbacV1(), metav1.CreateOptions{}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		must(yaml.Unmarshal(document, &kind))
		switch kind.Kind {
		case "ClusterRole":
			role := parse[rbacv1.ClusterRole](t, document)
			list(rights, role.Rules)
			_, err = rbac.ClusterRoles().Create(t.Context(), role, create)
		case "ClusterRoleBinding":
			_, err = rbac.ClusterRoleBindings().Create(t.Context(), parse[rbacv1.ClusterRoleBinding](t, document), create)
		case "Role":
			role := parse[rbacv1.Role](t, document)
			list(rights, role.Rules)
			_, err = rbac.Roles(role.Namespace).Create(t.Context(), role, create)
		case "RoleBinding":
			binding := parse[rbacv1.RoleBinding](t, document)
			_, err = rbac.RoleBindings(binding.Namespace).Create(t.Context(), binding, create)
		}
		must(err)
	}
	return rights
}

func parse[T any](t *testing.T, document []byte) *T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict(document, &object); err != nil {
		t.Fatal(err)
	}
	return &object
}

func list(rights map[string]bool, rules []rbacv1.PolicyRule) {
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				rights[verb+" "+resource] = true
			}
		}
	}
}

// usage records which rights are made use of.
type usage struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (u *usage) has(right string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen[right]
}

func (u *usage) note(r *http.Request) {
	resource := ""
	named := false
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i, part := range parts {
		if slices.Contains([]string{"pods", "services", "nodes", "leases"}, part) {
			resource, named = part, i < len(parts)-1
		}
	}
	verb := map[string]string{"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}[r.Method]
	if verb == "get" && !named {
		verb = "list"
		if r.URL.Query().Get("watch") != "" {
			verb = "watch"
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.seen[verb+" "+resource] = true
}

// network is what lies between an usher and the server; a test can make it bad.
// A network acts on a request by calling next, or not.
type network func(r *http.Request, next http.RoundTripper) (*http.Response, error)

func good(r *http.Request, next http.RoundTripper) (*http.Response, error) { return next.RoundTrip(r) }

type transport struct {
	next http.RoundTripper
	used *usage
	via  network
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.used.note(r)
	return t.via(r, t.next)
}

// running is one usher process.
type running struct {
	*Controller
	stop func() // and wait for its end
}

// usher starts one with the rights of the manifest. Its Lease is the one that the
// manifest allows, shortened so that a silent leader is soon followed.
func (r *rig) usher(p *playground, identity string, config Config, via network) *running {
	p.Helper()
	rc := r.server.As(r.user)
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{next, r.used, via} })
	client, err := kubernetes.NewForConfig(rc)
	p.must(err)
	lease := Lease{
		Namespace: manifests.LabNamespace, Name: "usher", Identity: identity,
		Duration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
	}
	log := slog.New(slog.NewTextHandler(testWriter{p.T, identity}, nil))
	c := New(client, config, lease, "", log)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stopped := false
	u := &running{c, func() {
		p.Helper()
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			p.must(err)
		case <-time.After(30 * time.Second):
			p.Error("usher " + identity + " does not stop")
		}
		closeIdle(client)
	}}
	p.Cleanup(u.stop)
	return u
}

// testWriter puts an usher's log into the test's.
type testWriter struct {
	t    *testing.T
	name string
}

func (w testWriter) Write(line []byte) (int, error) {
	w.t.Logf("%s: %s", w.name, bytes.TrimSpace(line))
	return len(line), nil
}

// closeIdle ends the connections of a client that is not used any more.
func closeIdle(client *kubernetes.Clientset) {
	if c, ok := client.RESTClient().(*rest.RESTClient); ok && c.Client != nil {
		c.Client.CloseIdleConnections()
	}
}

func (u *running) untilLeading(p *playground) {
	p.Helper()
	p.until("usher to lead", func(context.Context) error {
		if u.leading.Load() == nil {
			return fmt.Errorf("it does not")
		}
		return nil
	})
}
