package plan

import (
	"cmp"
	"slices"
	"strings"

	"secondhop/edge/render"
)

// olderFirst orders Ingresses: whoever asked first for a host and path has it.
func olderFirst(a, b Ingress) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// sortRoutes puts routes into the order of the Ingress API: a whole host before a
// wildcard before any host; of one host an exact path before prefixes, and the
// longer prefix first.
func sortRoutes(routes []render.Route) {
	slices.SortFunc(routes, func(a, b render.Route) int {
		return cmp.Or(
			cmp.Compare(vagueness(a.Host), vagueness(b.Host)),
			cmp.Compare(len(b.Host), len(a.Host)),
			strings.Compare(a.Host, b.Host),
			exactFirst(a, b),
			cmp.Compare(len(b.Path), len(a.Path)),
			strings.Compare(a.Path, b.Path),
		)
	})
}

func exactFirst(a, b render.Route) int {
	switch {
	case a.Exact == b.Exact:
		return 0
	case a.Exact:
		return -1
	}
	return 1
}

func vagueness(host string) int {
	switch {
	case host == "":
		return 2
	case strings.HasPrefix(host, "*"):
		return 1
	}
	return 0
}
