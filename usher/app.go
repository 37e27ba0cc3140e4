package usher

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// App is a Service that opted in.
type App struct {
	Namespace, Name string
	Created         time.Time
	Slots           int
	Selector        labels.Selector
	// Published are the selectors, less the slot label, of its slot Services
	// as they are now. They differ from Selector only while that is changing; until
	// the Services follow, pods of both count.
	Published []labels.Selector
	// Invalid is why nothing may be done for the app, nil when all is well.
	// An app that turned invalid is left as it is: a typing error in an
	// annotation must not take a running app's slots away.
	Invalid error
}

// IsApp reports whether a Service opts in. Slot Services never do.
func (c Config) IsApp(service *corev1.Service) bool {
	_, annotated := service.Annotations[c.SlotsAnnotation()]
	return annotated && slotOwner(service) == "" && service.DeletionTimestamp == nil
}

// AppOf reads a Service for which IsApp holds.
func (c Config) AppOf(service *corev1.Service) App {
	app := App{
		Namespace: service.Namespace, Name: service.Name, Created: service.CreationTimestamp.Time,
		Selector: labels.SelectorFromSet(service.Spec.Selector),
	}
	app.Slots, app.Invalid = c.parseSlots(service.Annotations[c.SlotsAnnotation()])
	switch {
	case app.Invalid != nil:
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		app.Invalid = fmt.Errorf("service %s/%s has type ExternalName: it has no pods to give numbers to", service.Namespace, service.Name)
	case len(service.Spec.Selector) == 0:
		app.Invalid = fmt.Errorf("service %s/%s has no selector: it has no pods to give numbers to", service.Namespace, service.Name)
	}
	if len(service.Spec.Selector) == 0 {
		app.Selector = labels.Nothing() // an empty set would select everything
	}
	return app
}

// selects reports whether pod belongs to the app by its selector.
func (a App) selects(pod Pod) bool { return a.Selector.Matches(pod.Labels) }

// reaches reports whether a slot Service of the app may have pod behind it: by
// the present selector or by one that is still published.
func (a App) reaches(pod Pod) bool {
	return a.selects(pod) || slices.ContainsFunc(a.Published, func(s labels.Selector) bool { return s.Matches(pod.Labels) })
}

// older orders apps by seniority: the first one owns a pod that both select.
func (a App) older(b App) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// owner is the app that writes the label of pod; apps are in order of seniority.
func owner(apps []App, pod Pod) (App, bool) {
	for _, app := range apps {
		if app.selects(pod) {
			return app, true
		}
	}
	return App{}, false
}

// share reports whether some app selects both pods.
func share(apps []App, p, q Pod) bool {
	return slices.ContainsFunc(apps, func(a App) bool { return a.selects(p) && a.selects(q) })
}

// mayShare reports whether p must not get a number that q has: some app may have
// both behind its slot Services now. A labelled pod that no app reaches may share
// with any: it could be selected again before its label is off.
func mayShare(apps []App, p, q Pod) bool {
	reached := false
	for _, app := range apps {
		if app.reaches(q) {
			reached = true
			if app.reaches(p) {
				return true
			}
		}
	}
	return !reached && q.Labelled
}
