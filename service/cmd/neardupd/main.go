// Command neardupd serves collections of texts over HTTP: it stores texts, and finds near-duplicates of new ones.
//
//	neardupd --dir /var/lib/neardupd
//	curl -X PUT -d '{}' http://127.0.0.1:8080/v1/collections/pages
//	curl -d '{"id": "1", "text": "…"}' http://127.0.0.1:8080/v1/collections/pages/put-if-new
//
// https://github.com/neardup/neardup/blob/main/docs/story-service.md shows what it does from the beginning to the end. The OpenAPI description is at /openapi.json, and a page at /.
//
// The file stores.go opens the stores of fingerprints that several services may share.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/net/netutil"

	"github.com/neardup/neardup/service"
)

// This file reads the flags, serves, and stops. Package service answers the requests; this program adds the
// listener, TLS, the limit of connections and the signals. SIGINT and SIGTERM end it after the requests in
// progress, and SIGHUP reloads the tokens.

type flags struct {
	Dir         string           `required:"" placeholder:"DIR" type:"path" help:"Directory of the collections. It is created if it does not exist."`
	Listen      string           `default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"Where to listen. Without a host, such as :8080, anyone on the network can connect; then use tokens and TLS (${default})."`
	Tokens      string           `placeholder:"FILE" type:"existingfile" help:"A file of bearer tokens, each line with a name, a token, read, write or admin, and collections or *. SIGHUP reloads it. Without it, everyone has full access."`
	TLSCert     string           `name:"tls-cert" placeholder:"FILE" type:"existingfile" help:"The certificate for TLS, in PEM."`
	TLSKey      string           `name:"tls-key" placeholder:"FILE" type:"existingfile" help:"The key of the certificate, in PEM."`
	Store       []string         `placeholder:"NAME=URL" sep:"none" help:"A store for collections of fingerprints: pebble:DIR, sqlite:FILE, redis://…, rediss://…, mongodb://…, mysql://USER:PASSWORD@HOST/DATABASE or postgres://…. A flag can be seen in the list of processes; NEARDUPD_STORE in the environment, with several stores separated by spaces, cannot."`
	Host        []string         `placeholder:"NAME" help:"Without --tokens, a name of this service besides its addresses and localhost. Requests for other names are refused, because pages of other sites could send them."`
	Memory      int64            `placeholder:"MB" help:"Memory for each collection of the method auto, in MB; what does not fit is kept in files. The default is half of the memory of the machine."`
	MaxBody     int64            `default:"8" placeholder:"MB" help:"The largest body, in MB. A batch may be four times as large (${default})."`
	Concurrent  int              `default:"64" help:"How many requests to process at a time; others get 503 (${default})."`
	Connections int              `default:"4096" help:"How many connections may be open at a time; others wait (${default})."`
	Rate        float64          `help:"How many requests a token or an address may make per second; others get 429. By default there is no limit."`
	Timeout     time.Duration    `default:"20s" help:"How long a request may take (${default})."`
	OpenAPI     bool             `name:"openapi" help:"Print the OpenAPI description, and exit."`
	Health      bool             `help:"Ask the service that listens at the port of --listen on this machine whether it is alive, and exit with 0 or 1. A container without a shell checks itself with it."`
	Version     kong.VersionFlag `help:"Print the version, and exit."`
}

// version is what the linker sets in releases and images (-ldflags "-X main.version=v0.2.0"). It is empty in a program that go build
// or go install made; programVersion then takes the version of the module.
var version string

func main() {
	// A goroutine that waits for a file holds its processor up for a while, so there are twice as many: 8
	// clients gain a tenth (lab/cmd/load). Whoever sets GOMAXPROCS gets what they ask for.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr, func(string) {}); err != nil {
		fmt.Fprintln(os.Stderr, "neardupd:", err)
		os.Exit(1)
	}
}

// programVersion returns the name and the version of the program.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return "neardupd " + info.Main.Version
	}
	return "neardupd " + cmp.Or(version, "(unknown)")
}

// run serves until the context ends, and then finishes the requests that are worked on. It calls ready with
// the address when it accepts connections. Everything that main uses of the process is a parameter, so that
// tests can run it several times. s.Close comes after serve has ended, since requests need the collections,
// and its error is one of the program: it can be that of the last write.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, ready func(address string)) error {
	var f flags
	exited := false
	parser, err := kong.New(&f, kong.Name("neardupd"), kong.Description("Serves collections of texts over HTTP, and finds near-duplicates."), kong.Writers(stdout, stderr), kong.Exit(func(int) { exited = true }), kong.Vars{"version": programVersion()})
	if err != nil {
		return err
	}
	// --help calls the Exit above, which returns. Parse then goes on, so its error counts only if nothing
	// has exited.
	if _, err := parser.Parse(args); exited || err != nil {
		if exited {
			return nil
		}
		return err
	}
	// Nothing else of the flags is used, so a check in a container may have those of the service.
	if f.Health {
		return healthy(ctx, f.Listen)
	}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return errors.New("--tls-cert and --tls-key must be used together")
	}
	if f.Connections < 1 {
		return errors.New("--connections must be 1 or more")
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	o, err := f.options(log)
	if err != nil {
		return err
	}
	// SIGHUP ends a process that does not ask for it, also one that is still opening its collections.
	again := make(chan os.Signal, 1) // before the collections are opened, which may take a while
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	s, err := service.New(ctx, o)
	if err != nil {
		return err
	}
	err = serve(ctx, &f, s, stdout, log, again, ready)
	return errors.Join(err, s.Close())
}

// healthy asks the service at the port of an address of this machine whether it is alive. It tries TLS first. The certificate is not checked: it is
// for the name by which others know the service, and nothing secret is sent.
func healthy(ctx context.Context, listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return err
	}
	// A service that listens at all addresses also does so at this one.
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	c := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer c.CloseIdleConnections()
	// In this order, a service without TLS answers the first attempt with 400 and logs nothing; the other
	// way round, one with TLS would log an error for each check.
	var failed error
	for _, scheme := range []string{"https://", "http://"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+net.JoinHostPort(host, port)+"/healthz", nil)
		if err != nil {
			return err
		}
		response, err := c.Do(request)
		if err != nil {
			failed = err
			continue
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		failed = fmt.Errorf("%s: %s", request.URL, response.Status)
	}
	return failed
}

// storeName matches the names of stores.
var storeName = regexp.MustCompile(`^[a-z0-9_]+$`)

// options returns the options of the service. Stores are not opened here: the service opens those that its
// collections refer to. So a store that is not used need not be reachable.
func (f *flags) options(log *slog.Logger) (o service.Options, err error) {
	o = service.Options{
		Dir: f.Dir, MaxBody: f.MaxBody << 20, Concurrent: f.Concurrent, Rate: f.Rate, Timeout: f.Timeout, Hosts: f.Host, Memory: f.Memory << 20, Log: log,
		Stores: map[string]service.Store{},
	}
	if f.Tokens != "" {
		if o.Tokens, err = service.ReadTokens(f.Tokens); err != nil {
			return o, err
		}
	}
	for _, store := range append(f.Store, strings.Fields(os.Getenv("NEARDUPD_STORE"))...) {
		name, where, ok := strings.Cut(store, "=")
		if !ok || !storeName.MatchString(name) {
			return o, errors.New("--store and NEARDUPD_STORE need NAME=URL") // without what was given, which may have a password
		}
		o.Stores[name] = storeAt(where)
	}
	return o, nil
}

// serve listens and answers. It returns when the context has ended and the requests are done, or when the
// listener fails. Shutdown waits for requests that are worked on: longer than a request may take, but not
// for a long batch, which Stop makes end early. With --openapi it prints and does not listen.
func serve(ctx context.Context, f *flags, s *service.Service, stdout io.Writer, log *slog.Logger, again <-chan os.Signal, ready func(address string)) error {
	if f.OpenAPI {
		text, err := s.OpenAPI()
		if err == nil {
			_, err = fmt.Fprintf(stdout, "%s\n", text)
		}
		return err
	}
	listener, err := net.Listen("tcp", f.Listen)
	if err != nil {
		return err
	}
	// A connection costs memory and a descriptor before the service can refuse anything. Those above the
	// limit wait in the queue of the system.
	listener = netutil.LimitListener(listener, f.Connections)
	// ReadTimeout and WriteTimeout would hold for restores and backups too, so the service sets a deadline
	// for each request. These are for what comes before a request and between two.
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	// There is room for the error, so that the goroutine ends also after nobody reads it any more.
	served := make(chan error, 1)
	go func() {
		if f.TLSCert != "" {
			served <- server.ServeTLS(listener, f.TLSCert, f.TLSKey)
		} else {
			served <- server.Serve(listener)
		}
	}()
	log.Info("listening", "address", listener.Addr().String(), "tls", f.TLSCert != "", "tokens", f.Tokens != "")
	if a, ok := listener.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && f.Tokens == "" {
		log.Warn("anyone who can reach this address has full access, because --tokens is not set")
	}
	ready(listener.Addr().String())
	for {
		select {
		case err := <-served:
			return err
		case <-again:
			if err := s.ReloadTokens(); err != nil {
				log.Error("cannot reload the tokens; the old ones stay in use", "error", err)
			} else {
				log.Info("tokens reloaded")
			}
		case <-ctx.Done():
			s.Stop()
			log.Info("shutting down; requests in progress have time to finish")
			// The context of the program has ended; this one must not be made of it.
			stopping, cancel := context.WithTimeout(context.Background(), f.Timeout+5*time.Second)
			defer cancel()
			if err := server.Shutdown(stopping); err != nil {
				log.Warn("some requests were cut off", "error", err)
				return server.Close()
			}
			return nil
		}
	}
}
