package service

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/service/client"
)

// kinds are collections of all kinds.
var kinds = map[string]client.Settings{
	"auto":    {},
	"simhash": {Method: "simhash", Distance: 5},
	"minhash": {Method: "minhash", Similarity: 0.7},
	"store":   {Method: "simhash", Distance: 5, Store: "memory"},
	"shared":  {Method: "minhash", Similarity: 0.7, Store: "memory"},
}

// TestOperations does everything with each kind of collection, and again after the service was started again.
func TestOperations(t *testing.T) {
	for name, settings := range kinds {
		t.Run(name, func(t *testing.T) {
			o := Options{Dir: t.TempDir(), Stores: memoryStores(t)}
			for round := range 2 {
				s := serve(t, o)
				c := s.client()
				s.create(name, settings)
				s.create(name, settings) // does nothing
				if err := c.Create(bg, name, client.Settings{Method: "simhash", Distance: 1}); status(err) != http.StatusConflict {
					t.Errorf("other settings: %v", err)
				}
				if round == 0 {
					if d := must(c.PutIfNew(bg, name, client.Document{ID: "a/b?c=1&d", Text: text(1, 0)}, 10)); !d.Added || len(d.Matches) > 0 {
						t.Errorf("the first one: %+v", d)
					}
				}
				d := must(c.PutIfNew(bg, name, client.Document{ID: "second", Text: text(1, 2)}, 10))
				if d.Added || len(d.Matches) != 1 || d.Matches[0].ID != "a/b?c=1&d" || d.Matches[0].Similarity < 0.7 {
					t.Errorf("round %d, a near-duplicate: %+v", round, d)
				}
				if d = must(c.PutIfNew(bg, name, client.Document{ID: "a/b?c=1&d", Text: text(1, 0)}, 10)); d.Added || len(d.Matches) > 0 {
					t.Errorf("a request that is repeated: %+v", d)
				}
				if f := must(c.Search(bg, name, text(2, 0), 10)); len(f.Matches) > 0 {
					t.Errorf("another text finds %+v", f)
				}
				for i := range 12 {
					if err := c.Put(bg, name, client.Document{ID: fmt.Sprint(i), Text: text(3, i)}); err != nil {
						t.Fatal(err)
					}
				}
				if f := must(c.Search(bg, name, text(3, 0), 5)); len(f.Matches) != 5 || !f.More || f.Matches[0].Similarity != 1 {
					t.Errorf("5 of 12: %+v", f)
				}
				for i := range 12 {
					if was, err := c.Delete(bg, name, fmt.Sprint(i)); !was || err != nil {
						t.Errorf("delete %d: %t, %v", i, was, err)
					}
				}
				if f := must(c.Search(bg, name, text(3, 0), 5)); len(f.Matches) > 0 {
					t.Errorf("deleted ones are found: %+v", f)
				}
				if was, err := c.Delete(bg, name, "missing"); was || err != nil {
					t.Errorf("delete a missing one: %t, %v", was, err)
				}
				if doc, ok, err := c.Get(bg, name, "a/b?c=1&d"); !ok || err != nil || doc.ID != "a/b?c=1&d" || name == "auto" && doc.Text == "" {
					t.Errorf("get: %+v, %t, %v", doc, ok, err)
				}
				if _, ok, err := c.Get(bg, name, "missing"); ok || err != nil {
					t.Errorf("get a missing one: %t, %v", ok, err)
				}
				if settings.Store != "" {
					s.wants(501, "does not support this operation", "GET", "/v1/collections/"+name+"/groups", "")
				} else {
					s.wants(200, `"documents":1`, "GET", "/v1/collections/"+name, "")
				}
				s.wants(200, "ok", "GET", "/readyz", "")
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// status returns the status of an error of the client.
func status(err error) int {
	if e := (*client.Error)(nil); errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// TestBatch: the lines of a batch are done in order, and one that is wrong does not keep the others from being done.
func TestBatch(t *testing.T) {
	s := serve(t, Options{})
	s.create("pages", client.Settings{})
	orders := []client.Order{
		{Op: "put", ID: "1", Text: new(text(1, 0))},
		{Op: "put-if-new", ID: "2", Text: new(text(1, 1))},
		{Op: "put-if-new", ID: "3", Text: new(text(2, 0))},
		{Op: "search", Text: new(text(2, 1))},
		{Op: "delete", ID: "1"},
		{Op: "search", Text: new(text(1, 1))},
		{Op: "mend", ID: "1"},
		{Op: "put", ID: "4"},
		{Op: "put", ID: "a\x00b", Text: new("x")},
		{Op: "search", Text: new("x"), Limit: -1},
		{Op: "delete", ID: "1"},
	}
	out := must(s.client().Batch(bg, "pages", orders))
	var got []string
	for _, o := range out {
		near := ""
		if len(o.Matches) > 0 {
			near = o.Matches[0].ID
		}
		got = append(got, fmt.Sprintf("%t %t %s%t", o.Added, o.Deleted, near, o.Error != ""))
	}
	want := []string{"true false false", "false false 1false", "true false false", "false false 3false", "false true false", "false false false", "false false true", "false false true", "false false true", "false false true", "false false false"}
	if a, b := strings.Join(got, ", "), strings.Join(want, ", "); a != b {
		t.Errorf("outcomes\n%s\nnot\n%s", a, b)
	}
	s.wants(413, "nothing was done", "POST", "/v1/collections/pages/batch", strings.Repeat("{}\n", mostOrders+1), "Content-Type", ndjson)
	s.wants(200, `"error"`, "POST", "/v1/collections/pages/batch", "{\"op\":\"search\",\"text\":\"\xff\"}\n{\"op\":\"search\",\"text\":\"a\"} 3\n", "Content-Type", ndjson)
	s.wants(400, "too many values", "POST", "/v1/collections/pages/search", `{"text":"a","x":[`+strings.Repeat("[],", 600)+`[]]}`)
	s.wants(200, "", "POST", "/v1/collections/pages/search", asJSON(map[string]string{"text": strings.Repeat(`,"[{\\`, 100)}))
	if _, text := s.call("GET", "/v1/collections/pages/groups", ""); text != "" {
		t.Errorf("groups of one document: %s", text)
	}
	s.client().Put(bg, "pages", client.Document{ID: "5", Text: text(2, 5)})
	defer func() {
		s.Stop()
		if out := must(s.client().Batch(bg, "pages", orders[:2])); out[1].Error == "" {
			t.Errorf("a service that stops: %+v", out)
		}
	}()
	if _, text := s.call("GET", "/v1/collections/pages/groups", ""); text != "{\"ids\":[\"5\",\"3\"]}\n" {
		t.Errorf("groups: %s", text)
	}
	s.wants(200, `"duplicate":true`, "GET", "/v1/collections/pages/explain?a=3&b=5", "")
	s.wants(404, "no such document", "GET", "/v1/collections/pages/explain?a=3&b=1", "")
}

// TestRefusals: what a client does wrong is said, and nothing is done.
func TestRefusals(t *testing.T) {
	s := serve(t, Options{MaxBody: 1000, Hosts: []string{"Ours.example"}})
	s.create("pages", client.Settings{})
	const pages = "/v1/collections/pages"
	s.wants(404, "no such collection", "GET", "/v1/collections/missing", "")
	s.wants(404, "no such collection", "POST", "/v1/collections/missing/batch", `{"op":"delete","id":"1"}`, "Content-Type", ndjson)
	s.wants(422, "", "PUT", "/v1/collections/Pages", "{}")
	s.wants(422, "", "PUT", "/v1/collections/more", `{"method":"guess"}`)
	s.wants(422, "", "PUT", "/v1/collections/more", `{"expire":"soon"}`)
	s.wants(400, "store", "PUT", "/v1/collections/more", `{"store":"memory"}`)
	s.wants(400, "without a store", "PUT", "/v1/collections/more", `{"method":"simhash","store":"memory"}`)
	s.wants(400, "not for auto", "PUT", "/v1/collections/more", `{"distance":3}`)
	s.wants(422, "", "PUT", "/v1/collections/more", `{"method":"simhash","distance":-1}`)
	s.wants(422, "", "POST", pages+"/search", `{"txt":"a"}`)
	s.wants(422, "", "POST", pages+"/search?limit=0", `{"text":"a"}`)
	s.wants(400, "", "POST", pages+"/search", `{"text":`)
	s.wants(400, "UTF-8", "POST", pages+"/search", "{\"text\":\"\xff\"}")
	s.wants(413, "", "POST", pages+"/search", asJSON(map[string]string{"text": strings.Repeat("a", 2000)}))
	s.wants(415, "", "POST", pages+"/search", `{"text":"a"}`, "Content-Type", "text/plain")
	s.wants(403, "", "POST", pages+"/search", `{"text":"a"}`, "Sec-Fetch-Site", "cross-site")
	s.wants(400, "NUL byte", "PUT", pages+"/documents", `{"id":"a\u0000","text":"a"}`)
	s.wants(422, "", "PUT", pages+"/documents", `{"id":"","text":"a"}`)
	s.wants(422, "", "GET", pages+"/documents", "")
	s.wants(400, "not a complete backup", "POST", "/v1/collections/more/restore", "not an archive")
	s.wants(400, "not a backup", "POST", "/v1/collections/more/restore", archiveOf(t, "../evil", "x"))
	s.wants(400, "settings.json", "POST", "/v1/collections/more/restore", archiveOf(t, "documents", "x"))
	s.wants(400, "format", "POST", "/v1/collections/more/restore", archiveOf(t, "settings.json", "{}"))
	s.wants(400, "guess", "POST", "/v1/collections/more/restore", archiveOf(t, "settings.json", `{"format":1,"method":"guess"}`))
	s.wants(409, "", "POST", pages+"/restore", archiveOf(t, "settings.json", "{}"))
	for host, want := range map[string]int{"evil.example": 403, "evil.example:8080": 403, "localhost:1": 200, "[::1]:8080": 200, "127.0.0.1": 200, "ours.example": 200} {
		r := must(http.NewRequest("GET", s.url+"/v1/collections", nil))
		r.Host = host
		answer := must(http.DefaultClient.Do(r))
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("Host %s: %d, not %d", host, answer.StatusCode, want)
		}
	}
	s.wants(200, `"collections":[{"name":"pages"`, "GET", "/v1/collections", "")
	if left := must(os.ReadDir(s.options.Dir)); len(left) != 2 {
		t.Errorf("%v are left", left)
	}
}

// archiveOf returns an archive of one file.
func archiveOf(t *testing.T, name, text string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600})
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTokens: a token allows what its line says, and nothing else. Neither tokens nor texts stand in the log.
func TestTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	const reader, writer, root = "reader-0123456789abcdef", "writer-0123456789abcdef", "root-0123456789abcdef"
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"", "a short read *", "a " + reader + " reads *", "a " + reader + " read", "a " + reader + " read ../x", "a " + reader + " read *\nb " + reader + " read *"} {
		write(bad)
		if _, err := ReadTokens(file); err == nil || strings.Contains(err.Error(), reader) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	write("# name token level collections\nr " + reader + " read pages\nw " + writer + " write pages,mails\n\nroot " + root + " admin *\n")
	s := serve(t, Options{Tokens: must(ReadTokens(file))})
	as := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	s.wants(201, "", "PUT", "/v1/collections/pages", "{}", as(root)...)
	s.wants(201, "", "PUT", "/v1/collections/mails", "{}", as(root)...)
	s.wants(403, "", "PUT", "/v1/collections/more", "{}", as(writer)...)
	s.wants(401, "", "GET", "/v1/collections", "")
	s.wants(401, "", "GET", "/v1/collections", "", as(reader+"x")...)
	s.wants(200, `{"collections":[{"name":"pages"`, "GET", "/v1/collections", "", as(reader)...)
	if _, text := s.call("GET", "/v1/collections", "", as(reader)...); strings.Contains(text, "mails") {
		t.Errorf("the reader of pages sees %s", text)
	}
	const doc = `{"id":"1","text":"a secret text about something"}`
	s.wants(403, "", "PUT", "/v1/collections/pages/documents", doc, as(reader)...)
	s.wants(204, "", "PUT", "/v1/collections/mails/documents", doc, as(writer)...)
	s.wants(200, "[]", "GET", "/v1/decisions", "", as(reader)...)
	s.wants(200, "mails", "GET", "/v1/decisions", "", as(writer)...)
	s.wants(403, "", "GET", "/v1/collections/mails", "", as(reader)...)
	s.wants(403, "", "GET", "/v1/collections/mails/backup", "", as(writer)...)
	s.wants(403, "", "GET", "/v1/collections/missing", "", as(reader)...) // not whether it is there
	s.wants(403, "", "GET", "/metrics", "", as(writer)...)
	s.wants(401, "", "GET", "/metrics", "")
	s.wants(200, "neardup_documents", "GET", "/metrics", "", as(root)...)
	s.wants(200, "ok", "GET", "/healthz", "")
	write("r " + reader + " read mails")
	if err := s.ReloadTokens(); err != nil {
		t.Fatal(err)
	}
	s.wants(403, "", "GET", "/v1/collections/pages", "", as(reader)...)
	s.wants(200, "", "GET", "/v1/collections/mails", "", as(reader)...)
	s.wants(401, "", "GET", "/v1/collections/mails", "", as(root)...)
	if log := s.log.String(); strings.Contains(log, reader) || strings.Contains(log, root) || strings.Contains(log, "secret") {
		t.Errorf("the log has a token or a text: %s", log)
	}
}

// TestLimits: bodies that come slowly take no place, too many requests at a time get 503, and too many in a second 429.
func TestLimits(t *testing.T) {
	s := serve(t, Options{Concurrent: 2, Rate: 3, Timeout: 2 * time.Second})
	s.limits.rate = 0
	s.create("pages", client.Settings{})
	for range 20 { // each sends half of a body, and then nothing
		c := must(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))
		defer c.Close()
		fmt.Fprintf(c, "POST /v1/collections/pages/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	}
	eventually(t, "slow bodies are read", func() bool { return s.limits.bodies.Load() == 20 })
	s.wants(200, "", "POST", "/v1/collections/pages/search", `{"text":"a"}`)
	c := must(net.Dial("tcp", strings.TrimPrefix(s.url, "http://")))
	defer c.Close()
	fmt.Fprintf(c, "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{") // a body that nobody reads
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if text, err := io.ReadAll(c); err != nil {
		t.Errorf("a connection stays open after %q: %v", text, err)
	}
	eventually(t, "slow bodies are given up", func() bool { return s.limits.bodies.Load() == 0 })

	s.limits.places <- struct{}{}
	s.limits.places <- struct{}{}
	err := s.client().Put(bg, "pages", client.Document{ID: "1", Text: "a"})
	if e := (*client.Error)(nil); !errors.As(err, &e) || e.Status != 503 || e.RetryAfter != time.Second {
		t.Errorf("without a place: %v", err)
	}
	s.wants(503, "", "POST", "/v1/collections/pages/batch", `{"op":"delete","id":"1"}`, "Content-Type", ndjson)
	<-s.limits.places
	<-s.limits.places

	s.limits.rate = 3
	refused := 0
	for range 10 {
		_, err := s.client().Search(bg, "pages", "a", 1)
		if e := (*client.Error)(nil); errors.As(err, &e) && e.Status == 429 && e.RetryAfter == time.Second {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if refused < 5 {
		t.Errorf("%d of 10 were refused at 3 in a second", refused)
	}

	s.limits.rate, s.limits.most = 0, 50
	s.wants(503, "", "POST", "/v1/collections/pages/search", asJSON(map[string]string{"text": strings.Repeat("a", 100)}))
	if n := s.limits.bodies.Load(); n != 0 {
		t.Errorf("%d bytes of bodies are left", n)
	}
}

// TestClients: of many clients that put versions of some texts at the same time, for each text one is stored. Meanwhile a backup is made, and
// a collection of it has documents that were there.
func TestClients(t *testing.T) {
	s := serve(t, Options{})
	s.create("pages", client.Settings{})
	const clients, texts = 8, 60
	var added atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for n := range texts {
				d, err := s.client().PutIfNew(bg, "pages", client.Document{ID: fmt.Sprint(n, " ", i), Text: text(n, i)}, 3)
				if err != nil {
					t.Error(err)
				}
				if d.Added {
					added.Add(1)
				} else if len(d.Matches) == 0 || !strings.HasPrefix(d.Matches[0].ID, fmt.Sprint(n, " ")) {
					t.Errorf("%+v", d)
				}
			}
		})
	}
	var backups []string
	for range 5 {
		_, b := s.call("GET", "/v1/collections/pages/backup", "")
		backups = append(backups, b)
		s.call("GET", "/v1/collections/pages/groups", "")
		s.call("GET", "/metrics", "")
	}
	wg.Wait()
	if n := added.Load(); n != texts {
		t.Errorf("%d of %d were stored", n, texts)
	}
	_, b := s.call("GET", "/v1/collections/pages/backup", "")
	for i, b := range append(backups, b) {
		name := fmt.Sprint("copy", i)
		s.wants(201, "", "POST", "/v1/collections/"+name+"/restore", b)
		var info client.Info
		if _, text := s.call("GET", "/v1/collections/"+name, ""); json.Unmarshal([]byte(text), &info) != nil || i == len(backups) && info.Documents != texts {
			t.Errorf("backup %d: %s", i, text)
		}
	}
	if f := must(s.client().Search(bg, fmt.Sprint("copy", len(backups)), text(7, 3), 3)); len(f.Matches) != 1 {
		t.Errorf("the copy finds %+v", f)
	}
}

// TestDurable: an answer comes when what it says is on the disk, also one about what somebody else has stored, and a batch.
func TestDurable(t *testing.T) {
	s := serve(t, Options{})
	s.create("pages", client.Settings{})
	c := must(s.collections.get("pages"))
	goOn := make(chan struct{})
	sync := c.commit.sync
	c.commit.sync = func() error {
		<-goOn
		return sync()
	}
	answered := make(chan string, 10)
	for _, d := range []client.Document{{ID: "1", Text: text(1, 0)}, {ID: "1", Text: text(1, 0)}, {ID: "2", Text: text(1, 3)}} {
		go func() { answered <- asJSON(must(s.client().PutIfNew(bg, "pages", d, 1))) }()
		eventually(t, "the first one is there", func() bool { n, _ := c.engine.len(bg); return n == 1 })
	}
	go func() {
		answered <- fmt.Sprint(s.client().Put(bg, "pages", client.Document{ID: "3", Text: text(3, 0)}))
	}()
	go func() {
		answered <- asJSON(must(s.client().Batch(bg, "pages", []client.Order{{Op: "delete", ID: "missing"}})))
	}()
	go func() { answered <- asJSON(must(s.client().Search(bg, "pages", text(1, 0), 3))) }()
	go func() {
		stored, _, err := s.client().Get(bg, "pages", "1")
		answered <- asJSON(stored) + fmt.Sprint(err)
	}()
	select {
	case a := <-answered:
		t.Errorf("an answer before the disk: %s", a)
	case <-time.After(100 * time.Millisecond):
	}
	close(goOn)
	for range 7 {
		<-answered
	}
	// What is on the disk needs no write.
	c.commit.sync = func() error { t.Error("a write"); return nil }
	if f := must(s.client().Search(bg, "pages", text(1, 0), 3)); len(f.Matches) == 0 {
		t.Error("nothing is found")
	}
}

// TestSlow: where the disk takes longer than a request may, a put says so, and a batch, which may take longer, is answered.
func TestSlow(t *testing.T) {
	s := serve(t, Options{Timeout: 200 * time.Millisecond})
	s.create("pages", client.Settings{})
	c := must(s.collections.get("pages"))
	sync := c.commit.sync
	c.commit.sync = func() error {
		time.Sleep(time.Second)
		return sync()
	}
	if err := s.client().Put(bg, "pages", client.Document{ID: "1", Text: text(1, 0)}); status(err) != http.StatusServiceUnavailable {
		t.Errorf("a put: %v", err)
	}
	if out, err := s.client().Batch(bg, "pages", []client.Order{{Op: "put", ID: "2", Text: new(text(2, 0))}}); err != nil || !out[0].Added {
		t.Errorf("a batch: %v, %v", out, err)
	}
}

// TestPutBeside: a put that has returned is not replaced by a put-if-new of the same id at the same time.
func TestPutBeside(t *testing.T) {
	s := serve(t, Options{Stores: memoryStores(t)})
	for name, settings := range kinds {
		s.create(name, settings)
		for i := range 40 {
			id := fmt.Sprint(i)
			var wg sync.WaitGroup
			var d client.Decision
			wg.Go(func() { d, _ = s.client().PutIfNew(bg, name, client.Document{ID: id, Text: text(100+i, 0)}, 1) })
			if err := s.client().Put(bg, name, client.Document{ID: id, Text: text(i, 0)}); err != nil {
				t.Fatal(err)
			}
			wg.Wait()
			if f := must(s.client().Search(bg, name, text(i, 0), 1)); len(f.Matches) != 1 {
				t.Errorf("%s: put-if-new, which says %+v, has replaced %s", name, d, id)
			}
		}
	}
}

// TestNoLetters: texts without letters and digits are near-duplicates of nothing, not even of each other.
func TestNoLetters(t *testing.T) {
	s := serve(t, Options{Stores: memoryStores(t)})
	for name, settings := range kinds {
		s.create(name, settings)
		must(s.client().PutIfNew(bg, name, client.Document{ID: "1", Text: "!!!"}, 1))
		if d := must(s.client().PutIfNew(bg, name, client.Document{ID: "2", Text: "???"}, 1)); len(d.Matches) > 0 || d.Added != (name != "store") {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestLargeBackup: an archive may be larger than all bodies together, and while it comes slowly, others work.
func TestLargeBackup(t *testing.T) {
	s := serve(t, Options{Concurrent: 2})
	s.create("pages", client.Settings{})
	var orders []client.Order
	for i := range 300 {
		orders = append(orders, client.Order{Op: "put", ID: fmt.Sprint(i), Text: new(text(i, 0))})
	}
	must(s.client().Batch(bg, "pages", orders))
	_, backup := s.call("GET", "/v1/collections/pages/backup", "")
	s.limits.most = int64(len(backup) / 2)
	r, w := io.Pipe()
	status := make(chan int)
	go func() {
		request := must(http.NewRequest("POST", s.url+"/v1/collections/copy/restore", r))
		answer := must(http.DefaultClient.Do(request))
		answer.Body.Close()
		status <- answer.StatusCode
	}()
	io.WriteString(w, backup[:len(backup)/2])
	s.create("pages", client.Settings{})
	s.create("other", client.Settings{})
	s.wants(503, "", "PUT", "/v1/collections/copy", "{}") // it is being made
	s.wants(200, "", "POST", "/v1/collections/pages/search", `{"text":"a"}`)
	io.WriteString(w, backup[len(backup)/2:])
	w.Close()
	if got := <-status; got != http.StatusCreated {
		t.Fatalf("restore: %d", got)
	}
	s.limits.most = 1 << 20
	s.wants(200, `"documents":300`, "GET", "/v1/collections/copy", "")
}

// TestBusyStreams: groups and backups of a collection are read one at a time.
func TestBusyStreams(t *testing.T) {
	s := serve(t, Options{Concurrent: 1})
	s.create("pages", client.Settings{})
	c := must(s.collections.get("pages"))
	c.reading.Lock()
	s.wants(503, "server is busy", "GET", "/v1/collections/pages/groups", "")
	s.wants(503, "server is busy", "GET", "/v1/collections/pages/backup", "")
	c.reading.Unlock()
	s.wants(200, "", "GET", "/v1/collections/pages/groups", "")
	s.wants(404, "no such collection", "GET", "/v1/collections/missing/backup", "")
}

// TestExpire: documents go when they are too old, by request and by the settings.
func TestExpire(t *testing.T) {
	s := serve(t, Options{})
	s.create("pages", client.Settings{Expire: client.Duration{Duration: time.Hour}})
	s.client().Put(bg, "pages", client.Document{ID: "1", Text: text(1, 0)})
	s.wants(200, `{"deleted":0}`, "POST", "/v1/collections/pages/expire", asJSON(map[string]time.Time{"before": time.Now().Add(-time.Hour)}))
	must(s.client().PutIfNew(bg, "pages", client.Document{ID: "2", Text: text(2, 0)}, 1))
	s.expireOld(bg, time.Now().Add(30*time.Minute))
	s.wants(200, `"documents":2`, "GET", "/v1/collections/pages", "")
	s.expireOld(bg, time.Now().Add(2*time.Hour))
	s.wants(200, `"documents":0`, "GET", "/v1/collections/pages", "")
	s.client().Put(bg, "pages", client.Document{ID: "1", Text: text(1, 0)})
	s.wants(200, `{"deleted":1}`, "POST", "/v1/collections/pages/expire", asJSON(map[string]time.Time{"before": time.Now().Add(time.Hour)}))
	s.wants(200, `"documents":0`, "GET", "/v1/collections/pages", "")
}

// TestExpireShared: what is in a store expires, too. To look is dear there, so the service looks once in a hundredth of the age.
func TestExpireShared(t *testing.T) {
	s := serve(t, Options{Stores: memoryStores(t)})
	s.create("pages", client.Settings{Method: "minhash", Store: "memory", Expire: client.Duration{Duration: 1000 * time.Hour}})
	there := func(want bool) {
		t.Helper()
		if _, is, err := s.client().Get(bg, "pages", "1"); err != nil || is != want {
			t.Errorf("it is there: %v, %v", is, err)
		}
	}
	s.client().Put(bg, "pages", client.Document{ID: "1", Text: text(1, 0)})
	later := time.Now().Add(995 * time.Hour)
	s.expireOld(bg, later)
	there(true)
	s.expireOld(bg, later.Add(9*time.Hour))
	there(true)
	s.expireOld(bg, later.Add(10*time.Hour))
	there(false)
}

// A broken store cannot be opened.
type broken struct{ Store }

func (broken) Fingerprints(context.Context, string, blockstore.Scheme[neardup.Fingerprint64], string) (blockstore.Store[neardup.Fingerprint64], error) {
	return nil, errors.New("it is not reachable")
}

// TestRemove: a collection goes with its files, and its name can be used again. What a killed service was making or removing goes when it
// starts again.
func TestRemove(t *testing.T) {
	o := Options{Dir: t.TempDir(), Stores: map[string]Store{"broken": broken{}}}
	s := serve(t, o)
	s.create("pages", client.Settings{})
	s.client().Put(bg, "pages", client.Document{ID: "1", Text: text(1, 0)})
	if err := s.client().Remove(bg, "pages"); err != nil {
		t.Fatal(err)
	}
	s.create("pages", client.Settings{})
	if f := must(s.client().Search(bg, "pages", text(1, 0), 1)); len(f.Matches) > 0 {
		t.Errorf("a new collection finds %+v", f)
	}
	s.wants(500, "", "PUT", "/v1/collections/unreachable", `{"method":"simhash","store":"broken"}`)
	s.Close()
	for _, left := range []string{"half.new", "gone.old"} {
		if err := os.Mkdir(filepath.Join(o.Dir, left), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s = serve(t, o)
	if left := must(os.ReadDir(o.Dir)); len(left) != 2 || left[0].Name() != "pages" {
		t.Errorf("%v are left", left)
	}
	s.Close()
	if err := os.WriteFile(filepath.Join(o.Dir, "pages", "settings.json"), []byte(`{"format":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s = serve(t, Options{Dir: t.TempDir()})
	if _, err := New(bg, Options{Dir: s.options.Dir}); err == nil || !strings.Contains(err.Error(), "another service") {
		t.Errorf("a directory that is open: %v", err)
	}
	if _, err := New(bg, o); !errors.Is(err, neardup.ErrVersion) || !strings.Contains(err.Error(), "pages") {
		t.Errorf("another format: %v", err)
	}
}

// TestEqualTexts: ten thousand equal short texts in a batch cost about as much as different ones: what is looked at for each follows the
// limit, not the number of equal ones.
func TestEqualTexts(t *testing.T) {
	s := serve(t, Options{})
	for name, settings := range kinds {
		if settings.Store == "" {
			s.create(name, settings)
			var orders []client.Order
			for i := range 3000 {
				orders = append(orders, client.Order{Op: "put", ID: fmt.Sprint(i), Text: new("the same short text")}, client.Order{Op: "search", Text: new("the same short text")})
			}
			out := must(s.client().Batch(bg, name, orders))
			if last := out[len(out)-1]; len(last.Matches) != defaultLimit || !last.More || last.Error != "" {
				t.Errorf("%s: %+v", name, last)
			}
		}
	}
}

// TestOpenAPI: the description names all operations, and every answer of theirs.
func TestOpenAPI(t *testing.T) {
	s := serve(t, Options{})
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(must(s.OpenAPI()), &doc); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, methods := range doc.Paths {
		for _, op := range methods {
			found[op.OperationID] = true
		}
	}
	for _, id := range strings.Fields("list-collections create-collection get-collection delete-collection put get delete put-if-new search explain expire batch groups backup restore decisions") {
		if !found[id] {
			t.Errorf("there is no operation %s", id)
		}
	}
	r := must(http.Get(s.url + "/"))
	defer r.Body.Close()
	if page := string(must(io.ReadAll(r.Body))); !strings.Contains(page, "Latest decisions") || !strings.Contains(r.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error("the page, or its policy, is missing")
	}
}

// TestFullDisk: a collection whose disk is full answers 500, and works again when there is room, with all that was acknowledged.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small disk needs the rights of root: %v: %s", err, out)
	}
	t.Cleanup(func() {
		// A file stays mapped until the collector sees that nobody looks at it.
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	s := serve(t, Options{Dir: filepath.Join(dir, "collections")})
	s.create("pages", client.Settings{})
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	stored := map[string]string{}
	var err error
	for i := 0; err == nil && i < 10_000; i++ {
		d := client.Document{ID: fmt.Sprint(i), Text: strings.Repeat(fmt.Sprintf("word%d other%d ", i, i*7), 100)}
		if err = s.client().Put(bg, "pages", d); err == nil {
			stored[d.ID] = d.Text
		}
	}
	if e := (*client.Error)(nil); !errors.As(err, &e) || e.Status != http.StatusInternalServerError || len(stored) < 100 {
		t.Fatalf("after %d documents: %v", len(stored), err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if status, text := s.call("GET", "/readyz", ""); status != http.StatusOK {
		t.Fatalf("with room: %d %s\n%s", status, text, s.log)
	}
	for id, text := range stored {
		if d, ok, err := s.client().Get(bg, "pages", id); err != nil || !ok || d.Text != strings.TrimSpace(text) && d.Text != text {
			t.Fatalf("document %s: %t, %v", id, ok, err)
		}
	}
	if err := s.client().Put(bg, "pages", client.Document{ID: "more", Text: "there is room again"}); err != nil {
		t.Error(err)
	}
}

// TestRefused: what a client does wrong is told to it, and costs little.
func TestRefused(t *testing.T) {
	s := serve(t, Options{Stores: memoryStores(t)})
	for name, settings := range kinds {
		s.create(name, settings)
		for _, id := range []string{"%00", "%ff", strings.Repeat("x", 1025)} {
			if status, text := s.call("GET", "/v1/collections/"+name+"/documents?id="+id, ""); status < 400 || status >= 500 {
				t.Errorf("%s: the id %.10s gets %d %s", name, id, status, text)
			}
		}
	}
	var before, after runtime.MemStats
	body := strings.Repeat("\n", 4<<20) + "x"
	runtime.ReadMemStats(&before)
	status, text := s.call("POST", "/v1/collections/auto/batch", body, "Content-Type", "application/x-ndjson")
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; status != http.StatusRequestEntityTooLarge || n > 10*uint64(len(body)) {
		t.Errorf("a batch of %d lines: %d %s; it took %d MB", len(body), status, text, n>>20)
	}
	// A store keeps nothing of a text without words.
	answer, err := s.client().Batch(bg, "store", []client.Order{{Op: "put", ID: "none", Text: new(string)}})
	if err != nil || len(answer) != 1 || answer[0].Added || answer[0].Error != "" {
		t.Errorf("a text without words: %+v, %v", answer, err)
	}
	// A backup that was cut off, wherever.
	if err := s.client().Put(bg, "auto", client.Document{ID: "1", Text: "a text that is in a backup"}); err != nil {
		t.Fatal(err)
	}
	_, backup := s.call("GET", "/v1/collections/auto/backup", "")
	for cut := 0; cut < len(backup)-1536; cut += 256 { // the last 1,024 bytes are an end without content, after up to 511 zeros
		if status, text := s.call("POST", "/v1/collections/restored/restore", backup[:cut], "Content-Type", "application/x-tar"); status != http.StatusBadRequest {
			t.Errorf("a backup that is cut off at byte %d of %d: %d %s", cut, len(backup), status, text)
			if status < 300 {
				break
			}
		}
	}
}

// TestRemovesLarge: a collection that would write a snapshot when it closes is removed without one.
func TestRemovesLarge(t *testing.T) {
	s := serve(t, Options{})
	s.create("pages", client.Settings{})
	for i := range 40 {
		s.wants(http.StatusNoContent, "", "PUT", "/v1/collections/pages/documents", asJSON(client.Document{ID: fmt.Sprint(i), Text: text(i, 0)}))
	}
	s.wants(http.StatusNoContent, "", "DELETE", "/v1/collections/pages", "")
	s.wants(http.StatusNotFound, "", "GET", "/v1/collections/pages", "")
	s.create("pages", client.Settings{})
}

// TestPanic: a panic of a handler is an answer, is logged, and counts as one of status 500.
func TestPanic(t *testing.T) {
	s := serve(t, Options{})
	h := httptest.NewServer(s.guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a mistake") })))
	defer h.Close()
	answer, err := http.Get(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 500 || !strings.Contains(s.log.String(), "a mistake") {
		t.Errorf("status %d; the log has %s", answer.StatusCode, s.log)
	}
	s.wants(200, `{operation="other",status="500"} 1`, "GET", "/metrics", "")
}

// TestNothingToDo: a batch without orders has no outcomes.
func TestNothingToDo(t *testing.T) {
	if out, err := serve(t, Options{}).client().Batch(bg, "pages", nil); out != nil || err != nil {
		t.Errorf("%v, %v", out, err)
	}
}
