// Package envtest gives tests a real kube-apiserver and etcd on loopback, the
// same binaries that run in the lab. There is no scheduler, no controller and no
// kubelet: a test plays those parts through the API.
package envtest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"secondhop/internal/wait"
)

// BinariesVariable names the environment variable that holds the directory with
// kube-apiserver and etcd. Without it the tests are skipped.
const BinariesVariable = "SECONDHOP_ENVTEST"

const (
	startLimit = 2 * time.Minute
	adminToken = "admin-of-this-test"
	adminUser  = "admin"
)

// User is who a client can be.
type User struct {
	Name   string
	Groups []string
}

// ServiceAccount is the user that a pod's account is.
func ServiceAccount(namespace, name string) User {
	return User{
		Name:   "system:serviceaccount:" + namespace + ":" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
}

// Server is a running API server.
type Server struct {
	url, caFile string
	users       []User
}

// Start runs a server until the test ends, with users besides the administrator.
// It skips the test when there are no binaries and fails it when they do not run.
func Start(t testing.TB, users ...User) *Server {
	t.Helper()
	binaries := os.Getenv(BinariesVariable)
	if binaries == "" {
		t.Skipf("needs a kube-apiserver and an etcd: set %s to a directory that has both", BinariesVariable)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	dir := t.TempDir()
	ports, err := freePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	etcdURL := "http://" + ports[0]
	start(t, filepath.Join(binaries, "etcd"), etcdArguments(dir, etcdURL, "http://"+ports[1])...)
	arguments, err := serverArguments(dir, etcdURL, ports[2], users)
	if err != nil {
		t.Fatal(err)
	}
	process := start(t, filepath.Join(binaries, "kube-apiserver"), arguments...)
	s := &Server{url: "https://" + ports[2], caFile: filepath.Join(dir, "apiserver.crt"), users: users}
	if err := wait.Until(ctx, "kube-apiserver", 100*time.Millisecond, func(ctx context.Context) error {
		if err := process.alive(); err != nil {
			cancel() // waiting longer cannot help
			return err
		}
		return s.ready(ctx)
	}); err != nil {
		t.Fatalf("%v\n%s", err, process.said())
	}
	return s
}

// ready asks for what includes the post-start hooks, which make the RBAC roles.
func (s *Server) ready(ctx context.Context) error {
	if _, err := os.Stat(s.caFile); err != nil {
		return err // a client with a missing file reports much worse
	}
	client, err := kubernetes.NewForConfig(s.Admin())
	if err != nil {
		return err
	}
	if _, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return fmt.Errorf("/readyz: %w", err)
	}
	return nil
}

// Admin is a client configuration that may do everything, without a client-side
// rate limit.
func (s *Server) Admin() *rest.Config { return s.config(adminToken) }

// As is a client configuration of one of the users given to Start.
func (s *Server) As(user User) *rest.Config { return s.config(tokenOf(user)) }

func (s *Server) config(token string) *rest.Config {
	return &rest.Config{
		Host: s.url, BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: s.caFile},
	}
}

func tokenOf(user User) string { return "token-of-" + user.Name }

func etcdArguments(dir, client, peer string) []string {
	return []string{
		"--data-dir", filepath.Join(dir, "etcd"),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer,
		"--unsafe-no-fsync", // a test's data need not outlive a power cut
		"--log-level", "error",
	}
}

// serverArguments writes the key and the token file that the server needs. The
// ServiceAccount admission plugin is off, as nobody makes accounts for namespaces.
func serverArguments(dir, etcd, address string, users []User) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make a key for account tokens: %w", err)
	}
	keyFile, tokenFile := filepath.Join(dir, "accounts.key"), filepath.Join(dir, "tokens.csv")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(keyFile, text, 0o600); err != nil {
		return nil, fmt.Errorf("write the key for account tokens: %w", err)
	}
	tokens := fmt.Sprintf("%s,%s,%s,system:masters\n", adminToken, adminUser, adminUser)
	for _, u := range users {
		tokens += fmt.Sprintf("%s,%s,%s,%q\n", tokenOf(u), u.Name, u.Name, strings.Join(u.Groups, ","))
	}
	if err := os.WriteFile(tokenFile, []byte(tokens), 0o600); err != nil {
		return nil, fmt.Errorf("write tokens: %w", err)
	}
	return []string{
		"--etcd-servers=" + etcd, "--cert-dir=" + dir,
		"--bind-address=" + host, "--secure-port=" + port, "--advertise-address=" + host,
		"--endpoint-reconciler-type=none", // loopback is no valid endpoint
		"--service-cluster-ip-range=198.19.0.0/16",
		"--authorization-mode=RBAC", "--token-auth-file=" + tokenFile,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + keyFile, "--service-account-signing-key-file=" + keyFile,
		"--disable-admission-plugins=ServiceAccount",
		"--v=0",
	}, nil
}

// freePorts are loopback addresses that nobody listened on just now.
func freePorts(n int) ([]string, error) {
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close() // only at the end, or the same port could come twice
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}
