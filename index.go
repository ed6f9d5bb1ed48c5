package neardup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/hamming"
	"github.com/neardup/neardup/internal/store"
)

// An Index finds, among stored fingerprints, all those within a fixed Hamming
// distance of a query, each once, under the caller's own ids.
//
// It is the pigeonhole index of the source documents (S001 §3, S002 §1 and §2.3, S003
// §2), grown: see docs/index.md for how it searches, how long that takes, and what
// to choose. Within the distance it misses nothing, whatever its size, its options
// and the fingerprints in it: that is a theorem.
//
// NewIndex makes one in memory. OpenIndex makes one that is also in files, and outlives
// the program.
//
// All methods may be called from several goroutines at once. Those that change the
// index take turns. Those that read never wait: a search sees the index as it was when
// the loop over it began, with all changes that had returned by then, and each of
// them wholly or not at all, and may change the index itself. Now and then one addition
// among many builds a part of the index again, and rarely all of it: that takes a quarter
// of a second among a million, a minute among a hundred million. AddAll and Compact build
// the form that is searched fastest.
//
// A fingerprint takes 50 to 64 bytes with an id of 64 bits ([IndexOptions.Memory]), and
// for a while twice that when parts are built again. An index holds at most 2³⁰
// fingerprints; more panic. Ids that are not equal to themselves (NaN) can be added but
// not deleted.
type Index[ID comparable, F Fingerprint] struct {
	persistent
	s        store.Store[ID, *hamming.Tree]
	distance int
	tables   int // at most, for each run
	blocks   int
	words    int       // of a fingerprint
	adding   [2]uint64 // of whoever holds the lock
}

// IndexOptions are the settings of an index. The zero value lets the index
// choose everything.
type IndexOptions struct {
	// Blocks is the number of blocks into which the bits are cut, more than the
	// distance. The index has then a table for every combination of Blocks−distance
	// blocks, at most 1024: 4 tables for the distance 3 and 4 blocks, 10 for 5, 20 for
	// 6. 0 lets the index choose by its size and by Memory, which is nearly always
	// better.
	Blocks int

	// Memory is about how many bytes a fingerprint may take, with its id if that has 64
	// bits: the more, the more tables there may be. 0 means 64, or 128 for fingerprints
	// of 128 bits. Buckets that are split take more.
	Memory int

	// Version says how the fingerprints are made ([Fingerprinter.Version]). OpenIndex
	// needs it, and refuses files with another one.
	Version string
}

// A Match is a stored document that was found.
type Match[ID comparable] struct {
	ID ID

	// Distance is the Hamming distance in bits. Only fingerprints have one.
	Distance int

	// Similarity is the cosine of vectors, or the estimated Jaccard similarity of signatures. It is
	// 0 for fingerprints.
	Similarity float64
}

// A Pair is two documents that were found to be near each other. A is before B, in the order of
// adding or by position.
type Pair[ID comparable] struct {
	A, B ID

	// Distance is the Hamming distance in bits. Only fingerprints have one.
	Distance int

	// Similarity is the cosine of vectors, or the estimated Jaccard similarity of signatures. It is
	// 0 for fingerprints.
	Similarity float64
}

// NewIndex returns an empty index in memory for Hamming distances up to distance, 0 to
// the width of F. Any other distance is an error, and so are blocks that are not more
// than the distance, or too many.
func NewIndex[ID comparable, F Fingerprint](distance int, options IndexOptions) (*Index[ID, F], error) {
	ix, err := newIndex[ID, F](distance, options)
	if err != nil {
		return nil, fmt.Errorf("neardup: NewIndex: %w", err)
	}
	return ix, nil
}

func newIndex[ID comparable, F Fingerprint](distance int, options IndexOptions) (*Index[ID, F], error) {
	o := options
	width := width[F]()
	switch {
	case distance < 0 || distance > width:
		return nil, fmt.Errorf("distance %d is not between 0 and %d", distance, width)
	case o.Blocks < 0 || o.Blocks > width:
		return nil, fmt.Errorf("%d blocks of %d bits", o.Blocks, width)
	case o.Blocks != 0 && o.Blocks <= distance:
		return nil, fmt.Errorf("%d blocks guarantee nothing at the distance %d: it needs %d or more", o.Blocks, distance, distance+1)
	case o.Blocks != 0 && hamming.Binomial(o.Blocks, distance) > hamming.MaxTables:
		return nil, fmt.Errorf("%d blocks at the distance %d need %d tables, more than %d", o.Blocks, distance, hamming.Binomial(o.Blocks, distance), hamming.MaxTables)
	case o.Memory < 0:
		return nil, fmt.Errorf("a fingerprint cannot take %d bytes", o.Memory)
	case o.Memory == 0:
		o.Memory = width
	}
	ix := &Index[ID, F]{distance: distance, blocks: o.Blocks, words: width / 64}
	ix.tables = min(hamming.MaxTables, (o.Memory-width/8-8-4-6)/hamming.EntryBytes) // what a document has besides: fingerprint, id, time, a place among the ids
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

// OpenIndex opens an index that is in files, or makes an empty one: a snapshot at path,
// and beside it path.journal, with what changed since, and path.lock. (For a moment there
// are path.neardup-part and path.journal.neardup-part.) It does not read the snapshot, but
// maps it; the journal it reads whole. Snapshot and journal belong together: copy both, of
// an index that is closed. They are as good on any other machine.
//
// Changes are in the files when Sync, Compact or Close has returned nil: from then on
// nothing loses them, not even if the program is killed in the middle of something else.
// Some that were made later may be there too, in order.
//
// options.Version says how the fingerprints are made, and must be what it was when the
// index was made; else the error is an [ErrVersion]. Ids are integers or strings of any
// kind, or of a type with the methods of [encoding.BinaryAppender] (or BinaryMarshaler)
// and [encoding.BinaryUnmarshaler]. An id of such a type that cannot be written, or reads
// back as another, is an error of the whole index. Distance and options may be others than before; the
// index is searched best with the same, until Compact builds it for the new ones.
//
// Files that are damaged, or none of this package, give an [ErrDamaged]. Of the snapshot
// OpenIndex checks the beginning. The rest is checked in blocks of 64 KiB, each before it
// is first used: see [Index.Err] and [Index.Verify]. No other program may change the
// files as long as they are open; a second OpenIndex is an error (on Unix).
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

// fpOf returns the fingerprint of the words of a document.
func fpOf[F Fingerprint](doc []uint64) F { return fromWords[F](doc[0], doc[len(doc)-1]) }

// Get returns the fingerprint that is stored under an id.
func (ix *Index[ID, F]) Get(id ID) (fp F, ok bool, err error) {
	doc, ok, err := ix.s.Get(id)
	if ok {
		fp = fpOf[F](doc)
	}
	return fp, ok, err
}

// All yields the ids and fingerprints in the order of adding. An error ends the loop: ask Err after
// it.
func (ix *Index[ID, F]) All() iter.Seq2[ID, F] {
	return func(yield func(ID, F) bool) {
		for d := range ix.s.All() {
			if !yield(d.ID, fpOf[F](d.Doc)) {
				return
			}
		}
	}
}

// Exists reports whether any stored fingerprint is within the distance of fp.
// It stops at the first.
func (ix *Index[ID, F]) Exists(fp F) (bool, error) {
	for _, err := range ix.Search(fp) {
		return err == nil, err
	}
	return false, nil
}

// Search yields every stored fingerprint within the distance of fp, each once, exact
// duplicates included, in no particular order. If the index has an error (see Err), that comes
// last, with an empty Match.
func (ix *Index[ID, F]) Search(fp F) iter.Seq2[Match[ID], error] {
	return func(yield func(Match[ID], error) bool) {
		stopped := false
		ix.search(fp, ix.distance, func(m Match[ID], _ uint64) int {
			if !yield(m, nil) {
				stopped = true
				return -1
			}
			return ix.distance
		})
		if stopped {
			return
		}
		if err := ix.Err(); err != nil {
			yield(Match[ID]{}, err)
		}
	}
}

// search calls yield with every match within a distance, and its place in the order of
// adding. yield returns the distance within which to go on, not more than before, or a
// negative one.
func (ix *Index[ID, F]) search(fp F, distance int, yield func(m Match[ID], place uint64) int) {
	v := ix.s.View()
	defer runtime.KeepAlive(v.State)
	lo, hi := split(fp)
	for i, r := range v.Runs {
		err := r.Find.Search(lo, hi, distance, func(ord uint32, d int) int {
			if !v.Sees(r, ord) {
				return distance
			}
			id, err := r.IDs.At(ord)
			if err != nil {
				ix.s.Fail(err)
				distance = -1
			} else {
				distance = yield(Match[ID]{ID: id, Distance: d}, uint64(i)<<32|uint64(ord))
			}
			return distance
		})
		if err != nil {
			ix.s.Fail(err)
			return
		}
		if distance < 0 {
			return
		}
	}
	if v.Changes == 0 {
		return
	}
	t := v.Tail
	last := hamming.NewScan(ix.words, t.Docs[:int(v.Changes)*ix.words])
	last.Search(lo, hi, distance, func(i uint32, d int) int {
		if v.SeesTail(i) {
			distance = yield(Match[ID]{ID: t.IDs[i], Distance: d}, uint64(len(v.Runs))<<32|uint64(i))
		}
		return distance
	})
}

// Nearest returns the n stored fingerprints that are nearest to fp, at any distance, the
// nearest first, and of equally near ones those that were added first. It is exact. If
// they are near, it takes little longer than a search within their distance; if they are
// far, it compares all fingerprints.
func (ix *Index[ID, F]) Nearest(fp F, n int) ([]Match[ID], error) {
	if n <= 0 {
		return nil, ix.Err()
	}
	reach := 0 // up to which distance tables are better than comparing all
	for _, r := range ix.s.View().Runs {
		reach = max(reach, r.Find.Reach)
	}
	for d := min(ix.distance, 3); d <= reach; d += 3 {
		if near := ix.matches(fp, d, nil); len(near) >= n {
			return near[:n], ix.Err()
		}
	}
	if n > 1000 {
		near := ix.matches(fp, width[F](), nil)
		return near[:min(n, len(near))], ix.Err()
	}
	// Those that are farther than the farthest of n so far are not looked at.
	near := make([]found[ID], 0, min(n, ix.Len()))
	bound := width[F]()
	ix.search(fp, bound, func(m Match[ID], place uint64) int {
		f := found[ID]{m, place}
		if at, _ := slices.BinarySearchFunc(near, f, found[ID].compare); at < n {
			near = slices.Insert(near[:min(len(near), n-1)], at, f)
		}
		if len(near) == n {
			bound = near[n-1].Distance
		}
		return bound
	})
	return matchesOf(near), ix.Err()
}

// found is a match and its place in the order of adding.
type found[ID comparable] struct {
	Match[ID]
	place uint64
}

// compare puts the nearest first, and of equally near ones those that were added first.
func (f found[ID]) compare(g found[ID]) int {
	return cmp.Or(cmp.Compare(f.Distance, g.Distance), cmp.Compare(f.place, g.place))
}

func matchesOf[ID comparable](all []found[ID]) []Match[ID] {
	out := make([]Match[ID], len(all))
	for i := range all {
		out[i] = all[i].Match
	}
	return out
}

// matches returns what search finds, without an id if that is not nil: the nearest first,
// and of equally near ones those that were added first.
func (ix *Index[ID, F]) matches(fp F, distance int, without *ID) []Match[ID] {
	var all []found[ID]
	ix.search(fp, distance, func(m Match[ID], place uint64) int {
		if without == nil || m.ID != *without {
			all = append(all, found[ID]{m, place})
		}
		return distance
	})
	slices.SortFunc(all, found[ID].compare)
	return matchesOf(all)
}

// Pairs yields every pair of stored fingerprints within the distance, each once. The order is
// unspecified but depends only on the calls made so far. An error of the index or of the context
// comes last, with an empty Pair.
func (ix *Index[ID, F]) Pairs(ctx context.Context) iter.Seq2[Pair[ID], error] {
	return func(yield func(Pair[ID], error) bool) {
		ids, fps, err := ix.collect()
		if err == nil {
			for p := range Pairs(ctx, fps, ix.distance) {
				if !yield(Pair[ID]{A: ids[p.A], B: ids[p.B], Distance: p.Distance}, nil) {
					return
				}
			}
			err = ctx.Err()
		}
		if err != nil {
			yield(Pair[ID]{}, err)
		}
	}
}

// Groups returns the ids of the connected components of [Index.Pairs] with two
// or more members. Members and groups are in the order of adding, so the first
// member, the one added first, is a stable representative. See [Clusters].
func (ix *Index[ID, F]) Groups(ctx context.Context) ([][]ID, error) {
	ids, fps, err := ix.collect()
	if err != nil {
		return nil, err
	}
	label, err := Clusters(ctx, fps, ix.distance)
	if err != nil {
		return nil, err
	}
	return idGroups(label, ids), nil
}

// collect returns the stored ids and fingerprints in the order of adding.
func (ix *Index[ID, F]) collect() ([]ID, []F, error) {
	ids := make([]ID, 0, ix.Len())
	fps := make([]F, 0, ix.Len())
	for id, fp := range ix.All() {
		ids = append(ids, id)
		fps = append(fps, fp)
	}
	return ids, fps, ix.Err()
}

// Add stores a fingerprint under an id. If the id is known, its fingerprint is replaced, and counts
// as added now. After an error (see Err) Add stores nothing and returns that error.
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

// AddAll adds many fingerprints as if one by one, but readers see all of them at once. It rebuilds
// the index with them, like Compact: that is much faster than adding each, if they are more than
// about a hundredth of what is stored. An opened index has them on the disk then. After an error,
// also that of the context, the index is as it was. The sequence must not change the index.
func (ix *Index[ID, F]) AddAll(ctx context.Context, fingerprints iter.Seq2[ID, F]) error {
	return ix.s.AddAll(func(put func(ID, []uint64)) error {
		return collectAll(ctx, fingerprints, func(id ID, fp F) {
			ix.adding[0], ix.adding[1] = split(fp)
			put(id, ix.adding[:ix.words])
		})
	})
}

// SearchAndAdd is [Index.Search] and [Index.Add] in one: it returns the stored fingerprints within
// the distance of fp, and stores fp, as Li 2015 (§2.3) does with every new row. Of two calls at the
// same time, one finds the other's fingerprint. What was stored under the id is replaced and not
// returned. The nearest come first, and equally near ones in the order of adding. After an error fp
// is not stored.
func (ix *Index[ID, F]) SearchAndAdd(id ID, fp F) ([]Match[ID], error) {
	ix.s.Lock()
	defer ix.s.Unlock()
	found := ix.matches(fp, ix.distance, &id)
	return found, ix.add(id, fp)
}

// ExistsAndAdd is SearchAndAdd for callers who only want to know whether anything is within the
// distance. It stops at the first.
func (ix *Index[ID, F]) ExistsAndAdd(id ID, fp F) (bool, error) {
	ix.s.Lock()
	defer ix.s.Unlock()
	exists := false
	for m, err := range ix.Search(fp) {
		if err == nil && m.ID != id {
			exists = true
			break
		}
	}
	return exists, ix.add(id, fp)
}

// Delete removes an id and reports whether it was there.
func (ix *Index[ID, F]) Delete(id ID) (bool, error) { return ix.s.Delete(id) }

// DeleteFunc removes every document for which del returns true, and returns how many that was.
// added is when the document was added, in whole seconds by the clock of this machine, but never
// before what was added earlier. del must not change the index. It takes time for all that is
// stored.
func (ix *Index[ID, F]) DeleteFunc(del func(id ID, fp F, added time.Time) bool) (int, error) {
	return ix.s.DeleteEach(func(d store.Entry[ID]) (bool, bool) {
		return del(d.ID, fpOf[F](d.Doc), time.Unix(int64(d.Time), 0)), true
	})
}

// Distance returns the distance of all searches.
func (ix *Index[ID, F]) Distance() int { return ix.distance }
