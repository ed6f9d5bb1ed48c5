package service

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// This file bounds what clients can ask for: bytes of bodies that are in memory, requests that are worked on at a time, and requests of one
// client in a second. A request takes its place when its body is there, so those who send slowly keep nobody from working.
//
// Whoever is over a limit gets an error at once and is told when to come again: a queue would need memory
// for what is in it. Only connections wait, in the program (see --connections).
//
// guard sets a deadline for each read and write, since the server of package net/http has only one for all
// requests, and batches and archives take longer than others.

// usualBody is how many bytes one body may have (Options.MaxBody, which every operation gets as its MaxBodyBytes).
const usualBody = 8 << 20

// Limits are those of a service. mu protects the maps and what is in them.
type limits struct {
	places chan struct{} // one element for each request that is worked on
	bodies atomic.Int64  // bytes of bodies that are in memory
	most   int64         // of them

	rate    rate.Limit // 0 for none
	mu      sync.Mutex
	tokens  map[string]*caller // by name; there are as many as tokens
	clients map[string]*caller // by address, without a token that is known
}

// A caller is a token or an address. last is for forgetting addresses only; tokens are kept.
type caller struct {
	limiter *rate.Limiter
	last    time.Time
}

// mostBodies is for how many of the largest bodies there is memory.
const mostBodies = 32

// mostClients is how many addresses are remembered. One that has not come for a minute is forgotten if
// there are too many. So whoever has very many addresses cannot fill the memory. New ones get 429 while all
// that are remembered are in use.
const mostClients = 10_000

var errBusy = errors.New("the server is busy; retry later")

func newLimits(places int, most int64, perSecond float64) *limits {
	return &limits{places: make(chan struct{}, places), most: most * mostBodies, rate: rate.Limit(perSecond), tokens: map[string]*caller{}, clients: map[string]*caller{}}
}

// during calls f if there is a place. The place is free again when f has returned, also if f panics.
func (l *limits) during(f func() error) error {
	select {
	case l.places <- struct{}{}:
		defer func() { <-l.places }()
		return f()
	default:
		return errBusy
	}
}

// allow reports whether a token, or without one an address, may make a request now, and otherwise after how
// long. A refused request takes nothing from what the caller may still ask for. A burst of one second is
// allowed.
func (l *limits) allow(token, address string, now time.Time) (wait time.Duration, ok bool) {
	if l.rate == 0 {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all, who := l.tokens, token
	if token == "" {
		all, who = l.clients, address
	}
	c := all[who]
	if c == nil {
		// A walk over all of them, under the lock: it happens only for a new address while the map is full.
		if len(all) >= mostClients && token == "" {
			for name, c := range l.clients {
				if now.Sub(c.last) > time.Minute {
					delete(l.clients, name)
				}
			}
		}
		if len(all) >= mostClients && token == "" {
			return time.Second, false
		}
		c = &caller{limiter: rate.NewLimiter(l.rate, max(1, int(l.rate)))}
		all[who] = c
	}
	c.last = now
	r := c.limiter.ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// addressOf returns the address from which a request comes: of IPv6 the first half, since one client has all of the second.
func addressOf(remote string) string {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	if ip := a.Addr().Unmap(); ip.Is6() {
		p, _ := ip.WithZone("").Prefix(64)
		return p.String()
	}
	return a.Addr().Unmap().String()
}

// A countedBody counts the bytes of a body that are in memory. It ends with errBusy if those of all bodies
// are too many. Without release its bytes count until the request ends, because what was decoded of them is
// in memory until then.
type countedBody struct {
	io.ReadCloser
	limits *limits
	conn   *http.ResponseController
	n      int64
	full   bool // it has ended with errBusy
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	if b.limits.bodies.Add(int64(n)) > b.limits.most {
		b.full = true
		return n, errBusy
	}
	if err == io.EOF {
		// Nothing is read any more, so nothing can be late: otherwise the server would take the client for gone, and end the context.
		b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// release forgets the bytes that were read: they are no longer in memory. A patient reader calls it after
// each read; guard calls it at the end of every request.
func (b *countedBody) release() {
	b.limits.bodies.Add(-b.n)
	b.n = 0
}

// isOurs reports whether a request names this service as we know it. Without tokens, a page of another site
// could otherwise give its own name our address, and its scripts would do as they like. An IP address is
// fine as a name, because no site can have a name that is our address.
func (s *Service) isOurs(r *http.Request) bool {
	if s.options.Tokens != nil {
		return true
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost") || slices.ContainsFunc(s.options.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// guard is around all handlers. It counts the body, sets the first deadlines, turns a panic into an answer,
// and refuses other host names. It runs before the token is looked at.
func (s *Service) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		counted := &countedBody{ReadCloser: r.Body, limits: s.limits, conn: http.NewResponseController(w)}
		answer := &answerWriter{ResponseWriter: w, body: counted, timeout: 2 * s.options.Timeout, status: http.StatusOK}
		r.Body = counted
		// Deferred first, so it runs last, and counts the status that a panic ends in.
		defer func() { s.metrics.answered(r.Pattern, answer.status, time.Since(start)) }()
		defer func() {
			counted.release()
			if x := recover(); x != nil {
				// A stream has broken off its answer on purpose; net/http closes the connection, and logs
				// nothing.
				if x == http.ErrAbortHandler {
					panic(x)
				}
				s.log.Error("panic", "path", r.URL.Path, "error", x, "stack", string(debug.Stack()))
				if answer.begun {
					panic(http.ErrAbortHandler) // so the client sees that the answer is not whole
				}
				http.Error(answer, "the service has a bug; the log says where", http.StatusInternalServerError)
			}
		}()
		if r.ContentLength != 0 { // whoever reads a longer body sets a later deadline; this one is also for bodies that nobody reads
			counted.conn.SetReadDeadline(start.Add(s.options.Timeout))
		}
		answer.Header().Set("X-Content-Type-Options", "nosniff")
		if !s.isOurs(r) {
			http.Error(answer, "this host name is not allowed: use an IP address, or start the service with --host or --tokens", http.StatusForbidden)
			return
		}
		next.ServeHTTP(answer, r)
	})
}

// An answerWriter remembers the status. If there was no memory for the body, which huma takes for an error
// of the service, the answer says so. It also sets the deadline for writing when the answer begins, so that
// the time that the request took is not taken from it.
type answerWriter struct {
	http.ResponseWriter
	body     *countedBody
	timeout  time.Duration // for the answer
	status   int
	begun    bool
	replaced bool
}

func (w *answerWriter) WriteHeader(status int) {
	w.status, w.begun = status, true
	http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.timeout)) // however long it took to get here
	if w.body.full && status == http.StatusInternalServerError {
		w.status, w.replaced = http.StatusServiceUnavailable, true
		w.Header().Set("Retry-After", "1")
		w.ResponseWriter.WriteHeader(w.status)
		w.ResponseWriter.Write(line(map[string]any{"status": w.status, "detail": errBusy.Error()}))
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	// huma goes on to write its own error, which must not follow the one that was sent. It believes that
	// all went well.
	if w.replaced {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController]. Without it, deadlines could not be set through this writer.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// seconds returns a duration as Retry-After has it. It is in whole seconds (RFC 9110, section 10.2.3),
// rounded up so that a client does not come back too early.
func seconds(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}
