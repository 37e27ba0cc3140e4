package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
)

// Exec runs argv in a container of a pod and copies its standard output to
// stdout until it ends. An empty container is the pod's first. The error holds
// what the program wrote to standard error.
func (c *Client) Exec(ctx context.Context, namespace, pod, container string, stdout io.Writer, argv ...string) error {
	return c.Stream(ctx, namespace, pod, container, nil, stdout, argv...)
}

// Stream is Exec with a standard input, or nil for none. A program that ends with
// its input can so be ended in good order; when ctx ends, the connection is cut.
func (c *Client) Stream(ctx context.Context, namespace, pod, container string, stdin io.Reader, stdout io.Writer, argv ...string) error {
	request := c.Typed.CoreV1().RESTClient().Post().
		Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: container, Command: argv, Stdin: stdin != nil, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(c.config, "GET", request.URL().String())
	if err != nil {
		return fmt.Errorf("exec in pod %s/%s: %w", namespace, pod, err)
	}
	var said bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: &said})
	if err == nil {
		return nil
	}
	if text := strings.TrimSpace(said.String()); text != "" {
		return fmt.Errorf("exec %s in pod %s/%s: %s: %w", argv[0], namespace, pod, text, err)
	}
	return fmt.Errorf("exec %s in pod %s/%s: %w", argv[0], namespace, pod, err)
}

// Output is Exec that returns the standard output.
func (c *Client) Output(ctx context.Context, namespace, pod, container string, argv ...string) (string, error) {
	var out bytes.Buffer
	err := c.Exec(ctx, namespace, pod, container, &out, argv...)
	return out.String(), err
}
