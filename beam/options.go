package neardupbeam

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/shard/blocks"
)

// A Method says when two documents are near-duplicates, and how candidates are found. The names are
// those of the program `neardup`.
type Method string

const (
	// SimHash compares fingerprints by Hamming distance, like [neardup.Pairs]. It is exact.
	SimHash Method = "simhash"

	// MinHash compares signatures by their estimated Jaccard similarity, like a [neardup.SignatureIndex].
	// Candidates agree in a band, so it can miss pairs: see [neardup.Banding].
	MinHash Method = "minhash"

	// Cosine compares weighted features by exact cosine, like [neardup.VectorPairs]. Candidates are those of
	// MinHash, so it can miss pairs too; the cosine of what it finds is exact.
	Cosine Method = "cosine"

	// Auto decides as package dedup does, bit for bit: by all that two texts have in common and not in common, and by their
	// neighbourhoods. Only [NearDuplicates] can do so. Documents that are connected by neighbours go to one worker; see
	// [Options.Memory].
	Auto Method = "auto"
)

// Options are the settings of all transforms. Give the same ones to each. The zero value decides as package dedup does; the parts of
// [NearDuplicates] need another Method.
type Options struct {
	Method Method // "" is Auto

	// Fingerprinter returns how texts become features; nil means the zero value. Workers call it, so it
	// must be a function at the top level of a package, and be registered with [beam.RegisterFunction].
	Fingerprinter func() neardup.Fingerprinter

	Bits     int // SimHash: the width of fingerprints, 64 or 128; 0 means 64
	Distance int // SimHash: the largest distance, 1 or more; 0 means 3

	// Blocks is the number of blocks of a fingerprint. More blocks make more tables (5 for distance 3
	// make 10) with fewer candidates. 0 lets Documents decide.
	Blocks int

	// Documents says about how many documents there are. It only affects the cost; 0 means 100 million.
	Documents float64

	// Similarity is the smallest similarity of near-duplicates, above 0 and at most 1. With MinHash it is
	// the Jaccard similarity, and 0 means 0.6. With Cosine it must be given. With Auto it decides instead of the probability, as in [dedup.Options], and 0 lets
	// the probability decide.
	Similarity float64

	// Probability, Bias and Kinds are for Auto, as in [dedup.Options].
	Probability, Bias float64
	Kinds             neardup.Kind

	// Memory is for Auto: how many bytes a worker may use for the documents of one component, about 1,000 for each besides its
	// text; 0 means 1 GB. What does not fit goes to temporary files. A worker may have several components at a time.
	Memory int64

	Values       int             // MinHash, Cosine: the values of a signature; 0 means 128
	Permutations bool            // as in [neardup.MinHash]
	Banding      neardup.Banding // how candidates are found; zero means that of a SignatureIndex

	// SampleEvery says from which documents Cosine takes document frequencies: about one in SampleEvery, chosen by a
	// hash of the id. 0 and 1 take all. Frequencies take 19 bytes for each distinct
	// feature on one worker, so take a sample of a million documents or fewer. It has no effect if the
	// Fingerprinter has a Weight.
	SampleEvery int

	// Linkage says which pairs make a group. [neardup.CentreLinkage] and [neardup.CompleteLinkage] take the
	// pairs of one connected component to one worker.
	Linkage neardup.Linkage

	// KeepFirst keeps the document with the smallest id of a group. Otherwise the longest one is kept, and of
	// equally long ones that with the smallest id.
	KeepFirst bool

	// HotBucket is the largest number of different contents in a bucket that are compared on one worker;
	// 0 means 4096. A larger bucket is split, and noted.
	HotBucket int

	// Rounds is how often the edges of groups are contracted before the rest goes to one worker; 0 means
	// 6. It affects the cost only.
	Rounds int
}

// settings are Options as workers get them: everything can be serialized, and no field is zero that means
// something else.
type settings struct {
	Method                 Method
	Fingerprinter          string // the name of the function
	Bits, Distance, Blocks int
	Similarity             float64
	Probability, Bias      float64
	Kinds                  neardup.Kind
	Memory                 int64
	MinHash                neardup.MinHash
	Banding                neardup.Banding
	SampleEvery            int
	Linkage                neardup.Linkage
	KeepFirst              bool
	HotBucket, Rounds      int
}

// Check returns an error unless the options fit together. The transforms panic with it.
func (o Options) Check() error {
	_, err := o.settings()
	return err
}

// settings returns the settings of options.
func (o Options) settings() (settings, error) {
	s := settings{
		Method: cmp.Or(o.Method, Auto), Bits: cmp.Or(o.Bits, 64), Distance: cmp.Or(o.Distance, 3), Blocks: o.Blocks,
		Similarity: o.Similarity, Probability: o.Probability, Bias: o.Bias, Kinds: o.Kinds, Memory: cmp.Or(o.Memory, 1<<30), MinHash: neardup.MinHash{Values: cmp.Or(o.Values, 128), Permutations: o.Permutations}, Banding: o.Banding,
		SampleEvery: cmp.Or(o.SampleEvery, 1), Linkage: o.Linkage, KeepFirst: o.KeepFirst,
		HotBucket: cmp.Or(o.HotBucket, 4096), Rounds: cmp.Or(o.Rounds, 6),
	}
	fail := func(format string, args ...any) (settings, error) {
		return settings{}, fmt.Errorf("neardupbeam: "+format, args...)
	}
	if o.Fingerprinter != nil {
		s.Fingerprinter = reflectx.FunctionName(o.Fingerprinter)
	}
	f, err := s.fingerprinter()
	if err == nil && s.Method == Cosine && f.Weight == nil {
		_, err = f.Version() // frequencies are sent with it
	}
	if err != nil {
		return fail("Fingerprinter: %w", err)
	}
	if err := s.complete(&o); err != nil {
		return fail("%w", err)
	}
	switch {
	case s.SampleEvery < 1:
		return fail("SampleEvery %d: must not be negative", s.SampleEvery)
	case s.HotBucket < 2:
		return fail("HotBucket %d: must be at least 2", s.HotBucket)
	case s.Rounds < 1 || s.Rounds > 64:
		return fail("Rounds %d: must be from 1 to 64", s.Rounds)
	case s.Linkage > neardup.SingleLinkage:
		return fail("Linkage %d: unknown", s.Linkage)
	}
	return s, nil
}

// complete sets what depends on the method, and checks it.
func (s *settings) complete(o *Options) error {
	switch s.Method {
	case SimHash:
		if s.Blocks == 0 && s.Distance > 0 && s.Distance < s.Bits {
			s.Blocks = blocks.Choose(cmp.Or(o.Documents, 1e8), s.Bits, s.Distance)
		}
		if err := blocks.Check(s.Bits, s.Blocks, s.Distance); err != nil {
			return err
		}
	case MinHash, Cosine:
		return s.completeSignatures()
	case Auto:
		if o.Bits != 0 || o.Distance != 0 || o.Blocks != 0 { // somebody wants fingerprints, and has not said so
			return errors.New("Bits, Distance and Blocks need the method simhash")
		}
		return s.checkAuto()
	default:
		return fmt.Errorf("Method %q: must be auto, simhash, minhash or cosine", s.Method)
	}
	return nil
}

// completeSignatures is complete for methods with signatures.
func (s *settings) completeSignatures() error {
	if s.Method == MinHash && s.Similarity == 0 {
		s.Similarity = 0.6
	}
	if !(s.Similarity > 0 && s.Similarity <= 1) {
		return fmt.Errorf("Similarity %g: must be above 0 and at most 1", s.Similarity)
	}
	if v := s.MinHash.Values; v < 16 || v > 4096 {
		return fmt.Errorf("Values %d: must be from 16 to 4096", v)
	}
	if s.Banding == (neardup.Banding{}) {
		s.Banding = s.MinHash.Banding(s.jaccard())
	}
	if b := s.Banding; b.Bands < 1 || b.Rows < 1 || b.Bands > s.MinHash.Values/b.Rows {
		return fmt.Errorf("Banding of %d bands of %d rows does not fit into %d values", b.Bands, b.Rows, s.MinHash.Values)
	}
	return nil
}

// must returns the settings, or panics.
func (o Options) must() settings {
	s, err := o.settings()
	if err != nil {
		panic(err)
	}
	return s
}

// parts returns the settings for a part of NearDuplicates, or panics: with Auto there are no parts.
func (o Options) parts() settings {
	s := o.must()
	if s.Method == Auto {
		panic(errors.New("neardupbeam: the method auto can only be used with NearDuplicates; set Method for anything else"))
	}
	return s
}

// jaccard returns the Jaccard similarity that the bands are for. Two sets of n features of one weight with a
// cosine of c share c·n of them, so their Jaccard similarity is c/(2−c).
func (s *settings) jaccard() float64 {
	if s.Method == Cosine {
		return s.Similarity / (2 - s.Similarity)
	}
	return s.Similarity
}

// fingerprinter returns a new Fingerprinter. A function that was not registered is an error. settings calls
// this too, so the error comes when the pipeline is made, and not first on a worker.
func (s *settings) fingerprinter() (*neardup.Fingerprinter, error) {
	if s.Fingerprinter == "" {
		return &neardup.Fingerprinter{}, nil
	}
	fn, err := runtime.ResolveFunction(s.Fingerprinter, reflect.TypeFor[func() neardup.Fingerprinter]())
	if err != nil {
		return nil, err
	}
	f := fn.(func() neardup.Fingerprinter)()
	return &f, nil
}

var errTruncated = errors.New("neardupbeam: an element is cut off")

// errUnknown is the error of a pair with an id that no document has.
func errUnknown(id []byte) error {
	return fmt.Errorf("neardupbeam: a pair has the id %q, which no document has", id)
}
