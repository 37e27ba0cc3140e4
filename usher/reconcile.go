package usher

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// setService takes in a Service: as an app or as one that is none any more.
func (s *session) setService(object *corev1.Service) {
	k := Key{object.Namespace, object.Name}
	if s.config.IsApp(object) {
		app := s.config.AppOf(object)
		if app.Invalid != nil {
			s.log.Error("app is left as it is", "namespace", k.Namespace, "app", k.App, "error", app.Invalid)
		}
		app.Published = s.published(k)
		s.enqueue(s.term.SetApp(app))
	} else {
		s.enqueue(s.term.DropApp(k.Namespace, k.App))
	}
	s.slotsChanged(object)
}

func (s *session) dropService(object *corev1.Service) {
	s.enqueue(s.term.DropApp(object.Namespace, object.Name))
	s.slotsChanged(object)
}

// slotsChanged makes the work that a change of a Service means for slot Services:
// as an app, as somebody's slot Service, and as one in the way of one.
func (s *session) slotsChanged(object *corev1.Service) {
	s.slots.Add(Key{object.Namespace, object.Name})
	if app := slotOwner(object); app != "" {
		of := Key{object.Namespace, app}
		s.enqueue(s.term.SetPublished(of, s.published(of)))
		s.slots.Add(of)
	} else if app, ok := appOfSlotName(object.Name); ok {
		s.slots.Add(Key{object.Namespace, app})
	}
}

// published are the selectors under which the app's pods are reached now.
func (s *session) published(k Key) []labels.Selector {
	return s.config.publishedSelectors(s.slotServicesOf(k))
}

func (s *session) slotServicesOf(k Key) []*corev1.Service {
	objects, _ := s.services.GetIndexer().ByIndex(byOwner, k.Namespace+"/"+k.App) // fails only without the index
	var services []*corev1.Service
	for _, object := range objects {
		if service, ok := object.(*corev1.Service); ok {
			services = append(services, service)
		}
	}
	return services
}

// service is a Service in the cache, nil if there is none.
func (s *session) service(namespace, name string) *corev1.Service {
	object, _, _ := s.services.GetIndexer().GetByKey(namespace + "/" + name) // an indexer in memory does not fail
	service, _ := object.(*corev1.Service)
	return service
}

// reconcileSlots makes an app's slot Services what they should be. A write meets
// the resourceVersion that was read or is refused, and is tried again.
func (s *session) reconcileSlots(ctx context.Context, k Key) error {
	if k.App == "" {
		return nil
	}
	have := s.slotServicesOf(k)
	slots := 0
	service := s.service(k.Namespace, k.App)
	if service != nil && s.config.IsApp(service) {
		app := s.config.AppOf(service)
		if app.Invalid != nil {
			return nil
		}
		slots = app.Slots
		for n := range slots { // Services of others that are in the way
			if other := s.service(k.Namespace, SlotServiceName(k.App, n)); other != nil && slotOwner(other) != k.App {
				have = append(have, other)
			}
		}
	}
	changes := s.config.wantServices(k.App, service, slots, have)
	s.complain(k, changes.taken)
	if changes.empty() {
		return nil
	}
	if err := s.writer.check(ctx); err != nil {
		return s.failed(ctx, "change slot services", k, err)
	}
	return s.failed(ctx, "change slot services", k, s.change(ctx, changes))
}

// complain says once per term that a name is taken, not at each look.
func (s *session) complain(k Key, taken []string) {
	for _, name := range taken {
		if at := k.Namespace + "/" + name; !s.complained[at] {
			s.complained[at] = true
			s.log.Error("a service that usher did not make has the name of a slot service; delete or rename it",
				"service", at, "app", k.App)
		}
	}
}

func (s *session) change(ctx context.Context, changes serviceChanges) error {
	var failures []error
	for _, slot := range changes.create {
		_, err := s.client.CoreV1().Services(slot.Namespace).Create(ctx, slot, metav1.CreateOptions{FieldManager: fieldManager})
		if apierrors.IsAlreadyExists(err) {
			continue // the cache does not show it yet; when it does, this is looked at again
		}
		failures = append(failures, s.changed("create", slot, err))
	}
	for _, slot := range changes.update {
		_, err := s.client.CoreV1().Services(slot.Namespace).Update(ctx, slot, metav1.UpdateOptions{FieldManager: fieldManager})
		failures = append(failures, s.changed("repair", slot, err))
	}
	for _, slot := range changes.remove {
		err := s.client.CoreV1().Services(slot.Namespace).Delete(ctx, slot.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &slot.UID, ResourceVersion: &slot.ResourceVersion},
		})
		if apierrors.IsNotFound(err) {
			err = nil
		}
		failures = append(failures, s.changed("delete", slot, err))
	}
	return errors.Join(failures...)
}

// changed logs one change. A conflict means the cache was behind: no error, since
// the change that it was behind of makes the work anew.
func (s *session) changed(what string, slot *corev1.Service, err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s service %s/%s: %w", what, slot.Namespace, slot.Name, err)
	}
	s.log.Info(what+" slot service", "service", slot.Namespace+"/"+slot.Name)
	return nil
}
