package clusters

import (
	"os"
	"strings"
	"testing"

	"secondhop/clusters/network"
)

// TestNothingGetsOutOfTheLab tries the guard from every node and from a pod of the
// lab that is up. It runs when SECONDHOP_LAB_TESTS has "hermetic" in it.
func TestNothingGetsOutOfTheLab(t *testing.T) {
	if !strings.Contains(os.Getenv("SECONDHOP_LAB_TESTS"), "hermetic") {
		t.Skip("needs root and a lab that is up; SECONDHOP_LAB_TESTS=hermetic runs it")
	}
	cluster, err := Running(t.Context(), "secondhop")
	if err != nil {
		t.Fatal(err)
	}
	attempts, err := cluster.ProveHermetic(t.Context())
	for _, attempt := range attempts {
		t.Logf("%s: %v after %s", attempt.From, attempt.Err, attempt.Took)
	}
	if err != nil {
		t.Error(err)
	}
	if len(attempts) < len(cluster.Nodes)+1 {
		t.Errorf("%d attempts, want one from each node and at least one from a pod", len(attempts))
	}
	guard := network.Lab("secondhop").Guard()
	if refused, err := guard.Refused(t.Context()); err != nil || refused == 0 {
		t.Errorf("the guard counts %d, %v", refused, err)
	}
}
