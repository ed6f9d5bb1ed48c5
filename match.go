package neardup

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// This file has what goes into the searches and joins of this package and of package dedup, and what comes out of them:
// documents, matches, pairs, and the ways in which two documents differ.

// A Document is a [Text] or a [Record]. Everything that takes a document takes either.
type Document interface{ document() }

// A Text is a document as people write it. Any bytes are a valid text.
type Text string

func (Text) document()   {}
func (Record) document() {}

// A Match is a stored document that is near the query. The distance or similarity was computed exactly, except that the
// similarity of signatures is an estimate.
type Match[ID comparable] struct {
	ID ID

	// Distance is the Hamming distance in bits. It is 0 for signatures, vectors and documents.
	Distance int

	// Similarity is the cosine of vectors and documents, or the estimated Jaccard similarity of signatures. It is 0 for
	// fingerprints.
	Similarity float64

	// Kind says how two documents differ, and Probability how likely they are near-duplicates. Only package dedup sets
	// them; elsewhere they are 0.
	Kind        Kind
	Probability float64
}

// A Pair is two documents that are near each other, by id or by position. If both are from one collection, A comes
// before B in the order of adding, or by position. The other fields are those of a [Match].
type Pair[ID comparable] struct {
	A, B        ID
	Distance    int
	Similarity  float64
	Kind        Kind
	Probability float64
}

// A Group is a set of near-duplicate documents.
type Group[ID comparable] struct {
	Keep    ID   // the member that represents the group
	Members []ID // all members in the order of adding, Keep included

	// Matches[i] says how near Members[i] is to Keep. In package dedup the probability is 0 for a member that was not
	// compared with Keep, which can happen with SingleLinkage, and Keep is Identical to itself.
	Matches []Match[ID]
}

// An Entry is a stored document, and what is stored of it.
type Entry[ID comparable, V any] struct {
	ID    ID
	Value V // the fingerprint, the signature or the vector; in DeleteFunc, only fingerprints are set

	// Added is when the document was added, in whole seconds by the clock of the machine. If the clock was set back in
	// between, a document counts as added no earlier than the ones before it.
	Added time.Time
}

// String says how near the document is, in one line: "b at distance 2", "b 0.83 similar", or with package dedup "b 0.83
// similar, probability 0.99, revised".
func (m Match[ID]) String() string {
	return fmt.Sprint(m.ID) + nearness(m.Distance, m.Similarity, m.Probability, m.Kind)
}

// String is like that of a [Match], with both documents: "a, b at distance 2".
func (p Pair[ID]) String() string {
	return fmt.Sprint(p.A, ", ", p.B) + nearness(p.Distance, p.Similarity, p.Probability, p.Kind)
}

func nearness(distance int, similarity, probability float64, kind Kind) string {
	if similarity == 0 {
		return fmt.Sprintf(" at distance %d", distance)
	}
	if kind == 0 {
		return fmt.Sprintf(" %.2f similar", similarity)
	}
	return fmt.Sprintf(" %.2f similar, probability %.2f, %s", similarity, probability, kind)
}

// A Kind says how the documents of a pair differ. Each pair has one kind: the first that fits, in the order of the
// constants. Kinds joined by | are a set of kinds.
type Kind uint8

const (
	// Identical documents have the same text, byte for byte; records, the same values in the columns that count.
	Identical Kind = 1 << iota

	// SameWords: the documents have the same words in the same order, after the Normalizer. They differ in case, width,
	// white space, punctuation or other symbols.
	SameWords

	// SameForm: the documents are one form that is filled in differently, or pages of one template: what they have in
	// common, many other documents share. A form is a text with slots that at least four similar documents fill in with
	// different words. A slot is where these documents continue in at least four ways after
	// the same six words, and agree again in the next six. Outside the slots, the two have the same
	// words except for figures; that is at least half of each. Of the words in the slots they have at most three quarters in common.
	// Without slots, the figures count as what is filled in, if at least one word in 32 is a figure. Two documents are
	// pages of one template if they would be near-duplicates by their texts alone, but not when their neighbourhoods
	// are taken into account.
	SameForm

	// SameExceptNumbers: the words are the same except for figures, and the documents are not of one form. A figure is a
	// word with a digit, a Chinese numeral, an English name of a month or a day of the week, or a word of a web or mail
	// address. A run of figures counts as one.
	SameExceptNumbers

	// Contained: one document has all words of the other, in the same order, and additional words.
	Contained

	// Revised documents differ in another way.
	Revised

	// AllKinds has every kind.
	AllKinds = Identical | SameWords | SameForm | SameExceptNumbers | Contained | Revised
)

// kindNames has the names of the kinds, in the order of their bits.
var kindNames = [...]string{"identical", "same-words", "same-form", "same-except-numbers", "contained", "revised"}

// String returns the name of a kind, such as same-form. The names of a set have commas between them; the empty set is
// none.
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
			return fmt.Errorf("neardup: %q is not a kind of pair; the kinds are %v", name, AllKinds)
		}
	}
	*k = kinds
	return nil
}
