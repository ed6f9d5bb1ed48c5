package neardup

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/store"
)

// A pageID is an id with methods of its own.
type pageID struct {
	site string
	page uint16
}

func (p pageID) AppendBinary(b []byte) ([]byte, error) {
	if strings.Contains(p.site, "bad") {
		return b, errors.New("a bad site")
	}
	return append(binary.BigEndian.AppendUint16(b, p.page), p.site...), nil
}

func (p *pageID) UnmarshalBinary(b []byte) error {
	if len(b) < 2 {
		return io.ErrUnexpectedEOF
	}
	p.page, p.site = binary.BigEndian.Uint16(b), string(b[2:])
	return nil
}

type namedID string

var fileOptions = IndexOptions{Version: "v=1"}

func mustOpen[ID comparable, F Fingerprint](t testing.TB, path string, k int) *Index[ID, F] {
	t.Helper()
	ix, err := OpenIndex[ID, F](path, k, fileOptions)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// TestIndexFiles changes an index at random, closes and opens it now and then, and
// compares it with a map, for every kind of ids.
func TestIndexFiles(t *testing.T) {
	t.Parallel()
	t.Run("uint64", func(t *testing.T) {
		testIndexFiles[uint64, Fingerprint64](t, func(n int) uint64 { return uint64(n) << 40 })
	})
	t.Run("int16", func(t *testing.T) {
		testIndexFiles[int16, Fingerprint128](t, func(n int) int16 { return int16(n - 300) })
	})
	t.Run("string", func(t *testing.T) {
		testIndexFiles[string, Fingerprint128](t, func(n int) string { return strings.Repeat("é\x00", n%9) + fmt.Sprint(n) })
	})
	t.Run("named", func(t *testing.T) {
		testIndexFiles[namedID, Fingerprint64](t, func(n int) namedID { return namedID(fmt.Sprint(n)) })
	})
	t.Run("binary", func(t *testing.T) {
		testIndexFiles[pageID, Fingerprint64](t, func(n int) pageID { return pageID{fmt.Sprint(n % 10), uint16(n)} })
	})
}

func testIndexFiles[ID comparable, F Fingerprint](t *testing.T, id func(n int) ID) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	path := filepath.Join(t.TempDir(), "seen.index")
	ix := mustOpen[ID, F](t, path, 3)
	stored := map[ID]F{}
	pool := skewed[F]("templates", 400, rnd)
	for step := range shorter(6000, 2500) {
		switch op := rnd.IntN(1000); {
		case op < 600:
			id, fp := id(rnd.IntN(700)), pool[rnd.IntN(len(pool))]
			stored[id] = fp
			if op%2 == 0 {
				ix.Add(id, fp)
			} else {
				must(ix.SearchAndAdd(bg, id, fp))
			}
		case op < 800:
			id := id(rnd.IntN(700))
			_, want := stored[id]
			delete(stored, id)
			if got := must(ix.Delete(id)); got != want {
				t.Fatalf("Delete = %v, want %v", got, want)
			}
		case op < 980:
			fp := flip(pool[rnd.IntN(len(pool))], rnd.IntN(5), rnd)
			want := map[ID]int{}
			for id, x := range stored {
				if d := bruteDistance(x, fp); d <= 3 {
					want[id] = d
				}
			}
			got := map[ID]int{}
			for m := range ix.Search(bg, fp) {
				if _, twice := got[m.ID]; twice {
					t.Fatalf("%v is found twice", m.ID)
				}
				got[m.ID] = m.Distance
			}
			if !maps.Equal(got, want) {
				t.Fatalf("step %d: found %v, want %v", step, got, want)
			}
		case op < 990:
			if err := ix.Close(); err != nil {
				t.Fatal(err)
			}
			ix = mustOpen[ID, F](t, path, 3)
		case op < 993:
			if err := ix.Compact(bg); err != nil {
				t.Fatal(err)
			}
		case op < 995:
			more := map[ID]F{}
			for range 50 {
				more[id(rnd.IntN(700))] = pool[rnd.IntN(len(pool))]
			}
			maps.Copy(stored, more)
			if err := ix.AddAll(bg, maps.All(more)); err != nil {
				t.Fatal(err)
			}
		case op < 996:
			clear(stored)
			must(ix.DeleteFunc(func(Entry[ID, F]) bool { return true }))
		default:
			if err := errors.Join(ix.Sync(), ix.Verify()); err != nil {
				t.Fatal(err)
			}
		}
		if ix.Len() != len(stored) {
			t.Fatalf("step %d: %d stored, want %d", step, ix.Len(), len(stored))
		}
	}
	if got := maps.Collect(valuesOf(ix.All())); !maps.Equal(got, stored) || ix.err() != nil {
		t.Fatalf("%d stored, want %d: %v", len(got), len(stored), ix.err())
	}
}

// copyIndex copies the files of an index, the journal up to a byte, into a new folder.
func copyIndex(t *testing.T, path string, journal []byte) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.index")
	if snapshot, err := os.ReadFile(path); err == nil {
		if err := os.WriteFile(to, snapshot, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(to+".journal", journal, 0o666); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestIndexKilled opens what a writer leaves that is killed at any byte of the journal:
// everything up to the last Sync is there.
func TestIndexKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seen.index")
	ix := mustOpen[string, Fingerprint64](t, path, 3)
	rnd := rand.New(rand.NewPCG(1, 1))
	change := func() {
		if rnd.IntN(3) == 0 {
			must(ix.Delete(fmt.Sprint(rnd.IntN(30))))
		} else {
			ix.Add(fmt.Sprint(rnd.IntN(30)), Fingerprint64(rnd.Uint64()))
		}
	}
	for range 50 {
		change()
	}
	if err := ix.Compact(bg); err != nil {
		t.Fatal(err)
	}
	type synced struct {
		size  int64
		state map[string]Fingerprint64
	}
	sync := func() synced {
		if err := ix.Sync(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path + ".journal")
		if err != nil {
			t.Fatal(err)
		}
		return synced{info.Size(), maps.Collect(valuesOf(ix.All()))}
	}
	syncs := []synced{sync()}
	for range 12 {
		for range rnd.IntN(5) {
			change()
		}
		syncs = append(syncs, sync())
	}
	journal, err := os.ReadFile(path + ".journal")
	if err != nil {
		t.Fatal(err)
	}
	for size := int(syncs[0].size); size <= len(journal); size++ {
		for _, tail := range [][]byte{nil, make([]byte, 100)} { // the power may have failed, too
			if tail != nil && !slices.ContainsFunc(syncs, func(s synced) bool { return s.size == int64(size) }) {
				continue // sectors are written whole
			}
			copied := copyIndex(t, path, append(journal[:size:size], tail...))
			again, err := OpenIndex[string, Fingerprint64](copied, 3, fileOptions)
			if err != nil {
				t.Fatalf("%d of %d bytes: %v", size, len(journal), err)
			}
			last := 0
			for i, s := range syncs {
				if s.size <= int64(size) {
					last = i
				}
			}
			whole := tail == nil && size == int(syncs[last].size)
			if lost := again.Lost(); (lost == nil) != whole || lost != nil && !strings.Contains(lost.Error(), ".journal: ") {
				t.Fatalf("%d of %d bytes: Lost says %v", size, len(journal), lost)
			}
			got := maps.Collect(valuesOf(again.All()))
			if tail != nil && last+1 < len(syncs) && maps.Equal(got, syncs[last+1].state) {
				last++ // only zeros were missing
			}
			if !maps.Equal(got, syncs[last].state) {
				t.Fatalf("%d of %d bytes: %d stored, want %d", size, len(journal), len(got), len(syncs[last].state))
			}
			again.Add("new", 7) // and it goes on
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			again = mustOpen[string, Fingerprint64](t, copied, 3)
			if again.Lost() != nil || again.Len() != len(syncs[last].state)+1 || !must(again.Exists(bg, 7)) {
				t.Fatalf("%d of %d bytes: what was added later is lost", size, len(journal))
			}
			again.Close()
		}
	}

	// The power fails while a large frame is written: some of it is there, some is zeros.
	last := syncs[len(syncs)-1]
	j, err := store.ReadJournal(path+".journal", "v=1", "index64-journal", "", 1, func(uint64) error { return nil },
		func([]byte, []uint64, uint32) error { return nil }, func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	j.File.Close()
	for i := range 200 {
		j.Add([]byte(fmt.Sprint("x", i)), []uint64{uint64(i)}, false, 1)
	}
	frame := bytes.Clone(j.End())
	for from := 512 - len(journal)%512; from+512 < len(frame); from += 512 {
		holed := append(bytes.Clone(journal), frame...)
		clear(holed[len(journal)+from:][:512])
		again := mustOpen[string, Fingerprint64](t, copyIndex(t, path, holed), 3)
		if got := maps.Collect(valuesOf(again.All())); !maps.Equal(got, last.state) {
			t.Fatalf("zeros from %d on: %d stored, want %d", from, len(got), len(last.state))
		}
		again.Close()
		j.Frame = append(j.Begin(), store.ChangeDelete, 1, '1') // another frame follows: it had been on the disk
		sum := j.Sum
		holed = append(holed, j.End()...)
		j.Sum = sum
		if _, err := OpenIndex[string, Fingerprint64](copyIndex(t, path, holed), 3, fileOptions); !errors.Is(err, ErrDamaged) {
			t.Fatalf("zeros in the middle: %v", err)
		}
	}

	// Killed while it compacts: before the snapshot has its name, and before the journal has.
	want := maps.Collect(valuesOf(ix.All()))
	check := func(what, path string) {
		t.Helper()
		again := mustOpen[string, Fingerprint64](t, path, 3)
		if got := maps.Collect(valuesOf(again.All())); !maps.Equal(got, want) {
			t.Fatalf("killed %s: %d stored, want %d", what, len(got), len(want))
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(path + "*.new"); left != nil {
			t.Fatalf("killed %s: %v is left", what, left)
		}
	}
	copied := copyIndex(t, path, journal)
	os.WriteFile(copied+store.Temporary, []byte("neardup\x00half of it"), 0o666)
	check("before the snapshot", copied)
	if err := ix.Compact(bg); err != nil {
		t.Fatal(err)
	}
	ix.Add("later", 1)
	want["later"] = 1
	ix.Close()
	check("after both", path)
	ix = mustOpen[string, Fingerprint64](t, path, 3)
	must(ix.Delete("later"))
	delete(want, "later")
	before, _ := os.ReadFile(path + ".journal") // as if never taken up
	ix.Sync()
	ix.Compact(bg)
	ix.Close()
	copied = copyIndex(t, path, before)
	os.WriteFile(copied+".journal"+store.Temporary, []byte("half"), 0o666)
	check("before the journal", copied)
	if _, err := OpenIndex[string, Fingerprint64](copyIndex(t, path, journal), 3, fileOptions); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "another snapshot") {
		t.Errorf("a journal of long ago: %v", err)
	}
}

// TestIndexDamaged changes and cuts the files at every byte: no search finds anything
// wrong, and Verify says what is the matter.
func TestIndexDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seen.index")
	ix := mustOpen[string, Fingerprint64](t, path, 3)
	fps := map[string]Fingerprint64{}
	for i, fp := range random64(600, 3) {
		fps[fmt.Sprint("id", i)] = fp
	}
	ix.AddAll(bg, maps.All(fps))
	ix.Add("new", 1)
	ix.Sync()
	must(ix.Delete("id7"))
	ix.Close()
	fps["new"] = 1
	snapshot, _ := os.ReadFile(path)
	journal, _ := os.ReadFile(path + ".journal")
	check := func(what string, snapshot, journal []byte) {
		t.Helper()
		os.WriteFile(path, snapshot, 0o666)
		os.WriteFile(path+".journal", journal, 0o666)
		ix, err := OpenIndex[string, Fingerprint64](path, 3, fileOptions)
		if err == nil {
			ids := []string{"id1", "id99", "id300", "id555"}
			right := func(id string, m Match[string]) {
				if (fps[m.ID] ^ fps[id] ^ 1).Distance(0) != m.Distance {
					t.Fatalf("%s: a wrong match %v", what, m)
				}
			}
			if len(what)%2 == 0 {
				found, _ := ix.SearchMany(bg, []Fingerprint64{fps[ids[0]] ^ 1, fps[ids[1]] ^ 1, fps[ids[2]] ^ 1, fps[ids[3]] ^ 1})
				for i, matches := range found {
					for _, m := range matches {
						right(ids[i], m)
					}
				}
			} else {
				for _, id := range ids {
					for m := range ix.Search(bg, fps[id]^1) {
						right(id, m)
					}
				}
			}
			err = ix.Verify()
			ix.Close()
		}
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "seen.index") {
			t.Fatalf("%s: %v", what, err)
		}
	}
	step := shorter(1, 37)
	if raceDetector {
		step = 7
	}
	for i := 0; i < len(snapshot); i += step {
		damaged := bytes.Clone(snapshot)
		damaged[i] ^= 1 << (i % 8)
		check(fmt.Sprintf("byte %d of %d of the snapshot", i, len(snapshot)), damaged, journal)
		if i%7 == 0 {
			check(fmt.Sprintf("snapshot cut at byte %d", i), snapshot[:i], journal)
		}
	}
	check("snapshot too long", append(bytes.Clone(snapshot), 0), journal)
	for i := range journal {
		damaged := bytes.Clone(journal)
		damaged[i] ^= 1 << (i % 8)
		check(fmt.Sprintf("byte %d of %d of the journal", i, len(journal)), snapshot, damaged)
	}
	os.Remove(path)
	if _, err := OpenIndex[string, Fingerprint64](path, 3, fileOptions); !errors.Is(err, ErrDamaged) {
		t.Errorf("a snapshot that is gone: %v", err)
	}
}

// TestOpenIndexRefuses checks the errors of files that are not damaged.
func TestOpenIndexRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen.index")
	ix := mustOpen[string, Fingerprint64](t, path, 3)
	ix.Add("a", 1)
	refuses := func(what string, err error, is error, text string) {
		t.Helper()
		if err == nil || is != nil && !errors.Is(err, is) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", what, err)
		}
	}
	open := func(options IndexOptions) error {
		_, err := OpenIndex[string, Fingerprint64](path, 3, options)
		return err
	}
	refuses("open twice", open(fileOptions), nil, "has the files open")
	if err := ix.Compact(bg); err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil || !errors.Is(ix.err(), os.ErrClosed) || ix.Len() != 0 {
		t.Errorf("closed: %v, %v", err, ix.err())
	}
	saysClosed(t, ix)
	ix.Add("b", 2)
	refuses("closed", ix.Sync(), os.ErrClosed, "")
	if err := ix.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	refuses("no version", open(IndexOptions{}), nil, "Version")
	refuses("another version", open(IndexOptions{Version: "v=2"}), ErrVersion, "v=1, not 2")
	_, err := OpenIndex[string, Fingerprint128](path, 3, fileOptions)
	refuses("another width", err, ErrVersion, "index64, not index128")
	_, err = OpenIndex[int, Fingerprint64](path, 3, fileOptions)
	refuses("other ids", err, ErrVersion, "string ids, not signed")
	_, err = OpenIndex[[2]int, Fingerprint64](path, 3, fileOptions)
	refuses("ids that cannot be written", err, nil, "BinaryAppender")
	_, err = OpenIndex[string, Fingerprint64](filepath.Join(path, "x"), 3, fileOptions)
	refuses("no folder", err, nil, "seen.index")
	_, err = OpenIndex[string, Fingerprint64](filepath.Dir(path), 3, fileOptions)
	refuses("a folder", err, nil, "")
	for what, content := range map[string]string{"empty": "", "text": "id,text\n1,hello\n"} {
		other := filepath.Join(t.TempDir(), "other")
		os.WriteFile(other, []byte(content), 0o666)
		_, err := OpenIndex[string, Fingerprint64](other, 3, fileOptions)
		refuses(what, err, ErrDamaged, "not a file of this package")
	}
	path = filepath.Join(t.TempDir(), "big")
	big := mustOpen[int64, Fingerprint64](t, path, 3)
	big.Add(1000, 5)
	big.Compact(bg)
	big.Close()
	_, err = OpenIndex[int8, Fingerprint64](path, 3, fileOptions)
	refuses("smaller ids", err, ErrVersion, "signed64 ids, not signed8")
	os.Remove(path)
	_, err = OpenIndex[int64, Fingerprint64](path, 3, fileOptions)
	refuses("no snapshot", err, ErrDamaged, "big, is missing")
	pages := mustOpen[pageID, Fingerprint64](t, filepath.Join(t.TempDir(), "pages"), 3)
	pages.Add(pageID{"bad", 1}, 5)
	refuses("an id that cannot be written", pages.Sync(), nil, "a bad site")
}

// TestIndexSyncsAfterDamage: what was added before damage of the snapshot was met is not lost.
func TestIndexSyncsAfterDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	ix := mustOpen[int, Fingerprint64](t, path, 3)
	fps := random64(20_000, 1)
	ix.AddAll(bg, slices.All(fps))
	ix.Close()
	data, _ := os.ReadFile(path)
	data[len(data)-1000] ^= 1
	os.WriteFile(path, data, 0o666)
	ix, err := OpenIndex[int, Fingerprint64](path, 3, fileOptions)
	if errors.Is(err, ErrDamaged) {
		t.Skip("files are not mapped here, but read and checked when they are opened")
	} else if err != nil {
		t.Fatal(err)
	}
	ix.Add(100_000, 7)
	for _, fp := range fps {
		for range ix.Search(bg, fp) {
		}
	}
	if err := ix.err(); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	if there, err := ix.Delete(5); there || !errors.Is(err, ErrDamaged) || !errors.Is(ix.Add(100_001, 8), ErrDamaged) {
		t.Errorf("changed after an error: %t, %v", there, err)
	}
	if _, err := ix.SearchAndAdd(bg, 100_002, ^Fingerprint64(0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged index says that it knows nothing: %v", err)
	}
	if err := ix.Close(); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	data[len(data)-1000] ^= 1
	os.WriteFile(path, data, 0o666)
	ix = mustOpen[int, Fingerprint64](t, path, 3)
	if !must(ix.Exists(bg, 7)) || ix.Len() != len(fps)+1 {
		t.Errorf("%d stored", ix.Len())
	}
}

// TestJournalHole zeroes every sector of a journal of many small frames, as a failing disk might. If
// anything whole follows the hole, it is damage, and the file stays as it is. Only a hole in the last
// frame may be the trace of a writer that never said that the frame was on the disk.
func TestJournalHole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seen.index")
	ix := mustOpen[string, Fingerprint64](t, path, 3)
	rnd := rand.New(rand.NewPCG(5, 5))
	before := 0 // documents before the last frame
	for frame := range 13 {
		before = ix.Len()
		for range 50 {
			if err := ix.Add(fmt.Sprint("document ", frame, rnd.Uint64()), Fingerprint64(rnd.Uint64())); err != nil {
				t.Fatal(err)
			}
		}
		if err := ix.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	journal, err := os.ReadFile(path + ".journal")
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for at := 512; at < len(journal); at += 512 {
		holed := bytes.Clone(journal)
		clear(holed[at:min(at+512, len(holed))])
		copied := copyIndex(t, path, holed)
		again, err := OpenIndex[string, Fingerprint64](copied, 3, fileOptions)
		if err == nil {
			if again.Len() < before {
				t.Errorf("zeros from byte %d on: %d of %d documents are left, and no error", at, again.Len(), ix.Len())
			}
			if err := again.Lost(); err == nil || !strings.Contains(err.Error(), copied+".journal: ") || !strings.Contains(err.Error(), "zeros") {
				t.Errorf("zeros from byte %d on: Lost says %v", at, err)
			}
			again.Close()
			continue
		}
		damaged++
		after, readErr := os.ReadFile(copied + ".journal")
		if !errors.Is(err, ErrDamaged) || readErr != nil || !bytes.Equal(after, holed) {
			t.Errorf("zeros from byte %d on: %v; the file has %d of %d bytes", at, err, len(after), len(holed))
		}
	}
	if damaged < len(journal)/512/2 {
		t.Errorf("%d of %d holes are damage", damaged, len(journal)/512)
	}
}

// saysClosed checks that no method of a closed index says that nothing is known.
func saysClosed(t *testing.T, ix *Index[string, Fingerprint64]) {
	t.Helper()
	errs := map[string]error{"Add": ix.Add("z", 1), "AddAll": ix.AddAll(bg, maps.All(map[string]Fingerprint64{"z": 1})), "Sync": ix.Sync(), "Compact": ix.Compact(bg), "Verify": ix.Verify()}
	_, _, errs["Get"] = ix.Get("a")
	_, errs["Delete"] = ix.Delete("a")
	_, errs["DeleteBefore"] = ix.DeleteBefore(time.Now())
	_, errs["DeleteFunc"] = ix.DeleteFunc(func(Entry[string, Fingerprint64]) bool { return true })
	_, errs["Exists"] = ix.Exists(bg, 1)
	_, errs["ExistsAndAdd"] = ix.ExistsAndAdd(bg, "z", 1)
	_, errs["SearchAndAdd"] = ix.SearchAndAdd(bg, "z", 1)
	_, errs["Nearest"] = ix.Nearest(bg, 1, 3)
	_, errs["Groups"] = ix.Groups(bg, SingleLinkage)
	for _, err := range ix.Search(bg, 1) {
		errs["Search"] = err
	}
	for _, err := range ix.Pairs(bg) {
		errs["Pairs"] = err
	}
	for _, name := range []string{"Add", "AddAll", "Sync", "Compact", "Verify", "Get", "Delete", "DeleteBefore", "DeleteFunc", "Exists", "ExistsAndAdd", "SearchAndAdd", "Nearest", "Groups", "Search", "Pairs"} {
		if !errors.Is(errs[name], os.ErrClosed) {
			t.Errorf("%s of a closed index: %v", name, errs[name])
		}
	}
}

// TestIndexCannotWrite: when the journal cannot be written any more, that is said, and what
// was synced before is there.
func TestIndexCannotWrite(t *testing.T) {
	for _, changes := range []int{1, 10_000} { // found out by Sync, or by an addition
		path := filepath.Join(t.TempDir(), "x")
		ix := mustOpen[int, Fingerprint64](t, path, 3)
		ix.Add(1, 1)
		if err := ix.Sync(); err != nil {
			t.Fatal(err)
		}
		file := ix.s.Files.Journal.File
		ix.s.Files.Journal.File, _ = os.Open(path + ".journal") // which is for reading
		for i := range changes {
			ix.Add(2+i, 2)
		}
		if err := ix.Sync(); err == nil || ix.err() == nil {
			t.Fatal("no error")
		}
		ix.s.Files.Journal.File.Close()
		ix.s.Files.Journal.File = file // it can be written again, but nobody knows what it has
		if err := ix.Close(); err == nil {
			t.Error("closed without an error")
		}
		ix = mustOpen[int, Fingerprint64](t, path, 3)
		if ix.Len() != 1 || !must(ix.Exists(bg, 1)) {
			t.Errorf("%d stored", ix.Len())
		}
		ix.Close()
	}
}

// TestIndexFileGolden: files are the same on every platform, and those of before can be read.
func TestIndexFileGolden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	ix := mustOpen[string, Fingerprint128](t, path, 6)
	ix.s.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	rnd := rand.New(rand.NewPCG(3, 4))
	ids := func(fps []Fingerprint128) iter.Seq2[string, Fingerprint128] {
		return func(yield func(string, Fingerprint128) bool) {
			for i, fp := range fps {
				if !yield(fmt.Sprint("id", i), fp) {
					return
				}
			}
		}
	}
	if err := ix.AddAll(bg, ids(append(skewed[Fingerprint128]("block", 9000, rnd), skewed[Fingerprint128]("equal", 400, rnd)...))); err != nil {
		t.Fatal(err)
	}
	ix.Add("new", Fingerprint128{1, 2})
	must(ix.Delete("id7"))
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		path string
		want uint64
	}{{path, 0x32b3987c94c96a8}, {path + ".journal", 0x527c325e488d019f}} {
		data, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := format.Checksum(data, 0); got != f.want {
			t.Errorf("%s: %d bytes with the checksum %#x, want %#x", filepath.Ext(f.path), len(data), got, f.want)
		}
	}
}

// TestIndexOtherDistance opens an index with another distance than before.
func TestIndexOtherDistance(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seen.index")
	rnd := rand.New(rand.NewPCG(1, 1))
	fps := skewed[Fingerprint64]("templates", 5000, rnd)
	for _, blocks := range []int{0, 6} {
		ix, err := OpenIndex[int, Fingerprint64](path, 3, IndexOptions{Version: "v=1", Blocks: blocks})
		if err != nil {
			t.Fatal(err)
		}
		ix.AddAll(bg, slices.All(fps))
		ix.Close()
		for _, k := range []int{0, 2, 5, 20} {
			ix := mustOpen[int, Fingerprint64](t, path, k)
			for range 20 {
				checkSearch(t, ix, fps, flip(fps[rnd.IntN(len(fps))], 2, rnd), k)
			}
			ix.Close()
		}
	}
}

// BenchmarkOpenIndex opens an index and searches it once, which checks the blocks that it
// touches; then it checks all.
func BenchmarkOpenIndex(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		if n > 1_000_000 && !large() {
			continue
		}
		b.Run(fmt.Sprintf("n=%d/distance=3/bits=64", n), func(b *testing.B) {
			fps := random64(n, 1)
			path := filepath.Join(b.TempDir(), "x")
			ix := mustOpen[int, Fingerprint64](b, path, 3)
			start := time.Now()
			if err := ix.AddAll(bg, slices.All(fps)); err != nil {
				b.Fatal(err)
			}
			built := time.Since(start)
			ix.Close()
			for b.Loop() {
				ix := mustOpen[int, Fingerprint64](b, path, 3)
				if !must(ix.Exists(bg, fps[n/2]^5)) {
					b.Fatal("not found")
				}
				if err := ix.Close(); err != nil {
					b.Fatal(err)
				}
			}
			ix = mustOpen[int, Fingerprint64](b, path, 3)
			start = time.Now()
			if err := ix.Verify(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(built.Milliseconds()), "build-ms")
			b.ReportMetric(float64(time.Since(start).Milliseconds()), "verify-ms")
			start = time.Now()
			for i := range 200_000 {
				if !must(ix.Exists(bg, fps[i*7919%n]^5)) {
					b.Fatal("not found")
				}
			}
			b.ReportMetric(float64(time.Since(start).Nanoseconds())/200_000, "ns/search")
			ix.Close()
		})
	}
}

// TestByteAfterRecords: a byte after the records is damage, though no record has it.
func TestByteAfterRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	ix, err := OpenIndex[string, Fingerprint64](path, 3, IndexOptions{Version: "v"})
	if err != nil {
		t.Fatal(err)
	}
	ix.Add("a", 1)
	if err := errors.Join(ix.Compact(context.Background()), ix.Close()); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(path)
	end := len(bytes.TrimRight(b[:4096], "\x00"))
	b[end] = 1
	os.WriteFile(path, b, 0o666)
	if _, err := OpenIndex[string, Fingerprint64](path, 3, IndexOptions{Version: "v"}); !errors.Is(err, ErrDamaged) {
		t.Errorf("byte %d changed: got %v", end, err)
	}
}

// TestOtherIntegers: only int and uint read the ids of another width.
func TestOtherIntegers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	ix, err := OpenIndex[int32, Fingerprint64](path, 3, IndexOptions{Version: "v"})
	if err != nil {
		t.Fatal(err)
	}
	ix.Add(1, 1)
	if err := errors.Join(ix.Compact(context.Background()), ix.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenIndex[int64, Fingerprint64](path, 3, IndexOptions{Version: "v"}); !errors.Is(err, ErrVersion) {
		t.Errorf("got %v", err)
	}
}
