package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// Decode splits a YAML stream into objects; documents without content are left out.
func Decode(manifest []byte) ([]*unstructured.Unstructured, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	var objects []*unstructured.Unstructured
	for n := 1; ; n++ {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("manifest document %d: %w", n, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("manifest document %d: apiVersion, kind and metadata.name must be set", n)
		}
		objects = append(objects, object)
	}
}

// Apply applies every object of the YAML stream in its order, server side, and
// takes over fields that someone else owns: the manifest is the whole truth.
// It returns the objects as the server has them.
func (c *Client) Apply(ctx context.Context, manifest []byte) ([]*unstructured.Unstructured, error) {
	objects, err := Decode(manifest)
	if err != nil {
		return nil, err
	}
	for i, object := range objects {
		applied, err := c.applyOne(ctx, object)
		if err != nil {
			return nil, fmt.Errorf("apply %s: %w", Describe(object), err)
		}
		objects[i] = applied
	}
	return objects, nil
}

func (c *Client) applyOne(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := c.resourceFor(object)
	if err != nil {
		return nil, err
	}
	return resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
}

func (c *Client) resourceFor(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset() // the type may be younger than the cached discovery
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
	}
	return c.dynamic.Resource(mapping.Resource), nil
}

// Describe names an object as people do: "Deployment app/my-app".
func Describe(object *unstructured.Unstructured) string {
	if ns := object.GetNamespace(); ns != "" {
		return fmt.Sprintf("%s %s/%s", object.GetKind(), ns, object.GetName())
	}
	return fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
}
