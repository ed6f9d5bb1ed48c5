package neardupbeam

import (
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/zeebo/xxh3"
)

// This file finds the pairs. Documents with equal Data are one content, so a million copies of a page cost no
// more than one. A content is known by a key: its fingerprint, or a hash of 128 bits of its Data.
//
//	contents    key → rank of the document to keep, Data
//	members     key → rank of each of its documents
//	buckets     a combination of blocks, or a band → contents
//	candidates  two contents of one bucket: the smaller key → the larger one, and the bucket
//	edges       near-duplicates: the smaller key → the larger one, and how near they are
//
// A fingerprint is its own Data, so with SimHash a bucket compares its contents itself. Signatures and vectors
// are too large to be in every bucket. There a candidate goes to its smaller content, where those that met in
// several buckets become one; then with its Data to the larger content, which compares. A pair counts only in
// its first common bucket, so it is found once.
//
// A bucket of more than HotBucket contents is split: each content gets a number of a part, by its hash, and two
// parts make a tile. In a tile contents have their Data with them and are compared at once.
//
// Beam gives the values of a key in any order, and may run a step again after a failure. So steps depend on
// the set of the values only: they sort where an order matters, and of several equal things take the one
// that a rank or a key decides.

// Pairs finds the near-duplicates among a PCollection<Profile>, as a PCollection<Pair>, each pair once.
// Documents with equal profiles make pairs too: m of them make m(m−1)/2. Notes are a PCollection<Note> of
// hot buckets. It panics if the options do not fit together. A bucket of m contents costs m²/2 comparisons,
// whether it is split or not.
func Pairs(s beam.Scope, profiles beam.PCollection, o Options) (pairs, notes beam.PCollection) {
	set := o.parts()
	s = s.Scope("neardup.Pairs")
	contents, members := contentsOf(s, profiles, set)
	edges, notes := edgesOf(s, contents, set)
	return spell(s, members, edges, set), notes
}

// spell returns the pairs of documents that edges between contents stand for, and those of equal profiles.
// The documents of the two ends of an edge may be on different workers, so it takes two joins, one for each
// end.
func spell(s beam.Scope, members, edges beam.PCollection, set settings) beam.PCollection {
	equal := beam.ParDo(s, &equalFn{settings: set}, beam.GroupByKey(s, members))
	half := beam.ParDo(s, spellFirst, beam.CoGroupByKey(s, members, edges))
	rest := beam.ParDo(s, spellSecond, beam.CoGroupByKey(s, members, half))
	return beam.Flatten(s, equal, rest)
}

// contentsOf returns the contents and the members of profiles. Data go with the contents only. Members are
// for spelling out documents in the end, and have the rank but no Data.
func contentsOf(s beam.Scope, profiles beam.PCollection, set settings) (contents, members beam.PCollection) {
	withData, members := beam.ParDo2(s, &keyFn{settings: set}, profiles)
	return beam.ParDo(s, &contentFn{settings: set}, beam.GroupByKey(s, withData)), members
}

// keyFn keys profiles by content. Profiles without features are near nothing and are left out.
type keyFn struct{ settings }

func (fn *keyFn) ProcessElement(p Profile, withData, member func(key, value []byte)) {
	// Without this, all texts without features would be one content, and near-duplicates.
	if len(p.Data) == 0 {
		return
	}
	key := p.Data
	if fn.Method != SimHash {
		// Data can have kilobytes, and the key is in every edge and bucket. A fingerprint is short enough
		// to be the key.
		h := xxh3.Hash128(p.Data).Bytes()
		key = h[:]
	}
	r := rank{p.ID, p.Length}.encode(nil)
	withData(key, append(encoder(r), p.Data...))
	member(key, r)
}

// contentFn makes one content of equal profiles. Its rank is the best one of its documents.
type contentFn struct{ settings }

func (fn *contentFn) ProcessElement(key []byte, profiles func(*[]byte) bool, emit func(key, content []byte)) error {
	var best []byte
	var least rank
	var b []byte
	for profiles(&b) {
		d := decoder{b: b}
		r := decodeRank(&d)
		if d.err != nil {
			return d.err
		}
		if best == nil || r.compare(least, fn.KeepFirst) < 0 {
			best, least = d.b, r
		}
	}
	emit(key, append(least.encode(nil), best...))
	return nil
}

// dataOf returns the Data of a content.
func dataOf(content []byte) ([]byte, error) {
	d := decoder{b: content}
	decodeRank(&d)
	return d.b, d.err
}

// edgesOf returns the edges between contents, each once. Buckets of usual size and tiles are two ways to
// the same edges: a pair that meets in both is emitted only by the one that holds its first common bucket
// (see comparer.two). With SimHash a bucket compares at once; with the other methods, two more joins bring
// the Data of both contents together.
func edgesOf(s beam.Scope, contents beam.PCollection, set settings) (edges, notes beam.PCollection) {
	inBuckets := beam.ParDo(s, &spreadFn{settings: set}, contents)
	found, hot := beam.ParDo2(s, &bucketFn{settings: set}, beam.GroupByKey(s, inBuckets))
	// splitFn must know how many contents a bucket has before it sees the first one, and reads them only
	// once.
	sizes := beam.CombinePerKey(s, sum, beam.ParDo(s, one, hot))
	tiles, notes := beam.ParDo2(s, &splitFn{settings: set}, beam.CoGroupByKey(s, sizes, hot))
	if set.Method != SimHash {
		half := beam.ParDo(s, gatherCandidates, beam.CoGroupByKey(s, contents, found))
		found = beam.ParDo(s, &verifyFn{settings: set}, beam.CoGroupByKey(s, contents, half))
		tiles = beam.ParDo(s, tileContents, beam.CoGroupByKey(s, contents, tiles))
	}
	inTiles := beam.ParDo(s, &tileFn{settings: set}, beam.GroupByKey(s, tiles))
	return beam.Flatten(s, found, inTiles), notes
}

var (
	// docs/beyond.md tells what these are for.
	candidateCount = beam.NewCounter("neardup", "candidates")
	edgeCount      = beam.NewCounter("neardup", "pairs of contents")
	hotCount       = beam.NewCounter("neardup", "hot buckets")
	tileCount      = beam.NewCounter("neardup", "candidates in hot buckets")
)

// equalFn spells out the pairs of one content. With m documents it emits m(m−1)/2 pairs, so it needs the
// ids in memory.
type equalFn struct{ settings }

func (fn *equalFn) ProcessElement(_ []byte, members func(*[]byte) bool, emit func(Pair)) error {
	var ids []string
	for b := []byte(nil); members(&b); {
		d := decoder{b: b}
		ids = append(ids, decodeRank(&d).id)
		if d.err != nil {
			return d.err
		}
	}
	same := 1.0
	if fn.Method == SimHash {
		same = 0
	}
	slices.Sort(ids)
	for i, a := range ids {
		for _, b := range ids[i+1:] {
			// Two documents with one id are not a pair.
			if a != b {
				emit(Pair{A: a, B: b, Similarity: same})
			}
		}
	}
	return nil
}

// spellFirst replaces the first content of each edge by its documents. The ids of the content are in
// memory, and the edges are read one by one.
func spellFirst(_ []byte, members, edges func(*[]byte) bool, emit func(key, half []byte)) error {
	var edge, b []byte
	if !edges(&edge) {
		return nil
	}
	var ids []string
	for members(&b) {
		d := decoder{b: b}
		ids = append(ids, decodeRank(&d).id)
		if d.err != nil {
			return d.err
		}
	}
	for more := true; more; more = edges(&edge) {
		d := decoder{b: edge}
		other := d.bytes()
		if d.err != nil {
			return d.err
		}
		for _, id := range ids {
			emit(other, append(encoder(nil).text(id), d.b...))
		}
	}
	return nil
}

// spellSecond replaces the second content of each edge by its documents. A pair of two contents cannot come
// from equalFn too, so each pair is emitted once.
func spellSecond(_ []byte, members, halves func(*[]byte) bool, emit func(Pair)) error {
	var half, b []byte
	if !halves(&half) {
		return nil
	}
	var ids []string
	for members(&b) {
		d := decoder{b: b}
		ids = append(ids, decodeRank(&d).id)
		if d.err != nil {
			return d.err
		}
	}
	for more := true; more; more = halves(&half) {
		d := decoder{b: half}
		p := Pair{A: d.text(), Similarity: d.float(), Distance: int(d.uint64())}
		if d.err != nil {
			return d.err
		}
		for _, id := range ids {
			if q := p; id != p.A {
				q.A, q.B = min(p.A, id), max(p.A, id)
				emit(q)
			}
		}
	}
	return nil
}

func init() {
	register3x0((*keyFn).ProcessElement)
	register3x1((*contentFn).ProcessElement)
	register3x1((*spreadFn).ProcessElement)
	register5x1((*bucketFn).ProcessElement)
	register6x0((*splitFn).ProcessElement)
	register.Function2x2(one)
	register.Function2x1(sum)
	register.Iter1[int]()
	register4x1((*tileFn).ProcessElement)
	register5x1((*verifyFn).ProcessElement)
	register3x1((*equalFn).ProcessElement)
	register.Function4x1(gatherCandidates)
	register.Function4x1(tileContents)
	register.Function4x1(spellFirst)
	register.Function4x1(spellSecond)
	register.Emitter2[[]byte, []byte]()
	register.Emitter1[Pair]()
	register.Iter1[[]byte]()
}
