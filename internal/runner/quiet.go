package runner

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
)

// quieten sends what the Kubernetes client libraries have to say, which is mostly
// about streams that we end ourselves, to a file instead of the terminal.
func (l *Lab) quieten() error {
	file, err := os.Create(filepath.Join(l.Dir, "kubernetes-client.log"))
	if err != nil {
		return fmt.Errorf("log of the Kubernetes client: %w", err)
	}
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(file, nil)))
	return nil
}
