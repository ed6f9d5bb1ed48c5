package server

import (
	"net"
	"sync/atomic"
	"testing"
)

// A Proxy passes connections on to a server. It can lose an answer, as a network does: the server
// has done its work, and the client does not learn of it.
type Proxy struct {
	Addr string       // 127.0.0.1:port
	lose atomic.Int32 // counts down to the answer to lose
}

// ProxyForTest starts a proxy to a port of this machine. It ends after the test.
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

// LoseAnswer makes the proxy lose an answer of the server, and its connection. 1 means the next
// answer, 2 the one after it, and so on.
func (p *Proxy) LoseAnswer(answer int) { p.lose.Store(int32(answer)) }

// pass copies what one side sends to the other, until either side closes its connection. answers
// says that the sender is the server. What it sends at once counts as one answer.
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
