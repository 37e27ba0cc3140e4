package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

const request = "GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n"

func dialAll(ctx context.Context, address string, n int) ([]net.Conn, error) {
	var dialer net.Dialer
	var conns []net.Conn
	for range n {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			closeAll(conns)
			return nil, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

func closeAll(conns []net.Conn) {
	for _, conn := range conns {
		conn.Close()
	}
}

// sendAll shares the requests out over the connections, each of which sends one
// after the other, and returns how many that were.
func sendAll(ctx context.Context, conns []net.Conn, requests int) (int, error) {
	each := requests / len(conns)
	group, ctx := errgroup.WithContext(ctx)
	for _, conn := range conns {
		group.Go(func() error { return send(ctx, conn, each) })
	}
	return each * len(conns), group.Wait()
}

func send(ctx context.Context, conn net.Conn, n int) error {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	in := bufio.NewReader(conn)
	for range n {
		if _, err := io.WriteString(conn, request); err != nil {
			return err
		}
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("answer %s", response.Status)
		}
	}
	return nil
}
