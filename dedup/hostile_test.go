package dedup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/race"
)

// timed returns how long a call takes.
func timed(call func()) time.Duration {
	begin := time.Now()
	call()
	return time.Since(begin)
}

// TestHostile: strange texts harm nobody, and take no longer than others of their length: quadratic time would take hours.
func TestHostile(t *testing.T) {
	rnd := seeded(t, 81)
	million := larger(50_000, 1_000_000)
	for name, texts := range map[string][]string{
		"nothing":      {"", "", "…", "\x00", "\xff\xfe\xfd", "\u202e", strings.Repeat("\u0301", 1000), strings.Repeat("\xff", 1000)},
		"one word":     {strings.Repeat("word ", million), strings.Repeat("word ", million+1), strings.Repeat("word\n", million), strings.Repeat("字", million), strings.Repeat("字", million) + "X"},
		"one letter":   {strings.Repeat("a", million), strings.Repeat("a", million) + "b", strings.Repeat("1", million), strings.Repeat("@", million), strings.Repeat("a@b.c ", million/10)},
		"invalid":      {strings.Repeat("a\xffb \xc3", 1000), strings.Repeat("a\xffb \xc3", 1001), strings.Repeat("\xed\xa0\x80", 1000)},
		"long":         {englishA.text(rnd, million), englishA.text(rnd, million)},
		"figures":      {strings.Repeat("2026-11-23 ", million/10), strings.Repeat("3 March 2026 may may ", million/20)},
		"short":        {"a", "b", "a b", "ab", "A", "a.", "字", "字字", "😀", "😀😀"},
		"a long token": {strings.Repeat("ab", million/2) + " end", "begin " + strings.Repeat("ab", million/2)},
	} {
		d := made[int](t, Options{Kinds: neardup.AllKinds})
		size := 0
		took := timed(func() {
			for i, text := range texts {
				size += len(text)
				if err := d.Add(i, neardup.Text(text)); err != nil {
					t.Fatal(err)
				}
			}
			for range d.Pairs(bg) {
			}
			for _, text := range texts {
				must(d.Exists(bg, neardup.Text(text)))
			}
			must(d.Groups(bg, GroupOptions[int]{}))
			must(d.Families(bg))
			must(d.Estimate(bg))
			must(d.Explain(0, len(texts)-1))
		})
		t.Logf("%s: %d bytes take %v", name, size, took)
	}
}

// TestEqualTexts: many equal texts cost little, and their pairs are counted without being compared.
func TestEqualTexts(t *testing.T) {
	t.Parallel()
	d := made[int](t, Options{})
	n := 10_000
	for i := range n {
		d.Add(i, neardup.Text("one and the same short text"))
	}
	groups := must(d.Groups(bg, GroupOptions[int]{}))
	if len(groups) != 1 || len(groups[0].Members) != n {
		t.Errorf("%d groups", len(groups))
	}
	must(d.Estimate(bg))
	must(d.Families(bg))
	must(d.Calibrate(bg, nil, Target{}))
	if found := listed(d.Search(bg, neardup.Text("one and the same short text"))); len(found) != n {
		t.Errorf("%d are found", len(found))
	}
	pairs := 0
	for range d.Pairs(bg) {
		if pairs++; pairs == 100_000 {
			break
		}
	}
}

// TestLinear logs how the time grows with the number of texts of some sorts: look at it with -v. Times fail no test.
func TestLinear(t *testing.T) {
	if !*full || race.Enabled {
		t.Skip("measures time; run with -full")
	}
	rnd := seeded(t, 82)
	opening := englishA.text(rnd, 40)
	template := englishA.some(rnd, 150)
	for _, c := range []struct {
		name string
		n    int // of the larger half
		text func(i int) string
	}{
		{"unrelated", 40_000, func(i int) string { return englishA.text(rnd, 150) }},
		{"a common opening", 10_000, func(i int) string { return opening + " " + englishA.text(rnd, 150) }},
		{"a template, half of each", 1000, func(i int) string { return englishA.join(template) + " " + englishA.text(rnd, 150) }},
	} {
		var took [2]time.Duration
		for half := range took {
			d := made[int](t, Options{})
			n := c.n / (2 - half)
			for i := range n {
				d.Add(i, neardup.Text(c.text(i)))
			}
			took[half] = timed(func() {
				for range d.Pairs(bg) {
				}
			})
			t.Logf("%s: %d texts: Pairs takes %v", c.name, n, took[half])
			if *full {
				t.Logf("%s: %d texts: Groups takes %v", c.name, n, timed(func() { must(d.Groups(bg, GroupOptions[int]{})) }))
				text := c.text(0)
				t.Logf("%s: %d texts: Search takes %v", c.name, n, timed(func() { must(d.Exists(bg, neardup.Text(text))) }))
			}
		}
	}
}

// TestMemory: texts in a temporary file, and what is known of many documents in others, change nothing that is found, also when many are
// replaced, and nothing is left behind.
func TestMemory(t *testing.T) {
	texts := revisedTexts(shorter(3000, 1500)) // about 0.8 KB each
	t.Setenv("TMPDIR", t.TempDir())
	var want []fact
	for _, memory := range []int64{0, 16 << 20, 1} {
		rnd := rand.New(rand.NewPCG(5, 5))
		d := made[string](t, Options{Memory: memory, Kinds: neardup.AllKinds})
		for i := range 5000 { // more than stand in one piece of a column
			d.Add(fmt.Sprint("short ", i), neardup.Text(strconv.FormatUint(uint64(i%4900+1)*0x9E3779B97F4A7C15, 36))) // alone, or a copy
		}
		for i, text := range texts {
			d.Add(fmt.Sprint(i), neardup.Text(text))
			if i%5 == 0 { // most of the file becomes useless
				d.Add(fmt.Sprint("gone ", rnd.IntN(100)), neardup.Text(strings.Repeat(fmt.Sprint(i, " "), 2000)))
			}
		}
		for i := range 100 {
			d.Delete(fmt.Sprint("gone ", i))
		}
		d.Delete("5")
		d.Add("5", neardup.Text(texts[5]))
		if file := d.contents.File(); file.InMemory() != (memory == 0) {
			t.Errorf("Memory %d: texts in memory: %t", memory, file.InMemory())
		} else if file.Size() > 16<<20 {
			t.Errorf("Memory %d: the file has %d bytes", memory, file.Size())
		}
		got := factsOf(d.Pairs(bg))
		if memory == 0 {
			want = got
		}
		sameFacts(t, fmt.Sprint("Memory ", memory), got, want)
	}
	if len(want) < 200 {
		t.Errorf("only %d pairs", len(want))
	}
	if left, _ := filepath.Glob(os.Getenv("TMPDIR") + "/*"); runtime.GOOS != "windows" && len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestMemoryErrors: a temporary file that cannot be made or read is an error, and nothing is lost.
func TestMemoryErrors(t *testing.T) {
	texts := revisedTexts(3000)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	d := made[int](t, Options{Memory: 1 << 20})
	var wrong error
	added := 0
	for i, text := range texts {
		if err := d.Add(i, neardup.Text(text)); err != nil {
			wrong = err
			break
		}
		added++
	}
	if wrong == nil || !strings.Contains(wrong.Error(), "missing") || d.Len() != added {
		t.Fatalf("error %v after %d documents; %d are there", wrong, added, d.Len())
	}
	t.Setenv("TMPDIR", t.TempDir())
	if err := d.Add(added, neardup.Text(texts[added])); err != nil || d.contents.File().InMemory() {
		t.Fatal(err)
	}
	d.contents.File().Close()
	if _, err := d.Groups(bg, GroupOptions[int]{}); err == nil {
		t.Error("texts cannot be read, and Groups returns no error")
	}
	if _, err := d.Families(bg); err == nil {
		t.Error("texts cannot be read, and Families returns no error")
	}
	var last error
	for p, err := range d.Pairs(bg) {
		if last = err; err == nil {
			t.Errorf("texts cannot be read, and Pairs yields %v", p)
		}
	}
	if last == nil {
		t.Error("texts cannot be read, and Pairs yields no error")
	}
	if err := made[int](t, Options{}).Merge(d); err == nil {
		t.Error("texts cannot be read, and Merge returns no error")
	}
}

// TestProgress: Progress is told of the work of each method, from one goroutine at a time, and never more than all.
func TestProgress(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []Progress
	d := made[int](t, Options{Progress: func(p Progress) {
		if !mu.TryLock() {
			t.Error("told twice at a time")
			return
		}
		defer mu.Unlock()
		if n := len(told); p.Done < 0 || p.Done > p.Total || n > 0 && told[n-1].Stage == p.Stage && p.Done < told[n-1].Done && p.Done > 0 {
			t.Errorf("%+v after %+v", p, told[n-1])
		}
		told = append(told, p)
	}})
	for i, text := range revisedTexts(shorter(1500, 400)) {
		d.Add(i, neardup.Text(text))
	}
	for name, call := range map[string]func(){
		"Pairs":     func() { listed(d.Pairs(bg)) },
		"Groups":    func() { must(d.Groups(bg, GroupOptions[int]{})) },
		"Chains":    func() { must(d.Groups(bg, GroupOptions[int]{Linkage: neardup.SingleLinkage})) },
		"Families":  func() { must(d.Families(bg)) },
		"Threshold": func() { must(d.Estimate(bg)) },
		"Calibrate": func() { must(d.Calibrate(bg, nil, Target{})) },
	} {
		told = nil
		d.Delete(-1)
		d.Add(-1, neardup.Text(name)) // so that all are compared again
		if call(); len(told) < 5 {
			t.Errorf("%s tells %+v", name, told)
		}
	}
}

// TestAddTogether: of versions of a text that are added at the same time, if there is none yet, one is, and all others find it. Of those that are
// added in any case, each pair is found by one of the two. Others are in nobody's way.
func TestAddTogether(t *testing.T) {
	t.Parallel()
	const families, versions = 60, 8
	rnd := seeded(t, 84)
	var texts []string
	for range families {
		texts = append(texts, englishA.text(rnd, 90))
	}
	of := func(i int) string { return fmt.Sprintf("%s version%d", texts[i/versions], i%versions) }
	order := rnd.Perm(families * versions)
	slices.SortStableFunc(order, func(a, b int) int { return a/versions - b/versions }) // those of one family nearly together
	d, all := made[int](t, Options{}), made[int](t, Options{})
	var mu sync.Mutex
	stored, seen := make([]int, families), map[[2]int]bool{}
	var wg sync.WaitGroup
	var next atomic.Int64
	for range versions {
		wg.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(order)); n = next.Add(1) - 1 {
				i := order[n]
				found, added, err := d.AddIfNew(bg, i, neardup.Text(of(i)), 3)
				if err != nil || added == (len(found) > 0) {
					t.Errorf("%d: %v, added %t, %v", i, found, added, err)
				}
				for _, m := range found {
					if m.ID/versions != i/versions {
						t.Errorf("%d is found by one of another text: %v", i, m)
					}
				}
				others := must(all.SearchAndAdd(bg, i, neardup.Text(of(i))))
				mu.Lock()
				if added {
					stored[i/versions]++
				}
				for _, m := range others {
					seen[[2]int{min(i, m.ID), max(i, m.ID)}] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for f, n := range stored {
		if n != 1 {
			t.Errorf("%d versions of text %d are stored: %.60q", n, f, texts[f])
		}
	}
	if want := families * versions * (versions - 1) / 2; len(seen) != want || d.Len() != families {
		t.Errorf("%d pairs of %d were found, and %d documents of %d stored", len(seen), want, d.Len(), families)
	}
}

// TestReadersAndWriters: all methods at once, also from the bodies of loops.
func TestReadersAndWriters(t *testing.T) {
	t.Parallel()
	texts := englishA.collection(seeded(t, 83), shorter(60, 40))
	for _, path := range []string{"", filepath.Join(t.TempDir(), "documents")} {
		d := made[int](t, Options{Kinds: neardup.AllKinds, Memory: 1 << 20})
		if path != "" {
			d = opened[int](t, path, Options{Kinds: neardup.AllKinds})
		}
		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				for i, text := range texts {
					switch w {
					case 0:
						must(d.SearchAndAdd(bg, i, neardup.Text(text)))
						d.AddIfNew(bg, 5000+i, neardup.Text(text), 2)
					case 1:
						d.Add(1000+i, neardup.Text(text))
						d.Sync()
					case 2:
						for range d.Search(bg, neardup.Text(text)) {
							must(d.Delete(i * 3))
						}
					case 3:
						if i%20 == 0 {
							n := 0
							for p, err := range d.Pairs(bg) {
								if err != nil {
									t.Error(err)
								}
								if n++; n < 10 {
									must(d.Exists(bg, neardup.Text(texts[i])))
									d.Add(2000+i, neardup.Text(texts[i]+" more"))
									d.Explain(p.A, p.B)
								}
							}
						}
					case 4:
						if i%30 == 0 {
							must(d.Groups(bg, GroupOptions[int]{Linkage: linkages[i/30%3], Old: 30}))
							must(d.Families(bg))
							must(d.Estimate(bg))
							must(d.Calibrate(bg, nil, Target{}))
							if err := d.Compact(bg); err != nil {
								t.Error(err)
							}
						}
					default:
						for doc := range d.All() {
							if doc.ID == i {
								d.Get(i)
							}
						}
						if i%40 == 0 {
							if err := d.Verify(); err != nil {
								t.Error(err)
							}
							for range d.Comparisons(bg) {
								d.Len()
								break
							}
						}
					}
				}
			})
		}
		wg.Wait()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGoroutines: loops that end early, and contexts that end, leave no goroutine behind.
func TestGoroutines(t *testing.T) {
	d := made[int](t, Options{Kinds: neardup.AllKinds})
	for i, text := range revisedTexts(1000) {
		d.Add(i, neardup.Text(text))
	}
	before := runtime.NumGoroutine()
	for range 20 {
		for range d.Pairs(bg) {
			break
		}
		for range d.Comparisons(bg) {
			break
		}
		ctx, cancel := context.WithCancel(bg)
		for range d.Pairs(ctx) {
			cancel()
		}
		cancel()
		d.Estimate(ctx)
		d.Families(ctx)
		d.Groups(ctx, GroupOptions[int]{Linkage: neardup.SingleLinkage})
		func() {
			defer func() { recover() }()
			for range d.Pairs(bg) {
				panic("the caller's")
			}
		}()
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, and were %d", n, before)
	}
	if got := listed(d.Pairs(bg)); !slices.Equal(got, listed(d.Pairs(bg))) {
		t.Error("other pairs afterwards")
	}
}
