// Command incremental is a small HTTP service that takes documents, answers which near-duplicates of them are known,
// and stores them, as Li 2015 §2.3 does with new rows. Any number of such services may share a store.
//
//	go run -C examples/incremental . -store pebble:/tmp/documents
//	curl -d '{"id": "1", "text": "…"}' http://127.0.0.1:8080/documents
//
// The body of POST /documents is one JSON object or several, one after the other; the answer has a line for each:
//
//	{"id": "2", "known": true, "matches": [{"id": "1", "distance": 0}]}
//
// A text without any letter or number has nothing to compare: it is not stored, and its line says "empty": true. POST /search answers the
// same without storing. DELETE /documents/ID removes a document. GET /health says whether the store answers, and
// GET /metrics has figures for Prometheus.
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

// run serves until the context ends. ready gets the address when connections are accepted.
func run(ctx context.Context, args []string, stderr io.Writer, ready func(addr string)) error {
	f := flag.NewFlagSet("incremental", flag.ContinueOnError)
	f.SetOutput(stderr)
	listen := f.String("listen", "127.0.0.1:8080", "`ADDRESS` to listen on; without a host it is all of this machine's, which anybody in the network can use")
	where := f.String("store", "memory:", "`URL` of the store: memory:, pebble:DIR, sqlite:FILE, redis://…, rediss://…, mongodb://…,\nmysql://USER:PASSWORD@HOST/DATABASE or postgres://USER:PASSWORD@HOST/DATABASE")
	distance := f.Int("distance", 3, "Hamming distance up to which documents count as near-duplicates")
	blocks := f.Int("blocks", 0, "blocks of the store; 0 means one more than the distance, 5 or 6 are better from ten million documents on")
	maxBody := f.Int64("max-body", 8<<20, "largest request in bytes")
	concurrent := f.Int("concurrent", 64, "requests at once; more are told to try again")
	timeout := f.Duration("timeout", 20*time.Second, "longest time that a request may take")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || *maxBody < 1 || *concurrent < 1 || *timeout <= 0 {
		return errors.New("flags: there are no arguments, and -max-body, -concurrent and -timeout are positive")
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
		log.Info("stopping, when what is under way is done")
		stopping, cancel := context.WithTimeout(context.Background(), *timeout+5*time.Second)
		defer cancel()
		err = server.Shutdown(stopping)
	}
	return errors.Join(err, store.Close())
}
