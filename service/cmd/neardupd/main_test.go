package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/internal/server"
	"github.com/neardup/neardup/service/client"
)

var kills = flag.Int("kills", 8, "how often TestKill kills the service")

var bg = context.Background()

// started runs the service in this process until the test ends, and returns its address.
func started(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(bg)
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- run(ctx, append([]string{"--listen", "127.0.0.1:0"}, args...), io.Discard, io.Discard, func(a string) { address <- a })
	}()
	select {
	case a := <-address:
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		return a
	case err := <-ended:
		t.Fatal(err)
	}
	return ""
}

// TestStores: fingerprints in files of Pebble and SQLite are there when the service starts again, and two collections of one store have nothing in
// common.
func TestStores(t *testing.T) {
	dir := t.TempDir()
	args := []string{"--dir", filepath.Join(dir, "collections"), "--store", "pebble=pebble:" + filepath.Join(dir, "pebble"), "--store", "sqlite=sqlite:" + filepath.Join(dir, "db")}
	const text = "a text that is long enough to have some more words than the few that a fingerprint needs"
	for round := range 2 {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			c := client.Client{URL: "http://" + started(t, args...)}
			for _, store := range []string{"pebble", "sqlite"} {
				for _, name := range []string{store + "_one", store + "_two"} {
					if err := c.Create(bg, name, client.Settings{Method: "simhash", Store: store}); err != nil {
						t.Fatal(err)
					}
				}
				for _, name := range []string{store + "_one", store + "_two"} {
					d, err := c.PutIfNew(bg, name, client.Document{ID: fmt.Sprint(name, round), Text: text}, 3)
					if err != nil || d.Added != (round == 0) || round == 1 && (len(d.Matches) != 1 || d.Matches[0].ID != name+"0") {
						t.Errorf("%s: %+v, %v", name, d, err)
					}
				}
			}
		})
	}
}

// TestTLS: the service speaks TLS, and nothing else then.
func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	address := started(t, "--dir", t.TempDir(), "--tls-cert", cert, "--tls-key", key)
	pool := x509.NewCertPool()
	if text, err := os.ReadFile(cert); err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	c := client.Client{URL: "https://" + address, HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}}
	defer c.HTTP.CloseIdleConnections()
	if err := c.Create(bg, "pages", client.Settings{}); err != nil {
		t.Error(err)
	}
	c = client.Client{URL: "http://" + address}
	if err := c.Create(bg, "mails", client.Settings{}); err == nil {
		t.Error("a collection was made without TLS")
	}
}

// TestHealth: --health says whether a service answers at an address, with TLS and without.
func TestHealth(t *testing.T) {
	cert, key := certificate(t)
	for _, args := range [][]string{nil, {"--tls-cert", cert, "--tls-key", key}} {
		_, port, err := net.SplitHostPort(started(t, append([]string{"--dir", t.TempDir()}, args...)...))
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"127.0.0.1", "localhost", "", "0.0.0.0"} {
			err := run(bg, []string{"--dir", t.TempDir(), "--listen", net.JoinHostPort(host, port), "--health"}, io.Discard, io.Discard, nil)
			if err != nil {
				t.Errorf("%q, %q: %v", args, host, err)
			}
		}
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, listen := range []string{other.Listener.Addr().String(), "127.0.0.1:1", "8080"} {
		if err := run(bg, []string{"--dir", t.TempDir(), "--listen", listen, "--health"}, io.Discard, io.Discard, nil); err == nil {
			t.Errorf("%s is said to be healthy", listen)
		}
	}
}

// certificate makes a certificate for this machine, and returns the files.
func certificate(t *testing.T) (cert, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, text []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: text}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert", "CERTIFICATE", public), write("key", "PRIVATE KEY", secret)
}

// TestWrongFlags: what cannot work is said at once.
func TestWrongFlags(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	os.WriteFile(tokens, []byte("a s3cret read *\n"), 0o600)
	for _, args := range [][]string{
		{}, {"--dir", t.TempDir(), "--tls-cert", tokens}, {"--dir", t.TempDir(), "--tokens", tokens}, {"--dir", t.TempDir(), "--listen", "nowhere:x"},
		{"--dir", t.TempDir(), "--rate", "-1"}, {"--dir", tokens}, {"--dir", t.TempDir(), "--no-such-flag"},
	} {
		err := run(bg, args, io.Discard, io.Discard, func(string) { t.Errorf("%q: listens", args) })
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", args, err)
		}
	}
	for _, store := range []string{"redis://u:s3cret@127.0.0.1:1/0", "x=memory: s3cret", "x;y=s3cret"} {
		t.Setenv("NEARDUPD_STORE", store)
		if err := run(bg, []string{"--dir", t.TempDir()}, io.Discard, io.Discard, nil); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", store, err)
		}
	}
	t.Setenv("NEARDUPD_STORE", "")
	var out bytes.Buffer
	if err := run(bg, []string{"--dir", t.TempDir(), "--openapi"}, &out, io.Discard, nil); err != nil || !strings.Contains(out.String(), "put-if-new") {
		t.Errorf("%v: %.100s", err, out.String())
	}
}

// TestPasswords: errors of stores, and what is printed of their URLs, have no passwords, wherever they stand.
func TestPasswords(t *testing.T) {
	ctx, cancel := context.WithTimeout(bg, 3*time.Second)
	defer cancel()
	scheme, err := blockstore.Hamming[neardup.Fingerprint64](3, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{
		"redis://user:s3cret%2Fword@127.0.0.1:1/0",
		"mysql://user:s3cret%2Fword@127.0.0.1:1/db",
		"postgres://user:s3cret%2Fword@127.0.0.1:1/db?sslmode=wrong",
		"postgres://user:s3cret%2Fword@127.0.0.1:1/db",
		"postgres://127.0.0.1:1/db?user=user&password=s3cret%2Fword",
		"mongodb://user:s3cret%2Fword@127.0.0.1:1/?serverSelectionTimeoutMS=200",
		"mongodb://user:s3cret%2Fword@127.0.0.1:1/?nonsense=1",
		"redis://user:s3cret%2Fword@127.0.0.1:port/0",
		"nothing://user:s3cret%2Fword@127.0.0.1/",
		"postgres://user:s3cret/word@127.0.0.1:1/db",
		"user:s3cret@tcp(127.0.0.1)/db",
		"host=127.0.0.1 user=u password=s3cret",
		"mysql:user:s3cret@tcp(127.0.0.1)/db",
		"s3cret",
		"pebble:",
		"pebble:/dev/null/x?password=s3cret",
		"sqlite:/dev/null/x?_key=s3cret",
		"pebble://user:s3cret@/dev/null/x",
	} {
		s, err := storeAt(where).Fingerprints(ctx, "pages", scheme, "")
		if err == nil {
			t.Errorf("%s is opened", where)
			s.Close()
			continue
		}
		if strings.Contains(err.Error(), "s3cret") || strings.Contains(shown(where), "s3cret") {
			t.Errorf("%v; %s", err, shown(where))
		}
	}
}

// TestKill kills the service again and again while clients put texts. What was acknowledged is there afterwards, and of two near-duplicates only
// one.
func TestKill(t *testing.T) {
	program, dir := built(t), t.TempDir()
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	next := 0
	for kill := range *kills + 1 {
		c, url := process(t, program, "--dir", dir)
		api := client.Client{URL: url, HTTP: &http.Client{Transport: &http.Transport{}}}
		if kill == 0 {
			if err := api.Create(bg, "pages", client.Settings{}); err != nil {
				t.Fatal(err)
			}
		}
		if kill == *kills {
			for id := range acknowledged {
				if _, ok, err := api.Get(bg, "pages", id); !ok || err != nil {
					t.Errorf("%s of %d acknowledged: %t, %v", id, len(acknowledged), ok, err)
				}
			}
			c.Process.Signal(os.Interrupt)
			if err := c.Wait(); err != nil {
				t.Errorf("it did not stop by itself: %v", err)
			}
			break
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					mu.Lock()
					n := next
					next++
					mu.Unlock()
					id := fmt.Sprint(n)
					d, err := api.PutIfNew(bg, "pages", client.Document{ID: id, Text: text(n)}, 3)
					if err != nil {
						return // killed
					}
					if !d.Added {
						t.Errorf("%s is like %v", id, d.Matches)
					}
					mu.Lock()
					acknowledged[id] = true
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Duration(5+mrand.IntN(60)) * time.Millisecond)
		c.Process.Kill()
		wg.Wait()
		if err := c.Wait(); err == nil {
			t.Error(errors.New("it was not killed"))
		}
		api.HTTP.CloseIdleConnections()
	}
	if len(acknowledged) < *kills {
		t.Errorf("%d acknowledged", len(acknowledged))
	}
	t.Logf("%d kills, %d acknowledged", *kills, len(acknowledged))
}

// built builds the program.
func built(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "neardupd")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// process starts the service as a process of its own, and returns its URL when it listens.
func process(t *testing.T, program string, args ...string) (c *exec.Cmd, url string) {
	t.Helper()
	c = exec.Command(program, append(args, "--listen", "127.0.0.1:0")...)
	log, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill() })
	lines := bufio.NewScanner(log)
	for url == "" && lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), "address="); ok {
			address, _, _ := strings.Cut(rest, " ")
			url = "http://" + address
		} else if strings.Contains(lines.Text(), "ERROR") || strings.HasPrefix(lines.Text(), "neardupd:") {
			t.Error(lines.Text())
		}
	}
	go io.Copy(io.Discard, log)
	return c, url
}

// TestProcesses: two services, each a process, share a collection in Redis. What one has answered the other finds at once, and both may change
// the same ids.
func TestProcesses(t *testing.T) {
	redis := server.ForTest(t, "redis")
	program := built(t)
	for _, method := range []string{"simhash", "minhash"} {
		t.Run(method, func(t *testing.T) { shareACollection(t, program, redis, method) })
	}
}

func shareACollection(t *testing.T, program string, redis *server.Server, method string) {
	name := "pages_by_" + method
	var apis []client.Client
	for range 2 {
		c, url := process(t, program, "--dir", t.TempDir(), "--store", "redis=redis://127.0.0.1:"+redis.Port)
		defer c.Wait()
		defer c.Process.Signal(os.Interrupt)
		apis = append(apis, client.Client{URL: url})
		if err := apis[len(apis)-1].Create(bg, name, client.Settings{Method: method, Store: "redis"}); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			one, other := &apis[worker%2], &apis[1-worker%2]
			for i := range 50 {
				d := client.Document{ID: fmt.Sprint(worker, " ", i), Text: text(worker*1000 + i)}
				if err := one.Put(bg, name, d); err != nil {
					t.Error(err)
				}
				if err := one.Put(bg, name, client.Document{ID: "shared", Text: text(worker*1000 + i + 500)}); err != nil {
					t.Error(err)
				}
				found, err := other.Search(bg, name, d.Text, 3)
				if err != nil || len(found.Matches) != 1 || found.Matches[0].ID != d.ID {
					t.Errorf("the other service finds %v of %s: %v", found, d.ID, err)
				}
				if d, err := other.PutIfNew(bg, name, client.Document{ID: "again " + d.ID, Text: d.Text}, 3); err != nil || d.Added {
					t.Errorf("%+v, %v", d, err)
				}
				if i%2 == 0 {
					if was, err := other.Delete(bg, name, d.ID); !was || err != nil {
						t.Errorf("delete: %t, %v", was, err)
					}
					if _, ok, err := one.Get(bg, name, d.ID); ok || err != nil {
						t.Errorf("get of what the other service has deleted: %t, %v", ok, err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// text returns a text of its own for a number.
func text(number int) string {
	random := mrand.New(mrand.NewPCG(uint64(number), 1))
	var b strings.Builder
	for range 50 {
		for n := random.IntN(1 << 20); n > 0; n /= 26 {
			b.WriteByte(byte('a' + n%26))
		}
		b.WriteByte(' ')
	}
	return b.String()
}
