package service

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/service/client"
)

var bg = context.Background()

// A server is a service that listens.
type server struct {
	*Service
	t   *testing.T
	url string
	log *bytes.Buffer
}

// serve starts a service in a directory, or in a new one.
func serve(t *testing.T, o Options) *server {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	log := &bytes.Buffer{}
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	s, err := New(bg, o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &server{s, t, h.URL, log}
}

// memoryStores are stores in memory, each by its collection.
func memoryStores(t *testing.T) map[string]Store {
	return map[string]Store{"memory": memory{map[string]blockstore.Store[neardup.Fingerprint64]{}, map[string]blockstore.Store[neardup.Signature]{}}}
}

// A memory keeps stores by collection.
type memory struct {
	fingerprints map[string]blockstore.Store[neardup.Fingerprint64]
	signatures   map[string]blockstore.Store[neardup.Signature]
}

func (m memory) Fingerprints(_ context.Context, collection string, scheme blockstore.Scheme[neardup.Fingerprint64], version string) (blockstore.Store[neardup.Fingerprint64], error) {
	if m.fingerprints[collection] == nil {
		ix, err := neardup.NewIndex[string, neardup.Fingerprint64](scheme.Distance(), neardup.IndexOptions{})
		if err != nil {
			return nil, err
		}
		m.fingerprints[collection] = blockstore.FromIndex(ix)
	}
	return m.fingerprints[collection], nil
}

func (m memory) Signatures(_ context.Context, collection string, scheme blockstore.Scheme[neardup.Signature], version string) (blockstore.Store[neardup.Signature], error) {
	if m.signatures[collection] == nil {
		ix, err := neardup.NewSignatureIndex[string](0.7, neardup.SignatureIndexOptions{Bits: signatureBits})
		if err != nil {
			return nil, err
		}
		m.signatures[collection] = blockstore.FromIndex(ix)
	}
	return m.signatures[collection], nil
}

// client returns a client without a token.
func (s *server) client() *client.Client { return &client.Client{URL: s.url} }

// create makes a collection.
func (s *server) create(name string, settings client.Settings) {
	s.t.Helper()
	if err := s.client().Create(bg, name, settings); err != nil {
		s.t.Fatal(err)
	}
}

// call sends a request, and returns the status and the body of its answer.
func (s *server) call(method, path, body string, header ...string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// wants fails unless a request gets an answer with a status and a part of a text.
func (s *server) wants(status int, part, method, path, body string, header ...string) {
	s.t.Helper()
	if got, text := s.call(method, path, body, header...); got != status || !strings.Contains(text, part) {
		s.t.Errorf("%s %s: %d %.300s, not %d with %q", method, path, got, text, status, part)
	}
}

// must returns a value, and panics on an error.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// text returns a text of its own for a number. The versions of one are near-duplicates.
func text(number, version int) string {
	var b strings.Builder
	for i := range 60 {
		b.WriteString(word((number+1)*7919*(i+3)%100_003) + " ")
	}
	if version > 0 {
		b.WriteString(word(version))
	}
	return b.String()
}

// word returns a word for a number.
func word(n int) (w string) {
	for ; n > 0; n /= 26 {
		w += string(rune('a' + n%26))
	}
	return w
}

// asJSON returns a value as JSON.
func asJSON(v any) string { return string(must(json.Marshal(v))) }

// eventually fails unless something is true soon.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 500 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal(what)
}
