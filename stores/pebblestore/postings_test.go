package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/neardup/neardup"
)

// value makes the value of changes that all have the same key.
func value(list ...change) []byte {
	c := changes{list: list}
	b := appendHeader(nil, len(list), false)
	for _, x := range list {
		if x.removed {
			b[0] = 1
		}
	}
	for _, x := range c.list {
		b = append(b, byte(x.fp>>56), byte(x.fp>>48), byte(x.fp>>40), byte(x.fp>>32), byte(x.fp>>24), byte(x.fp>>16), byte(x.fp>>8), byte(x.fp))
	}
	for _, x := range c.list {
		b = appendID(b, x.id, x.removed)
	}
	return b
}

// all returns the postings of a value, with the distance from 0 in place of the fingerprint.
func all(t testing.TB, value []byte) (list []string) {
	p, err := readPostings(value)
	if err == nil {
		err = p.near(0, 64, func(id string, distance int) bool {
			list = append(list, fmt.Sprint(id, "/", distance))
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
		type identity struct {
			id string
			fp neardup.Fingerprint64
		}
		stands := map[identity]bool{}
		var values [][]byte
		for range 1 + random.IntN(12) {
			var list []change
			for range random.IntN(4) {
				x := change{id: fmt.Sprint("id", random.IntN(3)), fp: 1<<random.IntN(4) - 1}
				same := identity{x.id, x.fp}
				if x.removed = stands[same]; x.removed { // as in the store: remove what is there, add what is not
					delete(stands, same)
				} else {
					stands[same] = true
				}
				list = append(list, x)
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
			if x := fmt.Sprint(same.id, "/", same.fp.Distance(0)); !got[x] {
				t.Fatalf("seed %d: no %s in %v", seed, x, got)
			}
		}
	}
}

// FuzzPostings reads and merges arbitrary bytes.
func FuzzPostings(f *testing.F) {
	f.Add(value(), value(change{"id", 1, false}))
	f.Add(value(change{"id", 1, false}, change{"文", 1<<64 - 1, false}), value(change{"id", 1, true}))
	f.Add([]byte{}, []byte{2})
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 3})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		count := func(value []byte) (n int, err error) {
			p, err := readPostings(value)
			if err != nil {
				return 0, err
			}
			if err := p.near(0, 64, func(string, int) bool { n++; return true }); err != nil {
				return 0, err
			}
			ids := p.ids
			for range p.len() {
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
			if errA == nil && errB == nil {
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
