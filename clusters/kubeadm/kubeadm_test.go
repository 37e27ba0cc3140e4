package kubeadm

import "testing"

func TestReasonFindsTheLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, output, want string }{
		{"phase", "I1201 04:00:00 init.go:12] x\nerror execution phase wait-control-plane: failed while waiting\nk8s.io/kubernetes/cmd.go:99\n\t/src/a.go:1\n",
			"error execution phase wait-control-plane: failed while waiting"},
		{"plain", "[init] Using Kubernetes version: v1.34.4\nsomething odd\n", "something odd"},
		{"none", "", ""},
	} {
		if got := reason(tc.output); got != tc.want {
			t.Errorf("%s: reason = %q, want %q", tc.name, got, tc.want)
		}
	}
}
