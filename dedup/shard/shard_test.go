package shard_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/dedup/shard"
	"github.com/neardup/neardup/internal/collections"
	"github.com/neardup/neardup/internal/graph"
)

// full adds a crowd of more than shard.Crowd: go test ./dedup/shard -full, a minute.
var full = flag.Bool("full", false, "run every test at its full size")

// answers are what a Deduplicator says of documents, in a form that can be compared to the last bit.
type answers []string

// ask adds texts to a Deduplicator, in the order of their numbers, and returns its answers. Of a crowd it does not ask what takes
// as long as there are pairs.
func ask(t *testing.T, o dedup.Options, texts []string, of []int, isCrowd bool) (said answers) {
	t.Helper()
	d, err := dedup.New[int](o)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range of {
		if err := d.Add(i, neardup.Text(texts[i])); err != nil {
			t.Fatal(err)
		}
	}
	linkages := []neardup.Linkage{neardup.CentreLinkage, neardup.SingleLinkage}
	pairs := d.Pairs(t.Context())
	if isCrowd {
		linkages, pairs = linkages[:1], func(func(neardup.Pair[int], error) bool) {}
	}
	for p, err := range pairs {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, fmt.Sprint("pair ", p))
	}
	for _, linkage := range linkages {
		groups, err := d.Groups(t.Context(), dedup.GroupOptions[int]{Linkage: linkage})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			said = append(said, fmt.Sprint("group ", linkage, g))
		}
	}
	families, err := d.Families(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		said = append(said, fmt.Sprintf("family %+v", f))
	}
	return said
}

// components returns the documents that belong together, by links in so many parts, or with parts 0 by single buckets.
func components(t *testing.T, o dedup.Options, texts []string, parts int) (of [][]int, signatures []shard.Signature) {
	t.Helper()
	signer, err := shard.NewSigner(o)
	if err != nil {
		t.Fatal(err)
	}
	f := graph.NewForest(len(texts))
	byDigest := map[uint64]int{}
	for i, text := range texts {
		s, err := signer.Sign(neardup.Text(text))
		if err != nil {
			t.Fatal(err)
		}
		if first, ok := byDigest[s.Digest]; ok && !s.IsEmpty() {
			f.Join(first, i)
		}
		byDigest[s.Digest] = i
		signatures = append(signatures, s)
	}
	for part := range parts {
		l := shard.NewLinks(part, parts)
		for i := range signatures {
			l.Add(uint32(i), &signatures[i])
		}
		if err := l.Find(t.Context(), func(a, b uint32) { f.Join(int(a), int(b)) }); err != nil {
			t.Fatal(err)
		}
	}
	if parts == 0 {
		entries, numbers := map[shard.Bucket][]shard.Entry{}, map[shard.Bucket][]int{}
		for i := range signatures {
			signatures[i].EachBucket(func(b shard.Bucket, e shard.Entry) {
				entries[b], numbers[b] = append(entries[b], e), append(numbers[b], i)
			})
		}
		for b, all := range entries {
			b.Link(all, func(i, j int) { f.Join(numbers[b][i], numbers[b][j]) })
		}
	}
	byRoot := map[int][]int{}
	for i, root := range f.Roots() {
		byRoot[root] = append(byRoot[root], i)
	}
	return slices.Collect(maps.Values(byRoot)), signatures
}

// check compares what one Deduplicator says of all documents with what others say of the components.
func check(t *testing.T, o dedup.Options, texts []string, isCrowd bool) {
	t.Helper()
	all := make([]int, len(texts))
	for i := range all {
		all[i] = i
	}
	want := ask(t, o, texts, all, isCrowd)
	slices.Sort(want)
	for _, parts := range []int{0, 1, 3} {
		var got answers
		of, _ := components(t, o, texts, parts)
		largest := 0
		for _, c := range of {
			got = append(got, ask(t, o, texts, c, isCrowd)...)
			largest = max(largest, len(c))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%d parts: %d answers, and %d from one that has all", parts, len(got), len(want))
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("such as\n%.300s\nand not\n%.300s", got[i], want[i])
				}
			}
		}
		t.Logf("%d parts: %d documents, %d components, up to %d documents; %d answers", parts, len(texts), len(of), largest, len(got))
	}
}

// mixture returns texts of all lengths, with versions, copies, and pages of templates.
func mixture(rnd *rand.Rand, n, page int) (texts []string) {
	word := func() string { return fmt.Sprint("w", rnd.IntN(4000)) }
	some := func(n int) []string {
		words := make([]string, n)
		for i := range words {
			words[i] = word()
		}
		return words
	}
	var last []string
	for i := range n {
		switch {
		case i%3 != 0 && len(last) > 0: // a version of the text before
			last = slices.Clone(last)
			for range 1 + rnd.IntN(1+len(last)/8) {
				last[rnd.IntN(len(last))] = word()
			}
		case i%17 == 0:
			last = nil
		default:
			last = some(3 + rnd.IntN([4]int{10, 60, 110, 300}[rnd.IntN(4)]))
		}
		texts = append(texts, strings.Join(last, " "))
	}
	for range 3 {
		texts = append(texts, texts[n/2], "!!! "+texts[n/2], "...") // copies, and texts without features
	}
	template := some(80)
	for range page {
		own := slices.Concat(template[:40], some(8), template[40:], some(6))
		texts = append(texts, strings.Join(own, " "))
	}
	rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	return texts
}

// TestComponents: Deduplicators that have a component each say together what one says that has all documents.
func TestComponents(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pages := []int{0, 5, 200}
	if *full {
		pages = append(pages, shard.MostEntries+800) // so many that a bucket may be dense
	}
	for _, page := range pages {
		o := dedup.Options{Kinds: neardup.AllKinds, Probability: 0.01}
		texts := mixture(rnd, 400, page)
		t.Run(fmt.Sprintf("%d pages", page), func(t *testing.T) { check(t, o, texts, page > 1000) })
	}
	secret, err := neardup.SeededHash([]byte("a secret of 16 bytes and more"))
	if err != nil {
		t.Fatal(err)
	}
	texts := mixture(rnd, 300, 20)
	for name, o := range map[string]dedup.Options{
		"default":   {},
		"similar":   {Similarity: 0.4, Kinds: neardup.AllKinds},
		"own words": {Fingerprinter: neardup.Fingerprinter{Tokenizer: neardup.Words{}}, Kinds: neardup.AllKinds},
		"secret":    {Fingerprinter: neardup.Fingerprinter{Hash: secret}, Kinds: neardup.AllKinds},
	} {
		t.Run(name, func(t *testing.T) { check(t, o, texts, false) })
	}
}

// The same on real texts.
func TestData(t *testing.T) {
	dir := os.Getenv("NEARDUP_DATA")
	if dir == "" {
		t.Skip("NEARDUP_DATA is not set")
	}
	all, err := collections.Data(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range all {
		if testing.Short() && len(of) > 1500 {
			continue
		}
		var texts []string
		for _, id := range slices.Sorted(maps.Keys(of)) {
			texts = append(texts, of[id])
		}
		t.Run(name, func(t *testing.T) { check(t, dedup.Options{Kinds: neardup.AllKinds}, texts, false) })
	}
}

// TestCrowd: whoever shares a bucket with a crowd belongs to it, whatever else they have in common.
func TestCrowd(t *testing.T) {
	signer, err := shard.NewSigner(dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var entries []shard.Entry
	for _, text := range []string{"one two three four five", "quite another text about something else"} {
		s, err := signer.Sign(neardup.Text(text))
		if err != nil {
			t.Fatal(err)
		}
		s.EachBucket(func(_ shard.Bucket, e shard.Entry) { entries = append(entries, e) })
	}
	links := func(entries []shard.Entry) (n int) { // in a bucket of short signatures
		shard.Bucket(1<<40).Link(entries, func(int, int) { n++ })
		return n
	}
	two := []shard.Entry{entries[0], entries[len(entries)-1]}
	if n := links(two); n != 0 {
		t.Errorf("%d links of two that have nothing in common", n)
	}
	for len(two) <= shard.MostEntries {
		two = append(two, two[0], two[1])
	}
	if n := links(two); n != len(two)-1 {
		t.Errorf("%d links of %d in a crowd", n, len(two))
	}
	if n := links(two[:shard.MostEntries]); n != shard.MostEntries-2 {
		t.Errorf("%d links of two families", n)
	}
}

// TestContext: Find ends when its context does.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := shard.NewLinks(0, 1)
	signer, _ := shard.NewSigner(dedup.Options{})
	s, _ := signer.Sign(neardup.Text("one two three four five"))
	l.Add(0, &s)
	l.Add(1, &s)
	if err := l.Find(ctx, func(a, b uint32) { t.Error("a link") }); err != context.Canceled {
		t.Error(err)
	}
	if _, err := shard.NewSigner(dedup.Options{Probability: 2}); err == nil {
		t.Error("a probability of 2")
	}
}

// FuzzDecode: what can be decoded is encoded to the same bytes.
func FuzzDecode(f *testing.F) {
	signer, err := shard.NewSigner(dedup.Options{})
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"", "a text", strings.Repeat("one two three four five six seven ", 10), strings.Repeat("many words ", 100)} {
		s, err := signer.Sign(neardup.Text(text))
		if err != nil {
			f.Fatal(err)
		}
		b, _ := s.AppendBinary(nil)
		f.Add(b)
		f.Add(append(b, 1, 2, 3))
		s.EachBucket(func(_ shard.Bucket, e shard.Entry) { b, _ = e.AppendBinary(nil) })
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s shard.Signature
		if rest, err := s.Decode(b); err == nil {
			again, err := s.AppendBinary(nil)
			if err != nil || !bytes.Equal(append(again, rest...), b) || len(again) > shard.MostBytes {
				t.Errorf("%x becomes %x", b, again)
			}
			n := 0
			s.EachBucket(func(shard.Bucket, shard.Entry) { n++ })
			if s.IsEmpty() != (n == 0) {
				t.Errorf("%d buckets", n)
			}
		}
		var e shard.Entry
		if err := e.UnmarshalBinary(b); err == nil {
			if again, err := e.AppendBinary(nil); err != nil || !bytes.Equal(again, b) {
				t.Errorf("%x becomes %x", b, again)
			}
		}
	})
}

// TestLinksAcrossLevels: a text with the signatures of short and of long texts is linked to one that is long only.
func TestLinksAcrossLevels(t *testing.T) {
	s, err := shard.NewSigner(dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	words := make([]string, 100)
	for i := range words {
		words[i] = fmt.Sprintf("word%d", i)
	}
	links, linked := shard.NewLinks(0, 1), 0
	for n := range 2 {
		x, err := s.Sign(neardup.Text(strings.Join(words[:99+n], " ")))
		if err != nil {
			t.Fatal(err)
		}
		links.Add(uint32(n), &x)
	}
	if err := links.Find(t.Context(), func(a, b uint32) { linked++ }); err != nil || linked == 0 {
		t.Errorf("%d links, %v", linked, err)
	}
}

// TestUnknownLevel: a signature of a level that does not exist is damage.
func TestUnknownLevel(t *testing.T) {
	var s shard.Signature
	if _, err := s.Decode([]byte{8: 1 << 2}); err == nil {
		t.Error("a signature of a level that there is not: no error")
	}
}
