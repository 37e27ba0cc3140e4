package loadgen

import (
	"fmt"
	"strings"
	"time"

	"secondhop/loadgen/address"
)

// Validate checks a plan that has its defaults. Its error lists everything that
// is wrong, each with the name of the field.
func (p Plan) Validate() error {
	var c checker
	p.checkTargets(&c)
	p.checkRate(&c)
	p.checkRequest(&c)
	p.checkConnections(&c)
	if p.Probe != nil {
		p.Probe.check(&c)
	}
	if p.Limits != nil {
		p.Limits.check(&c)
	}
	if len(c.faults) > 0 {
		return planError(c.faults)
	}
	return nil
}

// checker collects faults.
type checker struct{ faults []error }

// want notes a fault of field unless ok holds; format says what is wanted.
func (c *checker) want(ok bool, field, format string, args ...any) {
	if !ok {
		c.faults = append(c.faults, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
	}
}

func (c *checker) oneOf(field, value string, allowed ...string) {
	for _, a := range allowed {
		if value == a {
			return
		}
	}
	c.want(false, field, "%q is none of %s", value, strings.Join(allowed, ", "))
}

func (c *checker) within(field string, d Duration, low, high time.Duration) {
	c.want(time.Duration(d) >= low && time.Duration(d) <= high, field,
		"%s is not within %s and %s", time.Duration(d), low, high)
}

func (p Plan) checkTargets(c *checker) {
	c.want(len(p.Targets) > 0 && len(p.Targets) <= MaxTargets, "targets",
		"%d targets; 1 to %d are wanted", len(p.Targets), MaxTargets)
	seen := make(map[string]bool)
	for i, t := range p.Targets {
		field := fmt.Sprintf("targets[%d].", i)
		c.want(t.Node != "" && printable(t.Node), field+"node", "%q is no name", t.Node)
		c.want(!seen[t.Node], field+"node", "%q is there twice", t.Node)
		seen[t.Node] = true
		if _, err := address.Parse(t.Address); err != nil {
			c.want(false, field+"address", "%v", err)
		}
		c.want(t.Weight >= 1 && t.Weight <= 1000, field+"weight", "%d is not within 1 and 1000", t.Weight)
		c.want(p.Spread != SpreadEven || t.Weight == 1, field+"weight",
			"weights need spread %q", SpreadWeighted)
	}
}

func (p Plan) checkRate(c *checker) {
	// The comparisons are written so that NaN fails them.
	c.want(p.Rate > 0 && p.Rate <= MaxRate || p.Rate == 0 && p.RateTo > 0, "rate",
		"%g requests per second are not within 0 and %d", p.Rate, MaxRate)
	c.want(p.RateTo >= 0 && p.RateTo <= MaxRate, "rateTo",
		"%g requests per second are not within 0 and %d", p.RateTo, MaxRate)
	c.within("duration", p.Duration, time.Millisecond, MaxDuration)
	c.oneOf("arrival", p.Arrival, ArrivalConstant, ArrivalPoisson)
}

func (p Plan) checkRequest(c *checker) {
	c.oneOf("method", p.Method, "GET", "POST")
	c.want(p.Host != "" && printable(p.Host), "host", "%q is no host name", p.Host)
	c.want(strings.HasPrefix(p.Path, "/") && printable(p.Path), "path",
		"%q does not start with / or has spaces or control bytes", p.Path)
	c.want(p.BodyBytes >= 0 && p.BodyBytes <= MaxBodyBytes, "bodyBytes",
		"%d is not within 0 and %d", p.BodyBytes, MaxBodyBytes)
	c.want(p.BodyBytes == 0 || p.Method == "POST", "bodyBytes", "a body needs method POST")
	c.within("timeout", p.Timeout, time.Millisecond, MaxTimeout)
}

// printable refuses whatever could end a line or a word of the request's head.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func (p Plan) checkConnections(c *checker) {
	c.oneOf("connection", p.Connection, KeepAlive, PerRequest)
	c.oneOf("spread", p.Spread, SpreadEven, SpreadWeighted)
	c.oneOf("spreadBy", p.SpreadBy, ByRequest, ByConnection)
	c.want(p.MaxConnections >= 1 && p.MaxConnections <= MaxConnections, "maxConnections",
		"%d is not within 1 and %d", p.MaxConnections, MaxConnections)
	c.want(p.ConnectionsPerTarget >= 1 && p.ConnectionsPerTarget <= MaxConnections, "connectionsPerTarget",
		"%d is not within 1 and %d", p.ConnectionsPerTarget, MaxConnections)
	kept := p.ConnectionsPerTarget * len(p.Targets)
	c.want(p.Connection != KeepAlive || kept <= p.MaxConnections, "connectionsPerTarget",
		"%d connections would be kept, maxConnections allows %d", kept, p.MaxConnections)
}

func (p Probe) check(c *checker) {
	c.want(strings.HasPrefix(p.Path, "/") && printable(p.Path), "probe.path",
		"%q does not start with / or has spaces or control bytes", p.Path)
	c.within("probe.interval", p.Interval, 10*time.Millisecond, time.Minute)
	c.within("probe.timeout", p.Timeout, time.Millisecond, time.Minute)
	c.want(p.Fall >= 1 && p.Fall <= 100, "probe.fall", "%d is not within 1 and 100", p.Fall)
	c.want(p.Rise >= 1 && p.Rise <= 100, "probe.rise", "%d is not within 1 and 100", p.Rise)
}

func (l Limits) check(c *checker) {
	c.within("limits.latenessP99", l.LatenessP99, time.Microsecond, time.Minute)
	c.want(l.RateError > 0 && l.RateError <= 1, "limits.rateError", "%g is not within 0 and 1", l.RateError)
	c.want(l.CPU > 0 && l.CPU <= 1, "limits.cpu", "%g is not within 0 and 1", l.CPU)
}
