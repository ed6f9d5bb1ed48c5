package neardup

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/neardup/neardup/internal/wording"
)

// This file says how two near-duplicates differ. A document keeps its words in their order beside its
// features; package wording compares them.

// A Kind says how the documents of a pair differ. Each pair has one kind: the first that fits, in the
// order of the constants. Kinds joined by | are a set of kinds.
type Kind uint8

const (
	// Identical documents have the same text, byte for byte; records, the same values in the columns
	// that count.
	Identical Kind = 1 << iota

	// SameWords: the documents have the same words in the same order, after the Normalizer. They
	// differ in case, width, white space, punctuation or other signs.
	SameWords

	// SameButFigures: the words are the same but for figures. A figure is a word with a digit, a
	// Chinese numeral, an English name of a month or a day of the week, or a word of a web or mail
	// address. A run of figures counts as one.
	SameButFigures

	// SameForm: the documents are one form that is filled in differently. A form is a text with slots
	// that at least four documents fill in with other words. A slot is where the documents of the
	// collection go on in at least four ways after the same six words, and come together again in the
	// next six. Outside of the slots the two documents have the same words, but for figures, which is
	// at least half of each. Of the words in the slots they have at most three quarters in common.
	// Records are never of one form.
	SameForm

	// Contained: one document has all words of the other, in the same order, and other words besides.
	Contained

	// Revised documents differ in another way.
	Revised

	// AllKinds has every kind.
	AllKinds = Identical | SameWords | SameButFigures | SameForm | Contained | Revised
)

// kindNames has the names of the kinds, in the order of their bits.
var kindNames = [...]string{"identical", "same-words", "same-but-figures", "same-form", "contained", "revised"}

// String returns the name of a kind, such as same-form. The names of a set have commas between them;
// the empty set is none.
func (k Kind) String() string {
	var names []string
	for left := k & AllKinds; left != 0; left &= left - 1 {
		names = append(names, kindNames[bits.TrailingZeros8(uint8(left))])
	}
	if left := k &^ AllKinds; left != 0 {
		names = append(names, fmt.Sprintf("Kind(%d)", uint8(left)))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

// ParseKinds returns the set of the kinds whose names a text has, with commas between them: what
// [Kind.String] writes. "all" means [AllKinds]. It returns an error for other names.
func ParseKinds(names string) (kinds Kind, err error) {
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		i := slices.Index(kindNames[:], name)
		switch {
		case i >= 0:
			kinds |= 1 << i
		case name == "all":
			kinds |= AllKinds
		default:
			return 0, fmt.Errorf("neardup: %q is none of the kinds of pairs: %v", name, AllKinds)
		}
	}
	return kinds, nil
}

// ofTexts returns Identical for documents with the same words whose texts have the same hash, and k
// for all others.
func (k Kind) ofTexts(a, b uint64) Kind {
	if k == SameWords && a == b {
		return Identical
	}
	return k
}

// kindOf returns the kind of two documents by their words and forms. Documents with the same words
// may still be Identical: see ofTexts.
func kindOf(a, b wording.Wording, of, with wording.Filled) Kind {
	switch {
	case wording.Equal(a, b):
		return SameWords
	case wording.EqualButFigures(a, b):
		return SameButFigures
	case wording.SameForm(of, with):
		return SameForm
	case a.Contains(b) || b.Contains(a):
		return Contained
	}
	return Revised
}

// kind returns the kind of a document of content i and one of content j. Where two contents have the
// same words, their features have other weights or other tokens.
func (c *collection[ID]) kind(i, j int) Kind {
	return kindOf(c.contents[i].allWords(), c.contents[j].allWords(), c.fill(i), c.fill(j))
}

// equalKind returns the kind of the documents at two positions, which have the same content.
func (c *collection[ID]) equalKind(a, b int) Kind {
	return SameWords.ofTexts(c.docs[a].text, c.docs[b].text)
}

// leavesOut returns a function that says of two contents whether their kind is none of kinds, or nil
// if none is left out. Two contents are never Identical, but their words may be the same: their
// features then have other weights, or other tokens or columns.
func (c *collection[ID]) leavesOut(kinds Kind) func(i, j int) bool {
	switch AllKinds &^ (kinds | Identical) {
	case 0:
		return nil
	case SameForm: // the default; most pairs need no more than this
		return func(i, j int) bool { return wording.SameForm(c.fill(i), c.fill(j)) && c.kind(i, j) == SameForm }
	}
	return func(i, j int) bool { return c.kind(i, j)&kinds == 0 }
}

// equalPairs calls yield for the pairs of documents of one content, by ascending positions: those of
// docs[fresh:] with all before them, as far as their kinds count. It returns false when yield does.
func (c *collection[ID]) equalPairs(docs []int, fresh int, kinds Kind, yield func(Pair[int]) bool) bool {
	if len(docs) < 2 || kinds&(Identical|SameWords) == 0 {
		return true
	}
	same := map[uint64][]int{} // the documents so far, by their texts
	for n, b := range docs {
		text := c.docs[b].text
		with := docs[:n]
		switch identical := same[text]; {
		case n < fresh, kinds&Identical == 0 && len(identical) == n:
			with = nil
		case kinds&SameWords == 0:
			with = identical
		}
		for _, a := range with {
			p := Pair[int]{A: a, B: b, Similarity: 1, Kind: c.equalKind(a, b)}
			if kinds&p.Kind != 0 && !yield(p) {
				return false
			}
		}
		same[text] = append(same[text], b)
	}
	return true
}
