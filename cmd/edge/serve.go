package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"secondhop/edge"
	"secondhop/edge/kube"
	"secondhop/edge/policy"
	"secondhop/edge/render"
	"secondhop/internal/failure"
)

const defaultRunDir = "/run/secondhop"

type options struct {
	edge       edge.Options
	class      string
	node       string
	kubeconfig string
}

func (o *options) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.node, "node", os.Getenv("NODE_NAME"), "Kubernetes node that this runs on (default $NODE_NAME)")
	f.StringVar(&o.class, "class", "secondhop", "class of the Ingress objects to serve")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "file with access to the API (default: that of the pod's service account)")
	f.StringVar(&o.edge.RunDir, "run-dir", defaultRunDir, "directory for sockets and files")
	f.StringVar(&o.edge.Program, "haproxy", "/usr/sbin/haproxy", "the haproxy program")
	f.StringVar(&o.edge.Process.Bind, "http", ":80", "where to serve with each Ingress's endpoint policy")
	f.StringVar(&o.edge.Process.PlainBind, "plain", ":81", "where to serve the same with policy endpoints, to compare")
	f.IntVar(&o.edge.Process.Threads, "threads", 1, "HAProxy threads")
	f.IntVar(&o.edge.Process.MaxConn, "maxconn", 8000, "most client connections; less if the limit of open files is lower")
	f.DurationVar(&o.edge.Drain, "drain", 5*time.Second, "how long to serve on after SIGTERM with a failing health page")
	f.DurationVar(&o.edge.StopLimit, "stop-limit", 25*time.Second, "how long requests in flight may take after that")
	f.DurationVar(&o.edge.Process.HardStopAfter, "hard-stop-after", 2*time.Minute, "how long a replaced worker may live on")
	f.Var(&o.edge.Addresses, "addresses", "where endpoints' addresses go; runtime-only loses them at a reload, to show that it is noticed")
	_ = f.MarkHidden("addresses") // fails for a flag that is not there
}

func serve(ctx context.Context, o options) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if o.node == "" {
		return failure.Input(errors.New("the name of this node is not known"), "set NODE_NAME, or give --node")
	}
	client, err := connect(o.kubeconfig)
	if err != nil {
		return err
	}
	node := policy.Node{Name: o.node, Zone: zone(ctx, client, o.node, log)}
	source, err := kube.New(client, o.class, node)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx)) // watch until drained
	defer source.Stop()
	defer stop()
	if err := startWatching(ctx, watching, source); err != nil {
		return err
	}
	reporter := kube.NewReporter(client, o.node, log)
	defer reporter.Stop()
	o.edge.Log = log
	o.edge.Process.Node = o.node
	o.edge.Process.MaxConn = render.SafeMaxConn(o.edge.Process.MaxConn, openFiles())
	log.Info("starting", "node", node.Name, "zone", node.Zone, "maxconn", o.edge.Process.MaxConn, "addresses", o.edge.Addresses.String())
	running := edge.New(o.edge, source, reporter)
	defer reloadOnSignal(ctx, running, log)()
	return running.Run(ctx)
}

// startWatching starts source for as long as watching lasts; a signal during the
// wait for the first copy ends it.
func startWatching(ctx, watching context.Context, source *kube.Source) error {
	waiting, cancel := context.WithCancel(watching)
	stop := context.AfterFunc(ctx, cancel)
	if err := source.Start(waiting); err != nil {
		cancel()
		return err
	}
	stop() // from here on only the end of watching ends it
	context.AfterFunc(watching, cancel)
	return nil
}

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := rest.InClusterConfig()
	if kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, failure.Infra(fmt.Errorf("access to the kubernetes API: %w", err), "run it in a pod, or give --kubeconfig")
	}
	return kubernetes.NewForConfig(config)
}

// zone is the zone of the node, or "" where it cannot be told: only policies that
// look at zones miss it.
func zone(ctx context.Context, client kubernetes.Interface, name string, log *slog.Logger) string {
	node, err := client.CoreV1().Nodes().Get(ctx, name, meta.GetOptions{})
	if err != nil {
		log.Warn("zone not known", "error", err)
		return ""
	}
	return node.Labels[core.LabelTopologyZone]
}

// openFiles is the most files that this process and its children may open.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Max
}

// reloadOnSignal reloads HAProxy at each SIGUSR2 until the function returned is called.
func reloadOnSignal(ctx context.Context, e *edge.Edge, log *slog.Logger) func() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				if err := e.Reload(ctx); err != nil {
					log.Error("reload", "error", err)
				}
			}
		}
	}()
	return func() { signal.Stop(signals); cancel(); <-done }
}
