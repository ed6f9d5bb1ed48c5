package neardupbeam

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/periodic"
	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/collections"
	"github.com/parquet-go/parquet-go"
)

// writeInputs writes documents as files of several formats. What it returns is what Read should make of them.
func writeInputs(t *testing.T, dir string, texts collections.Texts) (docs []Document, patterns []string) {
	t.Helper()
	var plain, zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	type row struct {
		ID    string `parquet:"id"`
		Text  string `parquet:"text"`
		Pages int64  `parquet:"pages"`
	}
	var rows []row
	for i, d := range documentsOf(texts) {
		if !json.Valid([]byte(`"`+d.ID+`"`)) || d.ID == "" || strings.ContainsRune(d.Text, 0xfffd) || !slices.Equal([]byte(strings.ToValidUTF8(d.Text, "?")), []byte(d.Text)) {
			d.ID = fmt.Sprintf("plain %d", i)
			d.Text = strings.ToValidUTF8(d.Text, "?")
		}
		d.Raw = fmt.Sprintf(`{"id":%q,"text":%q,"pages":%d}`, d.ID, d.Text, i)
		switch i % 3 {
		case 0:
			fmt.Fprintln(&plain, d.Raw)
		case 1:
			fmt.Fprintf(z, "%s\r\n\n", d.Raw)
		case 2:
			rows = append(rows, row{d.ID, d.Text, int64(i)})
			b, err := json.Marshal(struct { // in the order of the columns
				ID    string `json:"id"`
				Text  string `json:"text"`
				Pages int    `json:"pages"`
			}{d.ID, d.Text, i})
			if err != nil {
				t.Fatal(err)
			}
			d.Raw = string(b)
		}
		docs = append(docs, d)
	}
	z.Close()
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("a.jsonl", plain.Bytes())
	write("b.jsonl.gz", zipped.Bytes())
	if err := parquet.WriteFile(filepath.Join(dir, "c.parquet"), rows); err != nil {
		t.Fatal(err)
	}
	return docs, []string{filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "[bc].*")}
}

// lines returns the sorted lines of the files with a prefix.
func lines(t *testing.T, prefix string) (all []string) {
	t.Helper()
	paths, err := filepath.Glob(prefix + "-*-of-*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", prefix, err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			all = append(all, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(all)
	return all
}

// clean runs the way from files to files on a runner.
func clean(runner string, patterns []string, prefix string, o Options, between func(s beam.Scope, docs beam.PCollection) beam.PCollection) error {
	p, s := beam.NewPipelineWithRoot()
	docs, bad := read(s, patterns, ReadOptions{}, 2000) // in many parts
	if between != nil {
		docs = between(s, docs)
	}
	found := NearDuplicates(s, docs, o)
	Write(s, prefix+"kept", 3, found.Kept)
	Write(s, prefix+"groups", 2, found.Groups)
	Write(s, prefix+"pairs", 2, found.Pairs(s))
	Write(s, prefix+"notes", 1, beam.Flatten(s, found.Notes, bad))
	_, err := beam.Run(context.Background(), runner, p)
	return err
}

// failFn fails for some elements the first times that it sees any.
type failFn struct{}

var failures atomic.Int64 // how often failFn still has to fail

var errOnPurpose = errors.New("a failure on purpose")

func (*failFn) ProcessElement(d Document, emit func(Document)) error {
	if strings.HasSuffix(d.ID, "7") && failures.Add(-1) >= 0 {
		return errOnPurpose
	}
	emit(d)
	return nil
}

func init() { beam.RegisterType(reflect.TypeFor[failFn]()) }

// From files to files: the results are those in memory, and the same bytes with any number of processors, on another
// runner with other bundles, and after jobs that failed and were started again.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	docs, patterns := writeInputs(t, dir, collections.Shapes()["mixed"])
	o := Options{Method: MinHash, Similarity: 0.5}
	want := inMemory(t, docs, o)
	drop := map[string]bool{}
	var groups, kept []string
	for _, m := range want.Groups {
		drop[m.ID] = m.ID != m.Keep
		line, _ := memberLine(m)
		groups = append(groups, string(line))
	}
	for _, d := range docs {
		if !drop[d.ID] {
			kept = append(kept, d.Raw)
		}
	}
	slices.Sort(groups)
	slices.Sort(kept)
	var first map[string]string
	for _, c := range []struct {
		name, runner string
		procs, fails int
	}{{"prism", "prism", 2, 0}, {"one", "prism", 1, 0}, {"direct", "direct", 2, 0}, {"fails", "prism", 4, 3}} {
		out := filepath.Join(t.TempDir(), "out") + "/"
		old := runtime.GOMAXPROCS(c.procs)
		failures.Store(int64(c.fails))
		err := errOnPurpose
		runs := 0
		for ; err != nil && strings.Contains(err.Error(), errOnPurpose.Error()); runs++ {
			err = clean(c.runner, patterns, out, o, func(s beam.Scope, docs beam.PCollection) beam.PCollection { return beam.ParDo(s, &failFn{}, docs) })
		}
		runtime.GOMAXPROCS(old)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if c.fails > 0 && runs == 1 {
			t.Errorf("%s: no run failed", c.name)
		}
		if got := lines(t, out+"groups"); !slices.Equal(got, groups) {
			t.Errorf("%s: groups %.300v, not %.300v", c.name, got, groups)
		}
		if got := lines(t, out+"kept"); !slices.Equal(got, kept) {
			for i := range got {
				if i < len(kept) && got[i] != kept[i] {
					t.Errorf("%s: %q is kept, not %q", c.name, got[i], kept[i])
					break
				}
			}
			t.Errorf("%s: %d documents kept, not %d", c.name, len(got), len(kept))
		}
		if got := lines(t, out+"pairs"); len(got) != len(want.Pairs) {
			t.Errorf("%s: %d pairs, not %d", c.name, len(got), len(want.Pairs))
		}
		files := map[string]string{}
		paths, _ := filepath.Glob(out + "*")
		for _, p := range paths {
			b, _ := os.ReadFile(p)
			files[filepath.Base(p)] = string(b)
		}
		if len(files) != 8 {
			t.Errorf("%s: files %v", c.name, paths)
		}
		if first == nil {
			first = files
		}
		for name, b := range files {
			if b != first[name] {
				t.Errorf("%s: %s is not as in the first run", c.name, name)
			}
		}
		if exists, err := Exists(t.Context(), out+"kept"); !exists || err != nil {
			t.Errorf("Exists: %v, %v", exists, err)
		}
	}
	if exists, err := Exists(t.Context(), filepath.Join(dir, "kept")); exists || err != nil {
		t.Errorf("Exists: %v, %v", exists, err)
	}
}

// Nothing is silent: what cannot be read is noted with its place, and so are texts without features, ids that several
// documents have, and hot buckets.
func TestNotes(t *testing.T) {
	dir := t.TempDir()
	body := "\ufeff" + `{"id":"a","text":"one text that is long enough to have features"}
{"id":7,"text":"one text that is long enough to have features, too"}
[1]
{"id":"a","text":"quite another text, about something else"}
{"id":"x","text":5}
{"id":{},"text":"x"}
not JSON
{"text":"there is no id"}
{"id":"none","text":"…"}
{"id":"","text":"an empty id is no id"}
{"id":null,"text":"neither is null"}
`
	for i := range 40 {
		body += fmt.Sprintf(`{"id":"h%d","text":"%s w%d"}`+"\n", i, strings.Repeat("the same words again and again ", 3)+strings.Repeat("and these words are the same ", 20), i)
	}
	os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(body), 0o666)
	os.WriteFile(filepath.Join(dir, "b.docx"), []byte("what is this"), 0o666)
	os.WriteFile(filepath.Join(dir, "c.txt"), []byte("a caf\xe9 of the year, and its guests"), 0o666)
	type row struct {
		ID    string  `parquet:"id"`
		Score float64 `parquet:"score"`
		Text  string  `parquet:"text"`
	}
	if err := parquet.WriteFile(filepath.Join(dir, "d.parquet"), []row{{"nan", math.NaN(), "a text with a score that is no number"}}); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out") + "/"
	if err := clean("prism", []string{filepath.Join(dir, "*.*"), filepath.Join(dir, "a.jsonl")}, out, Options{Method: MinHash, HotBucket: 4, Linkage: neardup.SingleLinkage}, nil); err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(lines(t, out+"notes"), "\n")
	for _, want := range []string{`a.jsonl:3","text":"not a JSON object`, `a.jsonl:5","text":"no field \"text\" with a text`, `a.jsonl:6","text":"the field \"id\" is neither`, `a.jsonl:7","text":"not JSON: `,
		`b.docx","text":"the file was skipped`, `"no features","id":"none"`, `d.parquet:1","text":"column \"score\" is NaN`, `c.txt","text":"the id or the text is not UTF-8`, `"repeated id","id":"a","text":"2 documents`, `"hot bucket","id":"band `} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %s in\n%s", want, notes)
		}
	}
	kept := strings.Join(lines(t, out+"kept"), "\n")
	for _, want := range []string{`{"id":"a","text":"one`, `{"id":"a","text":"quite`, `{"text":"there is no id"}`, `{"id":"none"`, "an empty id is no id", "neither is null", `"nan","score":null`, `caf`} {
		if !strings.Contains(kept, want) {
			t.Errorf("%s is not kept: %s", want, kept)
		}
	}
	if n := strings.Count(kept, `"h`); n != 1 {
		t.Errorf("%d of the hot documents are kept", n)
	}
	if _, err := Exists(t.Context(), filepath.Join(dir, "out[1]")); err == nil {
		t.Error("a prefix that is a pattern")
	}
	if err := clean("prism", []string{filepath.Join(dir, "*.missing")}, filepath.Join(dir, "no")+"/", Options{}, nil); err == nil {
		t.Error("no file matches, and there is no error")
	}
}

// TestTexts: several fields are one text, a list is its lines, and what is not there is passed over.
func TestTexts(t *testing.T) {
	dir := t.TempDir()
	type row struct {
		ID       string   `parquet:"id"`
		Title    *string  `parquet:"title,optional"`
		Keywords []string `parquet:"keywords,list"`
		Text     *string  `parquet:"text,optional"`
	}
	title, text := "A bridge", "The bridge is closed."
	rows := []row{{"all", &title, []string{"roads", "桥"}, &text}, {"some", nil, nil, &text}, {"none", nil, nil, nil}}
	if err := parquet.WriteFile(filepath.Join(dir, "a.parquet"), rows); err != nil {
		t.Fatal(err)
	}
	body := `{"id":"all2","title":"A bridge","keywords":["roads",null,"","桥"],"text":"The bridge is closed."}
{"id":"some2","text":"The bridge is closed.","title":null}
{"id":"wrong","title":5,"text":"x"}
{"id":"list","keywords":["a",1],"text":"x"}
{"id":"none2","body":"x"}
`
	if err := os.WriteFile(filepath.Join(dir, "b.jsonl"), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, names := range []string{"a,,b", "a, b", "a,a", ","} {
		if err := (ReadOptions{Text: names}).Check(); err == nil {
			t.Errorf("%q is no error", names)
		}
	}
	whole := "A bridge\nroads\n桥\nThe bridge is closed."
	for file, want := range map[string][]string{
		"a.parquet": {`{"all" "` + strings.ReplaceAll(whole, "\n", `\n`) + `" `, `{"some" "` + text + `" `, `{"none" "" `},
		"b.jsonl":   {`{"all2" "` + strings.ReplaceAll(whole, "\n", `\n`) + `" `, `{"some2" "` + text + `" `, `:3" "no field \"title\" with a text"`, `:4" "the field \"keywords\" has an item that is not a string"`, `:5" "no field \"title,keywords,text\" with a text"`},
	} {
		got, _ := readParts(t, filepath.Join(dir, file), ReadOptions{Text: "title,keywords,text"}, 1<<20)
		for _, w := range want {
			if n := strings.Count(strings.Join(got, "\n"), w); n != 1 || len(got) != len(want) {
				t.Errorf("%s: %d times %s in %d:\n%s", file, n, w, len(got), strings.Join(got, "\n"))
			}
		}
	}
}

// TestUnbounded: documents that never end are an error when the pipeline is made, and others are none.
func TestUnbounded(t *testing.T) {
	made := func(endless bool) (err any) {
		defer func() { err = recover() }()
		_, s := beam.NewPipelineWithRoot()
		documents := createDocuments(s, []Document{{ID: "a", Text: "one"}})
		if endless {
			documents = beam.ParDo(s, documentAt, periodic.Impulse(s, time.Now(), time.Now().Add(time.Hour), time.Second, false))
		}
		NearDuplicates(s, documents, Options{Method: Auto})
		return nil
	}
	if err := made(false); err != nil {
		t.Error(err)
	}
	if err, ok := made(true).(error); !ok || !strings.Contains(err.Error(), "is unbounded") {
		t.Error(err)
	}
}

func documentAt(at []byte) Document { return Document{ID: string(at)} }

func init() { register.Function1x1(documentAt) }

func unregistered() neardup.Fingerprinter { return neardup.Fingerprinter{} }

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Method: "other"}, {Method: Auto, Probability: 2}, {Method: Auto, Kinds: 1 << 7}, {Method: Auto, Memory: -1}, {Method: Auto, Fingerprinter: unregistered}, {Distance: 3}, {Method: SimHash, Bits: 32}, {Method: SimHash, Distance: -1}, {Method: SimHash, Distance: 64}, {Method: SimHash, Blocks: 3}, {Method: SimHash, Blocks: 60}, {Method: Cosine}, {Method: MinHash, Similarity: 1.5},
		{Method: MinHash, Values: 8}, {Method: MinHash, Banding: neardup.Banding{Bands: 100, Rows: 4}}, {HotBucket: 1}, {Rounds: 65}, {Linkage: 7}, {SampleEvery: -1}, {Fingerprinter: unregistered}} {
		if err := o.Check(); err == nil || !strings.HasPrefix(err.Error(), "neardupbeam: ") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	for name, o := range cases() {
		if err := o.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Decoders trust no length.
func FuzzElements(f *testing.F) {
	f.Add(encodeDocument(Document{"id", "text", "raw"}))
	f.Add(encodePair(Pair{A: "a", B: "b", Distance: 3, Similarity: 0.5}))
	f.Add(encodePair(Pair{A: "a", B: "b", Similarity: 0.5, Probability: 0.75, Kind: neardup.Revised}))
	f.Add(encodeFamily(Family{[]string{"a", "b"}, "form […]", []string{"x", "y"}}))
	f.Add(encodeHead(head{3, true, rank{"id", 9}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if f, err := decodeFamily(b); err == nil {
			if again, err := decodeFamily(encodeFamily(f)); err != nil || !reflect.DeepEqual(again, f) {
				t.Fatalf("%v, %v", again, err)
			}
		}
		if d, err := decodeDocument(b); err == nil {
			if again, err := decodeDocument(encodeDocument(d)); err != nil || again != d {
				t.Fatalf("%v, %v", again, err)
			}
		}
		if p, err := decodePair(b); err == nil && p.Similarity == p.Similarity && p.Probability == p.Probability { // NaN is not equal to itself
			if again, err := decodePair(encodePair(p)); err != nil || again != p {
				t.Fatalf("%v, %v", again, err)
			}
		}
		if h, err := decodeHead(b); err == nil {
			if again, err := decodeHead(encodeHead(h)); err != nil || again != h {
				t.Fatalf("%v, %v", again, err)
			}
		}
		decodeProfile(b)
		decodeMember(b)
		decodeNote(b)
		for _, o := range cases() {
			s := o.must()
			s.read(b)
		}
	})
}
