package neardup

import (
	"cmp"
	"fmt"
)

// This file has the settings of a [Deduplicator].

// DeduplicatorOptions are the settings of a [Deduplicator]. The zero value suits texts in Chinese
// and in English, long and short. The measurements in the README are made with it.
type DeduplicatorOptions struct {
	// Fingerprinter says by which features documents are compared, and what the features weigh. Its
	// zero value takes runs of three words from long texts, runs of three characters from short
	// ones, and both from texts between them. Otherwise its fields mean:
	//
	//   - Normalizer is applied to texts first, as always.
	//   - Tokenizer, if set, makes the features of texts. If only Weight is set, they are pairs of
	//     words, as in [Fingerprinter.Vector].
	//   - Fields make the features of records.
	//   - Weight nil means (1 + ln n) × ln((N+20)/df) for a feature that occurs n times in the
	//     document and in df of N documents, where documents that are nearly equal count once. Any
	//     other Weight is final: it does not depend on what the Deduplicator holds.
	//   - Hash counts only if it is a [SeededHash]; features are told apart by xxh3 with its seed.
	//   - TiesOne has no effect.
	Fingerprinter Fingerprinter

	// Similarity is the smallest cosine of two near-duplicates, above 0 and at most 1. 0 means that
	// the collection decides: see [Deduplicator.Threshold]. [Deduplicator.Calibrate] finds the best
	// value from labelled pairs.
	Similarity float64

	// Kinds are the kinds of pairs that count as near-duplicates, joined by |. 0 means all but
	// [SameForm]. If SameForm counts, documents of one form count once together for document
	// frequencies, so that ten thousand letters of a campaign are as similar to each other as ten.
	// Otherwise each of them counts, and they are compared by what is filled in.
	Kinds Kind

	// Recall is the fraction of the near-duplicates that Pairs and Groups must find, above 0 and at most
	// 1; 0 means 0.99. With 1 they compare all documents that can be similar enough. With less they do so
	// only in a small collection, of up to some 7,000 texts of 1 KB. In a larger one they compare
	// documents that have rare features in common. That is made to find 0.99, whatever lower fraction is
	// asked for; [Deduplicator.Plan] estimates what it finds. Every pair they report is verified all the
	// same. Search finds as much.
	Recall float64

	// Memory is how many bytes the Deduplicator may use; 0 means half of the memory of the machine. In a
	// large collection, texts beyond a part of it go to a temporary file, in the folder for such files, and
	// so do what Pairs and Groups need for the time being. What cannot be in a file are some 550 bytes for
	// each document: if these do not fit, Pairs, Groups and searches return an error before they begin. The
	// Go runtime adds its share of garbage: see [debug.SetMemoryLimit].
	Memory int64

	// Progress, if set, is called now and then while Pairs, Groups, Threshold or Calibrate work on a large
	// collection, from one goroutine at a time. It should return soon, and must not call the Deduplicator.
	Progress func(Progress)
}

// A Progress says what a [Deduplicator] is doing. The stages come in this order; some are left out, and
// some come again, and a stage may end before Done is Total.
type Progress struct {
	Stage string // "weighing", "reading", "sampling", "finding forms", "gathering" or "comparing"
	Done  int    // documents, or steps
	Total int
}

// defaultOptions are the options of the zero Deduplicator, ready for every text that it gets. They
// do not change.
var defaultOptions = DeduplicatorOptions{Kinds: AllKinds &^ SameForm, Recall: 0.99}

// canonical returns s with defaults in place of zeros. It returns an error if an option is out of
// range or NaN, or if the Weight does not fit the features.
func (s DeduplicatorOptions) canonical() (DeduplicatorOptions, error) {
	s.Kinds = cmp.Or(s.Kinds, defaultOptions.Kinds)
	s.Recall = cmp.Or(s.Recall, defaultOptions.Recall)
	switch {
	case !(s.Similarity >= 0 && s.Similarity <= 1):
		return s, fmt.Errorf("neardup: similarity %g is not above 0 and at most 1", s.Similarity)
	case s.Kinds&^AllKinds != 0:
		return s, fmt.Errorf("neardup: unknown kinds of pairs: %d", uint8(s.Kinds))
	case s.Memory < 0:
		return s, fmt.Errorf("neardup: memory of %d bytes", s.Memory)
	case !(s.Recall > 0 && s.Recall <= 1):
		return s, fmt.Errorf("neardup: recall %g is not above 0 and at most 1", s.Recall)
	}
	of := s.Fingerprinter.features()
	if err := of.check(); err != nil {
		return s, err
	}
	return s, checkWeight(s.Fingerprinter.Weight, &of, true)
}

// options returns the settings with defaults filled in, also for the zero Deduplicator.
func (d *Deduplicator[ID]) options() *DeduplicatorOptions {
	if d.settings.Recall != 0 {
		return &d.settings
	}
	return &defaultOptions
}
