package kubeadm

import (
	"fmt"
	"os"
	"path/filepath"
)

// PatchDir is where the patches for kubeadm init are in the control plane node.
const PatchDir = "/kind/patches"

// dnsPatch makes CoreDNS one pod on the control plane, where no traffic and no
// fault of a test reaches it, and has its readiness looked at every second and not
// every ten. Versions of kubeadm before 1.32 do not know this patch and pass it by.
const dnsPatch = `spec:
  replicas: 1
  strategy:
    type: Recreate
    rollingUpdate: null
  template:
    spec:
      nodeSelector:
        node-role.kubernetes.io/control-plane: ""
      containers:
      - name: coredns
        readinessProbe:
          periodSeconds: 1
`

// Prepare puts the patches into the node whose first process is pid.
func Prepare(pid int) error {
	dir := filepath.Join(fmt.Sprintf("/proc/%d/root", pid), PatchDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("prepare kubeadm: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "corednsdeployment+strategic.yaml"), []byte(dnsPatch), 0o644); err != nil {
		return fmt.Errorf("prepare kubeadm: %w", err)
	}
	return nil
}
