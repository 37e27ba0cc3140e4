package agent_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"secondhop/agent"
)

// A service that needs some time before it can answer well, and whose requests
// may take up to twenty seconds.
func Example() {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })

	state := agent.New()
	mux.Handle("/readyz", state.ReadinessHandler())

	srv := &http.Server{Addr: ":8080", Handler: mux}
	err := agent.Run(context.Background(), srv, agent.Options{
		Agent:           state,
		WarmUp:          loadCaches,
		ShutdownTimeout: 25 * time.Second,
		OnChange:        func(s agent.State) { log.Printf("now %s", s) },
	})
	if err != nil {
		log.Fatal(err)
	}
}

func loadCaches(context.Context) error { return nil }

func ExampleAgent_SetWeight() {
	state := agent.New()
	fmt.Print(state.Line())
	state.SetReady()
	fmt.Print(state.Line())
	if err := state.SetWeight(50); err != nil { // a smaller machine: half a share
		log.Fatal(err)
	}
	fmt.Print(state.Line())
	state.Drain()
	fmt.Print(state.Line())
	// Output:
	// 0%
	// up ready 100%
	// up ready 50%
	// 0%
}
