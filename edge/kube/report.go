package kube

import (
	"log/slog"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"secondhop/edge/plan"
)

// Reporter tells problems to the log and, as events, to whoever looks at the
// Ingress: each when it appears, and in the log when it is gone.
type Reporter struct {
	log         *slog.Logger
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
	known       map[plan.Problem]bool
}

// NewReporter makes a Reporter for the ingress on node; Stop it.
func NewReporter(client kubernetes.Interface, node string, log *slog.Logger) *Reporter {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, core.EventSource{Component: "secondhop-edge", Host: node})
	return &Reporter{log: log, broadcaster: broadcaster, recorder: recorder, known: map[plan.Problem]bool{}}
}

// Report takes all problems that there are now.
func (r *Reporter) Report(problems []plan.Problem) {
	now := make(map[plan.Problem]bool, len(problems))
	for _, p := range problems {
		now[p] = true
		if r.known[p] {
			continue
		}
		r.log.Error(p.Message, "reason", p.Reason, "ingress", p.Namespace+"/"+p.Ingress)
		if p.Ingress != "" {
			r.recorder.Event(reference(p), core.EventTypeWarning, p.Reason, p.Message)
		}
	}
	for p := range r.known {
		if !now[p] {
			r.log.Info("no longer: "+p.Message, "reason", p.Reason, "ingress", p.Namespace+"/"+p.Ingress)
		}
	}
	r.known = now
}

// Stop ends the sending of events.
func (r *Reporter) Stop() { r.broadcaster.Shutdown() }

func reference(p plan.Problem) *core.ObjectReference {
	return &core.ObjectReference{
		APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Namespace: p.Namespace, Name: p.Ingress, UID: types.UID(p.UID),
	}
}
