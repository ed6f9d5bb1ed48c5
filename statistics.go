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

// Statistics are the document frequencies of the features of a corpus: how many
// documents it has, and how many of them have each feature. They are made by a
// [StatisticsBuilder] or [ReadStatistics], do not change, and are safe for concurrent
// use.
//
// Features are known by a 64-bit hash, so two are taken for one with a probability of
// 2⁻⁶⁴ times their number. They take 15 to 19 bytes each.
type Statistics struct {
	of        features
	documents uint32
	forgotten uint32           // the largest frequency of features that were pruned
	table     *frequency.Table // the rank of the frequency of each feature
	distinct  []uint32         // the frequencies that occur, by rank: ascending
	digest    uint64

	plain, smooth idfTable
}

// An idfTable is the weights of an IDF for each rank, and at the end for a feature that
// no document has.
type idfTable struct {
	exact     []float64
	quantised []int64
}

func (t *idfTable) add(idf float64) {
	t.exact = append(t.exact, idf)
	t.quantised = append(t.quantised, Quantize(idf))
}

// A StatisticsBuilder counts in how many documents each feature occurs. The zero value
// is ready and counts default features. It may be used by several goroutines at once,
// and what it counts does not depend on the order of the documents. It takes 15 to 19
// bytes of memory for each distinct feature, at most 190 MB for ten million.
//
//	b := neardup.StatisticsBuilder{Fingerprinter: f}
//	for _, text := range texts {
//		b.Add(text)
//	}
//	f.Weight = neardup.Product{neardup.LogCount, neardup.IDF{Statistics: b.Build()}}
type StatisticsBuilder struct {
	// Fingerprinter is whose features are counted. Its Weight does not matter. It must
	// not be changed once something has been added.
	Fingerprinter Fingerprinter

	documents atomic.Uint64
	forgotten atomic.Uint32
	table     frequency.Table
}

// Add counts the features of a text.
func (b *StatisticsBuilder) Add(text string) {
	r := b.Fingerprinter.reading(toCount)
	r.text(text)
	b.count(r)
}

func (b *StatisticsBuilder) count(r *reading) {
	b.documents.Add(1)
	r.bag.Lo = slices.Grow(r.bag.Lo[:0], len(r.bag.Keys)) // not needed otherwise
	b.table.Count(r.bag.Keys, r.bag.Lo[:len(r.bag.Keys)])
	r.release()
}

// Merge adds what other has counted in other documents, of the same features. It is an
// [ErrVersion] if they are others. There can be up to 2³²−1 documents.
func (b *StatisticsBuilder) Merge(other *Statistics) error {
	if of := b.Fingerprinter.features(); !of.isSame(&other.of) {
		return fmt.Errorf("neardup: %w: the statistics are of other features", ErrVersion)
	}
	if b.documents.Load()+uint64(other.documents) > math.MaxUint32 {
		return fmt.Errorf("neardup: statistics of %d and %d documents; together there can be %d", b.documents.Load(), other.documents, uint32(math.MaxUint32))
	}
	b.documents.Add(uint64(other.documents))
	b.forget(other.forgotten)
	other.table.Each(func(key uint64, rank *uint32) { b.table.Add(key, other.distinct[*rank]) })
	return nil
}

// Documents returns the number of documents that were added.
func (b *StatisticsBuilder) Documents() int { return int(b.documents.Load()) }

// Terms returns the number of distinct features that were found and not pruned.
func (b *StatisticsBuilder) Terms() int { return b.table.Len() }

// Prune forgets the features that fewer than min documents have had so far, and then, if
// more than most are left, the rarest, so that at most that many are; of equally rare
// ones all go. A most of 0 means no limit.
//
// An [IDF] weighs what was forgotten, and so everything unknown, as it does features of
// the largest frequency that was. Right before Build, Prune makes the statistics smaller.
// Before that it bounds the memory for a corpus without end: what was forgotten is
// counted anew, so frequencies may be too low by the sum of what the calls forgot, and
// depend on where among the documents the calls were.
func (b *StatisticsBuilder) Prune(min, most int) {
	least := uint32(max(0, min))
	if most > 0 {
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

// forget notes the frequency of features that were forgotten.
func (b *StatisticsBuilder) forget(df uint32) {
	for old := b.forgotten.Load(); df > old && !b.forgotten.CompareAndSwap(old, df); old = b.forgotten.Load() {
	}
}

// Build returns the statistics, and leaves the builder without any, as new: what it held
// is not copied. Nothing may be added meanwhile.
func (b *StatisticsBuilder) Build() *Statistics {
	s := &Statistics{of: b.Fingerprinter.features(), documents: uint32(min(b.documents.Swap(0), math.MaxUint32)), forgotten: b.forgotten.Swap(0), table: b.table.Take()}
	s.forgotten = min(s.forgotten, s.documents)
	ranks := map[uint32]uint32{}
	s.digest = format.Checksum(nil, uint64(s.documents)<<32|uint64(s.forgotten))
	var key [8]byte
	s.table.Each(func(k uint64, df *uint32) {
		*df = min(*df, s.documents)
		ranks[*df] = 0
		binary.BigEndian.PutUint64(key[:], k)
		s.digest += format.Checksum(key[:], uint64(*df)) // in any order
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
func (s *Statistics) Documents() int { return int(s.documents) }

// Terms returns the number of distinct features.
func (s *Statistics) Terms() int { return s.table.Len() }

// Frequency returns in how many documents a feature occurs, given as a [Token] has it:
// 0 if it is not known.
func (s *Statistics) Frequency(feature string) int {
	return int(s.frequency(featureKey(feature, s.of.key)))
}

func (s *Statistics) frequency(key uint64) uint32 {
	if rank := s.rank(key); int(rank) < len(s.distinct) {
		return s.distinct[rank]
	}
	return 0
}

// rank returns the index of a feature in the tables of weights.
func (s *Statistics) rank(key uint64) uint32 {
	return s.table.Find(key, uint32(len(s.distinct)))
}

// idf is the weight of a feature that df documents have; see IDF.
func (s *Statistics) idf(df uint32, smooth bool) float64 {
	switch {
	case s.documents == 0:
		return 1
	case smooth:
		return exact.Ln((float64(s.documents) + 1) / (float64(df) + 0.5))
	}
	return exact.Ln(float64(s.documents) / float64(max(df, 1)))
}

// id is what the version tells statistics apart by.
func (s *Statistics) id() uint64 {
	if s == nil {
		return 0
	}
	return s.digest
}

// WriteTo writes s in a checksummed binary form for [ReadStatistics], of about 8 bytes
// for a feature. It takes memory for a part of the features of which there are 64. It
// is an error if the features are of a tokenizer of the caller's own without a name
// ([Fingerprinter.Custom]).
func (s *Statistics) WriteTo(w io.Writer) (int64, error) {
	version, err := s.of.version()
	if err != nil {
		return 0, err
	}
	f := format.NewWriter(w, "statistics", version)
	f.Uvarint(uint64(s.documents))
	f.Uvarint(uint64(s.forgotten))
	f.EndRecord()
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

// ReadStatistics reads what [Statistics.WriteTo] wrote, for the features of f; it is an
// [ErrVersion] if they are others. Other errors are those of [ReadFingerprints], and it
// reads to the end of r too.
func ReadStatistics(r io.Reader, f *Fingerprinter) (*Statistics, error) {
	b := StatisticsBuilder{Fingerprinter: *f}
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
		in.Fail("it does not say of how many documents")
	}
	if in.Err != nil {
		return nil, in.Err
	}
	return b.Build(), nil
}
