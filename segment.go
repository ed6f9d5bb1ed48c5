package neardup

import (
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/neardup/neardup/internal/chinese"
	"github.com/neardup/neardup/internal/format"
)

// The Segmenter is the exported side of internal/chinese, which loads the dictionary and finds the words. This file
// adds stop words and the digest for versions.

// A Segmenter is a [Tokenizer] that cuts Chinese into the words of the dictionary of gse, with their parts of speech.
// Letters and numbers of other scripts are words as in [Words], but are cut only at the end of a sentence. Everything
// that is neither letter, number, mark nor emoji is skipped, unless the dictionary has a word with it ("c++"). Words
// are looked up as they are written, except that the case of ASCII letters does not matter, and are folded afterwards.
// A [Normalizer] can fold the text beforehand.
//
// It takes the most probable sequence of words: the shortest path, like Segment of gse, without the hidden Markov
// model. Its costs are integers, so the words are the same on every platform, and it allocates only for what it folds.
// It works sentence by sentence, so a change in one sentence does not move the words of another. A sentence ends at
// 。！？；, at a control character such as the end of a line, and after 4096 bytes.
//
// Make a Segmenter with [NewSegmenter]: the zero value panics. It is safe for concurrent use. It is the only thing in this
// package that links the dictionary, which adds 33 MB to a binary.
type Segmenter struct {
	dict   *chinese.Dictionary // nil in a zero Segmenter
	stop   *Lexicon            // never nil
	digest uint64              // of the dictionary and the stop words; for versions
}

// SegmenterOptions are the settings of [NewSegmenter]. The zero value means the built-in dictionary and no stop words.
type SegmenterOptions struct {
	// UserDict has more words, one on a line. A frequency and a part of speech may follow, separated by spaces or tabs.
	// A word without a frequency gets 1000, which nearly always wins over shorter words. Empty lines, lines that begin
	// with # and a byte order mark are skipped.
	//
	// User words come before those of the built-in dictionary. Of equal words the first one counts.
	//
	// A word has at most 64 characters, in UTF-8 without control characters, and no end of a sentence inside. A
	// frequency is a number from 1 to 1e9. Anything else is an error that names the line. The reader is read to the
	// end.
	UserDict io.Reader

	// StopWords are left out of the tokens. nil means none.
	StopWords *Lexicon
}

// NewSegmenter loads the dictionary of gse for simplified and traditional Chinese, and the words of the options. It
// takes about two seconds, and the dictionary takes 40 MB of memory, so make one Segmenter and share it. The errors are
// those of the UserDict and of reading it.
func NewSegmenter(options SegmenterOptions) (*Segmenter, error) {
	dict, err := chinese.Load(options.UserDict)
	if err != nil {
		return nil, err
	}
	s := &Segmenter{dict: dict, stop: options.StopWords}
	if s.stop == nil {
		s.stop = NewLexicon()
	}
	// Sorted, so that equal sets have equal digests.
	d := format.NewDigest()
	for _, w := range slices.Sorted(maps.Keys(s.stop.words)) {
		d.Text(w)
	}
	s.digest = dict.Digest + d.Sum()
	return s, nil
}

// Tokens implements [Tokenizer]. It panics if s was not made by NewSegmenter.
func (s *Segmenter) Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) { s.source().feed(text, true, yield) }
}

// source returns a reader of one text.
func (s *Segmenter) source() *segmentSource {
	if s == nil || s.dict == nil {
		panic("neardup: a Segmenter that was not made by NewSegmenter")
	}
	return &segmentSource{s: s, words: chinese.Reader{S: s.dict}}
}

// A segmentSource reads one text that comes in pieces, and leaves out the stop words.
type segmentSource struct {
	s     *Segmenter
	words chinese.Reader // keeps what is left of a sentence between pieces
}

func (s *segmentSource) feed(piece string, last bool, yield func(Token) bool) bool {
	return s.words.Feed(piece, last, func(w chinese.Word) bool {
		if s.s.stop.words[w.Text] {
			return true
		}
		return yield(Token(w))
	})
}
