// Command usher numbers the pods of opted-in apps on each node and publishes one
// node-local Service per number; package usher says how.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"secondhop/usher"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	options, err := parse(os.Args[1:], os.Getenv)
	if errors.Is(err, pflag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "usher: %v\n  to cure it: usher --help lists the flags\n", err)
		os.Exit(3)
	}
	if err := run(ctx, options, log); err != nil {
		log.Error("usher", "error", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	config       usher.Config
	lease        usher.Lease
	ingressNodes string
	metrics      string
	kubeconfig   string
}

// The faults that usher can be run with.
const (
	faultFreeAtDeletion = "free-slot-at-deletion" // the one wrong rule
	faultDelayWatch     = "delay-watch:"          // and a duration
)

func parse(args []string, getenv func(string) string) (options, error) {
	o := options{config: usher.DefaultConfig()}
	namespace := getenv("POD_NAMESPACE")
	if namespace == "" {
		namespace = "secondhop"
	}
	flags := pflag.NewFlagSet("usher", pflag.ContinueOnError)
	flags.StringVar(&o.config.Domain, "label-domain", o.config.Domain, "prefix of all labels and annotations")
	flags.IntVar(&o.config.DefaultSlots, "default-slots", o.config.DefaultSlots, "slots of an app whose annotation is empty")
	flags.Int32Var(&o.config.AgentPort, "agent-port", o.config.AgentPort, "port of the agent in pods and on slot Services")
	flags.IntVar(&o.config.Weight, "slot-weight", o.config.Weight, "weight of a slot in the draw, for the expected share")
	flags.IntVar(&o.config.Range, "draw-range", o.config.Range, "range of the draw, for the expected share")
	flags.StringVar(&o.ingressNodes, "ingress-nodes", "!node-role.kubernetes.io/control-plane", "label selector of nodes with an ingress")
	flags.StringVar(&o.lease.Namespace, "lease-namespace", namespace, "namespace of the leader's Lease (default: POD_NAMESPACE)")
	flags.StringVar(&o.lease.Name, "lease-name", "usher", "name of the leader's Lease")
	flags.DurationVar(&o.lease.Duration, "lease-duration", 15*time.Second, "how long a silent leader keeps others waiting")
	flags.StringVar(&o.metrics, "metrics-address", ":9105", "address of /metrics and /healthz")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; empty means the pod's own account")
	fault := flags.String("fault", "", "")
	if err := flags.MarkHidden("fault"); err != nil {
		return o, err
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if err := o.setFault(*fault); err != nil {
		return o, err
	}
	if o.lease.Duration < time.Second {
		return o, fmt.Errorf("--lease-duration %s: must be 1s or more", o.lease.Duration)
	}
	host, err := os.Hostname()
	if err != nil {
		return o, fmt.Errorf("read the host name: %w", err)
	}
	o.lease.Identity = host + "_" + uuid.NewString()
	return o, o.config.Validate()
}

// setFault makes usher worse on purpose.
func (o *options) setFault(fault string) error {
	delay, delayed := strings.CutPrefix(fault, faultDelayWatch)
	switch {
	case fault == "":
	case fault == faultFreeAtDeletion:
		o.config.FreeAtDeletion = true
	case delayed:
		by, err := time.ParseDuration(delay)
		if err != nil || by <= 0 {
			return fmt.Errorf("--fault %q: want a delay such as %s2s", fault, faultDelayWatch)
		}
		o.config.WatchDelay = by
	default:
		return fmt.Errorf("--fault %q: want %s or %s2s", fault, faultFreeAtDeletion, faultDelayWatch)
	}
	return nil
}

// clientConfig turns off the client's own rate limit: usher's requests are few and
// urgent, and the server's priority and fairness guards the server.
func clientConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS = -1
	config.UserAgent = "usher"
	return config, nil
}

func run(ctx context.Context, o options, log *slog.Logger) error {
	if o.config.FreeAtDeletion {
		log.Warn("running with the wrong rule on purpose", "fault", faultFreeAtDeletion)
	}
	if o.config.WatchDelay > 0 {
		log.Warn("looking at the API late on purpose", "by", o.config.WatchDelay)
	}
	config, err := clientConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	controller := usher.New(client, o.config, o.lease, o.ingressNodes, log)
	registry := prometheus.NewRegistry()
	registry.MustRegister(controller.Metrics(), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return controller.Run(ctx) })
	group.Go(func() error { return serve(ctx, o.metrics, registry) })
	return group.Wait()
}

// serve answers /metrics and /healthz until ctx ends.
func serve(ctx context.Context, address string, registry *prometheus.Registry) error {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	srv := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.ListenAndServe(); ctx.Err() == nil {
		return fmt.Errorf("serve metrics on %s: %w", address, err)
	}
	return nil
}
