package observe

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"

	"secondhop/internal/kube"
)

// note adds to the histories of a pod what differs from their last entries.
func (t *podTracker) note(at time.Time, life *PodLife, pod *corev1.Pod) {
	ready, known := false, false
	for _, change := range t.readiness {
		if change.Pod == life.Name {
			ready, known = change.Ready, true
		}
	}
	if now := kube.Ready(pod) && pod.DeletionTimestamp == nil; now != ready || !known {
		t.readiness = append(t.readiness, ReadyChange{at, life.Name, now})
	}
	slot := ""
	for _, change := range t.labels {
		if change.Pod == life.Name {
			slot = change.Slot
		}
	}
	if now := pod.Labels[SlotLabel]; now != slot {
		t.labels = append(t.labels, LabelChange{at, life.Name, now, labelWriter(pod)})
	}
}

// labelWriter is the manager of the pod's slot label. A removed label has none.
func labelWriter(pod *corev1.Pod) string {
	for _, entry := range pod.ManagedFields {
		if entry.FieldsV1 == nil {
			continue
		}
		// The set of fields is a tree: f:metadata, f:labels, f:<key>.
		var fields struct {
			Metadata struct {
				Labels map[string]json.RawMessage `json:"f:labels"`
			} `json:"f:metadata"`
		}
		if json.Unmarshal(entry.FieldsV1.Raw, &fields) != nil {
			continue
		}
		if _, owns := fields.Metadata.Labels["f:"+SlotLabel]; owns {
			return entry.Manager
		}
	}
	return ""
}
