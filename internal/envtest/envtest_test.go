package envtest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestServerKnowsItsUsers(t *testing.T) {
	t.Parallel()
	nobody := ServiceAccount("somewhere", "nobody")
	server := Start(t, nobody)
	admin, other := kubernetes.NewForConfigOrDie(server.Admin()), kubernetes.NewForConfigOrDie(server.As(nobody))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "somewhere"}}
	if _, err := admin.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Errorf("the administrator: %v", err)
	}
	_, err := other.CoreV1().Pods("somewhere").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("an account without rights lists pods: %v, want forbidden", err)
	}
}
