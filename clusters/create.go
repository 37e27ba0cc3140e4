package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"secondhop/clusters/cni"
	"secondhop/clusters/engine"
	"secondhop/clusters/images"
	"secondhop/clusters/kind"
	"secondhop/clusters/kubeadm"
	"secondhop/clusters/links"
	"secondhop/clusters/network"
	"secondhop/internal/cleanup"
	"secondhop/internal/failure"
)

// maker makes one lab. Each step pushes what undoes it before it begins.
type maker struct {
	spec  Spec
	image images.NodeImage
	state state
	*progress
	furnish func(context.Context, *Cluster) error // may be nil
	stack   cleanup.Stack
	cluster *Cluster
	pods    []cni.Node // as the pod network sees the nodes, in the order of cluster.Nodes
}

// undoLimit is how long one step of the clean-up may take.
const undoLimit = 2 * time.Minute

// create makes the lab, or leaves nothing of it.
func (m *maker) create(ctx context.Context) (cluster *Cluster, err error) {
	m.cluster = &Cluster{Spec: m.spec, NodeImage: m.image, Kubeconfig: m.state.kubeconfig(), Created: time.Now().Truncate(time.Second)}
	defer func() {
		panicked := recover()
		if panicked != nil || err != nil {
			cluster, err = nil, m.giveUp(ctx, err)
		}
		if panicked != nil {
			panic(panicked)
		}
	}()
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"network " + m.spec.Name + ", from which nothing gets out", m.makeNetwork},
		{fmt.Sprintf("%d node containers", m.spec.Workers+1), m.startNodes},
		{"boot of the nodes", m.awaitBoot},
		{"pod network", m.installPodNetwork},
		{"Kubernetes " + m.image.Kubernetes, m.bootstrap},
		{"readiness", m.awaitReady},
		{"links of " + m.spec.Link.String(), m.shape},
	} {
		if err := m.phase(step.name, func() error { return step.run(ctx) }); err != nil {
			return nil, err
		}
	}
	m.cluster.Phases = m.phases
	return m.cluster, m.state.save(m.cluster)
}

// giveUp undoes everything and makes of the failure what people are told.
func (m *maker) giveUp(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		err = failure.Infra(fmt.Errorf("making lab %s was interrupted: %w", m.spec.Name, err), "nothing of it is left; run the command again")
	case err != nil: // nil in a panic
		err = m.explain(ctx, m.blame(ctx, err))
	}
	m.say("undoing what was set up")
	if undone := m.stack.Run(ctx, undoLimit); undone != nil {
		m.say("%v", undone)
		err = failure.Infra(fmt.Errorf("not everything of lab %s could be undone after this: %w", m.spec.Name, err),
			"start Docker if it has stopped, then secondhop down --name "+m.spec.Name)
	}
	return err
}

func (m *maker) makeNetwork(ctx context.Context) error {
	if err := network.CheckAddressesFree(ctx); err != nil {
		return err
	}
	pushLabUndo(&m.stack, m.spec.Name, m.state)
	if err := network.InstallStopGap(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(m.state.dir, 0o700); err != nil {
		return err
	}
	if err := cni.AllowCongestionControl(m.state.congestion()); err != nil {
		return err
	}
	lab := network.Lab(m.spec.Name)
	if err := lab.Guard().Install(ctx); err != nil {
		return err
	}
	labels, err := describeInLabels(m.spec, m.image)
	if err != nil {
		return err
	}
	for key, value := range labels {
		lab.Labels[key] = value
	}
	return lab.Create(ctx)
}

// startNodes has kind start the containers, and finds out their addresses.
func (m *maker) startNodes(ctx context.Context) error {
	request := kind.Cluster{
		Name: m.spec.Name, Image: m.image.Ref, Network: m.spec.Name, ProxyMode: string(m.spec.ProxyMode),
		Pods: cni.Pods(), Services: cni.Services(), PatchDir: kubeadm.PatchDir,
	}
	for i := range m.spec.Workers {
		request.Workers = append(request.Workers, map[string]string{zoneLabel: m.spec.zone(i)})
	}
	path := m.state.log("kind")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := kind.Provision(ctx, request, log); err != nil {
		return err
	}
	return m.findNodes(ctx)
}

func (m *maker) findNodes(ctx context.Context) error {
	for i := range m.spec.Workers + 1 {
		name := m.spec.nodeName(i)
		container, err := engine.Inspect(ctx, name)
		if err != nil {
			return err
		}
		pods, err := cni.PodCIDR(i)
		if err != nil {
			return err
		}
		node := Node{Name: name, ControlPlane: i == 0, Address: container.Addresses[m.spec.Name], PodCIDR: pods}
		if !node.ControlPlane {
			node.Zone = m.spec.zone(i - 1)
		}
		m.cluster.Nodes = append(m.cluster.Nodes, node)
		m.pods = append(m.pods, cni.Node{Name: name, Address: node.Address, Pods: pods, Pid: container.Pid})
	}
	return nil
}

func (m *maker) installPodNetwork(context.Context) error {
	for i, node := range m.pods {
		setup, err := cni.Install(node, m.pods)
		if err != nil {
			return err
		}
		m.cluster.Nodes[i].Congestion, m.cluster.Nodes[i].PodCongestion = setup.Node, setup.Pods
	}
	if err := cni.InstallOnHost(m.pods); err != nil {
		return err
	}
	return kubeadm.Prepare(m.pods[0].Pid)
}

// bootstrap makes a cluster of the nodes: the control plane by kubeadm, and the
// workers' kubelets as soon as the API server first answers, while kubeadm goes on.
func (m *maker) bootstrap(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	control := m.cluster.ControlPlane()
	group.Go(func() error { return kubeadm.Init(ctx, control.Name, m.state.log("kubeadm")) })
	group.Go(func() error {
		if err := m.awaitAPI(ctx); err != nil {
			return err
		}
		m.say("  the API server answers; workers join")
		files, err := kubeadm.ReadControlPlane(m.spec.Name, m.pods[0].Pid)
		if err != nil {
			return err
		}
		for i, node := range m.cluster.Workers() {
			worker := kubeadm.Worker{Name: node.Name, Address: node.Address, Pid: m.pods[i+1].Pid, Labels: map[string]string{zoneLabel: node.Zone}}
			group.Go(func() error { return files.StartWorker(ctx, worker) })
		}
		return m.adjust(ctx)
	})
	return group.Wait()
}

func (m *maker) shape(ctx context.Context) error {
	return links.Shape(ctx, links.Both(m.spec.Link), m.cluster.WorkerNames()...)
}

// blame finds out whether a node has died, which explains every other error.
func (m *maker) blame(ctx context.Context, err error) error {
	if errors.Is(err, engine.ErrNoAnswer) {
		return err
	}
	if died := deadNode(ctx, m.spec.Name); died != nil {
		return fmt.Errorf("%w; after that: %w", died, err)
	}
	return err
}
