package haproxy

import "strings"

// SlotPrefix begins the name of every server that is a local slot.
const SlotPrefix = "slot"

// SlotShare counts the answers of one backend (proxy): those given by its slots
// and those of all its servers. Their quotient is the slot share. Answers are
// the right count because attempts (stot) and choices (lbtot) also grow when a
// slot fails and another server answers: a share made of them reads too high
// exactly when something is wrong.
func SlotShare(servers []ServerStat, proxy string) (slots, all uint64) {
	for _, s := range servers {
		if s.Proxy != proxy {
			continue
		}
		answers := s.Responses.Total()
		all += answers
		if strings.HasPrefix(s.Server, SlotPrefix) {
			slots += answers
		}
	}
	return slots, all
}
