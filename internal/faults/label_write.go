package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"secondhop/internal/kube"
	"secondhop/internal/wait"
)

// LabelWrite are the parameters of label_write.
type LabelWrite struct {
	Pods        PodChoice         `yaml:"pods" doc:"which pods"`
	Labels      map[string]string `yaml:"labels" doc:"labels to write; an empty value removes one"`
	Annotations map[string]string `yaml:"annotations" doc:"annotations to write; an empty value removes one"`
	Every       time.Duration     `yaml:"every" doc:"write again and again, with a number that counts up, until undone; 0 for once"`
}

// counterAnnotation changes with each write of a writer that goes on.
const counterAnnotation = "secondhop.io/other-writer"

// Validate says what is wrong with the parameters.
func (p LabelWrite) Validate() error {
	switch {
	case len(p.Labels)+len(p.Annotations) == 0 && p.Every == 0:
		return errors.New("it writes nothing: name labels or annotations")
	case p.Every < 0:
		return fmt.Errorf("every %s is negative", p.Every)
	}
	return p.Pods.Validate()
}

func labelWriteKind() Kind {
	return newKind("label_write", "Writes labels and annotations on pods, as somebody besides usher.", LabelWrite{},
		func(env Env, p LabelWrite) (Event, error) {
			pods, err := env.choose(p.Pods)
			if err != nil {
				return nil, err
			}
			return &otherWriter{what: p, pods: pods}, nil
		})
}

// otherWriter writes on pods, once or until it is undone.
type otherWriter struct {
	what LabelWrite
	pods *chosen

	applied time.Time
	before  map[types.UID]metav1.ObjectMeta
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	writes int
	failed error // the last write that did not work
}

func (o *otherWriter) Name() string { return "writes of another on " + o.pods.String() }

func (o *otherWriter) Apply(ctx context.Context) error {
	pods, err := o.pods.some(ctx, o)
	if err != nil {
		return err
	}
	o.before = map[types.UID]metav1.ObjectMeta{}
	for _, pod := range pods {
		o.before[pod.UID] = pod.ObjectMeta
	}
	o.applied = time.Now()
	if o.what.Every > 0 {
		ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
		o.running.Go(func() { o.keepWriting(ctx) })
		return nil
	}
	for _, pod := range pods {
		if err := o.write(ctx, pod.Name, o.what.Labels, o.what.Annotations); err != nil {
			return fmt.Errorf("%s: %w", o.Name(), err)
		}
	}
	return nil
}

// keepWriting writes on the pods that are there at each time.
func (o *otherWriter) keepWriting(ctx context.Context) {
	ticker := time.NewTicker(o.what.Every)
	defer ticker.Stop()
	for n := 1; ; n++ {
		annotations := map[string]string{counterAnnotation: strconv.Itoa(n)}
		for name, value := range o.what.Annotations {
			annotations[name] = value
		}
		pods, err := o.pods.all(ctx)
		for _, pod := range o.pods.pick(pods) {
			o.note(o.write(ctx, pod.Name, o.what.Labels, annotations))
		}
		if err != nil {
			o.note(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (o *otherWriter) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.failed = err
	} else {
		o.writes++
	}
}

// write is one patch without a precondition, as kubectl label does.
func (o *otherWriter) write(ctx context.Context, pod string, labels, annotations map[string]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": nullable(labels), "annotations": nullable(annotations)}})
	if err != nil {
		return err
	}
	_, err = o.pods.client.Typed.CoreV1().Pods(o.pods.app.Spec.Namespace).
		Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "other-writer"})
	return err
}

// nullable removes what is empty: null does that in a merge patch.
func nullable(values map[string]string) map[string]*string {
	patch := map[string]*string{}
	for name, value := range values {
		patch[name] = nil
		if value != "" {
			patch[name] = &value
		}
	}
	return patch
}

// Confirm waits until writes were taken. Whether they last is up to the others.
func (o *otherWriter) Confirm(ctx context.Context) (Outcome, error) {
	if o.what.Every == 0 {
		return Outcome{o.applied, time.Now(), fmt.Sprintf("%d pods written", len(o.before))}, nil
	}
	err := wait.Until(ctx, "a write on the pods", podPeriod, func(context.Context) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.writes == 0 {
			return errors.Join(errors.New("there was none"), o.failed)
		}
		return nil
	})
	if err != nil {
		return Outcome{}, notProvoked(o, "nothing was written", err)
	}
	return Outcome{o.applied, time.Now(), "writing every " + o.what.Every.String()}, nil
}

// Undo ends the writing and puts back what is still as it was written.
func (o *otherWriter) Undo(ctx context.Context) error {
	if o.stop != nil {
		o.stop()
		o.running.Wait()
	}
	if o.before == nil {
		return nil
	}
	pods, err := o.pods.all(ctx)
	if err != nil {
		return fmt.Errorf("undo %s: %w", o.Name(), err)
	}
	var failures []error
	for _, pod := range pods {
		before := o.before[pod.UID]
		labels := putBack(o.what.Labels, pod.Labels, before.Labels)
		annotations := putBack(o.what.Annotations, pod.Annotations, before.Annotations)
		if pod.Annotations[counterAnnotation] != "" {
			annotations[counterAnnotation] = ""
		}
		if len(labels)+len(annotations) == 0 || !kube.Live(&pod) {
			continue
		}
		if err := o.write(ctx, pod.Name, labels, annotations); err != nil && !apierrors.IsNotFound(err) {
			failures = append(failures, fmt.Errorf("undo %s: pod %s: %w", o.Name(), pod.Name, err))
		}
	}
	return errors.Join(failures...)
}

// putBack is what to write so that values are as before, where nobody has changed
// them since.
func putBack(written, now, before map[string]string) map[string]string {
	back := map[string]string{}
	for name, value := range written {
		if now[name] == value && before[name] != value {
			back[name] = before[name]
		}
	}
	return back
}
