package minhash

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// family returns signatures of which some are similar: two of three are earlier ones with some other values.
func family(rnd *rand.Rand, n, values int) [][]uint32 {
	all := make([][]uint32, n)
	for i := range all {
		s := make([]uint32, values)
		for k := range s {
			s[k] = rnd.Uint32() >> 1
		}
		if i > 0 && i%3 != 0 {
			of := all[rnd.IntN((i+2)/3)*3]
			changed := rnd.IntN(values / 2)
			for k := range s {
				if k >= changed {
					s[k] = of[k]
				}
			}
		}
		all[i] = s
	}
	return all
}

// TestFiled: the pairs are those of a comparison of all with all that share a band, whatever the memory, and they are equal in their order with
// the same memory.
func TestFiled(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	const n, values, least = 20_000, 16, 0.5
	all := family(rnd, n, values)
	want := map[string]bool{}
	l := NewLayout(values, 32, BestBanding(values, least, Price))
	docs := make([]uint64, n*l.Words)
	for i, s := range all {
		l.Pack(docs[i*l.Words:][:l.Words], s)
	}
	doc := func(i int) []uint64 { return docs[i*l.Words:][:l.Words] }
	for band := range l.Bands { // by brute force within each value of a band
		byKey := map[string][]int{}
		for i, s := range all {
			key := fmt.Sprint(s[band*l.Rows : (band+1)*l.Rows])
			byKey[key] = append(byKey[key], i)
		}
		for _, same := range byKey {
			for k, i := range same {
				for _, j := range same[k+1:] {
					if x := l.Jaccard(doc(i), doc(j)); x >= least {
						want[fmt.Sprint(i, j, x)] = true
					}
				}
			}
		}
	}
	for _, memory := range []int64{0, 4 << 20, 1 << 30} {
		f := NewFiled(values, least, memory)
		var places []int64
		for _, s := range all {
			at, err := f.Add([][]uint32{s})
			if err != nil || at[0] == 0 {
				t.Fatal(at, err)
			}
			places = append(places, at...)
		}
		var lists [2][]string
		for k := range lists {
			if err := f.Pairs(places, 0, func(a, b int, j float64) bool {
				if a >= b {
					t.Fatalf("%d and %d", a, b)
				}
				lists[k] = append(lists[k], fmt.Sprint(a, b, j))
				return true
			}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(lists[0], lists[1]) {
			t.Errorf("%d bytes: two calls yield pairs in different orders", memory)
		}
		got := map[string]bool{}
		for _, p := range lists[0] {
			if got[p] {
				t.Fatalf("%d bytes: %s twice", memory, p)
			}
			got[p] = true
			if !want[p] {
				t.Fatalf("%d bytes: %s is no pair", memory, p)
			}
		}
		if len(got) != len(want) || len(want) < n/4 {
			t.Errorf("%d bytes: %d pairs, not %d", memory, len(got), len(want))
		}
		calls := 0
		if err := f.Pairs(places, 0, func(int, int, float64) bool { calls++; return calls < 5 }); err != nil || calls != 5 {
			t.Errorf("%d bytes: %d calls after the fifth ended it, %v", memory, calls, err)
		}
	}
}

// TestFiledWithoutFolder: if there is no place for a temporary file, that is an error, and what is in memory can be joined.
func TestFiledWithoutFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()+"/none")
	f := NewFiled(16, 0.5, 64<<10) // 16 KB of signatures in memory
	all := family(rand.New(rand.NewPCG(4, 4)), 1000, 16)
	var places []int64
	var failed error
	for _, s := range all {
		at, err := f.Add([][]uint32{s})
		if err != nil {
			failed = err
			break
		}
		places = append(places, at...)
	}
	if failed == nil || !strings.Contains(failed.Error(), "temporary file") || len(places) < 100 {
		t.Fatalf("%v after %d signatures", failed, len(places))
	}
	n := 0
	if err := f.Pairs(places, 0, func(int, int, float64) bool { n++; return true }); err != nil || n == 0 {
		t.Errorf("%d pairs, %v", n, err)
	}
}
