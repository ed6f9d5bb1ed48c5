package neardup

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"github.com/neardup/neardup/internal/exact"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/frequency"
)

// A DocumentFrequenciesBuilder counts document frequencies; Build turns the counts into immutable
// DocumentFrequencies, which an IDF reads. The counts are in a frequency.Table by the keys of the features.
// Many features have the same frequency. So Build replaces each frequency by its rank among the
// distinct ones, and computes the weights once per rank: looking up a weight is one probe of the
// table and one of a small array.

// DocumentFrequencies are the statistics of a corpus: how many documents it has, and how many of them have each
// feature. [DocumentFrequenciesBuilder.Build] and [ReadDocumentFrequencies] make them. They do not
// change and are safe for concurrent use. They take 15 to 19 bytes of memory for each feature.
//
// Features are identified by a 64-bit hash. A feature shares the count of another one with a
// probability of 2⁻⁶⁴ times the number of features.
type DocumentFrequencies struct {
	of        features         // the settings that the features were made with
	documents uint32           // N
	forgotten uint32           // the largest frequency that Prune removed
	table     *frequency.Table // the rank of each feature's frequency
	distinct  []uint32         // the frequencies that occur, ascending; a rank is an index
	digest    uint64           // of all counts; for versions

	plain, smooth idfTable // the weights by rank
}

// An idfTable has the weights of an IDF by rank, and one more at the end for unknown features.
type idfTable struct {
	exact     []float64
	quantised []int64
}

func (t *idfTable) add(idf float64) {
	t.exact = append(t.exact, idf)
	t.quantised = append(t.quantised, exact.Quantize(idf))
}

// A DocumentFrequenciesBuilder counts in how many documents each feature occurs. The zero value is ready to
// use and counts the features of a zero [Fingerprinter]. Several goroutines may use it at once,
// except for Build. The result does not depend on the order of the documents. It takes 15 to 19
// bytes of memory for each distinct feature, at most 190 MB for ten million.
//
//	b := neardup.DocumentFrequenciesBuilder{Fingerprinter: f}
//	for _, text := range texts {
//		b.Add(neardup.Text(text))
//	}
//	f.Weight = neardup.Product{neardup.LogCount, neardup.IDF{Frequencies: b.Build()}}
//
// There may be up to 2³²−1 documents.
type DocumentFrequenciesBuilder struct {
	// Fingerprinter says which features to count: those of its texts and records. Its Weight does
	// not matter. It must not change after the first document.
	Fingerprinter Fingerprinter

	documents atomic.Uint64
	forgotten atomic.Uint32
	table     frequency.Table
}

// Add counts the features of a document.
func (b *DocumentFrequenciesBuilder) Add(doc Document) {
	r := b.Fingerprinter.extractor(toCount)
	r.document(doc)
	b.documents.Add(1)
	// Table.Count needs a buffer to sort the keys in. Lo is free while features are counted.
	r.bag.Lo = slices.Grow(r.bag.Lo[:0], len(r.bag.Keys))
	b.table.Count(r.bag.Keys, r.bag.Lo[:len(r.bag.Keys)])
	r.release()
}

// Merge adds the counts of other, which must be about other documents. It returns an [ErrVersion] if
// they were made with other settings than those of b, and an error if there are more than 2³²−1
// documents together. After an error, b is unchanged.
func (b *DocumentFrequenciesBuilder) Merge(other *DocumentFrequencies) error {
	if of := b.Fingerprinter.features(); !of.isSame(&other.of) {
		return fmt.Errorf("neardup: %w: the statistics are for other features", ErrVersion)
	}
	if b.documents.Load()+uint64(other.documents) > math.MaxUint32 {
		return fmt.Errorf("neardup: statistics of %d and %d documents; together they can have at most %d", b.documents.Load(), other.documents, uint32(math.MaxUint32))
	}
	b.documents.Add(uint64(other.documents))
	b.forget(other.forgotten)
	other.table.Each(func(key uint64, rank *uint32) { b.table.Add(key, other.distinct[*rank]) })
	return nil
}

// Documents returns the number of documents added so far, merged ones included.
func (b *DocumentFrequenciesBuilder) Documents() int { return int(b.documents.Load()) }

// Terms returns the number of distinct features that were found and not pruned.
func (b *DocumentFrequenciesBuilder) Terms() int { return b.table.Len() }

// Prune forgets rare features to save memory. First it forgets the features that fewer than min
// documents have had so far. If more than most are left, it also forgets the rarest of them until
// at most that many are left; of equally rare ones it keeps all or none. A most of 0 means no
// limit.
//
// An [IDF] cannot tell a forgotten feature from an unknown one. It weighs both like features of the
// largest frequency that was forgotten.
//
// Call Prune right before Build to make the statistics smaller. Call it earlier too if an endless
// corpus would take too much memory. Then a forgotten feature that occurs again is counted from 0.
// So frequencies may be too low, by at most the sum of what the calls forgot, and they depend on
// when Prune was called.
func (b *DocumentFrequenciesBuilder) Prune(min, most int) {
	least := uint32(max(0, min))
	if most > 0 {
		// how many features have each frequency
		have := map[uint32]int{}
		b.table.Each(func(_ uint64, df *uint32) { have[*df]++ })
		left := 0
		for _, df := range slices.Backward(slices.Sorted(maps.Keys(have))) {
			if left += have[df]; left > most {
				least = max(least, df+1)
				break
			}
		}
	}
	b.forget(b.table.Prune(least))
}

// forget notes that features of frequency df were forgotten; the largest counts.
func (b *DocumentFrequenciesBuilder) forget(df uint32) {
	for old := b.forgotten.Load(); df > old && !b.forgotten.CompareAndSwap(old, df); old = b.forgotten.Load() {
	}
}

// Build returns the statistics and leaves the builder empty, ready for another corpus. It hands the
// counts over without copying them. Nothing may be added while it runs.
func (b *DocumentFrequenciesBuilder) Build() *DocumentFrequencies {
	s := &DocumentFrequencies{of: b.Fingerprinter.features(), documents: uint32(min(b.documents.Swap(0), math.MaxUint32)), forgotten: b.forgotten.Swap(0), table: b.table.Take()}
	s.forgotten = min(s.forgotten, s.documents)
	// First only the keys of ranks, the distinct frequencies; the ranks follow when these are
	// sorted.
	ranks := map[uint32]uint32{}
	s.digest = format.Checksum(nil, uint64(s.documents)<<32|uint64(s.forgotten))
	var key [8]byte
	s.table.Each(func(k uint64, df *uint32) {
		*df = min(*df, s.documents)
		ranks[*df] = 0
		binary.BigEndian.PutUint64(key[:], k)
		s.digest += format.Checksum(key[:], uint64(*df)) // a sum, because the order of the table is random
	})
	s.distinct = slices.Sorted(maps.Keys(ranks))
	for i, df := range s.distinct {
		ranks[df] = uint32(i)
	}
	s.table.Each(func(_ uint64, df *uint32) { *df = ranks[*df] })
	for _, df := range append(slices.Clone(s.distinct), s.forgotten) {
		s.plain.add(s.idf(df, false))
		s.smooth.add(s.idf(df, true))
	}
	return s
}

// Documents returns the number of documents, N.
func (s *DocumentFrequencies) Documents() int { return int(s.documents) }

// Terms returns the number of distinct features.
func (s *DocumentFrequencies) Terms() int { return s.table.Len() }

// Frequency returns the number of documents that have a feature, spelled like the Text of a
// [Token]. It is 0 for an unknown feature.
func (s *DocumentFrequencies) Frequency(feature string) int {
	return int(s.frequency(featureKey(feature, s.of.key)))
}

// frequency is Frequency by key.
func (s *DocumentFrequencies) frequency(key uint64) uint32 {
	if rank := s.rank(key); int(rank) < len(s.distinct) {
		return s.distinct[rank]
	}
	return 0
}

// rank returns the index of a feature in the tables of weights. For an unknown feature that is the
// last one.
func (s *DocumentFrequencies) rank(key uint64) uint32 {
	return s.table.Find(key, uint32(len(s.distinct)))
}

// idf returns the weight of a feature that df documents have; see IDF.
func (s *DocumentFrequencies) idf(df uint32, smooth bool) float64 {
	switch {
	case s.documents == 0:
		return 1
	case smooth:
		return exact.Ln((float64(s.documents) + 1) / (float64(df) + 0.5))
	}
	return exact.Ln(float64(s.documents) / float64(max(df, 1)))
}

// id returns a digest of the counts, for versions. It is 0 if s is nil.
func (s *DocumentFrequencies) id() uint64 {
	if s == nil {
		return 0
	}
	return s.digest
}

// WriteTo writes s for [ReadDocumentFrequencies], in a checksummed binary form of about 8 bytes a feature.
// It needs memory for about a 64th of the features. It is an error if the features come from a
// tokenizer of the caller's own that [Fingerprinter.Custom] does not name.
func (s *DocumentFrequencies) WriteTo(w io.Writer) (int64, error) {
	version, err := s.of.version()
	if err != nil {
		return 0, err
	}
	f := format.NewWriter(w, "statistics", version)
	f.Uvarint(uint64(s.documents))
	f.Uvarint(uint64(s.forgotten))
	f.EndRecord()
	// The shards of the table are ordered by key, and each is sorted here. So keys ascend in the
	// file, and small differences make short varints.
	type term struct {
		key  uint64
		rank uint32
	}
	var terms []term
	before := uint64(0)
	for i := range s.table.Shards {
		terms = terms[:0]
		s.table.Shards[i].Each(func(key uint64, rank *uint32) { terms = append(terms, term{key, *rank}) })
		slices.SortFunc(terms, func(a, b term) int { return cmp.Compare(a.key, b.key) })
		for _, t := range terms {
			f.Uvarint(t.key - before)
			f.Uvarint(uint64(s.distinct[t.rank]))
			f.EndRecord()
			before = t.key
		}
	}
	err = f.Close()
	return f.To.N, err
}

// ReadDocumentFrequencies reads what [DocumentFrequencies.WriteTo] wrote, for the features of f. It reads r to the
// end. It returns an [ErrVersion] if the statistics were made with other settings. Other errors are
// those of [ReadFingerprints].
func ReadDocumentFrequencies(r io.Reader, f *Fingerprinter) (*DocumentFrequencies, error) {
	b := DocumentFrequenciesBuilder{Fingerprinter: *f}
	of := f.features()
	version, err := of.version()
	if err != nil {
		return nil, err
	}
	in, err := format.NewReader(r, "statistics", version, "collect them again")
	if err != nil {
		return nil, err
	}
	first, key := true, uint64(0)
	for in.Next() {
		// The first record has the number of documents and the largest forgotten frequency.
		if first {
			b.documents.Store(in.Uvarint(math.MaxUint32))
			b.forget(uint32(in.Uvarint(b.documents.Load())))
			first = false
			continue
		}
		delta, df := in.Uvarint(math.MaxUint64), uint32(in.Uvarint(math.MaxUint32))
		if in.Err == nil && (delta == 0 || key+delta < key) {
			in.Fail("features are not in order")
		}
		if key += delta; in.Err == nil && (df == 0 || uint64(df) > b.documents.Load()) {
			in.Fail("a feature in %d of %d documents", df, b.documents.Load())
		}
		if in.Err != nil {
			break
		}
		b.table.Add(key, df)
	}
	if in.Err == nil && first {
		in.Fail("the number of documents is missing")
	}
	if in.Err != nil {
		return nil, in.Err
	}
	return b.Build(), nil
}
