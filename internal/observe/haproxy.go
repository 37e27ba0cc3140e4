package observe

import (
	"maps"
	"slices"

	"secondhop/edge/haproxy"
	"secondhop/internal/edges"
)

// ProxyDelta is what one HAProxy counted between two readings.
type ProxyDelta struct {
	// Restarted says that another process answered at the end: its counters began
	// at 0 in between, so the counts are a lower bound.
	Restarted bool `json:"restarted"`
	// Servers have the states of the end and the counts of the time between.
	Servers []haproxy.ServerStat `json:"servers"`
}

// SlotShare counts a backend's answers: those of its slots, and all.
func (d ProxyDelta) SlotShare(backend string) (slots, all uint64) {
	return haproxy.SlotShare(d.Servers, backend)
}

// Backend is the servers of one backend.
func (d ProxyDelta) Backend(name string) []haproxy.ServerStat {
	var servers []haproxy.ServerStat
	for _, s := range d.Servers {
		if s.Proxy == name {
			servers = append(servers, s)
		}
	}
	return servers
}

// Failures sums what HAProxy had to make good or give up in a backend: retries,
// redispatches, connections and answers that failed.
func (d ProxyDelta) Failures(backend string) (retries, redispatches, connect, response uint64) {
	for _, s := range d.Backend(backend) {
		retries += s.Retries
		redispatches += s.Redispatches
		connect += s.ConnectErrors
		response += s.ResponseErrors
	}
	return retries, redispatches, connect, response
}

// proxyDelta subtracts. A server that was not there before counts from 0.
func proxyDelta(before, after edges.Stats) ProxyDelta {
	if before.Worker != after.Worker {
		return ProxyDelta{Restarted: true, Servers: after.Servers}
	}
	earlier := map[[2]string]haproxy.ServerStat{}
	for _, s := range before.Servers {
		earlier[[2]string{s.Proxy, s.Server}] = s
	}
	delta := ProxyDelta{Servers: slices.Clone(after.Servers)}
	for i := range delta.Servers {
		s := &delta.Servers[i]
		subtract(s, earlier[[2]string{s.Proxy, s.Server}])
	}
	return delta
}

func subtract(s *haproxy.ServerStat, earlier haproxy.ServerStat) {
	s.Requests -= earlier.Requests
	s.Sessions -= earlier.Sessions
	s.Balanced -= earlier.Balanced
	s.Retries -= earlier.Retries
	s.Redispatches -= earlier.Redispatches
	s.ConnectErrors -= earlier.ConnectErrors
	s.ResponseErrors -= earlier.ResponseErrors
	s.BytesIn -= earlier.BytesIn
	s.BytesOut -= earlier.BytesOut
	s.Responses.Informational -= earlier.Responses.Informational
	s.Responses.Success -= earlier.Responses.Success
	s.Responses.Redirect -= earlier.Responses.Redirect
	s.Responses.ClientError -= earlier.Responses.ClientError
	s.Responses.ServerError -= earlier.Responses.ServerError
	s.Responses.Other -= earlier.Responses.Other
}

// proxyDeltas subtracts by node.
func proxyDeltas(before, after map[string]edges.Stats) map[string]ProxyDelta {
	deltas := map[string]ProxyDelta{}
	for node := range maps.Keys(after) {
		deltas[node] = proxyDelta(before[node], after[node])
	}
	return deltas
}
