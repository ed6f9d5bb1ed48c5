package neardup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/hamming"
	"github.com/neardup/neardup/internal/store"
)

// This file has the index that finds all fingerprints within a Hamming distance of a query, and misses
// none. It rests on the pigeonhole principle. Take the distance 3 and cut the 64 bits into four blocks of 16.
// Three bits that differ are in at most three blocks, so at least one block is the same in both:
//
//	block      1      2      3      4
//	stored    8f3a   05c1   7d90   e64b      distance 2: one bit in block 2, one in block 4
//	query     8f3a   05c9   7d90   e64f
//	           =      ≠      =      ≠        found in tables 1 and 3, reported once
//
// So there are four tables, one for each block. A table maps the 2¹⁶ values of its block to the fingerprints
// that have it. A search looks up one bucket in each table and compares what is in there: of a million
// fingerprints, 4 · 10⁶/2¹⁶ = 61 are compared. A fingerprint that shares no block with the query has four
// differences or more, so it need not be looked at.
//
// A larger distance needs more blocks, which are shorter, so more fingerprints share one. There are two ways around this in
// internal/hamming (plan.go). One is fewer, longer blocks, of which all values within one to three bits are looked up: with the distance 7
// and four blocks, some block has at most one difference. The other is more, shorter blocks, and a table for each combination of them, which
// takes memory. A cost model chooses by the number of fingerprints, the distance and IndexOptions.Memory. Where neither helps, as among a million
// at the distance 13, all are compared. A bucket that is much fuller than the others gets tables of its own, of the bits outside its block.
//
// The index changes while it is read. internal/store keeps the documents in immutable parts ("runs"), each with
// tables of its own, and in a tail of the last changes, which is compared one by one. A search goes through all.

// An Index finds, among stored fingerprints, all that are within a fixed Hamming distance of a
// query, each once, under the caller's own ids. Within the distance it misses nothing, whatever its
// size, its options and the fingerprints in it. That follows from the pigeonhole principle.
//
// It extends the index of june 2013 §3, Wang 2019 §1 and §2.3, and Li 2015 §2. https://github.com/neardup/neardup/blob/main/docs/index.md
// explains how it searches, how long that takes, and which options there are.
//
// [NewIndex] makes an index in memory. [OpenIndex] makes one that is also in files and outlives the
// program. The zero value is not usable: its methods panic.
//
// All methods may be called from several goroutines at once. Methods that change the index take
// turns. Methods that read never wait: a search sees the index as it was when its loop began, with
// every change that had returned by then, and each change as a whole or not at all. The body of a
// loop may change the index. Now and then an Add builds a small part of the index, which takes a few
// milliseconds. Large parts are built in the background. AddAll and Compact leave the index in its
// fastest form.
//
// A fingerprint of 64 bits takes 50 to 64 bytes with an id of 64 bits (see [IndexOptions].Memory), and
// twice that while parts are rebuilt. An index holds at most 2³⁰ fingerprints; adding more is
// an error. Ids that are not equal to themselves (NaN) can be added, but not found by Get or deleted.
type Index[ID comparable, F Fingerprint] struct {
	persistent
	s        store.Store[ID, *hamming.Tree]
	distance int       // of all searches, in bits
	tables   int       // the largest number of tables of a run
	blocks   int       // IndexOptions.Blocks
	words    int       // of a fingerprint: 1 or 2
	adding   [2]uint64 // buffer of the goroutine that holds the lock
}

// IndexOptions are the settings of an [Index]. The zero value lets the index choose everything,
// which is nearly always best. No option changes what is found.
type IndexOptions struct {
	// Blocks is the number of blocks into which the bits are cut. It must be more than the
	// distance. The index then has a table for every combination of Blocks−distance blocks, at most
	// 1024. For the distance 3 that means 4 tables with 4 blocks, 10 with 5 and 20 with 6. 0 lets
	// the index choose by its size and by Memory.
	Blocks int

	// Memory is roughly how many bytes a fingerprint may take, with an id of 64 bits. More
	// memory allows more tables. 0 means 64 for fingerprints of 64 bits, and 128 for 128 bits.
	// Buckets that are split take more.
	Memory int

	// Version says how the fingerprints are made ([Fingerprinter.Version]). OpenIndex requires it
	// and refuses files with another one. NewIndex does not use it.
	Version string
}

// NewIndex returns an empty index in memory for Hamming distances up to distance, from 0 to the
// width of F. It returns an error for any other distance, for Blocks that are not more than the
// distance, more than the width, or need more than 1024 tables, and for a negative Memory.
func NewIndex[ID comparable, F Fingerprint](distance int, options IndexOptions) (*Index[ID, F], error) {
	ix, err := newIndex[ID, F](distance, options)
	if err != nil {
		return nil, fmt.Errorf("neardup: NewIndex: %w", err)
	}
	return ix, nil
}

// newIndex returns an index without files. Its errors have no prefix.
func newIndex[ID comparable, F Fingerprint](distance int, options IndexOptions) (*Index[ID, F], error) {
	o := options
	width := width[F]()
	switch {
	case distance < 0 || distance > width:
		return nil, fmt.Errorf("distance %d is not between 0 and %d", distance, width)
	case o.Blocks < 0 || o.Blocks > width:
		return nil, fmt.Errorf("%d blocks; there must be from 0 to %d", o.Blocks, width)
	case o.Blocks != 0 && o.Blocks <= distance:
		return nil, fmt.Errorf("%d blocks guarantee nothing at the distance %d: use %d or more", o.Blocks, distance, distance+1)
	case o.Blocks != 0 && hamming.Binomial(o.Blocks, distance) > hamming.MaxTables:
		return nil, fmt.Errorf("%d blocks at the distance %d need %d tables, more than %d", o.Blocks, distance, hamming.Binomial(o.Blocks, distance), hamming.MaxTables)
	case o.Memory < 0:
		return nil, fmt.Errorf("the memory of a fingerprint cannot be %d bytes", o.Memory)
	case o.Memory == 0:
		o.Memory = width
	}
	ix := &Index[ID, F]{distance: distance, blocks: o.Blocks, words: width / 64}
	// What is left of Memory for tables. A document also takes its fingerprint, an id of 8 bytes,
	// its time, and a place in the table of ids.
	ix.tables = min(hamming.MaxTables, (o.Memory-width/8-8-4-6)/hamming.EntryBytes)
	words := ix.words
	ix.persistent.store = &ix.s
	store.Init(&ix.s, store.Form[*hamming.Tree]{
		Kind: fmt.Sprintf("index%d", width), Again: fingerprintAgain, Words: words,
		TailSize: func(int) int { return 512 },
		Build: func(fps store.Column) *hamming.Tree {
			return hamming.NewTree(words, fps.Docs, ix.distance, ix.tables, ix.blocks)
		},
		Read: func(f *format.Reader) *hamming.Tree { return hamming.ReadTree(f, words) },
	})
	return ix, nil
}

// OpenIndex opens an index in files, or makes an empty one. The files are a snapshot at path, the
// changes since then in path.journal, and a lock in path.lock. (path.neardup-part and
// path.journal.neardup-part exist for a moment while they are written.) OpenIndex maps the snapshot
// and does not read it, but it reads the whole journal. To copy an index, close it and copy
// snapshot and journal together. The files work on any other machine.
//
// After Sync, Compact, AddAll or Close has returned nil, all changes before it are on the disk, and
// stay there even if the program is killed at any moment. Some later changes may be there too, in
// the order in which they were made.
//
// options.Version says how the fingerprints are made, and must be what it was when the index was
// made; otherwise the error is an [ErrVersion]. The distance and the other options may differ.
// Searches are fastest with the old ones, until Compact rebuilds the index for the new ones.
//
// Ids may be of any integer or string type, or of a type that implements
// [encoding.BinaryUnmarshaler] and [encoding.BinaryAppender] (or BinaryMarshaler). If such an id
// cannot be written, or reads back as another id, the whole index fails.
//
// The first error of an index is permanent: damage in a file that a search or a change found, a file that
// could not be written, or that the index was closed. Every method that returns an error returns this
// one too. The index takes no more changes then; Sync and Close still write the earlier ones. An index
// in memory has no errors.
//
// Files that are damaged, or that are not files of this package, give an [ErrDamaged]. OpenIndex
// checks only the beginning of the snapshot. The rest is checked in blocks of 64 KiB, each before
// its first use; [Index.Verify] checks all. No other program may change the files while
// they are open. A second OpenIndex of the same files is an error (on Unix).
func OpenIndex[ID comparable, F Fingerprint](path string, distance int, options IndexOptions) (*Index[ID, F], error) {
	ix, err := newIndex[ID, F](distance, options)
	if err == nil {
		err = ix.s.Open(path, options.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("neardup: OpenIndex: %w", err)
	}
	return ix, nil
}

// fpOf returns the fingerprint of a stored document. Of two words the last is the high one.
func fpOf[F Fingerprint](doc []uint64) F { return fromWords[F](doc[0], doc[len(doc)-1]) }

// Get returns the fingerprint that is stored under an id, and whether there is one. It looks
// through the latest changes, of which there are at most a few hundred.
func (ix *Index[ID, F]) Get(id ID) (fp F, ok bool, err error) {
	e, ok, err := ix.s.Get(id)
	if ok {
		fp = fpOf[F](e.Doc)
	}
	return fp, ok, err
}

// All yields the documents in the order of adding, as they were when the loop began. An error of the
// index comes last, with an empty Entry.
func (ix *Index[ID, F]) All() iter.Seq2[Entry[ID, F], error] {
	return entries(ix.s.All(), fpOf[F], ix.err)
}

// Exists reports whether any stored fingerprint is within the distance of fp. It stops at the first.
func (ix *Index[ID, F]) Exists(ctx context.Context, fp F) (bool, error) {
	for _, err := range ix.Search(ctx, fp) {
		err = cmp.Or(err, ix.err())
		return err == nil, err
	}
	return false, nil
}

// Search yields every stored fingerprint within the distance of fp, each once, equal ones included,
// in no particular order. An error of the index or of the context comes last, with an empty Match;
// some matches may then be missing.
func (ix *Index[ID, F]) Search(ctx context.Context, fp F) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) {
		stopped := false
		err := ix.search(ctx, fp, ix.distance, func(m Match[ID], _ uint64) int {
			if !yield(m, nil) {
				stopped = true
				return -1
			}
			return ix.distance
		})
		if err != nil && !stopped {
			yield(Match[ID]{}, err)
		}
	}
}

// search calls yield with every match within a distance, and with its place: a number that is
// higher for a document that was added later. yield returns the distance within which to go on,
// which must not grow, or a negative number to stop. It returns the error of the index or of the
// context.
func (ix *Index[ID, F]) search(ctx context.Context, fp F, distance int, yield func(m Match[ID], place uint64) int) error {
	w := watch{ctx: ctx}
	if w.ended() {
		return w.err
	}
	v := ix.s.View()
	defer runtime.KeepAlive(v.State)
	lo, hi := split(fp)
	if len(v.Runs) > 1 {
		for _, buckets := range []bool{false, true} {
			for _, r := range v.Runs {
				r.Find.Prefetch(lo, hi, distance, buckets)
			}
		}
	}
	for i, r := range v.Runs {
		err := r.Find.Search(lo, hi, distance, func(ord uint32, d int) int {
			if !v.Sees(r, ord) {
				return distance
			}
			switch id, err := r.IDs.At(ord); {
			case err != nil:
				ix.s.Fail(err)
				distance = -1
			case w.ended():
				distance = -1
			default:
				distance = yield(Match[ID]{ID: id, Distance: d}, placeOf(i, ord))
			}
			return distance
		})
		if err != nil {
			ix.s.Fail(err)
		}
		if err != nil || distance < 0 {
			return cmp.Or(w.err, ix.err())
		}
	}
	if v.Changes == 0 {
		return ix.err()
	}
	// The tail has no tree: it is compared in order.
	t := v.Tail
	last := hamming.NewScan(ix.words, t.Docs[:int(v.Changes)*ix.words])
	last.Search(lo, hi, distance, func(i uint32, d int) int {
		if v.SeesTail(i) {
			distance = yield(Match[ID]{ID: t.IDs[i], Distance: d}, placeOf(len(v.Runs), i))
		}
		return distance
	})
	return ix.err()
}

// Nearest returns the n stored fingerprints that are nearest to fp, at any distance, or all if
// there are fewer. The nearest come first, and equally near ones in the order of adding. It is
// exact. If they are near, it takes little longer than a search within their distance; if they are
// far, it compares all fingerprints. n ≤ 0 gives none.
func (ix *Index[ID, F]) Nearest(ctx context.Context, fp F, n int) ([]Match[ID], error) {
	if n <= 0 {
		return nil, cmp.Or(ctx.Err(), ix.err())
	}
	reach := 0 // up to this distance tables are faster than comparing all
	for _, r := range ix.s.View().Runs {
		reach = max(reach, r.Find.Reach)
	}
	// Widen the search until it finds enough.
	for d := min(ix.distance, 3); d <= reach; d += 3 {
		if near, err := ix.matches(ctx, fp, d, nil); err != nil || len(near) >= n {
			return near[:min(n, len(near))], err
		}
	}
	// For a large n, collecting and sorting all is faster than keeping the best in order.
	if n > 1000 {
		near, err := ix.matches(ctx, fp, width[F](), nil)
		return near[:min(n, len(near))], err
	}
	// near has the best so far in order. The search skips whatever is farther than the last of n.
	near := make([]found[ID], 0, min(n, ix.Len()))
	bound := width[F]()
	err := ix.search(ctx, fp, bound, func(m Match[ID], place uint64) int {
		f := found[ID]{m, place}
		if at, _ := slices.BinarySearchFunc(near, f, found[ID].compare); at < n {
			near = slices.Insert(near[:min(len(near), n-1)], at, f)
		}
		if len(near) == n {
			bound = near[n-1].Distance
		}
		return bound
	})
	return matchesOf(near), err
}

// A found is a match with its place in the order of adding; see search.
type found[ID comparable] struct {
	Match[ID]
	place uint64
}

// compare puts the nearest or most similar first, and equal ones in the order of adding.
func (f found[ID]) compare(g found[ID]) int {
	return cmp.Or(cmp.Compare(f.Distance, g.Distance), cmp.Compare(g.Similarity, f.Similarity), cmp.Compare(f.place, g.place))
}

// matchesOf drops the places.
func matchesOf[ID comparable](all []found[ID]) []Match[ID] {
	out := make([]Match[ID], len(all))
	for i := range all {
		out[i] = all[i].Match
	}
	return out
}

// matches returns all matches within a distance in the order of found.compare, except the document
// with the id *without, if without is not nil.
func (ix *Index[ID, F]) matches(ctx context.Context, fp F, distance int, without *ID) ([]Match[ID], error) {
	var all []found[ID]
	err := ix.search(ctx, fp, distance, func(m Match[ID], place uint64) int {
		if without == nil || m.ID != *without {
			all = append(all, found[ID]{m, place})
		}
		return distance
	})
	slices.SortFunc(all, found[ID].compare)
	return matchesOf(all), err
}

// Pairs yields every pair of stored fingerprints within the distance, each once, as they were when
// the loop began. A was added before B. The order is unspecified but depends only on the calls made
// so far. An error of the index or of the context comes last, with an empty Pair. It copies all ids
// and fingerprints, and needs time and memory like the function [Pairs].
func (ix *Index[ID, F]) Pairs(ctx context.Context) iter.Seq2[Pair[ID], error] {
	return func(yield func(Pair[ID], error) bool) {
		ids, fps, err := ix.collect()
		if err == nil {
			for p, err := range Pairs(ctx, fps, ix.distance) {
				if err != nil {
					yield(Pair[ID]{}, err)
					return
				}
				if !yield(Pair[ID]{A: ids[p.A], B: ids[p.B], Distance: p.Distance}, nil) {
					return
				}
			}
			return
		}
		yield(Pair[ID]{}, err)
	}
}

// Groups groups the stored fingerprints by [Index.Pairs]: every group of two or more, in the order of
// adding of their first members. [GroupPairs] says what the linkages mean, and what they cost; with
// [SingleLinkage], many equal fingerprints do not make it slower. If several documents could represent a group
// equally well, the one that was added first is kept.
func (ix *Index[ID, F]) Groups(ctx context.Context, by Linkage) ([]Group[ID], error) {
	ids, fps, err := ix.collect()
	if err != nil {
		return nil, err
	}
	var keep []int
	if by == SingleLinkage {
		keep, err = Components(ctx, fps, ix.distance)
	} else {
		keep, err = GroupPairs(len(fps), Pairs(ctx, fps, ix.distance), by, nil)
	}
	if err != nil {
		return nil, err
	}
	return makeGroups(keep, store.MemoryColumn[ID](ids).At, func(n, keep int) Match[ID] {
		return Match[ID]{Distance: distance(fps[n], fps[keep])}
	})
}

// collect returns the stored ids and fingerprints in the order of adding.
func (ix *Index[ID, F]) collect() ([]ID, []F, error) {
	ids := make([]ID, 0, ix.Len())
	fps := make([]F, 0, ix.Len())
	for e, err := range ix.All() {
		if err != nil {
			return nil, nil, err
		}
		ids = append(ids, e.ID)
		fps = append(fps, e.Value)
	}
	return ids, fps, nil
}

// Add stores a fingerprint under an id. If the id exists, its fingerprint is replaced and counts as
// added now. If the index has an error (see [OpenIndex]), Add stores nothing and returns it. In files, an
// addition is safe after the next Sync.
func (ix *Index[ID, F]) Add(id ID, fp F) error {
	ix.s.Lock()
	defer ix.s.Unlock()
	return ix.add(id, fp)
}

// add is Add for a caller that holds the lock.
func (ix *Index[ID, F]) add(id ID, fp F) error {
	ix.adding[0], ix.adding[1] = split(fp)
	return ix.s.Add(id, ix.adding[:ix.words])
}

// AddAll adds many fingerprints as if by calling Add for each, except that readers see all of them
// at once. It rebuilds the whole index with them, like Compact. That is much faster than adding one
// by one if they are more than about a hundredth of what is stored. In an index with files, they
// are on the disk when AddAll returns nil. After any error, including that of the context, the index is
// as it was. The sequence must not change the index: that would deadlock.
func (ix *Index[ID, F]) AddAll(ctx context.Context, fingerprints iter.Seq2[ID, F]) error {
	return ix.s.AddAll(func(put func(ID, []uint64)) error {
		return collectAll(ctx, fingerprints, func(id ID, fp F) {
			ix.adding[0], ix.adding[1] = split(fp)
			put(id, ix.adding[:ix.words])
		})
	})
}

// SearchAndAdd is [Index.Search] and [Index.Add] in one step: it returns the stored fingerprints
// within the distance of fp, and stores fp, as Li 2015 §2.3 does with every new row. Of two calls
// at the same time with near fingerprints, the second finds that of the first. A fingerprint that had the same id is
// replaced and not returned. The nearest come first, and equally near ones in the order of adding.
// After an error fp is not stored.
func (ix *Index[ID, F]) SearchAndAdd(ctx context.Context, id ID, fp F) ([]Match[ID], error) {
	ix.s.Lock()
	defer ix.s.Unlock()
	found, err := ix.matches(ctx, fp, ix.distance, &id)
	if err != nil {
		return found, err
	}
	return found, ix.add(id, fp)
}

// ExistsAndAdd is SearchAndAdd for callers who only want to know whether anything is within the
// distance. It stops searching at the first match.
func (ix *Index[ID, F]) ExistsAndAdd(ctx context.Context, id ID, fp F) (bool, error) {
	ix.s.Lock()
	defer ix.s.Unlock()
	exists, err := existsBut(ix.Search(ctx, fp), id)
	if err != nil {
		return false, err
	}
	return exists, ix.add(id, fp)
}

// Delete removes the document with an id and reports whether it was there. If the index has an
// error (see [OpenIndex]), Delete removes nothing and returns it.
func (ix *Index[ID, F]) Delete(id ID) (bool, error) { return ix.s.Delete(id) }

// DeleteFunc removes every document for which del returns true, and returns their number. del
// must not use the index. It visits every stored document.
func (ix *Index[ID, F]) DeleteFunc(del func(Entry[ID, F]) bool) (int, error) {
	return ix.s.DeleteEach(deleteRule(del, fpOf[F]))
}

// Distance returns the Hamming distance that the index was made for, within which it searches.
func (ix *Index[ID, F]) Distance() int { return ix.distance }
