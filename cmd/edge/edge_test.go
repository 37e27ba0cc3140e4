package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"

	"secondhop/internal/envtest"
	"secondhop/internal/failure"
	"secondhop/internal/wait"
)

// asProgram makes the test binary run as edge itself.
const asProgram = "EDGE_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runEdge runs one command line of edge in this process and returns what it says.
func runEdge(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := newRootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

func TestBadInputIsUsage(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--node=": "NODE_NAME", "--addresses=nowhere --node=w1": "neither text nor runtime-only", "--drain=5 --node=w1": "drain",
		"runtime": "requires at least 1 arg", "--nonsense": "--help lists the flags",
	} {
		out, err := runEdge(t, strings.Fields(args)...)
		if said := fmt.Sprint(err, failure.Cure(err)); failure.ExitCode(err) == 0 || !strings.Contains(said, says) {
			t.Errorf("edge %s: %s, %q; want it to say %q", args, said, out, says)
		}
	}
	out, err := runEdge(t, "stat", "--socket", filepath.Join(t.TempDir(), "none"))
	if failure.ExitCode(err) != int(failure.Infrastructure) || !strings.Contains(failure.Cure(err), "run this where edge runs") {
		t.Errorf("stat without edge: %v, %q", err, out)
	}
}

// TestProgram runs the program against a real API server and a real HAProxy.
func TestProgram(t *testing.T) {
	t.Parallel()
	haproxy := os.Getenv("SECONDHOP_HAPROXY")
	if haproxy == "" {
		haproxy = "haproxy"
	}
	haproxy, err := exec.LookPath(haproxy)
	if err != nil {
		t.Skip("needs haproxy, 2.6 or later, in PATH or named by SECONDHOP_HAPROXY")
	}
	server := envtest.Start(t)
	makeIngress(t, server.Admin())
	dir := t.TempDir()
	host := fmt.Sprintf("127.%d.%d.77", 64+os.Getpid()>>8&63, os.Getpid()&255)
	running := command("--kubeconfig", kubeconfig(t, server.Admin()), "--haproxy", haproxy, "--run-dir", dir, "--node", "w1",
		"--http", host+":18080", "--plain", host+":18081", "--drain", "500ms")
	var said bytes.Buffer
	running.Stderr = &said
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	defer running.Process.Kill() // has ended already, if all went well

	expect(t, "http://"+host+":18081/-/ready", 200)
	expect(t, "http://"+host+":18080/", 404)
	expect(t, "http://"+host+":18080/shop", 503) // no endpoint
	socket := filepath.Join(dir, "haproxy.sock")
	if out, err := runEdge(t, "stat", "--socket", socket); err != nil || !strings.Contains(out, "app.my-app.80.endpoints,reg0,") {
		t.Errorf("stat: %v, %s", err, out)
	}
	worker := func() string {
		out, err := runEdge(t, "runtime", "--socket", socket, "show", "info")
		if err != nil {
			t.Fatalf("runtime: %v, %s", err, out)
		}
		_, out, _ = strings.Cut(out, "\nPid: ")
		pid, _, _ := strings.Cut(out, "\n")
		return pid
	}
	first := worker()
	if out, err := runEdge(t, "reload", "--run-dir", dir); err != nil {
		t.Errorf("reload: %v, %s", err, out)
	}
	second := worker()
	if first == "" || first == second {
		t.Errorf("workers %q and %q: no reload", first, second)
	}
	if err := running.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	until(t, "a reload by signal", func(context.Context) error {
		if worker() == second {
			return fmt.Errorf("still worker %s", second)
		}
		return nil
	})
	start := time.Now()
	if err := running.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := running.Wait(); err != nil || time.Since(start) < 500*time.Millisecond {
		t.Errorf("ended after %s with %v:\n%s", time.Since(start), err, said.String())
	}
}

func until(t *testing.T, subject string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := wait.Until(ctx, subject, 50*time.Millisecond, try); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, url string, status int) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	until(t, fmt.Sprintf("%d of %s", status, url), func(context.Context) error {
		response, err := client.Get(url)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != status || response.Header.Get("X-Ingress-Node") != "w1" {
			return fmt.Errorf("%s from %q", response.Status, response.Header.Get("X-Ingress-Node"))
		}
		return nil
	})
}

func kubeconfig(t *testing.T, c *rest.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := clientapi.NewConfig()
	config.Clusters["c"] = &clientapi.Cluster{Server: c.Host, CertificateAuthority: c.CAFile}
	config.AuthInfos["u"] = &clientapi.AuthInfo{Token: c.BearerToken}
	config.Contexts["x"] = &clientapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func makeIngress(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, create := t.Context(), meta.CreateOptions{}
	if _, err := client.CoreV1().Namespaces().Create(ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: "app"}}, create); err != nil {
		t.Fatal(err)
	}
	object := meta.ObjectMeta{Namespace: "app", Name: "my-app"}
	service := &core.Service{ObjectMeta: object, Spec: core.ServiceSpec{Ports: []core.ServicePort{{Name: "http", Port: 80}}}}
	if _, err := client.CoreV1().Services("app").Create(ctx, service, create); err != nil {
		t.Fatal(err)
	}
	class, prefix := "secondhop", networking.PathTypePrefix
	ingress := &networking.Ingress{ObjectMeta: object, Spec: networking.IngressSpec{IngressClassName: &class, Rules: []networking.IngressRule{{
		IngressRuleValue: networking.IngressRuleValue{HTTP: &networking.HTTPIngressRuleValue{Paths: []networking.HTTPIngressPath{{
			Path: "/shop", PathType: &prefix, Backend: networking.IngressBackend{Service: &networking.IngressServiceBackend{
				Name: "my-app", Port: networking.ServiceBackendPort{Name: "http"},
			}},
		}}}},
	}}}}
	if _, err := client.NetworkingV1().Ingresses("app").Create(ctx, ingress, create); err != nil {
		t.Fatal(err)
	}
}
