// Command incremental is a small HTTP service for documents that arrive one by one. For each
// document it answers which near-duplicates it already has, and then stores the document, as Li
// 2015 §2.3 does with new rows of a database. Any number of such services may share a store.
//
//	go run -C examples/incremental . -store pebble:/tmp/documents
//	curl -d '{"id": "1", "text": "…"}' http://127.0.0.1:8080/documents
//
// The body of POST /documents is one or more JSON objects, one after the other. The answer has a
// line for each:
//
//	{"id": "2", "known": true, "matches": [{"id": "1", "distance": 0}]}
//
// A text without letters and digits has nothing to compare. It is not stored, and its line has
// "empty": true.
//
// POST /search answers in the same way, but stores nothing. DELETE /documents/ID removes a
// document. GET /health reports whether the store works. GET /metrics has metrics for Prometheus.
//
// The file service.go has the HTTP handlers, and store.go opens the stores.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/neardup/neardup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr, func(string) {})
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "incremental:", err)
		os.Exit(1)
	}
}

// run serves until the context ends, and then finishes the requests that are running. It calls
// ready with the address once it accepts connections.
func run(ctx context.Context, args []string, stderr io.Writer, ready func(addr string)) error {
	f := flag.NewFlagSet("incremental", flag.ContinueOnError)
	f.SetOutput(stderr)
	listen := f.String("listen", "127.0.0.1:8080", "`ADDRESS` to listen on. Without a host, such as :8080, everybody in the network can connect")
	where := f.String("store", "memory:", "`URL` of the store: memory:, pebble:DIR, sqlite:FILE, redis://…, rediss://…, mongodb://…,\nmysql://USER:PASSWORD@HOST/DATABASE or postgres://USER:PASSWORD@HOST/DATABASE")
	distance := f.Int("distance", 3, "largest Hamming distance of near-duplicates, in bits")
	blocks := f.Int("blocks", 0, "number of blocks of the store; 0 means the distance plus 1. From ten million documents on,\n5 or 6 are better")
	maxBody := f.Int64("max-body", 8<<20, "size of the largest request that is accepted, in bytes")
	concurrent := f.Int("concurrent", 64, "number of requests to work on at the same time; further requests are told to try again")
	timeout := f.Duration("timeout", 20*time.Second, "how long a request may take")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || *maxBody < 1 || *concurrent < 1 || *timeout <= 0 {
		return errors.New("wrong flags: arguments are not allowed, and -max-body, -concurrent and -timeout must be above 0")
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))

	fingerprinter := neardup.Fingerprinter{}
	version, err := fingerprinter.Version()
	if err != nil {
		return err
	}
	opening, cancel := context.WithTimeout(ctx, 30*time.Second)
	store, err := openStore(opening, *where, *distance, *blocks, version)
	cancel()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	s := newService(store, fingerprinter, log, *maxBody, *concurrent, *timeout)
	server := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       *timeout,
		WriteTimeout:      2 * *timeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	log.Info("listening", "address", listener.Addr().String(), "store", shown(*where))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	ready(listener.Addr().String())
	select {
	case err = <-served:
	case <-ctx.Done():
		log.Info("stopping; finishing the requests that are running")
		stopping, cancel := context.WithTimeout(context.Background(), *timeout+5*time.Second)
		defer cancel()
		err = server.Shutdown(stopping)
	}
	return errors.Join(err, store.Close())
}
