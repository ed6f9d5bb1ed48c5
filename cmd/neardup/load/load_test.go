package load

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
)

// loaded loads files of lines of JSON, the first of which is old, and returns the documents with what somebody took.
func loaded(t *testing.T, workers int, method, sameID string, files ...string) (docs, taken []string, c *corpus.Corpus, err error) {
	t.Helper()
	o := &options.Options{Reading: options.Reading{Cols: input.Columns{ID: "id", Text: "text", WithoutID: "line"}, MaxLine: 1 << 20, Empty: "drop", SameID: sameID, Workers: workers}}
	o.Method.Name, o.Method.Bits, o.Method.ByContent = method, 64, true
	o.Tokenizer, o.Weights = "words2", "count"
	dir := t.TempDir()
	for i, text := range files {
		path := filepath.Join(dir, fmt.Sprint(i, ".jsonl"))
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			o.Against = path
		} else {
			o.Args = append(o.Args, path)
		}
	}
	fp, err := o.Fingerprinter()
	if err != nil {
		t.Fatal(err)
	}
	c, err = corpus.Open(o, nil, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	l := Loader{Corpus: c, Options: o, Marker: Marker{Method: &o.Method, Fingerprinter: fp}, Take: func(some []Taken) error {
		for _, x := range some {
			taken = append(taken, fmt.Sprint(x.Number, " ", x.ID, " ", x.Text))
		}
		return nil
	}}
	err = l.Run()
	for i := range c.Docs.Len() {
		d := c.Doc(i)
		docs = append(docs, fmt.Sprintf("%d:%d %s %v", d.Source, d.Line, d.ID, d.Content.Blank))
	}
	return docs, taken, c, err
}

// TestSameID: what becomes of documents with one id, in one file and in several; old and new ones may have the same.
func TestSameID(t *testing.T) {
	files := []string{
		`{"id": "a", "text": "old one"}` + "\n" + `{"id": "a", "text": "old two"}`,
		`{"id": "a", "text": "one"}` + "\n" + `{"id": "b", "text": ""}` + "\n" + `{"id": "a", "text": "two"}` + "\n" + `{"id": "a-2", "text": "three"}`,
		`{"id": "a", "text": "four"}`,
	}
	for _, c := range []struct{ sameID, want, err string }{
		{"error", "", `0.jsonl:2: the id "a" is used twice`},
		{"first", "0:1 a, 1:1 a, 1:4 a-2", ""},
		{"last", "0:2 a, 1:4 a-2, 2:1 a", ""},
		{"number", "0:1 a, 0:2 a-2, 1:1 a, 1:3 a-2, 1:4 a-2-2, 2:1 a-3", ""},
	} {
		for _, workers := range []int{1, 8} {
			docs, _, corpus, err := loaded(t, workers, "auto", c.sameID, files...)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s: the error is %v", c.sameID, err)
				}
				continue
			}
			for i := range docs {
				docs[i] = strings.TrimSuffix(docs[i], " false")
			}
			if got := strings.Join(docs, ", "); err != nil || got != c.want {
				t.Errorf("%s: %s, %v", c.sameID, got, err)
			}
			if corpus.Read.Dropped != 1 || corpus.Read.Repeated != 6-len(docs) || corpus.Old == 0 {
				t.Errorf("%s: it counts %+v", c.sameID, corpus.Read)
			}
		}
	}
}

// TestLoaded: for any number of workers, and whatever is compared, the same documents come in the same order, and equal texts share a content.
func TestLoaded(t *testing.T) {
	var files []string
	for n := range 5 {
		var b strings.Builder
		for i := range 400 * n {
			fmt.Fprintf(&b, `{"id": "%d-%d", "text": "text %d of some"}`+"\n", n, i, i%300)
		}
		files = append(files, b.String())
	}
	for _, method := range []string{"auto", "simhash", "minhash", "given"} {
		var first, firstTaken []string
		for _, workers := range []int{1, 2, 3, 8, 64} {
			docs, taken, c, err := loaded(t, workers, method, "error", files...)
			if err != nil || len(docs) != 4000 || c.Old != 0 {
				t.Fatalf("%s, %d workers: %d documents, %d are old, %v", method, workers, len(docs), c.Old, err)
			}
			if first == nil {
				first, firstTaken = docs, taken
			}
			if !slices.Equal(docs, first) || !slices.Equal(taken, firstTaken) {
				t.Errorf("%s, %d workers: other documents than with one", method, workers)
			}
			if method != "auto" && c.Doc(0).Content != c.Doc(300).Content || c.Doc(0).Content == c.Doc(1).Content && method != "auto" {
				t.Errorf("%s: equal texts have contents of their own, or others share one", method)
			}
		}
	}
}
