// Package service offers collections of texts over HTTP: put a text, search for its near-duplicates, put it if it is new. The program
// neardupd runs it; New embeds it in a server of your own.
//
// A collection has a name and settings. By default each is a [dedup.Deduplicator] in files, so the service reports for two
// texts what the program neardup reports. A collection may instead keep fingerprints or MinHash signatures, which take less
// memory and find less, in files or in a store that several services share.
//
// A change that was acknowledged is on the disk. Requests are limited in size, number and time, so memory depends on
// the collections and not on what clients do. The OpenAPI description at /openapi.json is generated from the code that
// handles the requests.
//
//	service.go      starting and stopping, and what the operations are attached to
//	api.go          the operations
//	batch.go        many documents in a request, as JSON lines
//	collections.go  collections by name, in their directories
//	engine.go       what a collection can do, and the one that is a Deduplicator
//	indexed.go      fingerprints and signatures in files
//	stored.go       fingerprints and signatures in a store
//	commit.go       one write to the disk for many requests
//	backup.go       all files of a collection as a tar archive, and back
//	limits.go       how much one client, and all of them, may ask for
//	tokens.go       who may do what
//	metrics.go      numbers for Prometheus
//	page.go         the page at /
package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options are the settings of a service. The zero value of each field except Dir means its
// default.
type Options struct {
	Dir string // where the collections are; it is created if it does not exist

	Stores map[string]Store // stores of fingerprints and signatures by name, which the settings of a collection refer to

	Tokens *Tokens  // who may do what; nil means that everybody may do everything
	Hosts  []string // without Tokens, the names of the service besides its IP addresses and localhost; requests for other names are refused

	MaxBody    int64         // bytes of a body; 0 means 8 MB. A batch may have four times as many
	Concurrent int           // requests that are worked on at a time; 0 means 64. Others get 503
	Rate       float64       // requests in a second from one token or address; 0 means any number. Others get 429
	Timeout    time.Duration // of a request that is not a batch; 0 means 20 seconds
	Memory     int64         // bytes for each collection that is a Deduplicator; 0 means what [dedup.Options.Memory] says
	Log        *slog.Logger  // nil means [slog.Default]
}

// A Service is an [http.Handler] for a directory of collections. Only one Service at a time can have a directory open.
type Service struct {
	options     Options
	log         *slog.Logger
	collections *collections
	limits      *limits
	metrics     *metrics
	recent      *recent
	api         huma.API
	handler     http.Handler
	stopping    atomic.Bool
	stopExpiry  func()
}

// New opens all collections of a directory. The error says which one could not be opened, and why.
func New(ctx context.Context, o Options) (*Service, error) {
	if o.Dir == "" {
		return nil, errors.New("service: the directory is not set")
	}
	if o.MaxBody < 0 || o.Concurrent < 0 || o.Rate < 0 || o.Timeout < 0 || o.Memory < 0 {
		return nil, errors.New("service: a limit is negative")
	}
	o.MaxBody = cmp.Or(o.MaxBody, usualBody)
	o.Concurrent = cmp.Or(o.Concurrent, 64)
	o.Timeout = cmp.Or(o.Timeout, 20*time.Second)
	s := &Service{options: o, log: cmp.Or(o.Log, slog.Default()), recent: &recent{}}
	var err error
	// The collections come first, because only this step can fail. After it, no error leaves them open.
	if s.collections, err = openCollections(ctx, &s.options, s.log); err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	s.limits = newLimits(o.Concurrent, o.MaxBody, o.Rate)
	s.metrics = newMetrics(s)
	mux := http.NewServeMux()
	s.api = humago.New(mux, apiConfig())
	s.register()
	// These four are plain handlers, so authorize never sees them. Probes and the page need no token, and
	// /metrics checks its own.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.onlyAdmin(promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{})))
	mux.HandleFunc("GET /{$}", servePage)
	// guard is the outermost handler, so it counts the bodies, catches the panics and measures the time of
	// every request, also of those that CrossOriginProtection refuses.
	s.handler = s.guard(http.NewCrossOriginProtection().Handler(mux))
	s.stopExpiry = s.expireNowAndThen()
	return s, nil
}

// ServeHTTP implements [http.Handler].
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// OpenAPI returns the description of the service, as JSON.
func (s *Service) OpenAPI() ([]byte, error) { return s.api.OpenAPI().MarshalJSON() }

// ReloadTokens reads the file of the tokens again. After an error the tokens are unchanged.
func (s *Service) ReloadTokens() error {
	if s.options.Tokens == nil {
		return nil
	}
	return s.options.Tokens.reload()
}

// Stop announces that the service will stop soon: lines of batches that have not begun are not processed, and their answers say so.
func (s *Service) Stop() { s.stopping.Store(true) }

// Close closes all collections. Requests must have ended. Close stops the expiry first, so that nothing
// begins to delete while the collections are closed.
func (s *Service) Close() error {
	s.stopExpiry()
	return s.collections.close()
}

// ready answers whether every collection works: one whose disk or store has failed does not. It is also the
// only place that opens a collection again after a full disk (see heal). The two seconds are for all
// collections together. The name of the one that failed is only in the log, since /readyz needs no token.
func (s *Service) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	for _, c := range s.collections.all() {
		err := c.use(func() error { return c.engine.err(ctx) })
		if err != nil && err != errNoCollection { // which was removed meanwhile
			err = s.collections.heal(ctx, c, err)
		}
		if err != nil && err != errNoCollection {
			s.log.Error("not ready", "collection", c.name, "error", err)
			http.Error(w, "a collection has failed; the log says which", http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ok")
}

// expireNowAndThen deletes what is too old once a minute, until the function that it returns is called. The
// first round begins at once. stop cancels a round in progress, and returns when its goroutine has ended.
func (s *Service) expireNowAndThen() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		for {
			s.expireOld(ctx, time.Now())
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// expireOld deletes what is too old at a time. In files the cost follows what is deleted, so it looks in
// every round. In a store it has to go through everything, so there it waits for a hundredth of the age
// between two rounds.
//
// Only one goroutine calls it, so c.expired needs no lock. After an error c.expired stays as it was, and
// the next round tries again.
func (s *Service) expireOld(ctx context.Context, now time.Time) {
	for _, c := range s.collections.all() {
		wait := time.Duration(0)
		if c.settings.Store != "" {
			wait = c.settings.Expire.Duration / 100
		}
		if c.settings.Expire.Duration > 0 && ctx.Err() == nil && !now.Before(c.expired.Add(wait)) {
			n, err := c.expire(ctx, now.Add(-c.settings.Expire.Duration))
			if err == nil {
				c.expired = now
			}
			if err != nil || n > 0 {
				s.log.Info("expired", "collection", c.name, "documents", n, "error", err)
			}
		}
	}
}
