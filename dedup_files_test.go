package neardup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// openDeduplicator opens a Deduplicator, or fails.
func openDeduplicator[ID comparable](t *testing.T, path string, o DeduplicatorOptions) *Deduplicator[ID] {
	t.Helper()
	d, err := OpenDeduplicator[ID](path, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// addTo adds a text, as a record if there are fields.
func addTo(t *testing.T, d *Deduplicator[string], id, text string) {
	t.Helper()
	var err error
	if d.options().Fingerprinter.Fields != nil {
		err = d.AddRecord(id, Record{"text": text})
	} else {
		err = d.Add(id, text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDeduplicatorFiles changes a Deduplicator in files at random, closes and opens it now and then, and
// compares it with one in memory.
func TestDeduplicatorFiles(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(60)
	texts = append(texts, "", "...", texts[1]+"!", "中文文本也可以", "中文文本也可以。")
	for name, test := range map[string]struct {
		options DeduplicatorOptions
		limit   int
	}{
		"small":     {DeduplicatorOptions{}, 0},
		"large":     {DeduplicatorOptions{}, 1},
		"tokenizer": {DeduplicatorOptions{Fingerprinter: Fingerprinter{Tokenizer: NGrams{N: 3}}}, 0},
		"records":   {DeduplicatorOptions{Fingerprinter: Fingerprinter{Fields: []Field{{Name: "text"}}}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(7, 7))
			path := filepath.Join(t.TempDir(), "documents")
			d := openDeduplicator[string](t, path, test.options)
			memory, _ := NewDeduplicator[string](test.options)
			d.limit, memory.limit = test.limit, test.limit
			add := func(d *Deduplicator[string], id, text string) { addTo(t, d, id, text) }
			for range shorter(600, 300) {
				id, text := fmt.Sprint(rnd.IntN(50)), texts[rnd.IntN(len(texts))]
				switch op := rnd.IntN(20); {
				case op < 14:
					add(d, id, text)
					add(memory, id, text)
				case op < 17:
					if was := must(memory.Delete(id)); must(d.Delete(id)) != was {
						t.Fatalf("Delete is not %v", was)
					}
				case op == 17:
					if err := d.Compact(); err != nil {
						t.Fatal(err)
					}
				case op == 18:
					if err := d.Sync(); err != nil {
						t.Fatal(err)
					}
				default:
					if err := d.Close(); err != nil {
						t.Fatal(err)
					}
					d = openDeduplicator[string](t, path, test.options)
					d.limit = test.limit
					if d.Len() != memory.Len() || d.Added() != memory.Added() {
						t.Fatalf("%d of %d documents, not %d of %d", d.Len(), d.Added(), memory.Len(), memory.Added())
					}
				}
				got, ok, err := d.Get(id)
				if want, was, _ := memory.Get(id); err != nil || ok != was || got != want {
					t.Fatalf("Get: %+v, %v, %v; not %+v, %v", got, ok, err, want, was)
				}
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			d = openDeduplicator[string](t, path, test.options)
			d.limit = test.limit
			if err := d.Verify(); err != nil {
				t.Fatal(err)
			}
			if got, want := allFound(d), allFound(memory); !slices.Equal(got, want) || len(want) < 20 {
				t.Errorf("found %d, not the same %d", len(got), len(want))
			}
			if got, want := fmt.Sprint(listed(d.All())), fmt.Sprint(listed(memory.All())); got != want {
				t.Errorf("All yields %s, not %s", got, want)
			}
			n := memory.Added()
			add(d, "new", texts[3])
			add(memory, "new", texts[3])
			if got, want := listed(d.PairsSince(bg, n)), listed(memory.PairsSince(bg, n)); !slices.Equal(got, want) {
				t.Errorf("pairs since %d: %v, not %v", n, got, want)
			}
			d.Close()
		})
	}
}

// TestDeduplicatorFilesErrors: what goes wrong is said, and a closed Deduplicator says so everywhere.
func TestDeduplicatorFilesErrors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "documents")
	d := openDeduplicator[int](t, path, DeduplicatorOptions{})
	if _, err := OpenDeduplicator[int](path, DeduplicatorOptions{}); err == nil {
		t.Error("opened twice")
	}
	for i, text := range revisedTexts(40) {
		d.Add(i, text)
	}
	if err := d.Compact(); err != nil {
		t.Fatal(err)
	}
	d.Close()
	_, searched := d.SearchAndAdd(1, "one")
	_, deleted := d.Delete(1)
	_, _, got := d.Get(1)
	_, grouped := d.Groups(bg, Grouping[int]{})
	_, threshold := d.Threshold(bg)
	_, plan := d.Plan(bg)
	_, before := d.DeleteBefore(time.Now())
	_, calibrated := d.Calibrate(bg, nil, Goal{})
	_, explained := d.Explain("a", "b")
	for i, err := range []error{d.Add(1, "one"), searched, deleted, got, grouped, threshold, plan, before, calibrated, explained, d.Sync(), d.Compact()} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("after Close, call %d: %v", i, err)
		}
	}
	for _, err := range d.Pairs(bg) {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	if d.Len() != 0 || d.Close() != nil {
		t.Error("after Close there is something")
	}
	for _, o := range []DeduplicatorOptions{
		{Fingerprinter: Fingerprinter{Normalizer: Normalizer{Fold: true}}},
		{Fingerprinter: Fingerprinter{Tokenizer: Shingles{N: 2}}}, // what Version names for the zero Fingerprinter
		{Fingerprinter: Fingerprinter{Weight: Count}},
	} {
		if _, err := OpenDeduplicator[int](path, o); !errors.Is(err, ErrVersion) {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-300] ^= 1
	os.WriteFile(path, b, 0o666)
	d, err = OpenDeduplicator[int](path, DeduplicatorOptions{})
	if err == nil {
		_, err = d.Groups(bg, Grouping[int]{})
		d.Close()
	}
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("damaged: %v", err)
	}
}

// TestTextsReplaced: when most texts are of no use, the file of the texts is replaced, also if an earlier attempt
// has failed or was killed.
func TestTextsReplaced(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"texts", "records"} {
		options := DeduplicatorOptions{Similarity: 0.6}
		if name == "records" {
			options.Fingerprinter.Fields = []Field{{Name: "text"}}
		}
		path := filepath.Join(t.TempDir(), "documents")
		d := openDeduplicator[string](t, path, options)
		memory, _ := NewDeduplicator[string](options)
		add := func(id, text string) {
			addTo(t, d, id, text)
			addTo(t, memory, id, text)
		}
		for i, text := range revisedTexts(40) {
			add(fmt.Sprint(i), text)
		}
		for i := range 30 {
			add("large", strings.Repeat(fmt.Sprintf("%d %d ", i, i*i), 15_000))
		}
		if err := os.Mkdir(path+".texts-2", 0o777); err != nil {
			t.Fatal(err)
		}
		want := allFound(memory)
		for range 2 { // the first time it fails
			err := d.Sync()
			if _, missing := os.Stat(path + ".texts-1"); (err == nil) == (missing == nil) || d.isWasteful() != (err != nil) {
				t.Errorf("%s: error %v, and then %v", name, err, missing)
			}
			if got := allFound(d); !slices.Equal(got, want) || len(got) < 5 {
				t.Errorf("%s: found %d, not the same %d", name, len(got), len(want))
			}
			os.Remove(path + ".texts-2/")
			add("more", "more")
			want = allFound(memory)
		}
		if err := errors.Join(d.Verify(), d.Close()); err != nil {
			t.Error(err)
		}
		os.WriteFile(path+".texts-1", must(os.ReadFile(path+".texts-2")), 0o666)
		os.WriteFile(path+".texts-3", []byte("somebody else's"), 0o666)
		d = openDeduplicator[string](t, path, options)
		if _, err := os.Stat(path + ".texts-1"); err == nil {
			t.Error("what a killed process left is still there")
		}
		if b, err := os.ReadFile(path + ".texts-3"); err != nil || string(b) != "somebody else's" {
			t.Errorf("another file is gone: %q, %v", b, err)
		}
		if got := allFound(d); !slices.Equal(got, want) {
			t.Errorf("%s: opened again, found %d, not the same %d", name, len(got), len(want))
		}
		d.Close()
		if err := os.Truncate(path+".texts-2", 1000); err != nil {
			t.Fatal(err)
		}
		d, err := OpenDeduplicator[string](path, options)
		if err == nil {
			_, err = d.Plan(bg)
			d.Close()
		}
		os.Remove(path + ".texts-2")
		if _, missing := OpenDeduplicator[string](path, options); !errors.Is(err, ErrDamaged) || !errors.Is(missing, ErrDamaged) {
			t.Errorf("%s: cut off: %v; missing: %v", name, err, missing)
		}
	}
}

// TestKeysKept: keys of contents that are there already are taken from the file, and whatever happens to the
// file, the same is found.
func TestKeysKept(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(600)
	path := filepath.Join(t.TempDir(), "documents")
	open := func() *Deduplicator[string] {
		d := openDeduplicator[string](t, path, DeduplicatorOptions{})
		d.limit, d.sampled = 1, 20_000
		return d
	}
	d := open()
	memory := largeDeduplicator[string](t, DeduplicatorOptions{}, 20_000)
	for i, text := range texts[:400] {
		d.Add(fmt.Sprint(i), text)
		memory.Add(fmt.Sprint(i), text)
	}
	// search returns what searches find for some texts.
	search := func(d *Deduplicator[string]) (found []string) {
		for i := 0; i < len(texts); i += 7 {
			for m, err := range d.Search(texts[i] + " more") {
				found = append(found, fmt.Sprintf("%d %v %v", i, m, err))
			}
		}
		return found
	}
	want, wantSearched := allFound(memory), search(memory)
	rows := func() int { return rowsOf(must(d.files.keys.open(1 << 30))) }
	for step, damage := range []func(){
		func() {}, func() {},
		func() { os.Truncate(path+".keys", 50_003) },
		func() {
			b := must(os.ReadFile(path + ".keys"))
			b[len(b)/2] ^= 1
			os.WriteFile(path+".keys", b, 0o666)
		},
		func() { os.Remove(path + ".keys") },
		func() {},
	} {
		damage()
		if got := allFound(d); !slices.Equal(got, want) || len(got) < 100 {
			t.Errorf("step %d: found %d, not the same %d", step, len(got), len(want))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = open()
		if got := search(d); !slices.Equal(got, wantSearched) || len(got) < 20 {
			t.Errorf("step %d: searches found %d, not the same %d", step, len(got), len(wantSearched))
		}
		if n := rows(); n != len(d.contents) {
			t.Errorf("step %d: %d rows of %d contents", step, n, len(d.contents))
		}
	}
	// A file of somebody else's is not replaced.
	d.Close()
	os.WriteFile(path+".keys", []byte("something else"), 0o666)
	d = open()
	if _, err := d.Plan(bg); !errors.Is(err, ErrDamaged) || string(must(os.ReadFile(path+".keys"))) != "something else" {
		t.Errorf("with another file for keys: %v", err)
	}
	os.Remove(path + ".keys")
	allFound(d)
	// New documents come: their rows are added. When the collection has doubled, all rows are new, and soon the
	// file is made again.
	for i, text := range texts[400:] {
		d.Add(fmt.Sprint(400+i), text)
		memory.Add(fmt.Sprint(400+i), text)
	}
	allFound(d)
	all := len(d.contents)
	if n := rows(); n != all || all < 550 {
		t.Errorf("%d rows of %d contents", n, all)
	}
	d.Close()
	d = open()
	defer d.Close()
	for i := range 500 {
		d.Delete(fmt.Sprint(i))
		memory.Delete(fmt.Sprint(i))
	}
	if got, want := allFound(d), allFound(memory); !slices.Equal(got, want) || rows() != all+len(d.used()) {
		t.Errorf("after deletions: found %d, not the same %d; %d rows of %d contents", len(got), len(want), rows(), all)
	}
}

// TestDeleteBefore: documents go by their age, also after the files were opened again.
func TestDeleteBefore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "documents")
	d := openDeduplicator[int](t, path, DeduplicatorOptions{})
	d.files.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	for i, text := range revisedTexts(10) {
		d.Add(i, text)
	}
	d.files.Now = time.Now
	d.Add(3, "a text that is newer than the others")
	d.Close()
	d = openDeduplicator[int](t, path, DeduplicatorOptions{})
	defer d.Close()
	if n, err := d.DeleteBefore(time.Now().Add(-time.Minute)); n != 9 || err != nil || d.Len() != 1 {
		t.Errorf("%d deleted, %d left, error %v", n, d.Len(), err)
	}
	if n, err := d.DeleteBefore(time.Now().Add(time.Minute)); n != 1 || err != nil || d.files.Len() != 0 {
		t.Errorf("%d deleted, %d left, error %v", n, d.files.Len(), err)
	}
	var memory Deduplicator[string]
	memory.Add("a", "b")
	if n, err := memory.DeleteBefore(time.Now().Add(time.Minute)); n != 1 || err != nil || memory.Len() != 0 {
		t.Errorf("in memory: %d deleted, error %v", n, err)
	}
}

// FuzzStoredDocument: any words are a document or an error, and so are any parts. What they are comes back.
func FuzzStoredDocument(f *testing.F) {
	var levels Fingerprinter
	for _, text := range []string{"", "...", "one text", "中文文本", strings.Repeat("a long text with words ", 20)} {
		for _, p := range []reading{levels.profile(text), (&Fingerprinter{Tokenizer: Words{}}).profile(text)} {
			var b []byte
			for _, x := range encodeDocument(nil, storedProfile{number: 7, reading: p}) {
				b = binary.LittleEndian.AppendUint64(b, x)
			}
			f.Add(b, encodeParts(p.terms, p.words))
		}
	}
	f.Fuzz(func(t *testing.T, b, parts []byte) {
		doc := make([]uint64, len(b)/8)
		for i := range doc {
			doc[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		s, err := decodeDocument(doc)
		if err != nil {
			return
		}
		if s.bytes == 0 && s.inTexts > 0 {
			if s.terms, s.words, err = decodeParts(parts); err != nil {
				return
			}
			if again := encodeParts(s.terms, s.words); !bytes.Equal(again, parts) || len(again) != s.storedBytes() {
				t.Errorf("%x became %x", parts, again)
			}
			doc[storedBytes] = uint64(len(parts))
		} else if s.inTexts == 0 {
			doc[storedPlace] = 0
		}
		if again := encodeDocument(nil, s); !slices.Equal(again, doc) && doc[storedForm]&formLevels+doc[storedBytes] > 0 {
			t.Errorf("%x became %x", doc, again)
		}
	})
}

// dedupChange returns a change by its number: an id, and the text to add, or "" to delete it.
func dedupChange(texts []string, seed, number uint64) (id int, text string) {
	rnd := rand.New(rand.NewPCG(seed, number))
	if id = rnd.IntN(200); rnd.IntN(4) == 0 {
		return id, ""
	}
	return id, texts[rnd.IntN(len(texts))]
}

// TestDeduplicatorSoak kills a process that changes a Deduplicator in files, again and again. What is left
// has all changes that were synced, and of the rest some first ones; its pairs are those of its documents.
// It takes as long as NEARDUP_SOAK says, for example 10m.
func TestDeduplicatorSoak(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(100)
	for i := range texts { // a length of its own tells which text a document has
		texts[i] += strings.Repeat(" ", 3000+i-len(texts[i]))
	}
	if os.Getenv("NEARDUP_SOAK_DOCUMENTS") != "" {
		dedupSoakChild(t, texts)
		return
	}
	duration := time.Second
	if s := os.Getenv("NEARDUP_SOAK"); s != "" {
		duration = must(time.ParseDuration(s))
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "documents")
	stored, lengths := map[int]string{}, map[string]int{}
	for _, text := range texts {
		lengths[text] = len(text)
	}
	changes, kills := uint64(0), 0
	step := func() {
		id, text := dedupChange(texts, seed, changes)
		if changes++; text == "" {
			delete(stored, id)
		} else {
			stored[id] = text
		}
	}
	for end := time.Now().Add(duration); time.Now().Before(end); kills++ {
		synced := changes
		env := []string{"NEARDUP_SOAK_DOCUMENTS=" + path, fmt.Sprintf("NEARDUP_SOAK_SEED=%d", seed), fmt.Sprintf("NEARDUP_SOAK_FROM=%d", changes)}
		runAndKill(t, env, time.Duration(10+rnd.IntN(150))*time.Millisecond, func(line string) {
			n, err := strconv.ParseUint(line, 10, 64)
			if synced = n; err != nil {
				t.Errorf("child: %s", line)
			}
		})
		d := openDeduplicator[int](t, path, DeduplicatorOptions{Similarity: 0.6})
		for changes < synced {
			step()
		}
		isStored := func() bool {
			for id, text := range stored {
				if doc, ok, err := d.Get(id); err != nil || !ok || doc.Length != lengths[text] {
					return false
				}
			}
			return d.Len() == len(stored)
		}
		for ahead := 0; !isStored(); ahead++ {
			if ahead > 10_000 {
				t.Fatalf("after %d kills: %d documents are no state since change %d", kills, d.Len(), synced)
			}
			step()
		}
		memory, _ := NewDeduplicator[int](DeduplicatorOptions{Similarity: 0.6})
		for id, text := range stored {
			memory.Add(id, text)
		}
		key := func(p Pair[int]) string { return fmt.Sprintf("%d %d %x", min(p.A, p.B), max(p.A, p.B), p.Similarity) }
		var got, want []string
		for p := range d.Pairs(bg) {
			got = append(got, key(p))
		}
		for p := range memory.Pairs(bg) {
			want = append(want, key(p))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("after %d kills: %d pairs, not the same %d", kills, len(got), len(want))
		}
		if err := errors.Join(d.Verify(), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d changes, %d documents", kills, changes, len(stored))
}

// dedupSoakChild changes a Deduplicator until it is killed, and says how many changes are on the disk.
func dedupSoakChild(t *testing.T, texts []string) {
	seed, _ := strconv.ParseUint(os.Getenv("NEARDUP_SOAK_SEED"), 10, 64)
	number, _ := strconv.ParseUint(os.Getenv("NEARDUP_SOAK_FROM"), 10, 64)
	d := openDeduplicator[int](t, os.Getenv("NEARDUP_SOAK_DOCUMENTS"), DeduplicatorOptions{Similarity: 0.6})
	for ; ; number++ {
		id, text := dedupChange(texts, seed, number)
		var err error
		if text == "" {
			_, err = d.Delete(id)
		} else if number%8 == 0 {
			_, err = d.SearchAndAdd(id, text)
		} else {
			err = d.Add(id, text)
		}
		if err == nil && number%50 == 0 {
			if err = d.Sync(); number%400 == 0 && err == nil {
				err = d.Compact()
			}
			if err == nil {
				fmt.Println(number + 1)
			}
		}
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
}
