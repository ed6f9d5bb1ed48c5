package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

const text = "The quick brown fox jumps over the lazy dog while the sun sets slowly behind the old mill, and nobody in the village notices that the river has risen by two feet since the morning."

// serve runs the service with some flags. It returns a function that sends a request to it, and one
// that stops it.
func serve(t *testing.T, flags ...string) (do func(method, path, body string) (int, string), stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- run(ctx, append([]string{"-listen", "127.0.0.1:0"}, flags...), io.Discard, func(addr string) { ready <- addr })
	}()
	var addr string
	select {
	case addr = <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequest(method, "http://"+addr+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(b)
	}, stop
}

func TestService(t *testing.T) {
	dir := t.TempDir()
	for _, store := range []string{"memory:", "pebble:" + dir + "/pebble", "sqlite:" + dir + "/store.db"} {
		t.Run(store[:6], func(t *testing.T) {
			do, stop := serve(t, "-store", store)
			want := func(method, path, body string, status int, answer string) {
				t.Helper()
				if gotStatus, got := do(method, path, body); gotStatus != status || !strings.Contains(got, answer) {
					t.Errorf("%s %s %.60s: %d %s, want %d %s", method, path, body, gotStatus, got, status, answer)
				}
			}
			doc := func(id, text string) string { return fmt.Sprintf(`{"id": %q, "text": %q}`, id, text) }
			want("GET", "/health", "", 200, "ok")
			want("POST", "/documents", doc("a", text), 200, `{"id":"a","known":false,"matches":[]}`)
			want("POST", "/documents", doc("a", text), 200, `{"id":"a","known":false,"matches":[]}`) // a document is no near-duplicate of itself
			want("POST", "/search", doc("", text+"!"), 200, `"known":true,"matches":[{"id":"a","distance":0}]`)
			want("POST", "/documents", doc("网页/1?x", strings.ToUpper(text))+"\n"+doc("c", "Something else, which has nothing to do with foxes or rivers."), 200,
				`{"id":"网页/1?x","known":true,"matches":[{"id":"a","distance":0}]}`+"\n"+`{"id":"c","known":false,"matches":[]}`)
			want("POST", "/documents", doc("nothing", " … "), 200, `{"id":"nothing","known":false,"empty":true,"matches":[]}`)
			want("DELETE", "/documents/a", "", 204, "")
			want("DELETE", "/documents/a", "", 204, "")
			want("POST", "/search", doc("", text), 200, `[{"id":"网页/1?x","distance":0}]`)
			want("DELETE", "/documents/"+"%E7%BD%91%E9%A1%B5/1%3Fx", "", 204, "")
			want("POST", "/search", doc("", text), 200, `"known":false`)
			// Ids are used unchanged: no path is cleaned, and nothing in them is replaced.
			for _, id := range []string{"http://example.org//a/../b", "a//b", "../x", "%41"} {
				want("POST", "/documents", doc(id, text), 200, `"known":false`)
				want("DELETE", "/documents/"+strings.ReplaceAll(strings.ReplaceAll(id, "%", "%25"), "..", "%2E%2E"), "", 204, "")
				want("POST", "/search", doc("", text), 200, `"known":false`)
			}
			want("POST", "/documents", "{\"id\": \"a\xff\", \"text\": \"x\"}", 400, "UTF-8")
			want("POST", "/documents", `{"id": "a\ud800", "text": "x"}`, 400, "UTF-8")
			want("POST", "/documents", "", 400, "no document")
			want("POST", "/documents", "{", 400, "document 1")
			want("POST", "/documents", doc("x", text)+`{"id": "y"}`, 400, "document 2")
			want("POST", "/documents", doc("", text), 400, "empty")
			want("POST", "/documents", doc(strings.Repeat("x", 2000), text), 400, "1024")
			want("GET", "/documents", "", 405, "")
			want("GET", "/metrics", "", 200, `neardup_documents_total{found="true",path="/documents"} 1`)
			stop()
			if store == "memory:" {
				return
			}
			do, _ = serve(t, "-store", store)
			want("POST", "/search", doc("", "Something else, which has nothing to do with foxes or rivers!"), 200, `[{"id":"c","distance":0}]`)
		})
	}
}

func TestLimits(t *testing.T) {
	do, _ := serve(t, "-max-body", "300")
	if status, answer := do("POST", "/documents", `{"id": "a", "text": "`+strings.Repeat("word ", 100)+`"}`); status != 413 || !strings.Contains(answer, "300") {
		t.Errorf("%d %s", status, answer)
	}
}

// TestEqualTexts checks that a request with very many equal texts takes limited memory, and that
// one with too many empty texts is refused.
func TestEqualTexts(t *testing.T) {
	do, _ := serve(t, "-store", "memory:")
	var body strings.Builder
	for i := range mostDocuments {
		fmt.Fprintf(&body, `{"id": "%d", "text": "404 not found, try again"}`+"\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	status, answer := do("POST", "/documents", body.String())
	runtime.ReadMemStats(&after)
	if n := strings.Count(answer, `"distance":0`); status != 200 || n != mostMatchesAll || strings.Count(answer, `"more":true`) != mostDocuments {
		t.Errorf("status %d, %d matches", status, n)
	}
	if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 300 {
		t.Errorf("%d equal texts allocate %d MB", mostDocuments, grown)
	}
	if status, answer := do("POST", "/search", strings.Repeat(`{"text":""}`, mostDocuments+1)); status != 413 {
		t.Errorf("too many documents: %d %.100s", status, answer)
	}
}

// slow is a store that answers when the test tells it to.
type slow struct {
	blockstore.Store
	entered, release chan struct{}
}

func (s slow) Search(ctx context.Context, fps []neardup.Fingerprint64, _ int) ([][]neardup.Match[string], error) {
	s.entered <- struct{}{}
	select {
	case <-s.release:
		return make([][]neardup.Match[string], len(fps)), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestConcurrency checks that one request too many is told to try again, and that a request that
// takes too long ends.
func TestConcurrency(t *testing.T) {
	ix, err := neardup.NewIndex[string, neardup.Fingerprint64](3, neardup.IndexOptions{})
	if err != nil {
		t.Fatal(err)
	}
	store := slow{blockstore.FromIndex(ix), make(chan struct{}, 3), make(chan struct{})}
	var log bytes.Buffer
	s := newService(store, neardup.Fingerprinter{}, slog.New(slog.NewTextHandler(&log, nil)), 1000, 2, 200*time.Millisecond)
	h := s.handler()
	post := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/search", strings.NewReader(`{"text": "some words"}`)))
		return w
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if w := post(); w.Code != http.StatusGatewayTimeout {
				t.Errorf("a slow request: %d %s", w.Code, w.Body)
			}
		})
	}
	<-store.entered
	<-store.entered
	if w := post(); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("a third request: %d %s", w.Code, w.Body)
	}
	wg.Wait()
	close(store.release)
	if w := post(); w.Code != http.StatusOK {
		t.Errorf("after them: %d %s", w.Code, w.Body)
	}
}

// TestPasswords checks that no error contains the password.
func TestPasswords(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	for _, where := range []string{
		"redis://user:s3cret%2Fword@127.0.0.1:1/0",
		"mysql://user:s3cret%2Fword@127.0.0.1:1/db",
		"postgres://user:s3cret%2Fword@127.0.0.1:1/db?sslmode=wrong",
		"postgres://user:s3cret%2Fword@127.0.0.1:1/db",
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
	} {
		_, err := openStore(ctx, where, 3, 0, "")
		if err == nil {
			t.Errorf("%s is opened", where)
			continue
		}
		if strings.Contains(err.Error(), "s3cret") || strings.Contains(shown(where), "s3cret") {
			t.Errorf("%v; %s", err, shown(where))
		}
	}
	if err := run(ctx, []string{"-store", "memory:", "-distance", "70"}, io.Discard, nil); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("distance 70: %v", err)
	}
}
