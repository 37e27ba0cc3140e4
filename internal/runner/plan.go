package runner

import (
	"math"
	"net/netip"
	"strconv"
	"time"

	"secondhop/clusters"
	"secondhop/internal/deploy"
	"secondhop/internal/trial"
	"secondhop/loadgen"
)

// Bounds of what the client does, chosen for two cores that carry the whole lab.
const (
	connectionsPerTarget = 32
	requestTimeout       = 15 * time.Second
	// longest ends a run whose events do not come to an end.
	longest = 8 * time.Minute
)

// latenessBound is the lateness p99 beyond which a run is invalid. The generator
// alone is far below a millisecond; here it shares two cores with five nodes, and
// response times count from the scheduled instant anyway, so that lateness cannot
// hide anything. It is a bound on how uneven the offered load may get.
const latenessBound = 250 * time.Millisecond

// planOf turns a load into what the generator reads.
func planOf(load trial.Load, workers []clusters.Node, app *deploy.App) loadgen.Plan {
	port := load.Port
	if port == 0 {
		port = trial.PolicyPort
	}
	plan := loadgen.Plan{
		Rate:                 load.Rate,
		Duration:             loadgen.Duration(longest),
		Count:                load.Requests,
		OpenEnded:            load.Requests == 0,
		Method:               "GET",
		Host:                 app.Spec.Host,
		Path:                 "/",
		Connection:           loadgen.KeepAlive,
		ConnectionsPerTarget: connectionsPerTarget,
		Timeout:              loadgen.Duration(requestTimeout),
		Spread:               loadgen.SpreadEven,
		SpreadBy:             loadgen.ByRequest,
		Limits:               &loadgen.Limits{LatenessP99: loadgen.Duration(latenessBound)},
	}
	if load.Requests > 0 {
		seconds := math.Ceil(float64(load.Requests)/load.Rate) + 1
		plan.Duration = loadgen.Duration(time.Duration(seconds) * time.Second)
	}
	if load.Answer > 0 {
		plan.Path = "/?size=" + strconv.FormatInt(int64(load.Answer), 10)
	}
	if probe := load.Probe; probe != nil {
		plan.Probe = &loadgen.Probe{
			Path: "/-/ready", Interval: loadgen.Duration(probe.Interval), Timeout: loadgen.Duration(probe.Timeout),
			Fall: probe.Fall, Rise: probe.Rise,
		}
	}
	if load.Method != "" {
		plan.Method, plan.BodyBytes = load.Method, int(load.Body)
	}
	if load.Timeout > 0 {
		plan.Timeout = loadgen.Duration(load.Timeout)
	}
	if load.PerRequest {
		plan.Connection = loadgen.PerRequest
	}
	plan.Direct = load.Direct
	plan.Targets = targetsOf(load, port, workers)
	if load.Weights != nil {
		plan.Spread = loadgen.SpreadWeighted
	}
	return plan
}

// targetsOf are the nodes that get a part of the load.
func targetsOf(load trial.Load, port trial.Port, workers []clusters.Node) []loadgen.Target {
	var targets []loadgen.Target
	for _, worker := range workers {
		if load.Weights != nil && load.Weights[worker.Name] == 0 {
			continue
		}
		address := netip.AddrPortFrom(worker.Address, uint16(port))
		targets = append(targets, loadgen.Target{Node: worker.Name, Address: address.String(), Weight: load.Weights[worker.Name]})
	}
	return targets
}
