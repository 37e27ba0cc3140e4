// Package agent tells the ingress on the same node when a pod may get its
// share of local traffic, and stops the pod without losing a request.
//
// A pod behind a slot Service is published whether it is ready or not, so the
// usual readiness probe cannot protect it. The agent takes that part over. It
// listens on a port of its own (8081 by default) and answers every connection
// with one line in the language of HAProxy's agent check:
//
//	Starting   0%                 the process lives, but wants no traffic yet
//	Ready      up ready 100%      full share (or the percentage set by SetWeight)
//	Draining   0%                 SIGTERM came: finish what is under way, take nothing new
//
// The words matter. "ready" lifts a server out of maintenance and "up" out of a
// failed agent check; a percentage alone does neither, so both are sent every
// time. "0%" is used to stop because "drain" leaves the weight as it was. A
// state is only ever left forwards: Starting -> Ready -> Draining.
//
// For a Go service the whole integration is one call in place of
// http.ListenAndServe:
//
//	srv := &http.Server{Addr: ":8080", Handler: handler}
//	err := agent.Run(context.Background(), srv, agent.Options{})
//
// # Stopping
//
// When SIGTERM arrives the agent answers 0 % at once, the application goes on
// serving for the grace, and only then are its listeners closed and requests
// under way awaited. A poller learns of the 0 % at its next poll, and a poll that
// fails changes nothing, so one or two polls of grace can be too few on a busy
// machine. The default grace of six seconds is five polls of one second and
// some air. Set the pod's terminationGracePeriodSeconds above
// Options.Grace + Options.ShutdownTimeout.
//
// The package needs nothing but the standard library.
package agent
