package neardup

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// This file names the ways in which two near-duplicates differ. Package dedup finds out which it is.

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

	// SameForm: the documents are one form that is filled in differently, or pages of one template: what they have
	// in common, many documents have in common. A form is a text with slots that at least four documents that are
	// alike fill in with other words. A slot is where these documents go on in at least four ways after the same
	// six words, and come together again in the next six. Outside of the slots the two documents have the same
	// words, but for figures, which is at least half of each. Of the words in the slots they have at most three
	// quarters in common. Without slots, figures are what is filled in, if they are one word in 32 or more. A
	// template is what is left if one does not look at the words alone: two documents are near-duplicates by their
	// texts, but not by their neighbourhoods.
	SameForm

	// SameButFigures: the words are the same but for figures, and the documents are of no form. A figure is a word
	// with a digit, a Chinese numeral, an English name of a month or a day of the week, or a word of a web or mail
	// address. A run of figures counts as one.
	SameButFigures

	// Contained: one document has all words of the other, in the same order, and other words besides.
	Contained

	// Revised documents differ in another way.
	Revised

	// AllKinds has every kind.
	AllKinds = Identical | SameWords | SameForm | SameButFigures | Contained | Revised
)

// kindNames has the names of the kinds, in the order of their bits.
var kindNames = [...]string{"identical", "same-words", "same-form", "same-but-figures", "contained", "revised"}

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

// MarshalText implements [encoding.TextMarshaler]. It returns what String does.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It reads what String writes: the names of kinds, with commas
// between them, or none. all means [AllKinds]. Another name is an error, and leaves k as it was.
func (k *Kind) UnmarshalText(names []byte) error {
	var kinds Kind
	for name := range strings.SplitSeq(string(names), ",") {
		name = strings.TrimSpace(name)
		i := slices.Index(kindNames[:], name)
		switch {
		case i >= 0:
			kinds |= 1 << i
		case name == "all":
			kinds |= AllKinds
		case name != "none":
			return fmt.Errorf("neardup: %q is none of the kinds of pairs: %v", name, AllKinds)
		}
	}
	*k = kinds
	return nil
}
