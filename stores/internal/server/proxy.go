package server

import (
	"net"
	"sync/atomic"
	"testing"
)

// A Proxy passes on connections to a server, and can lose an answer.
type Proxy struct {
	Addr string // 127.0.0.1:port
	lose atomic.Int32
}

// ProxyForTest starts a proxy to a port that ends after the test.
func ProxyForTest(t testing.TB, port string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &Proxy{Addr: l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err != nil {
				client.Close()
				continue
			}
			go p.pass(server, client, false)
			go p.pass(client, server, true)
		}
	}()
	return p
}

// LoseAnswer lets the next answer of the server be lost, or a later one, and its connection.
func (p *Proxy) LoseAnswer(answer int) { p.lose.Store(int32(answer)) }

func (p *Proxy) pass(to, from net.Conn, answers bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || answers && p.lose.Add(-1) == 0 {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
