package dedup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/store"
)

// opened opens a Deduplicator, or fails.
func opened[ID comparable](t testing.TB, path string, o Options) *Deduplicator[ID] {
	t.Helper()
	d, err := Open[ID](path, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// revisedTexts returns n texts of 120 words, of which every second one is a changed copy of the one before it.
func revisedTexts(n int) []string {
	rnd := rand.New(rand.NewPCG(8, 9))
	var texts []string
	for range (n + 1) / 2 {
		words := englishA.some(rnd, 120)
		texts = append(texts, englishA.join(words), englishA.join(englishA.revised(rnd, words, rnd.Float64()*rnd.Float64()*0.3)))
	}
	return texts[:n]
}

// addTo adds a text, as a record if there are fields.
func addTo(t *testing.T, d *Deduplicator[string], id, text string) {
	t.Helper()
	var err error
	if d.options.Fingerprinter.Fields != nil {
		err = d.Add(id, neardup.Record{"text": text})
	} else {
		err = d.Add(id, neardup.Text(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// everyError calls every method that can return an error.
func everyError(d *Deduplicator[int]) map[string]error {
	errs := map[string]error{"Add": d.Add(1, neardup.Text("one")), "Sync": d.Sync(), "Compact": d.Compact(bg), "Verify": d.Verify(), "AddAll": d.AddAll(bg, func(yield func(int, neardup.Document) bool) { yield(2, neardup.Text("two")) })}
	_, errs["SearchAndAdd"] = d.SearchAndAdd(bg, 1, neardup.Text("one two three"))
	_, errs["ExistsAndAdd"] = d.ExistsAndAdd(bg, 1, neardup.Text("one two three"))
	_, _, errs["AddIfNew"] = d.AddIfNew(bg, 1, neardup.Text("one two three"), 1)
	_, errs["Exists"] = d.Exists(bg, neardup.Text("one"))
	_, errs["Delete"] = d.Delete(1)
	_, _, errs["Get"] = d.Get(1)
	_, errs["Groups"] = d.Groups(bg, GroupOptions[int]{})
	_, errs["Families"] = d.Families(bg)
	_, errs["Threshold"] = d.Estimate(bg)
	_, errs["DeleteBefore"] = d.DeleteBefore(time.Now())
	_, errs["Calibrate"] = d.Calibrate(bg, nil, Target{})
	_, errs["Explain"] = d.Explain(0, 3)
	for _, errs["Pairs"] = range d.Pairs(bg) {
	}
	for _, errs["PairsSince"] = range d.PairsSince(bg, 1) {
	}
	for _, errs["Comparisons"] = range d.Comparisons(bg) {
	}
	for _, errs["Search"] = range d.Search(bg, neardup.Text("one")) {
	}
	for _, errs["All"] = range d.All() {
	}
	other, _ := New[int](Options{})
	errs["Merge"] = other.Merge(d)
	return errs
}

// TestFilesErrors: what goes wrong is said, and a closed Deduplicator says so everywhere.
func TestFilesErrors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "documents")
	d := opened[int](t, path, Options{})
	if _, err := Open[int](path, Options{}); err == nil {
		t.Error("opened twice")
	}
	for i, text := range revisedTexts(40) {
		d.Add(i, neardup.Text(text))
	}
	must(d.Estimate(bg))
	if err := d.Compact(bg); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range everyError(d) {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("after Close, %s: %v", name, err)
		}
	}
	if d.Len() != 0 || d.Close() != nil {
		t.Error("after Close there is something")
	}
	for _, o := range []Options{
		{Fingerprinter: neardup.Fingerprinter{Normalizer: neardup.Normalizer{Fold: true}}},
		{Fingerprinter: neardup.Fingerprinter{Tokenizer: neardup.Shingles{N: 2}}}, // what Version names for the zero Fingerprinter
		{Fingerprinter: neardup.Fingerprinter{Weight: neardup.Count}},
	} {
		if _, err := Open[int](path, o); !errors.Is(err, neardup.ErrVersion) {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	if _, err := Open[string](path, Options{}); err == nil {
		t.Error("opened with other ids")
	}
	// Other options may differ.
	d = opened[int](t, path, Options{Similarity: 0.4, Bias: 1, Kinds: neardup.AllKinds, Memory: 1 << 20})
	if d.Len() != 40 {
		t.Errorf("%d documents", d.Len())
	}
	d.Close()
	if _, err := Open[int](filepath.Join(t.TempDir(), "missing", "documents"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is missing: %v", err)
	}
}

// TestFilesUnread: what can be said without reading the documents is right, and after each method that reads them.
func TestFilesUnread(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "documents")
	texts := revisedTexts(30)
	d := opened[string](t, path, Options{})
	for i, text := range texts {
		d.Add(fmt.Sprintf("%02d", i), neardup.Text(text))
	}
	d.Delete("07")
	memory := of(t, Options{}, func(yield func(string, string) bool) {
		for i, text := range texts {
			if i != 7 && !yield(fmt.Sprintf("%02d", i), text) {
				return
			}
		}
	})
	want := factsOf(memory.Pairs(bg))
	d.Close()
	for name, use := range map[string]func(d *Deduplicator[string]) error{
		"Get": func(d *Deduplicator[string]) error {
			doc, ok, err := d.Get("08")
			if !ok || doc.Sequence != 8 || doc.ID != "08" || doc.Length != len([]rune(texts[8])) {
				t.Errorf("Get: %+v, %t", doc, ok)
			}
			if _, ok, _ := d.Get("07"); ok || d.Len() != 29 || d.NextSequence() != 30 {
				t.Errorf("%d documents of %d", d.Len(), d.NextSequence())
			}
			return err
		},
		"Search":    func(d *Deduplicator[string]) error { _, err := d.Exists(bg, neardup.Text(texts[0])); return err },
		"Delete":    func(d *Deduplicator[string]) error { _, err := d.Delete("none"); return err },
		"Merge":     func(d *Deduplicator[string]) error { return made[string](t, Options{}).Merge(d) },
		"Threshold": func(d *Deduplicator[string]) error { _, err := d.Estimate(bg); return err },
		"Compact":   func(d *Deduplicator[string]) error { return d.Compact(bg) },
		"Sync":      func(d *Deduplicator[string]) error { return d.Sync() },
		"Verify":    func(d *Deduplicator[string]) error { return d.Verify() },
		"Explain":   func(d *Deduplicator[string]) error { _, err := d.Explain("00", "01"); return err },
	} {
		d := opened[string](t, path, Options{})
		if err := use(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sameFacts(t, name, factsOf(d.Pairs(bg)), want)
		d.Close()
	}
}

// TestTextsReplaced: when most texts are of no use, the file of the texts is replaced, also if an earlier attempt has failed
// or was killed.
func TestTextsReplaced(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"texts", "records"} {
		options := Options{}
		if name == "records" {
			options.Fingerprinter.Fields = []neardup.Field{{Name: "text"}}
		}
		path := filepath.Join(t.TempDir(), "documents")
		d := opened[string](t, path, options)
		memory := made[string](t, options)
		add := func(id, text string) {
			addTo(t, d, id, text)
			addTo(t, memory, id, text)
		}
		for i, text := range revisedTexts(40) {
			add(fmt.Sprint(i), text)
		}
		for i := range 20 {
			add("large", strings.Repeat(fmt.Sprintf("%d %d ", i, i*i), 20_000))
		}
		for i := range 200 {
			add("record", strings.Repeat(fmt.Sprintf("%d %d ", i, i*i), 1000)+fmt.Sprint(rand.Perm(600)))
		}
		if err := os.Mkdir(path+".texts-2", 0o777); err != nil {
			t.Fatal(err)
		}
		want := everything(memory)
		for range 2 { // the first time it fails
			wasteful := d.isWasteful()
			err := d.Sync()
			if _, missing := os.Stat(path + ".texts-1"); !wasteful || (err == nil) == (missing == nil) || d.isWasteful() != (err != nil) {
				t.Errorf("%s: error %v, and then %v; %t", name, err, missing, wasteful)
			}
			sameLines(t, name, everything(d), want)
			os.Remove(path + ".texts-2/")
			add("more", "more")
			want = everything(memory)
		}
		if err := errors.Join(d.Verify(), d.Close()); err != nil {
			t.Error(err)
		}
		os.WriteFile(path+".texts-1", must(os.ReadFile(path+".texts-2")), 0o666)
		os.WriteFile(path+".texts-3", []byte("somebody else's"), 0o666)
		d = opened[string](t, path, options)
		if _, err := os.Stat(path + ".texts-1"); err == nil {
			t.Error("what a killed process left is still there")
		}
		if b, err := os.ReadFile(path + ".texts-3"); err != nil || string(b) != "somebody else's" {
			t.Errorf("another file is gone: %q, %v", b, err)
		}
		sameLines(t, name+", opened again", everything(d), want)
		d.Close()
		if err := os.Truncate(path+".texts-2", 1000); err != nil {
			t.Fatal(err)
		}
		d, err := Open[string](path, options)
		if err == nil {
			_, err = d.Estimate(bg)
			d.Close()
		}
		os.Remove(path + ".texts-2")
		if _, missing := Open[string](path, options); !errors.Is(err, neardup.ErrDamaged) || !errors.Is(missing, neardup.ErrDamaged) {
			t.Errorf("%s: cut off: %v; missing: %v", name, err, missing)
		}
	}
}

// copyFiles copies the files of a Deduplicator to another folder, as a crash would leave them, and returns the path there.
func copyFiles(t *testing.T, path string) string {
	t.Helper()
	to := t.TempDir()
	for _, name := range must(filepath.Glob(path + "*")) {
		if strings.HasSuffix(name, ".lock") {
			continue
		}
		if b, err := os.ReadFile(name); err == nil {
			os.WriteFile(filepath.Join(to, filepath.Base(name)), b, 0o666)
		}
	}
	return filepath.Join(to, filepath.Base(path))
}

// TestFilesDamaged flips bytes and cuts files at random places. Opening, or a method that reads what is damaged, returns an
// error, or else everything is as it was, but for the last changes if the journal is cut; nothing panics, hangs or is made up.
func TestFilesDamaged(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 71)
	path := filepath.Join(t.TempDir(), "documents")
	texts := revisedTexts(60)
	prefixes := map[string]bool{} // what is there after each change
	memory := made[int](t, Options{})
	state := func(d *Deduplicator[int]) string {
		var b strings.Builder
		for doc, err := range d.All() {
			if err != nil {
				return err.Error()
			}
			fmt.Fprintln(&b, doc.ID, doc.Length)
		}
		return b.String()
	}
	d := opened[int](t, path, Options{})
	for i, text := range texts {
		d.Add(i%45, neardup.Text(text))
		memory.Add(i%45, neardup.Text(text))
		if i >= 29 {
			prefixes[state(memory)] = true
		}
		if i == 29 {
			d.Compact(bg)
		}
	}
	d.Close()
	whole := state(memory)
	files := []string{"", ".journal", ".texts-1", ".index"}
	reported, quiet := map[string]int{}, map[string]int{}
	for round := range larger(shorter(150, 40), 3000) {
		name := files[round%len(files)]
		copied := copyFiles(t, path)
		b := must(os.ReadFile(copied + name))
		kind := ""
		switch at := rnd.IntN(len(b)); rnd.IntN(4) {
		case 0:
			kind, b = "cut", b[:at]
		case 1:
			kind = "zeros"
			clear(b[at:]) // the last sectors were never written
		case 2:
			kind = "hole"
			clear(b[at:min(len(b), at+512)])
		default:
			kind = "flip"
			b[at] ^= 1 << rnd.IntN(8)
		}
		os.WriteFile(copied+name, b, 0o666)
		what := fmt.Sprintf("%s of %q, round %d", kind, name, round)
		d, err := Open[int](copied, Options{})
		if err == nil {
			err = d.Verify()
			for _, e := range d.Pairs(bg) {
				err = errors.Join(err, e)
			}
			if got := state(d); err == nil && got != whole {
				if name != ".journal" || !prefixes[got] {
					t.Errorf("%s: other documents are there, and no error", what)
				}
				if lost := d.Lost(); lost == nil || !strings.Contains(lost.Error(), ".journal: ") {
					t.Errorf("%s: documents are lost, and Lost says %v", what, lost)
				}
				quiet[kind+name]++
			}
			d.Close()
		}
		if err != nil {
			reported[kind+name]++
			if !errors.Is(err, neardup.ErrDamaged) && !errors.Is(err, neardup.ErrVersion) {
				t.Errorf("%s: %v", what, err)
			}
		} else if name == ".texts-1" || name == "" {
			quiet[kind+name]++
		}
	}
	t.Logf("reported %v; quiet %v", reported, quiet)
}

// TestMergeDamaged: a part whose texts cannot be read is an error of Merge, and no texts are made up.
func TestMergeDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "documents")
	d := opened[int](t, path, Options{})
	for i, text := range revisedTexts(20) {
		d.Add(i, neardup.Text(text))
	}
	d.Close()
	b := must(os.ReadFile(path + ".texts-1"))
	b[len(b)-10] ^= 1 // in the last text
	os.WriteFile(path+".texts-1", b, 0o666)
	d = opened[int](t, path, Options{})
	defer d.Close()
	to := made[int](t, Options{})
	if err := to.Merge(d); !errors.Is(err, neardup.ErrDamaged) {
		t.Errorf("Merge of a damaged part: %v", err)
	}
}

// within fails unless a call returns in time.
func within(t *testing.T, what string, most time.Duration, call func()) {
	t.Helper()
	done := make(chan bool)
	go func() {
		defer close(done)
		call()
	}()
	select {
	case <-done:
	case <-time.After(most):
		t.Errorf("%s hangs", what)
	}
}

// TestStrangeFiles: a pipe, a folder, a link to nowhere or another file in the place of a file is an error, and nobody waits.
func TestStrangeFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no pipes with names")
	}
	for _, name := range []string{"", ".journal", ".texts-1", ".texts-0", ".texts-2"} {
		for kind, put := range map[string]func(path string) error{
			"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o666) },
			"folder": func(path string) error { return os.Mkdir(path, 0o777) },
			"link":   func(path string) error { return os.Symlink(path+"-nowhere", path) },
			"loop":   func(path string) error { return os.Symlink(path, path) },
			"file":   func(path string) error { return os.WriteFile(path, []byte("somebody else's"), 0o666) },
		} {
			for _, there := range []bool{false, true} {
				path := filepath.Join(t.TempDir(), "documents")
				if there {
					d := opened[int](t, path, Options{})
					d.Add(1, neardup.Text("one two three"))
					d.Close()
					if strings.HasPrefix(name, ".texts-1") || name != "" && name[1] != 't' || name == "" {
						os.Remove(path + name)
					}
				}
				if err := put(path + name); err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("%s %q, with documents: %t", kind, name, there)
				within(t, what, 3*time.Second, func() {
					d, err := Open[int](path, Options{})
					if err == nil {
						err = errors.Join(d.Verify(), d.Close())
					}
					mayBe := name == ".texts-0" || name == ".texts-2" // not needed
					if err == nil && !mayBe {
						t.Errorf("%s: no error", what)
					}
					if _, lost := os.Lstat(path + name); lost != nil {
						t.Errorf("%s: is gone", what)
					} else if info, _ := os.Lstat(path + name); kind == "link" && info.Mode()&fs.ModeSymlink == 0 {
						t.Errorf("%s: was replaced by a file", what)
					}
					if err != nil && mayBe {
						t.Errorf("%s: %v", what, err)
					}
				})
			}
		}
	}
}

// TestDeleteBefore: documents go by their age, also after the files were opened again.
func TestDeleteBefore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "documents")
	d := opened[int](t, path, Options{})
	d.files.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	for i, text := range revisedTexts(10) {
		d.Add(i, neardup.Text(text))
	}
	d.files.Now = time.Now
	d.Add(3, neardup.Text("a text that is newer than the others"))
	d.Close()
	d = opened[int](t, path, Options{})
	defer d.Close()
	if n, err := d.DeleteBefore(time.Now().Add(-time.Minute)); n != 9 || err != nil || d.Len() != 1 {
		t.Errorf("%d deleted, %d left, error %v", n, d.Len(), err)
	}
	if n, err := d.DeleteBefore(time.Now().Add(time.Minute)); n != 1 || err != nil || d.files.Len() != 0 {
		t.Errorf("%d deleted, %d left, error %v", n, d.files.Len(), err)
	}
	memory := made[string](t, Options{})
	memory.Add("a", neardup.Text("b"))
	if n, err := memory.DeleteBefore(time.Now().Add(time.Minute)); n != 1 || err != nil || memory.Len() != 0 {
		t.Errorf("in memory: %d deleted, error %v", n, err)
	}
}

// TestCloseDuring: Close while all pairs are compared ends that with an error, or it was done; nothing panics.
func TestCloseDuring(t *testing.T) {
	t.Parallel()
	if os.Getenv("NEARDUP_BUGS") == "" {
		t.Skip("bug: evidence.(*Comparer).local panics with an index out of range, since a text that cannot be read any more is empty, and its place is not")
	}
	texts := revisedTexts(shorter(400, 150))
	for round := range larger(12, 100) {
		path := filepath.Join(t.TempDir(), "documents")
		d := opened[int](t, path, Options{Kinds: neardup.AllKinds, Memory: 1 << 20}) // so that texts are read again and again
		for i, text := range texts {
			d.Add(i, neardup.Text(text))
		}
		d.Sync()
		done := make(chan error)
		go func() {
			var last error
			for _, err := range d.Pairs(bg) {
				last = err
			}
			done <- last
		}()
		time.Sleep(time.Duration(round) * time.Millisecond)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil && !errors.Is(err, os.ErrClosed) {
			t.Errorf("%v", err)
		}
	}
}

// dedupChange returns a change by its number: an id, and the text to add, or "" to delete it.
func dedupChange(texts []string, seed, number uint64) (id int, text string) {
	rnd := rand.New(rand.NewPCG(seed, number))
	if id = rnd.IntN(200); rnd.IntN(4) == 0 {
		return id, ""
	}
	return id, texts[rnd.IntN(len(texts))]
}

// TestSoak kills a process that changes a Deduplicator in files, again and again. What is left has all changes that were
// synced, and of the rest some first ones; its pairs are those of its documents. It takes as long as NEARDUP_SOAK says, for
// example 10m.
func TestSoak(t *testing.T) {
	t.Parallel()
	texts := revisedTexts(100)
	for i := range texts { // a length of its own tells which text a document has
		texts[i] += strings.Repeat(" ", 3000+i-len(texts[i]))
	}
	if os.Getenv("NEARDUP_SOAK_DOCUMENTS") != "" {
		soakChild(t, texts)
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
		lengths[text] = len([]rune(text))
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
		d := opened[int](t, path, Options{})
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
		memory := made[int](t, Options{})
		for id, text := range stored {
			memory.Add(id, neardup.Text(text))
		}
		key := func(p neardup.Pair[int]) string {
			return fmt.Sprintf("%d %d %x %x %v", min(p.A, p.B), max(p.A, p.B), p.Similarity, p.Probability, p.Kind)
		}
		var got, want []string
		for p := range d.Pairs(bg) {
			got = append(got, key(p))
		}
		for p := range memory.Pairs(bg) {
			want = append(want, key(p))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !sameLines(t, fmt.Sprintf("after %d kills", kills), got, want) {
			return
		}
		if err := errors.Join(d.Verify(), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d changes, %d documents", kills, changes, len(stored))
}

// soakChild changes a Deduplicator until it is killed, and says how many changes are on the disk.
func soakChild(t *testing.T, texts []string) {
	seed, _ := strconv.ParseUint(os.Getenv("NEARDUP_SOAK_SEED"), 10, 64)
	number, _ := strconv.ParseUint(os.Getenv("NEARDUP_SOAK_FROM"), 10, 64)
	d := opened[int](t, os.Getenv("NEARDUP_SOAK_DOCUMENTS"), Options{})
	for ; ; number++ {
		id, text := dedupChange(texts, seed, number)
		var err error
		if text == "" {
			_, err = d.Delete(id)
		} else if number%8 == 0 {
			_, err = d.SearchAndAdd(bg, id, neardup.Text(text))
		} else {
			err = d.Add(id, neardup.Text(text))
		}
		if err == nil && number%50 == 0 {
			if err = d.Sync(); number%400 == 0 && err == nil {
				err = d.Compact(bg)
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

// runAndKill runs this test in another process, and kills it after some time.
func runAndKill(t *testing.T, env []string, after time.Duration, said func(line string)) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulated program cannot start itself")
	} else if err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said(lines.Text())
	}
	cmd.Wait()
	if timer.Stop(); t.Failed() {
		t.Fatal("the child failed")
	}
}

// TestSyncLong: when the journal is long, Sync writes a snapshot with its index, so that the next opening reads no documents.
func TestSyncLong(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a second")
	}
	path := filepath.Join(t.TempDir(), "documents")
	d := opened[int](t, path, Options{})
	for i := range longJournal + 10 {
		if err := d.Add(i, neardup.Text(letters(i)+" and "+letters(i*7+1)+" and "+letters(i*13+5))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		t.Fatal(err)
	}
	if d = opened[int](t, path, Options{}); d.unread {
		t.Error("there is no index")
	}
	d.Close()
}

// TestAddedTimes: when documents were added is told, and outlives the program.
func TestAddedTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	before := time.Now().Truncate(time.Second)
	d := opened[string](t, path, Options{})
	must(0, d.Add("a", neardup.Text("one two three four five")))
	check := func(when string) {
		e, ok, err := d.Get("a") // after opening, before the documents are read
		if err != nil || !ok || e.Added.Before(before) || e.Added.After(time.Now()) {
			t.Errorf("%s: %+v, %t, %v; not before %v", when, e, ok, err, before)
		}
		for all, err := range d.All() {
			if err != nil || all != e {
				t.Errorf("%s: All has %+v, Get %+v; %v", when, all, e, err)
			}
		}
	}
	check("at once")
	must(0, d.Close())
	d = opened[string](t, path, Options{})
	check("opened again")
	if n := must(d.DeleteFunc(func(e Entry[string]) bool { return e.Added.Before(before) })); n != 0 {
		t.Errorf("%d documents are older than the test", n)
	}
	must(0, d.Close())
}

// TestFailedCompact: after a Compact that failed, the next one works.
func TestFailedCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "docs")
	d, err := Open[int](path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 250000 {
		fmt.Fprintf(&b, "word%d ", i)
	}
	d.Add(1, neardup.Text(b.String())) // 2.6 MB
	d.Add(2, neardup.Text("a text that stays"))
	d.Delete(1)
	os.Mkdir(path+store.Temporary, 0o777)
	if err := d.Compact(context.Background()); err == nil {
		t.Fatal("Compact could write where a folder is")
	}
	os.Remove(path + store.Temporary)
	if err := d.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err = Open[int](path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Verify(); err != nil || d.Len() != 1 {
		t.Error(d.Len(), err)
	}
}
