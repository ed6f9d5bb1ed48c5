package dedup

import (
	"cmp"
	"fmt"
	"math"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/textfile"
)

// This file has the settings of a [Deduplicator].

// Options are the settings of a [Deduplicator]. The zero value suits texts in Chinese and in English, long and
// short. The measurements in the README are made with it.
type Options struct {
	// Fingerprinter says by which features documents are compared. Its zero value takes runs of three words
	// from long texts, runs of three characters from short ones, and both from texts between them. Otherwise
	// its fields mean:
	//
	//   - Normalizer is applied to texts first, as always.
	//   - Tokenizer, if set, makes the features of texts. If only Weight is set, they are pairs of
	//     words, as in [neardup.Fingerprinter.Vector].
	//   - Fields make the features of records.
	//   - Weight nil means 1 + ln n for a feature that occurs n times in the document.
	//   - Hash counts only if it is a [neardup.SeededHash]; features are told apart by xxh3 with its seed.
	//   - TiesOne has no effect.
	Fingerprinter neardup.Fingerprinter

	// Probability is the smallest probability of two near-duplicates, above 0 and at most 1; 0 means one
	// half. A higher one finds fewer pairs, with fewer false positives.
	Probability float64

	// Similarity, if not 0, decides instead of the probability: it is the smallest cosine of two near-duplicates,
	// at most 1. Two documents with less than a quarter of their features in common are hardly ever compared.
	Similarity float64

	// Bias, from −20 to 20, is added to the logarithm of the odds of every pair. [Deduplicator.Calibrate] finds
	// it from labelled pairs.
	Bias float64

	// Kinds are the kinds of pairs that count as near-duplicates, joined by |. 0 means all but
	// [neardup.SameForm]. They only change what is reported, not similarities or probabilities.
	Kinds neardup.Kind

	// Memory is how many bytes the Deduplicator may use; 0 means half of the memory of the machine, of which it
	// uses little. Texts, signatures and the data for finding neighbours go to files in the system's temporary
	// folder when they take more than a part of it. The data about documents is in mapped files, parts of which
	// stay in memory until the memory is needed elsewhere. About 40 bytes of each document, and its id, cannot
	// be in a file. The Go runtime adds its share of garbage: see [debug.SetMemoryLimit].
	Memory int64

	// Progress, if set, is called now and then while Pairs, Groups and similar methods work on many documents,
	// from one goroutine at a time. What was compared already is not compared again, so a call may have nothing
	// to report. It should return quickly, and must not call the Deduplicator.
	Progress func(Progress)
}

// A Progress says what a [Deduplicator] is doing. A stage may end before Done is Total.
type Progress struct {
	Stage string // "sorting", by what documents may have in common, or "comparing"
	Done  int    // documents
	Total int
}

// usualKinds are the kinds that count by default.
const usualKinds = neardup.AllKinds &^ neardup.SameForm

// canonical returns o with defaults in place of zeros. It returns an error if an option is out of range or NaN,
// or if the Weight does not fit the features.
func (o Options) canonical() (Options, error) {
	o.Kinds = cmp.Or(o.Kinds, usualKinds)
	o.Probability = cmp.Or(o.Probability, 0.5)
	switch {
	case !(o.Similarity >= 0 && o.Similarity <= 1):
		return o, fmt.Errorf("neardup: similarity %g is not above 0 and at most 1", o.Similarity)
	case !(o.Probability > 0 && o.Probability <= 1):
		return o, fmt.Errorf("neardup: probability %g is not above 0 and at most 1", o.Probability)
	case !(math.Abs(o.Bias) <= mostBias):
		return o, fmt.Errorf("neardup: bias %g is not from %d to %d", o.Bias, -mostBias, mostBias)
	case o.Kinds&^neardup.AllKinds != 0:
		return o, fmt.Errorf("neardup: unknown kinds of pairs: %d", uint8(o.Kinds))
	case o.Memory < 0:
		return o, fmt.Errorf("neardup: memory of %d bytes", o.Memory)
	}
	o.Memory = textfile.Budget(o.Memory)
	return o, o.Fingerprinter.Check()
}

// mostBias is the largest bias: with it, one in e²⁰ is as likely as not.
const mostBias = 20

// version describes what the files of a Deduplicator depend on. Files with another version are refused, and two
// Deduplicators with different versions are not merged, because their features cannot be compared.
func (o *Options) version() (string, error) {
	v, err := o.Fingerprinter.Version()
	if err != nil {
		return "", err
	}
	features := "own"
	if o.Fingerprinter.Tokenizer == nil && o.Fingerprinter.Weight == nil {
		features = "levels" // the tokenizer and the weight that v names are not used
	}
	return fmt.Sprintf("%s documents=%s:%d", v, features, documentVersion), nil
}

// documentVersion must be raised whenever the words, the digest or the signatures of a text change. Upgrade can
// read the files of the version before only if upgrade.go has an oldForm for it.
const documentVersion = 3
