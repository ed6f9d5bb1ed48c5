package neardup

import (
	"bufio"
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
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/hamming"
	"github.com/neardup/neardup/internal/race"
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
	if race.Enabled {
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

// A soakModel is what an index should hold after so many changes.
type soakModel struct {
	seed    uint64
	changes uint64
	stored  map[uint64]Fingerprint64
	digest  uint64 // of all that is stored
}

// soakChange returns a change by its number. Every pair of ids has the same fingerprint or
// nearly.
func soakChange(seed, number uint64) (id uint64, fp Fingerprint64, del bool) {
	rnd := rand.New(rand.NewPCG(seed, number))
	id = rnd.Uint64N(20_000)
	fp = Fingerprint64(id / 2 * 0x9E3779B97F4A7C15)
	if rnd.IntN(2) == 0 {
		fp ^= 1 << rnd.IntN(64)
	}
	if rnd.IntN(10) == 0 {
		fp = fp&^0xFFFF | 0xBEEF
	}
	return id, fp, rnd.IntN(3) == 0
}

func soakMix(id uint64, fp Fingerprint64) uint64 {
	x := (id ^ 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93
	x = (x ^ x>>32 ^ uint64(fp)) * 0xD6E8FEB86659FD93
	return x ^ x>>29
}

func (m *soakModel) step() {
	id, fp, del := soakChange(m.seed, m.changes)
	m.changes++
	if old, ok := m.stored[id]; ok {
		m.digest -= soakMix(id, old)
		delete(m.stored, id)
	}
	if !del {
		m.stored[id] = fp
		m.digest += soakMix(id, fp)
	}
}

// TestIndexSoak kills a process that changes an index, again and again, and compares what
// is left with a model: all that had been synced, and of the rest some first part. It takes
// as long as NEARDUP_SOAK says, for example 10m.
func TestIndexSoak(t *testing.T) {
	t.Parallel()
	if os.Getenv("NEARDUP_SOAK_PATH") != "" {
		soakChild(t)
		return
	}
	duration := 3 * time.Second
	if s := os.Getenv("NEARDUP_SOAK"); s != "" {
		var err error
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	} else if !*full {
		duration = time.Second
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "soak.index")
	m := soakModel{seed: seed, stored: map[uint64]Fingerprint64{}}
	kills, compacted := 0, uint64(0)
	for end := time.Now().Add(duration); time.Now().Before(end); kills++ {
		synced := m.changes
		env := []string{"NEARDUP_SOAK_PATH=" + path, fmt.Sprintf("NEARDUP_SOAK_SEED=%d", seed), fmt.Sprintf("NEARDUP_SOAK_FROM=%d", m.changes)}
		runAndKill(t, env, time.Duration(20+rnd.IntN(600))*time.Millisecond, func(line string) {
			what, number, _ := strings.Cut(line, " ")
			n, err := strconv.ParseUint(number, 10, 64)
			switch {
			case what == "synced" && err == nil:
				synced = n
			case what == "compacted" && err == nil:
				synced = n
				compacted++
			default:
				t.Errorf("child: %s", line)
			}
		})
		ix := mustOpen[uint64, Fingerprint64](t, path, 3)
		digest := uint64(0)
		for id, fp := range valuesOf(ix.All()) {
			digest += soakMix(id, fp)
		}
		for m.changes < synced {
			m.step()
		}
		for ahead := 0; digest != m.digest || ix.Len() != len(m.stored); ahead++ {
			if ahead > 1_000_000 {
				t.Fatalf("after %d kills: %d stored are no state since change %d", kills, ix.Len(), synced)
			}
			m.step()
		}
		if err := ix.Verify(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			id, fp, _ := soakChange(seed, rnd.Uint64N(m.changes+1))
			want := 0
			for _, x := range m.stored {
				if (x ^ fp).Distance(0) <= 3 {
					want++
				}
			}
			got := 0
			for match := range ix.Search(bg, fp) {
				got++
				if x, ok := m.stored[match.ID]; !ok || (x^fp).Distance(0) != match.Distance {
					t.Fatalf("%d: a wrong match %v", id, match)
				}
			}
			if got != want {
				t.Fatalf("%d: %d found, want %d", id, got, want)
			}
		}
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d changes, %d snapshots, %d stored", kills, m.changes, compacted, len(m.stored))
}

// runAndKill runs the test again in a process of its own, which env tells to be the child, kills it after a
// time, and calls said for each line that it has written. It fails if said does.
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

// soakChild changes the index until it is killed, and says when changes are on the disk.
func soakChild(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("NEARDUP_SOAK_SEED"), 10, 64)
	number, _ := strconv.ParseUint(os.Getenv("NEARDUP_SOAK_FROM"), 10, 64)
	ix := mustOpen[uint64, Fingerprint64](t, os.Getenv("NEARDUP_SOAK_PATH"), 3)
	rnd := rand.New(rand.NewPCG(seed, number))
	for ; ; number++ {
		id, fp, del := soakChange(seed, number)
		if del {
			must(ix.Delete(id))
		} else {
			ix.Add(id, fp)
		}
		var err error
		switch rnd.IntN(5000) {
		case 0:
			if err = ix.Compact(bg); err == nil {
				fmt.Println("compacted", number+1)
			}
		case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20:
			if err = ix.Sync(); err == nil {
				fmt.Println("synced", number+1)
			}
		case 21, 22, 23, 24, 25, 26, 27, 28, 29, 30:
			for m := range ix.Search(bg, fp) {
				if m.Distance > 3 {
					fmt.Println("found", m)
				}
			}
		}
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
}

// TestMerge changes indexes whose parts are merged by another goroutine all the time, and compares them with a
// map: what was replaced or deleted while its part was merged must stay so.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, files := range []bool{false, true} {
		ix := must(NewIndex[int, Fingerprint64](3, IndexOptions{}))
		if files {
			ix = mustOpen[int, Fingerprint64](t, filepath.Join(t.TempDir(), "x"), 3)
		}
		ix.s.Form.AtOnce = 600
		rnd := rand.New(rand.NewPCG(uint64(len(t.Name())), 8))
		stored := map[int]Fingerprint64{}
		check := func() {
			t.Helper()
			if got := maps.Collect(valuesOf(ix.All())); !maps.Equal(got, stored) || ix.Len() != len(stored) {
				t.Fatalf("%d stored, Len %d, want %d", len(got), ix.Len(), len(stored))
			}
			for range 20 {
				id := rnd.IntN(20_000)
				fp, ok := stored[id]
				if got, is, err := ix.Get(id); got != fp || is != ok || err != nil {
					t.Fatalf("%d: %v %v %v, want %v %v", id, got, is, err, fp, ok)
				}
				if ok && must(ix.Nearest(bg, fp, 1))[0].Distance != 0 {
					t.Fatalf("%d is not found", id)
				}
			}
		}
		largest := 0
		changes := shorter(120_000, 120_000) // fewer than 40,000 fill no part that is merged
		for i := range changes {
			switch id := rnd.IntN(20_000); {
			case i%3 == 0:
				_, want := stored[id]
				if got := must(ix.Delete(id)); got != want {
					t.Fatalf("%d: deleted %v, want %v", id, got, want)
				}
				delete(stored, id)
			default:
				fp := Fingerprint64(rnd.Uint64())
				ix.Add(id, fp)
				stored[id] = fp
			}
			switch {
			case i%10_000 == 9_999:
				check()
			case i == changes/2:
				if n, err := ix.DeleteFunc(func(e Entry[int, Fingerprint64]) bool { return e.ID%5 == 0 }); n == 0 || err != nil {
					t.Fatal(n, err)
				}
				maps.DeleteFunc(stored, func(id int, _ Fingerprint64) bool { return id%5 == 0 })
			}
		}
		for _, r := range ix.s.View().Runs {
			largest = max(largest, r.Len())
		}
		if largest < 5*ix.s.Form.AtOnce {
			t.Errorf("the largest part has %d: nothing was merged", largest)
		}
		ix.s.Settle()
		check()
		if err := ix.Compact(bg); err != nil {
			t.Fatal(err)
		}
		check()
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMergeOpen opens an index whose journal is so long that parts are merged while it is replayed.
func TestMergeOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	ix := mustOpen[int, Fingerprint64](t, path, 3)
	fps := random64(12_000, 3)
	for i, fp := range fps {
		ix.Add(i, fp)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	for range shorter(40, 10) {
		ix := must(newIndex[int, Fingerprint64](3, fileOptions))
		ix.s.Form.AtOnce = 500
		if err := ix.s.Open(path, fileOptions.Version); err != nil {
			t.Fatal(err)
		}
		n := 0
		for id, fp := range valuesOf(ix.All()) {
			if id != n || fp != fps[n] {
				t.Fatalf("%d %v is stored as number %d", id, fp, n)
			}
			n++
		}
		if n != len(fps) || ix.Len() != n {
			t.Fatalf("%d stored, Len %d, want %d", n, ix.Len(), len(fps))
		}
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// writeForged writes a run, whose columns it changes as data says, as a snapshot with right
// checksums and a journal. It returns what of data it did not use.
func writeForged[ID comparable, T store.Finder](t *testing.T, path, kind, version string, r *store.Run[ID, T], it *store.IDType[ID], data []byte) []byte {
	columns, err := store.RunColumns(r, it)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(data) >= 4; data = data[4:] {
		parts := columns[int(data[0])%store.FixedColumns]
		at := int(data[1])<<8 | int(data[2])
		for i, p := range parts {
			if p = bytes.Clone(p); len(p) > 0 {
				p[at%len(p)] ^= data[3]
			}
			parts[i] = p
		}
	}
	if _, err := store.WriteColumns(path, kind, version, 0, r.Len(), r.Find, it.Kind, columns, store.FixedColumns); err != nil {
		t.Fatal(err)
	}
	j, err := store.CreateJournal(path+".journal", version, kind+"-journal", 0)
	if err != nil {
		t.Fatal(err)
	}
	j.File.Close()
	return data
}

// FuzzSnapshot changes the columns of a snapshot, whose checksums are right, and uses what
// comes of it in every way; then it takes the input for a whole file.
func FuzzSnapshot(f *testing.F) {
	rnd := rand.New(rand.NewPCG(3, 3))
	fps := append(skewed[Fingerprint64]("templates", 600, rnd), skewed[Fingerprint64]("block", 600, rnd)...)
	f.Add([]byte{})
	f.Add([]byte{2, 10, 0, 255, 9, 0, 0, 255, 9, 0, 1, 255, 10, 0, 0, 255, 10, 1, 0, 127, 4, 0, 200, 255, 6, 0, 0, 9, 7, 0, 0, 255})
	f.Add([]byte("neardup\x00\x01\x07index64\x03v=1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x")
		it := store.IDTypeOf[string]()
		docs := store.NewDocuments[string](1, len(fps))
		for i, fp := range fps {
			docs.Add([]uint64{uint64(fp)}, fmt.Sprint(i), 0)
		}
		r := store.NewRun(docs, false, &it, 1, func(fps store.Column) *hamming.Tree { return hamming.NewTree(1, fps.Docs, 3, 4, 0) })
		unchanged := len(data) < 4
		data = writeForged(t, path, "index64", "v=1", r, &it, data)
		use := func() {
			ix, err := OpenIndex[string, Fingerprint64](path, 3, fileOptions)
			if err != nil {
				if unchanged {
					t.Fatal(err)
				}
				return
			}
			for i := 0; i < len(fps); i += 29 {
				for m := range ix.Search(bg, fps[i]^2) {
					if m.Distance > 3 {
						t.Fatal(m)
					}
				}
			}
			many, _ := ix.SearchMany(bg, fps)
			for i := range many {
				for _, m := range many[i] {
					if m.Distance > 3 {
						t.Fatal(m)
					}
				}
			}
			ix.Nearest(bg, 7, 3)
			ix.Delete("5")
			ix.Add("6", 6)
			ix.stats()
			ix.Groups(bg, SingleLinkage)
			ix.Verify()
			ix.DeleteBefore(time.Unix(1, 0))
			ix.Compact(bg)
			ix.Close()
		}
		use()
		unchanged = false
		os.Remove(path + ".journal")
		os.WriteFile(path, data, 0o666)
		use()
	})
}

// FuzzJournal takes the input for the changes in a frame whose checksum is right, and for
// all that follows the first frame.
func FuzzJournal(f *testing.F) {
	f.Add([]byte{store.ChangeAdd, 1, 1, 'a', 1, 2, 3, 4, 5, 6, 7, 8, store.ChangeDelete, 1, 'a'})
	f.Add([]byte{store.ChangeAdd, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 255})
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x")
		for _, framed := range []bool{true, false} {
			j, err := store.CreateJournal(path+".journal", "v=1", "index64-journal", 0)
			if err != nil {
				t.Fatal(err)
			}
			raw := data
			if framed {
				j.Frame = append(j.Begin(), data...)
				raw = j.End()
			}
			j.File.Write(raw)
			j.File.Close()
			for range 2 { // what was opened once can be opened again
				ix, err := OpenIndex[string, Fingerprint64](path, 3, fileOptions)
				if err != nil {
					if !errors.Is(err, ErrDamaged) {
						t.Fatal(err)
					}
					break
				}
				n := ix.Len()
				if got := len(maps.Collect(valuesOf(ix.All()))); got != n {
					t.Fatalf("%d of %d", got, n)
				}
				if err := ix.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
