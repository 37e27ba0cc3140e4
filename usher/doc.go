// Package usher gives each pod of an app a number that no other pod of the app on
// its node has, and publishes one Service per number. An ingress on every node
// can then address "the pod with number 2 on my node" by one address that is the
// same everywhere.
//
// An app is a Service with the annotation eqtv.io/local-slots: "<count>". The
// number is the pod label eqtv.io/local-slot; the slot Services are named
// <app>-slot-<number> and belong to the app's Service. The label domain is
// configurable.
//
// # Rules
//
// On each node, per app:
//
//  1. A number is used once. A terminating pod keeps its number until the pod is
//     gone, because it still serves behind its slot Service.
//  2. Exactly min(pods, slots) pods hold a number: the oldest pod without one
//     gets the lowest free number as soon as there is one.
//  3. The number of a live pod never changes.
//  4. A pod that has ended (phase Succeeded or Failed, which evicted pods have)
//     holds nothing and loses the label; so does a pod that no app selects any
//     more, though its number is given away only after the label is off.
//  5. Labels that are not numbers below the count are removed.
//
// A number that others wrote twice by hand stays with the oldest pod.
//
// # Two apps that select one pod
//
// A pod belongs to the oldest app that selects it (by creation, then by name),
// and only that app writes its label, so apps never fight. A number is free for
// a pod only if it is free in every app that selects the pod: no slot Service
// of either ever has two pods on a node. Rule 2 is promised to apps that share
// no pod with another; where two share pods, a pod may have to go without.
//
// # Why a stale leader cannot give a number twice
//
// One usher at a time leads, by a Lease; but a leader can be paused between a
// decision and its write, and its caches lag. resourceVersion preconditions
// protect one pod, not two pods from getting one number. Safety here needs no clock,
// only this order of events:
//
//   - Every decision is followed by a live read of the Lease, and its writes are
//     sent only if the Lease still names this term. So whatever a decision read,
//     it read before the next term began.
//   - Every write names the UID and the resourceVersion that the decision read.
//     Once a pod changes, no older decision about it can take effect.
//   - A new term first asks the API server for its present revision, the
//     horizon, and fills its caches from a state at least that new. A pod whose
//     resourceVersion is past the horizon changed after the term began: writes of
//     older terms cannot touch it.
//   - Before giving a number to a pod, the new term changes every other
//     unlabelled pod of the app on that node that is not past the horizon (an
//     annotation, under the same preconditions). If an older write came first, this
//     fails and shows the label; if not, the older write is void from now on.
//
// Within a term, decisions are made on the cache overlaid with the writes in
// flight and the answers to writes that the cache does not show yet. A write
// whose fate is unknown holds its number until a live read settles it.
package usher
