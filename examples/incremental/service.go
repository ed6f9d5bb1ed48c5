package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// This file has the HTTP handlers. Every request is limited in size, time and number of answers, so
// the memory of the service depends only on the number of requests at the same time.

// A service answers HTTP requests.
type service struct {
	store         blockstore.Store
	fingerprinter neardup.Fingerprinter
	log           *slog.Logger
	maxBody       int64
	timeout       time.Duration
	places        chan struct{} // one element for each running request

	registry  *prometheus.Registry
	requests  *prometheus.CounterVec   // by path and status
	seconds   *prometheus.HistogramVec // by path
	documents *prometheus.CounterVec   // by path and whether a near-duplicate was found
}

func newService(store blockstore.Store, f neardup.Fingerprinter, log *slog.Logger, maxBody int64, concurrent int, timeout time.Duration) *service {
	s := &service{store: store, fingerprinter: f, log: log, maxBody: maxBody, timeout: timeout,
		places:    make(chan struct{}, concurrent),
		registry:  prometheus.NewRegistry(),
		requests:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "neardup_requests_total", Help: "Number of requests."}, []string{"path", "status"}),
		seconds:   prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "neardup_request_seconds", Help: "Time of requests in seconds.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16)}, []string{"path"}),
		documents: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "neardup_documents_total", Help: "Number of documents in requests, by whether a near-duplicate was found."}, []string{"path", "found"}),
	}
	underWay := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "neardup_requests_under_way", Help: "Number of requests that are running."}, func() float64 { return float64(len(s.places)) })
	s.registry.MustRegister(s.requests, s.seconds, s.documents, underWay)
	return s
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /documents", s.limited("/documents", func(w http.ResponseWriter, r *http.Request) error {
		return s.look(w, r, "/documents", func(ctx context.Context, entries []blockstore.Entry) ([][]neardup.Match[string], error) {
			return blockstore.SearchAndPut(ctx, s.store, entries, listed(len(entries))+1)
		})
	}))
	mux.Handle("POST /search", s.limited("/search", func(w http.ResponseWriter, r *http.Request) error {
		return s.look(w, r, "/search", func(ctx context.Context, entries []blockstore.Entry) ([][]neardup.Match[string], error) {
			fps := make([]neardup.Fingerprint64, len(entries))
			for i, e := range entries {
				fps[i] = e.Fingerprint
			}
			return s.store.Search(ctx, fps, listed(len(entries))+1)
		})
	}))
	remove := s.limited("/documents", func(w http.ResponseWriter, r *http.Request) error {
		// An id may contain any characters, such as the // of a web address. So the id is the rest
		// of the path, unescaped.
		id, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), documents))
		if err != nil {
			return refusal{http.StatusBadRequest, err.Error()}
		}
		if _, err := blockstore.CheckIDs([]string{id}); err != nil {
			return refusal{http.StatusBadRequest, err.Error()}
		}
		if err := s.store.Delete(r.Context(), []string{id}); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A ServeMux would clean the path, and the handler would delete another id.
		if r.Method == http.MethodDelete && strings.HasPrefix(r.URL.EscapedPath(), documents) {
			remove.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// documents is the beginning of the path of a document.
const documents = "/documents/"

// A refusal is an error that the client made.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

// limited returns a handler that limits the number of requests at the same time, their duration and
// their size. It also counts the requests, and turns errors into answers.
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
			fail(counted, http.StatusServiceUnavailable, "too many requests at the same time; try again")
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
			fail(counted, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d bytes", tooLarge.Limit))
		case errors.Is(err, context.DeadlineExceeded):
			s.log.Error("request", "path", path, "error", err)
			fail(counted, http.StatusGatewayTimeout, "the request took too long; send it again, and it will finish")
		default:
			s.log.Error("request", "path", path, "error", err)
			fail(counted, http.StatusBadGateway, "the store failed; send the request again, and it will finish")
		}
	})
}

// A statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// fail answers with an error.
func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": text})
}

// An answer is the line that a request gets for one document.
type answer struct {
	ID      string  `json:"id"`
	Known   bool    `json:"known"`
	Empty   bool    `json:"empty,omitempty"`
	Matches []match `json:"matches"`
	More    bool    `json:"more,omitempty"` // there are more matches than listed
}

type match struct {
	ID       string `json:"id"`
	Distance int    `json:"distance"`
}

// Limits of one request: the number of documents, of matches that are listed for one document, and
// of matches that are listed for all documents together.
const (
	mostDocuments  = 10_000
	mostMatches    = 100
	mostMatchesAll = 100_000
)

// listed returns how many matches are listed for each of n documents.
func listed(n int) int { return max(1, min(mostMatches, mostMatchesAll/max(n, 1))) }

// look reads the documents of a request, asks the store for their matches, and writes an answer for
// each.
func (s *service) look(w http.ResponseWriter, r *http.Request, path string, ask func(context.Context, []blockstore.Entry) ([][]neardup.Match[string], error)) error {
	var answers []answer
	var entries []blockstore.Entry
	var at []int // for each entry, the number of its answer
	decoder := json.NewDecoder(r.Body)
	for {
		var doc struct {
			ID   string  `json:"id"`
			Text *string `json:"text"`
		}
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if err == io.EOF {
			break
		}
		if err == nil && len(answers) == mostDocuments {
			return refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d documents; send several requests", mostDocuments)}
		}
		if err == nil {
			err = json.Unmarshal(raw, &doc)
		}
		if err != nil {
			var tooLarge *http.MaxBytesError
			if errors.As(err, &tooLarge) {
				return err
			}
			return refusal{http.StatusBadRequest, fmt.Sprintf("document %d: %v", len(answers)+1, err)}
		}
		if !utf8.Valid(raw) || strings.ContainsRune(doc.ID, utf8.RuneError) { // JSON replaces what is not UTF-8, so different ids could become equal
			return refusal{http.StatusBadRequest, fmt.Sprintf("document %d: the text or the id is not valid UTF-8", len(answers)+1)}
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
		return refusal{http.StatusBadRequest, `there is no document such as {"id": "…", "text": "…"}`}
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
			most := listed(len(entries))
			a.More = len(matches) > most
			for _, m := range matches[:min(len(matches), most)] {
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
