package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// value makes the value of changes that all have the same key.
func value(list ...change) []byte {
	size := 8
	if len(list) > 0 {
		size = len(list[0].value)
	}
	b := appendHeader(nil, size, len(list), false)
	for _, x := range list {
		if x.removed {
			b[0] = 1
		}
	}
	for _, x := range list {
		b = append(b, x.value...)
	}
	for _, x := range list {
		b = appendID(b, x.id, x.removed)
	}
	return b
}

// zeros is a fingerprint, or with more of them two.
const zeros = "\x00\x00\x00\x00\x00\x00\x00\x00"

// all returns the postings of a value, with the distance from 0 in place of the fingerprint.
func all(t testing.TB, value []byte) (list []string) {
	p, err := readPostings(value)
	if err == nil {
		err = p.near((zeros + zeros)[:p.size], 128, func(id string, value []byte) bool {
			list = append(list, fmt.Sprint(id, "/", bitsBetween(value, (zeros + zeros)[:p.size])))
			return true
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Neighbouring changes can be merged in any order of merges. The result is always that of making them
// one after the other.
func TestMerge(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		size := []int{0, 8, 16}[seed%3]
		type identity struct{ id, value string }
		stands := map[identity]bool{}
		var values [][]byte
		for range 1 + random.IntN(12) {
			var list []change
			for range random.IntN(4) {
				fp := []byte((zeros + zeros)[:size])
				if size > 0 {
					fp[size-1] = 1<<random.IntN(4) - 1
				}
				x := change{id: fmt.Sprint("id", random.IntN(3)), value: string(fp)}
				same := identity{x.id, x.value}
				if x.removed = stands[same]; x.removed { // as in the store: remove what is there, add what is not
					delete(stands, same)
				} else {
					stands[same] = true
				}
				list = append(list, x)
			}
			if len(list) == 0 {
				list = append(list, change{fmt.Sprint("alone", len(values)), strings.Repeat("\xff", size), false})
				stands[identity{list[0].id, list[0].value}] = true
			}
			values = append(values, value(list...))
		}
		for len(values) > 1 { // merge neighbours, as compactions do
			from := random.IntN(len(values) - 1)
			to := from + 2 + random.IntN(len(values)-from-1)
			start := from + random.IntN(to-from)
			m, err := merger.Merge(nil, values[start])
			if err != nil {
				t.Fatal(err)
			}
			older, newer := start-1, start+1
			for older >= from || newer < to {
				if newer >= to || older >= from && random.IntN(2) == 0 {
					err = m.MergeOlder(values[older])
					older--
				} else {
					err = m.MergeNewer(values[newer])
					newer++
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			merged, _, err := m.Finish(from == 0)
			if err != nil {
				t.Fatal(err)
			}
			values = append(append(append([][]byte{}, values[:from]...), bytes.Clone(merged)), values[to:]...)
		}
		m, _ := merger.Merge(nil, values[0])
		merged, _, err := m.Finish(true)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, x := range all(t, merged) {
			if got[x] {
				t.Fatalf("seed %d: %s comes twice", seed, x)
			}
			got[x] = true
		}
		if len(got) != len(stands) {
			t.Fatalf("seed %d: %v, want %v", seed, got, stands)
		}
		for same := range stands {
			if x := fmt.Sprint(same.id, "/", bitsBetween([]byte(same.value), (zeros + zeros)[:size])); !got[x] {
				t.Fatalf("seed %d: no %s in %v", seed, x, got)
			}
		}
	}
}

// FuzzPostings reads and merges arbitrary bytes.
func FuzzPostings(f *testing.F) {
	f.Add(value(), value(change{"id", zeros, false}))
	f.Add(value(change{"id", zeros, false}, change{"文", "12345678", false}), value(change{"id", zeros, true}))
	f.Add(value(change{"id", "", false}), value(change{"id", "", true}))
	f.Add([]byte{}, []byte{2, 8})
	f.Add([]byte{0, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, []byte{0, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 3})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		count := func(value []byte) (n int, err error) {
			p, err := readPostings(value)
			if err != nil {
				return 0, err
			}
			if err := p.near((zeros + zeros)[:p.size], 128, func(string, []byte) bool { n++; return true }); err != nil {
				return 0, err
			}
			ids := p.ids
			for range p.n {
				if _, _, ids, err = cutID(ids); err != nil {
					return 0, err
				}
			}
			if len(ids) > 0 {
				return 0, errors.New("more ids")
			}
			return n, nil
		}
		inA, errA := count(a)
		inB, errB := count(b)
		m, _ := merger.Merge(nil, a)
		m.MergeNewer(b)
		merged, _, err := m.Finish(true)
		if err != nil {
			if errA == nil && errB == nil && a[1] == b[1] { // of the same kind of values
				t.Fatalf("good values, and merged: %v", err)
			}
			return
		}
		if errA != nil || errB != nil {
			return // damaged ids are found when they are read
		}
		if n, err := count(merged); err != nil || n > inA+inB {
			t.Fatalf("%d and %d postings, merged %d, %v", inA, inB, n, err)
		}
	})
}
