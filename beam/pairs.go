package neardupbeam

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/neardup/neardup/dedup/shard/blocks"
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

// spreadFn puts contents into buckets. The key of a bucket begins with the number of its table or band. So
// contents of different tables never meet, even if the rest of the key is equal.
type spreadFn struct {
	settings
	tables []blocks.Table
}

// Setup makes the tables on the worker; they follow from the settings, which are all that is sent.
func (fn *spreadFn) Setup() {
	if fn.Method == SimHash {
		fn.tables = blocks.Tables(fn.Bits, fn.Blocks, fn.Distance)
	}
}

func (fn *spreadFn) ProcessElement(key, content []byte, emit func(bucket, member []byte)) error {
	data, err := dataOf(content)
	if err != nil {
		return err
	}
	c, err := fn.read(data)
	if err != nil {
		return err
	}
	for i, t := range fn.tables {
		e := encoder(nil).int(i)
		// Fingerprints of 64 bits have nothing in the high half, which would be 8 bytes in every row.
		if fn.Bits == 128 {
			e = e.uint64(c.mask[0] & t.Key.Hi)
		}
		emit(e.uint64(c.mask[1]&t.Key.Lo), key)
	}
	for band, k := range c.bands {
		emit(encoder(nil).int(band).uint64(k), key)
	}
	return nil
}

// bucketFn pairs the contents of a bucket. With SimHash its pairs are edges; otherwise they are candidates.
// It holds about HotBucket keys in memory at most: those of a larger bucket it passes on to hot as they
// come.
type bucketFn struct {
	settings
	compare comparer
}

var (
	// docs/beyond.md tells what these are for.
	candidateCount = beam.NewCounter("neardup", "candidates")
	edgeCount      = beam.NewCounter("neardup", "pairs of contents")
	hotCount       = beam.NewCounter("neardup", "hot buckets")
	tileCount      = beam.NewCounter("neardup", "candidates in hot buckets")
)

func (fn *bucketFn) Setup() { fn.compare = newComparer(fn.settings) }

func (fn *bucketFn) ProcessElement(ctx context.Context, bucket []byte, members func(*[]byte) bool, found, hot func(key, value []byte)) error {
	var keys [][]byte
	isHot := false
	for b := []byte(nil); members(&b); {
		if keys = append(keys, b); len(keys) > fn.HotBucket {
			isHot = true
			for _, key := range keys {
				hot(bucket, key)
			}
			keys = keys[:0]
		}
	}
	switch {
	case isHot:
		for _, key := range keys {
			hot(bucket, key)
		}
		return nil
	case len(keys) < 2: // nearly all of them
		return nil
	case fn.Method == SimHash:
		return fn.compare.all(ctx, bucket, keys, found)
	}
	// A candidate goes to its smaller content first, so it has to be the same one in every bucket.
	slices.SortFunc(keys, bytes.Compare)
	d := decoder{b: bucket}
	band := d.int()
	for i, a := range keys {
		for _, b := range keys[i+1:] {
			found(a, encoder(nil).bytes(b).int(band))
		}
	}
	return d.err
}

// splitFn splits hot buckets. With SimHash it puts their contents into tiles; otherwise it keys them by
// content, since they need their Data first. A part has about half of HotBucket contents, so a tile of two
// parts is about as large as the largest bucket that is not split.
type splitFn struct{ settings }

func (fn *splitFn) ProcessElement(ctx context.Context, bucket []byte, sizes func(*int) bool, members func(*[]byte) bool, hot func(key, value []byte), note func(Note)) {
	n := 0
	if !sizes(&n) {
		return
	}
	parts := 2 * ((n + fn.HotBucket - 1) / fn.HotBucket) // two parts fill a tile
	note(Note{HotBucket, fn.bucketName(bucket), fmt.Sprintf("%d different contents share it; their comparison was split into %d tiles", n, parts*(parts+1)/2)})
	hotCount.Inc(ctx, 1)
	for key := []byte(nil); members(&key); {
		if fn.Method == SimHash {
			toTiles(bucket, parts, key, key, hot)
		} else {
			hot(key, encoder(nil).bytes(bucket).int(parts))
		}
	}
}

func one(bucket, _ []byte) ([]byte, int) { return bucket, 1 }

func sum(a, b int) int { return a + b }

// bucketName returns what notes call a bucket. The key is in hexadecimal digits: it is no text, and notes
// are JSON.
func (s *settings) bucketName(bucket []byte) string {
	d := decoder{b: bucket}
	name := "band"
	if s.Method == SimHash {
		name = "table"
	}
	return fmt.Sprintf("%s %d, key %x", name, d.int(), d.b)
}

// toTiles emits a content for every tile that its part is in: as many as there are parts. Two contents of
// different parts are compared in the tile of both, and two of one part in the tile that has this part
// alone. So no pair is compared twice in a bucket. The part is a hash of the content, so workers need not
// agree on numbers.
func toTiles(bucket []byte, parts int, key, data []byte, emit func(tile, content []byte)) {
	part := int(xxh3.Hash(key) % uint64(parts))
	for other := range parts {
		emit(encoder(nil).bytes(bucket).int(min(part, other)).int(max(part, other)), encoder(nil).int(part).bytes(key).bytes(data))
	}
}

// tileContents adds the Data to the contents of hot buckets.
func tileContents(key []byte, contents, buckets func(*[]byte) bool, emit func(tile, content []byte)) error {
	var content, b []byte
	if !contents(&content) {
		return nil
	}
	data, err := dataOf(content)
	for err == nil && buckets(&b) {
		d := decoder{b: b}
		bucket, parts := d.bytes(), d.int()
		if err = d.err; err == nil {
			toTiles(bucket, parts, key, data, emit)
		}
	}
	return err
}

// tileFn compares the contents of a tile: all of one part, or those of one part with those of another.
// Unlike a bucket, a tile has the Data of its contents with it: there is no later join.
type tileFn struct {
	settings
	compare comparer
}

func (fn *tileFn) Setup() { fn.compare = newComparer(fn.settings) }

func (fn *tileFn) ProcessElement(ctx context.Context, tile []byte, contents func(*[]byte) bool, emit func(key, edge []byte)) error {
	d := decoder{b: tile}
	bucket, first, second := d.bytes(), d.int(), d.int()
	var of [2][][]byte // key and Data
	for b := []byte(nil); d.err == nil && contents(&b); {
		c := decoder{b: b}
		part := c.int()
		side := 0
		if part == second && first != second {
			side = 1
		}
		of[side] = append(of[side], c.b)
		d.err = c.err
	}
	if d.err != nil {
		return d.err
	}
	return fn.compare.tile(ctx, bucket, of[0], of[1], first == second, emit)
}

// gatherCandidates joins candidates with their smaller content. A candidate that met in several buckets
// counts once, for the first. If two contents also share an earlier bucket that was hot, that one is not
// among these; comparer.two sees it in the bands of both, and leaves the pair to the tile.
func gatherCandidates(a []byte, contents, candidates func(*[]byte) bool, emit func(b, half []byte)) error {
	var content, c []byte
	if !contents(&content) {
		return nil
	}
	data, err := dataOf(content)
	if err != nil {
		return err
	}
	type candidate struct {
		key  []byte
		band int
	}
	var all []candidate
	for candidates(&c) {
		d := decoder{b: c}
		all = append(all, candidate{d.bytes(), d.int()})
		if d.err != nil {
			return d.err
		}
	}
	slices.SortFunc(all, func(x, y candidate) int { return cmp.Or(bytes.Compare(x.key, y.key), cmp.Compare(x.band, y.band)) })
	for i, c := range all {
		if i == 0 || !bytes.Equal(c.key, all[i-1].key) {
			emit(c.key, encoder(nil).bytes(a).int(c.band).bytes(data))
		}
	}
	return nil
}

// verifyFn compares candidates at their larger content. The Data of the content are decoded once for all of
// its candidates, and not at all if it has none.
type verifyFn struct {
	settings
	compare comparer
}

func (fn *verifyFn) Setup() { fn.compare = newComparer(fn.settings) }

func (fn *verifyFn) ProcessElement(ctx context.Context, b []byte, contents, halves func(*[]byte) bool, emit func(key, edge []byte)) error {
	var content, half []byte
	if !contents(&content) {
		return nil
	}
	var of compared
	read := false
	for halves(&half) {
		if !read {
			data, err := dataOf(content)
			if err == nil {
				of, err = fn.read(data)
			}
			if err != nil {
				return err
			}
			read = true
		}
		d := decoder{b: half}
		a, band, data := d.bytes(), d.int(), d.bytes()
		if d.err != nil {
			return d.err
		}
		other, err := fn.read(data)
		if err != nil {
			return err
		}
		candidateCount.Inc(ctx, 1)
		fn.compare.two(ctx, band, a, b, &other, &of, emit)
	}
	return nil
}

// A comparer compares contents, and emits edges. All ways of comparing end in its method two, so they
// cannot disagree on what is near or on what is first.
type comparer struct {
	settings
	tables []blocks.Table
}

func newComparer(s settings) comparer {
	c := comparer{settings: s}
	if s.Method == SimHash {
		c.tables = blocks.Tables(s.Bits, s.Blocks, s.Distance)
	}
	return c
}

// two emits the edge between two contents that share a bucket of a table, if they are near and the bucket is
// the first that they share.
func (c *comparer) two(ctx context.Context, table int, keyA, keyB []byte, a, b *compared, emit func(key, edge []byte)) {
	similarity, distance := 0.0, 0
	switch c.Method {
	case SimHash:
		distance = bits.OnesCount64(a.mask[0]^b.mask[0]) + bits.OnesCount64(a.mask[1]^b.mask[1])
		if distance > c.Distance || !c.tables[table].IsFirst(blocks.Mask{Hi: a.mask[0], Lo: a.mask[1]}, blocks.Mask{Hi: b.mask[0], Lo: b.mask[1]}) {
			return
		}
	default:
		// An earlier band in common has this pair already. That costs less than the similarity, so it is
		// asked first.
		for i := range a.bands[:table] {
			if a.bands[i] == b.bands[i] {
				return
			}
		}
		if c.Method == MinHash {
			similarity = a.signature.Jaccard(b.signature)
		} else {
			similarity = a.vector.Cosine(b.vector)
		}
		// Written so that NaN is no edge.
		if !(similarity >= c.Similarity) {
			return
		}
	}
	// An edge has its smaller key first, whichever way the two were compared.
	if bytes.Compare(keyA, keyB) > 0 {
		keyA, keyB = keyB, keyA
	}
	edgeCount.Inc(ctx, 1)
	emit(keyA, encoder(nil).bytes(keyB).value(similarity, distance))
}

// all compares fingerprints of one bucket, each with each. Its time grows with the square of their number,
// which HotBucket bounds.
func (c *comparer) all(ctx context.Context, bucket []byte, fps [][]byte, emit func(key, edge []byte)) error {
	d := decoder{b: bucket}
	table := d.int()
	masks := make([]compared, len(fps))
	for i, fp := range fps {
		if masks[i], d.err = c.read(fp); d.err != nil {
			return d.err
		}
	}
	candidateCount.Inc(ctx, int64(len(fps))*int64(len(fps)-1)/2)
	for i := range masks {
		for j := range i {
			c.two(ctx, table, fps[i], fps[j], &masks[i], &masks[j], emit)
		}
	}
	return d.err
}

// tile compares contents of a hot bucket, each with its Data: those of one part with each other, or those of
// two parts.
func (c *comparer) tile(ctx context.Context, bucket []byte, first, second [][]byte, isOne bool, emit func(key, edge []byte)) error {
	d := decoder{b: bucket}
	table := d.int()
	read := func(from [][]byte) (keys [][]byte, all []compared) {
		for _, b := range from {
			each := decoder{b: b}
			keys = append(keys, each.bytes())
			of, err := c.read(each.bytes())
			d.err = cmp.Or(d.err, each.err, err)
			all = append(all, of)
		}
		return keys, all
	}
	keysA, a := read(first)
	keysB, b := read(second)
	if d.err != nil {
		return d.err
	}
	n := 0
	for i := range a {
		if isOne {
			for j := range i {
				c.two(ctx, table, keysA[i], keysA[j], &a[i], &a[j], emit)
			}
			n += i
		}
		for j := range b {
			c.two(ctx, table, keysA[i], keysB[j], &a[i], &b[j], emit)
		}
		n += len(b)
	}
	tileCount.Inc(ctx, int64(n))
	return nil
}

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
			// Two documents with one id are no pair.
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
