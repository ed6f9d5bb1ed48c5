package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// A service answers requests.
type service struct {
	store         blockstore.Store
	fingerprinter neardup.Fingerprinter
	log           *slog.Logger
	maxBody       int64
	timeout       time.Duration
	places        chan struct{} // of requests under way

	registry  *prometheus.Registry
	requests  *prometheus.CounterVec   // by path and status
	seconds   *prometheus.HistogramVec // by path
	documents *prometheus.CounterVec   // by what was found
}

func newService(store blockstore.Store, f neardup.Fingerprinter, log *slog.Logger, maxBody int64, concurrent int, timeout time.Duration) *service {
	s := &service{store: store, fingerprinter: f, log: log, maxBody: maxBody, timeout: timeout,
		places:    make(chan struct{}, concurrent),
		registry:  prometheus.NewRegistry(),
		requests:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "neardup_requests_total", Help: "Requests."}, []string{"path", "status"}),
		seconds:   prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "neardup_request_seconds", Help: "Time of requests.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16)}, []string{"path"}),
		documents: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "neardup_documents_total", Help: "Documents that were asked for, by whether a near-duplicate was known."}, []string{"path", "found"}),
	}
	underWay := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "neardup_requests_under_way", Help: "Requests under way."}, func() float64 { return float64(len(s.places)) })
	s.registry.MustRegister(s.requests, s.seconds, s.documents, underWay)
	return s
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /documents", s.limited("/documents", func(w http.ResponseWriter, r *http.Request) error {
		return s.look(w, r, "/documents", func(ctx context.Context, entries []blockstore.Entry) ([][]neardup.Match[string], error) {
			return blockstore.SearchAndPut(ctx, s.store, entries)
		})
	}))
	mux.Handle("POST /search", s.limited("/search", func(w http.ResponseWriter, r *http.Request) error {
		return s.look(w, r, "/search", func(ctx context.Context, entries []blockstore.Entry) ([][]neardup.Match[string], error) {
			fps := make([]neardup.Fingerprint64, len(entries))
			for i, e := range entries {
				fps[i] = e.Fingerprint
			}
			return s.store.Search(ctx, fps)
		})
	}))
	mux.Handle("DELETE /documents/{id...}", s.limited("/documents", func(w http.ResponseWriter, r *http.Request) error {
		id := r.PathValue("id")
		if _, err := blockstore.CheckIDs([]string{id}); err != nil {
			return refusal{http.StatusBadRequest, err.Error()}
		}
		if err := s.store.Delete(r.Context(), []string{id}); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if _, err := s.store.Exists(ctx, []neardup.Fingerprint64{1}); err != nil {
			s.log.Error("health", "error", err)
			http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	return mux
}

// A refusal is an error that is the client's.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

// limited lets so many requests in at once, each for so long and with so large a body, and counts them.
func (s *service) limited(path string, handle func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		start := time.Now()
		defer func() {
			s.requests.WithLabelValues(path, fmt.Sprint(counted.status)).Inc()
			s.seconds.WithLabelValues(path).Observe(time.Since(start).Seconds())
		}()
		select {
		case s.places <- struct{}{}:
			defer func() { <-s.places }()
		default:
			counted.Header().Set("Retry-After", "1")
			fail(counted, http.StatusServiceUnavailable, "too many requests at once: try again")
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(counted, r.Body, s.maxBody)
		err := handle(counted, r)
		var refused refusal
		var tooLarge *http.MaxBytesError
		switch {
		case err == nil:
		case errors.As(err, &refused):
			fail(counted, refused.status, refused.text)
		case errors.As(err, &tooLarge):
			fail(counted, http.StatusRequestEntityTooLarge, fmt.Sprintf("more than %d bytes", tooLarge.Limit))
		case errors.Is(err, context.DeadlineExceeded):
			s.log.Error("request", "path", path, "error", err)
			fail(counted, http.StatusGatewayTimeout, "it took too long; called again it finishes")
		default:
			s.log.Error("request", "path", path, "error", err)
			fail(counted, http.StatusBadGateway, "the store failed; called again it finishes")
		}
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": text})
}

// An answer is what is said of a document.
type answer struct {
	ID      string  `json:"id"`
	Known   bool    `json:"known"`
	Empty   bool    `json:"empty,omitempty"`
	Matches []match `json:"matches"`
	More    int     `json:"more,omitempty"` // matches that are not listed
}

type match struct {
	ID       string `json:"id"`
	Distance int    `json:"distance"`
}

// mostMatches are listed of a document.
const mostMatches = 100

// look reads documents, asks for them, and writes an answer for each.
func (s *service) look(w http.ResponseWriter, r *http.Request, path string, ask func(context.Context, []blockstore.Entry) ([][]neardup.Match[string], error)) error {
	var answers []answer
	var entries []blockstore.Entry
	var at []int // in answers, of entries
	decoder := json.NewDecoder(r.Body)
	for {
		var doc struct {
			ID   string  `json:"id"`
			Text *string `json:"text"`
		}
		err := decoder.Decode(&doc)
		if err == io.EOF {
			break
		}
		if err != nil {
			var tooLarge *http.MaxBytesError
			if errors.As(err, &tooLarge) {
				return err
			}
			return refusal{http.StatusBadRequest, fmt.Sprintf("document %d: %v", len(answers)+1, err)}
		}
		if doc.Text == nil {
			return refusal{http.StatusBadRequest, fmt.Sprintf(`document %d: there is no "text"`, len(answers)+1)}
		}
		fp := s.fingerprinter.Sum64(*doc.Text)
		answers = append(answers, answer{ID: doc.ID, Empty: fp == 0, Matches: []match{}})
		if fp != 0 {
			at = append(at, len(answers)-1)
			entries = append(entries, blockstore.Entry{ID: doc.ID, Fingerprint: fp})
		}
	}
	if len(answers) == 0 {
		return refusal{http.StatusBadRequest, `there is no document: {"id": "…", "text": "…"}`}
	}
	if path == "/documents" {
		if _, err := blockstore.CheckEntries(entries); err != nil {
			return refusal{http.StatusBadRequest, err.Error()}
		}
	}
	if len(entries) > 0 {
		found, err := ask(r.Context(), entries)
		if err != nil {
			return err
		}
		for i, matches := range found {
			a := &answers[at[i]]
			a.Known = len(matches) > 0
			a.More = max(0, len(matches)-mostMatches)
			for _, m := range matches[:len(matches)-a.More] {
				a.Matches = append(a.Matches, match{m.ID, m.Distance})
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	encoder := json.NewEncoder(w)
	for _, a := range answers {
		s.documents.WithLabelValues(path, fmt.Sprint(a.Known)).Inc()
		if err := encoder.Encode(a); err != nil {
			return nil // the client has gone
		}
	}
	return nil
}
