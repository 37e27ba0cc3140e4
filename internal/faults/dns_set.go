package faults

import "secondhop/internal/kube"

// DNSSet are the parameters of dns_set.
type DNSSet struct {
	Servers int `yaml:"servers" doc:"DNS servers of the cluster; with 0 no name is resolved"`
}

// Validate says what is wrong with the parameters.
func (p DNSSet) Validate() error { return atLeast("servers", p.Servers, 0) }

func dnsSetKind() Kind {
	return newKind("dns_set", "Changes the number of the cluster's DNS servers, by default to none.", DNSSet{},
		func(env Env, p DNSSet) (Event, error) {
			coredns := kube.Workload{Kind: kube.Deployment, Name: "coredns"}
			return newScaling("scaling of the cluster's DNS", env.Lab.Client, "kube-system", map[kube.Workload]int{coredns: p.Servers}), nil
		})
}
