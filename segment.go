package neardup

import (
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/neardup/neardup/internal/chinese"
	"github.com/neardup/neardup/internal/format"
	"github.com/neardup/neardup/internal/lex"
)

// A Segmenter is a [Tokenizer] that cuts Chinese into the words of the
// dictionary of gse, with their parts of speech. Letters and numbers of other
// scripts are words as in [Words], but cut only at the end of the sentence; what
// is neither letter, number, mark nor emoji is skipped, unless the dictionary has
// it in a word ("c++"). Words are looked up as they stand, but for the case of
// ASCII letters, and folded afterwards; a [Normalizer] can fold the text before.
//
// It takes the most probable sequence of words, as gse's own Segment does (the
// shortest path, without the hidden Markov model), but in integers, so that the
// words are the same on every platform, without allocating but for what it folds,
// and sentence by sentence, so that a change in one sentence does not move the words
// of another. A sentence ends at 。！？；, at a control character, such as the end of
// a line, and after 4096 bytes.
//
// A Segmenter is safe for concurrent use. It is the only thing in this package
// that links the dictionary, 33 MB of binary.
type Segmenter struct {
	dict   *chinese.Dictionary
	stop   map[string]bool
	digest uint64 // of the dictionary and the stop words
}

// SegmenterOptions says with which words a Segmenter works.
type SegmenterOptions struct {
	// UserDict has one word on a line, then optionally its frequency and its
	// part of speech, separated by spaces or tabs. Empty lines and lines that
	// begin with # are skipped. A word has at most 64 characters and no end of a
	// sentence inside. User words come before those of the built-in dictionary,
	// and the first of equal ones counts; without a frequency they get 1000,
	// which nearly always wins over shorter words. It is read to the end.
	UserDict io.Reader

	// StopWords are left out of the tokens, compared as folded by the tokenizers.
	StopWords []string
}

// NewSegmenter loads the dictionary of gse for simplified and traditional
// Chinese. It takes about two seconds, and the dictionary 200 MB of memory, so
// make one and share it.
func NewSegmenter(options SegmenterOptions) (*Segmenter, error) {
	dict, err := chinese.Load(options.UserDict)
	if err != nil {
		return nil, err
	}
	s := &Segmenter{dict: dict, stop: make(map[string]bool)}
	for _, w := range options.StopWords {
		s.stop[lex.Fold(w)] = true
	}
	d := format.NewDigest()
	for _, w := range slices.Sorted(maps.Keys(s.stop)) {
		d.Text(w)
	}
	s.digest = dict.Digest + d.Sum()
	return s, nil
}

// Tokens implements [Tokenizer].
func (s *Segmenter) Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) { s.source().feed(text, true, yield) }
}

func (s *Segmenter) source() *segmentSource {
	if s == nil || s.dict == nil {
		panic("neardup: a Segmenter that was not made by NewSegmenter")
	}
	return &segmentSource{s: s, words: chinese.Reader{S: s.dict}}
}

// A segmentSource reads a text that comes in pieces, sentence by sentence.
type segmentSource struct {
	s     *Segmenter
	words chinese.Reader
}

func (s *segmentSource) feed(piece string, last bool, yield func(Token) bool) bool {
	return s.words.Feed(piece, last, func(w chinese.Word) bool {
		if len(s.s.stop) > 0 && s.s.stop[w.Text] {
			return true
		}
		return yield(Token(w))
	})
}
