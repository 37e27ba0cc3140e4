package app

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"secondhop/agent"
)

// unknownWord is no word that HAProxy knows from an agent.
const unknownWord = "online"

// pollTime is how long a poller may take to close its side.
const pollTime = 2 * time.Second

// polls hands pollers to the agent, except for those that get an odd line.
type polls struct {
	*gate
	oddLine func() (string, bool)
	odd     sync.WaitGroup
}

// Accept is that of net.Listener, for pollers whose answer is the agent's.
func (p *polls) Accept() (net.Conn, error) {
	for {
		conn, err := p.gate.Accept()
		if err != nil {
			return nil, err
		}
		line, odd := p.oddLine()
		if !odd {
			return conn, nil
		}
		p.odd.Go(func() { say(conn, line) })
	}
}

// say answers a poll and waits for the poller to close, or a line that is still
// on its way could be lost.
func say(conn net.Conn, line string) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(pollTime))
	if _, err := io.WriteString(conn, line); err != nil {
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	io.Copy(io.Discard, io.LimitReader(conn, 4<<10))
}

// oddLine is the answer to a poll where it is not the agent's own.
func (l *life) oddLine() (string, bool) {
	switch s := l.settings(); s.Agent {
	case AgentNeverReady:
		return "0%\n", true
	case AgentAlwaysReady:
		return fmt.Sprintf("up ready %d%%\n", s.Weight), true
	case AgentDown, AgentDrain, AgentMaint:
		return s.Agent + "\n", true // the modes are named as the words
	case AgentUnknown:
		return unknownWord + "\n", true
	case AgentWeightOnly:
		if l.agent.State() == agent.Ready {
			return fmt.Sprintf("%d%%\n", s.Weight), true
		}
		return "0%\n", true
	}
	return "", false
}
