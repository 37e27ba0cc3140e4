package usher

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	fieldManager = "usher"
	// maxWrites is how many writes may be under way at once.
	maxWrites = 64
	// requestTimeout bounds one request: a connection that hangs must not hold
	// a number for minutes. The fate of the write is then unknown, and asked for.
	requestTimeout = 5 * time.Second
	firstBackoff   = 20 * time.Millisecond
	lastBackoff    = 2 * time.Second
	// unsentPause is how long work rests that could not be sent.
	unsentPause = 500 * time.Millisecond
)

// writer carries out the writes that a term plans.
type writer struct {
	config Config
	client kubernetes.Interface
	fence  *fence
	term   *Term
	log    *slog.Logger
	count  func(action Action, result string)
	// settled is told of the work that the end of a write makes.
	settled func([]Key)

	places  chan struct{}
	running sync.WaitGroup
}

// send checks that the term is still on and then carries out the writes, beside
// each other and the caller: on a busy server every answer takes long, and the next
// decision need not wait for it. If the check fails nothing is sent, and failed
// is told why; errTermOver means that nothing may be written any more. The work is
// then reported as settled after a pause.
func (w *writer) send(ctx context.Context, writes []Write, failed func(error)) {
	if len(writes) == 0 {
		return
	}
	w.running.Go(func() {
		if err := w.check(ctx); err != nil {
			var again []Key
			for _, write := range writes {
				again = append(again, w.term.Settle(write, NotSent, Pod{})...)
			}
			failed(err)
			sleep(ctx, unsentPause)
			w.settled(again)
			return
		}
		for _, write := range writes {
			w.running.Go(func() {
				w.places <- struct{}{}
				defer func() { <-w.places }()
				w.carryOut(ctx, write)
			})
		}
	})
}

func (w *writer) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return w.fence.check(ctx)
}

// carryOut repeats one write until its fate is known or the term ends; then the
// write goes unsettled, and the next term fences the pod.
func (w *writer) carryOut(ctx context.Context, write Write) {
	patch := w.patch(write)
	backoff := firstBackoff
	for ctx.Err() == nil {
		object, err := w.patchOnce(ctx, write.Pod, patch)
		if refused(err) {
			w.count(write.Action, "conflict")
			object, err = w.read(ctx, write.Pod)
		}
		outcome, pod, err := w.interpret(write.Pod, object, err)
		if err == nil {
			w.done(write, outcome, pod)
			return
		}
		if ctx.Err() != nil {
			return
		}
		w.count(write.Action, "error")
		w.log.Warn("write to pod failed, will try again", "pod", write.Pod.Namespace+"/"+write.Pod.Name,
			"action", write.Action.String(), "error", err)
		sleep(ctx, backoff)
		backoff = min(2*backoff, lastBackoff)
	}
}

func (w *writer) done(write Write, outcome Outcome, pod Pod) {
	if outcome == Known && pod.Version > write.Pod.Version && effective(write, pod) {
		w.count(write.Action, "done")
		w.log.Info(write.Action.String(), "pod", pod.Namespace+"/"+pod.Name, "node", pod.Node, "slot", pod.Slot)
	}
	w.settled(w.term.Settle(write, outcome, pod))
}

// effective reports whether pod looks as if write had taken effect.
func effective(write Write, pod Pod) bool {
	switch write.Action {
	case Assign:
		return pod.Labelled && pod.Slot == strconv.Itoa(write.Number)
	case Remove:
		return !pod.Labelled
	}
	return true
}

// refused reports whether the server has said that the write did not and will
// not take effect in the state that it was meant for.
func refused(err error) bool {
	return apierrors.IsConflict(err)
}

// interpret turns an answer about a pod into an outcome; an error means that the
// fate is still unknown.
func (w *writer) interpret(asked Pod, object *corev1.Pod, err error) (Outcome, Pod, error) {
	switch {
	case apierrors.IsNotFound(err):
		return Gone, Pod{}, nil
	case err != nil:
		return 0, Pod{}, err
	case object.UID != asked.UID:
		return Gone, Pod{}, nil // a new pod with the old name
	}
	pod, err := w.config.PodOf(object)
	return Known, pod, err
}

func (w *writer) patchOnce(ctx context.Context, pod Pod, patch []byte) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return w.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager})
}

func (w *writer) read(ctx context.Context, pod Pod) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return w.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
}

// patch names the UID and the resourceVersion that the decision read, which the
// server takes as preconditions.
func (w *writer) patch(write Write) []byte {
	metadata := map[string]any{
		"uid":             write.Pod.UID,
		"resourceVersion": strconv.FormatUint(write.Pod.Version, 10),
	}
	switch write.Action {
	case Assign:
		metadata["labels"] = map[string]any{w.config.SlotLabel(): strconv.Itoa(write.Number)}
	case Remove:
		metadata["labels"] = map[string]any{w.config.SlotLabel(): nil}
	case Fence:
		metadata["annotations"] = map[string]any{w.config.TermAnnotation(): w.fence.name()}
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		panic(fmt.Sprintf("marshal a patch of strings: %v", err)) // cannot be
	}
	return body
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
