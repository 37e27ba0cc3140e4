package usher

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// Metrics are usher's figures for Prometheus. Those about apps are read from the
// state at each scrape, and only the leader has any.
type Metrics struct {
	config  Config
	leading func() *session

	writes                            *prometheus.CounterVec
	delay                             prometheus.Histogram
	leader, expected, assigned, slots *prometheus.Desc
}

func newMetrics(config Config, leading func() *session) *Metrics {
	app := []string{"namespace", "app"}
	return &Metrics{
		config: config, leading: leading,
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "usher_pod_writes_total",
			Help: "Writes to pods by action (assign, remove, fence) and result (done, conflict, error).",
		}, []string{"action", "result"}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "usher_scheduled_to_labelled_seconds",
			Help:    "Time from usher seeing a pod on a node to its number being written; pods that had to wait for a number to become free are left out.",
			Buckets: []float64{.005, .01, .02, .03, .05, .075, .1, .15, .2, .25, .35, .5, .75, 1, 2, 5},
		}),
		leader: prometheus.NewDesc("usher_leader", "1 on the usher that leads, 0 on others.", nil, nil),
		expected: prometheus.NewDesc("usher_expected_slot_share",
			"Share of an app's requests that slots can keep on their node: mean over ingress nodes of min(ready pods, slots) x weight / max(range, same).", app, nil),
		assigned: prometheus.NewDesc("usher_slots_assigned", "Pods of an app that hold a number.", app, nil),
		slots:    prometheus.NewDesc("usher_slots_configured", "Slots per node of an app.", app, nil),
	}
}

func (m *Metrics) countWrite(action Action, result string) {
	m.writes.WithLabelValues(action.String(), result).Inc()
}

func (m *Metrics) observeDelay(d time.Duration) { m.delay.Observe(d.Seconds()) }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.writes.Describe(ch)
	m.delay.Describe(ch)
	for _, d := range []*prometheus.Desc{m.leader, m.expected, m.assigned, m.slots} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.writes.Collect(ch)
	m.delay.Collect(ch)
	s := m.leading()
	if s == nil {
		ch <- prometheus.MustNewConstMetric(m.leader, prometheus.GaugeValue, 0)
		return
	}
	ch <- prometheus.MustNewConstMetric(m.leader, prometheus.GaugeValue, 1)
	gauge := func(d *prometheus.Desc, value float64, app App) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, app.Namespace, app.Name)
	}
	nodes := s.ingressNodes()
	for _, use := range s.term.Usage() {
		gauge(m.expected, m.config.ExpectedShare(use.App.Slots, use.Ready, nodes), use.App)
		gauge(m.assigned, float64(use.Assigned), use.App)
		gauge(m.slots, float64(use.App.Slots), use.App)
	}
}

func (s *session) ingressNodes() []string {
	var names []string
	for _, object := range s.nodes.GetStore().List() {
		if node, ok := object.(*corev1.Node); ok {
			names = append(names, node.Name)
		}
	}
	return names
}

// ExpectedShare is the share of requests that the draw keeps on their node, if
// all ingress nodes get as many: with k ready pods, a node keeps
// n x Weight / max(Range, n x Weight) where n = min(k, slots).
func (c Config) ExpectedShare(slots int, ready map[string]int, nodes []string) float64 {
	if len(nodes) == 0 {
		return 0
	}
	sum := 0.0
	for _, node := range nodes {
		open := min(ready[node], slots) * c.Weight
		sum += float64(open) / float64(max(c.Range, open))
	}
	return sum / float64(len(nodes))
}

// Usage is how the slots of one app are used.
type Usage struct {
	App      App
	Assigned int            // pods with a number
	Ready    map[string]int // ready pods that are not terminating, by node
}

// Usage is the use of every valid app now.
func (t *Term) Usage() []Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Usage
	for _, ns := range t.namespaces {
		of := map[string]*Usage{}
		for _, app := range ns.apps {
			if app.Invalid == nil {
				of[app.Name] = &Usage{App: app, Ready: map[string]int{}}
			}
		}
		for _, p := range ns.view() {
			app, _ := owner(ns.apps, p.Pod)
			use, ok := of[app.Name]
			if !ok || p.Ended {
				continue
			}
			if p.Labelled {
				use.Assigned++
			}
			if p.Ready && !p.Terminating {
				use.Ready[p.Node]++
			}
		}
		for _, use := range of {
			all = append(all, *use)
		}
	}
	return all
}
