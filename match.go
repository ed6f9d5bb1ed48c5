package neardup

import (
	"fmt"
	"time"
)

// This file has what goes into the searches and joins of this package and of package dedup, and what comes out of them.

// A Document is a [Text] or a [Record]. Everything that takes a document takes either.
type Document interface{ document() }

// A Text is a document as people write it. Any bytes are a valid text.
type Text string

func (Text) document()   {}
func (Record) document() {}

// A Match is a stored document that is near the query. That it is near was verified, except that
// the similarity of signatures is an estimate.
type Match[ID comparable] struct {
	ID ID

	// Distance is the Hamming distance in bits. It is 0 for signatures, vectors and documents.
	Distance int

	// Similarity is the cosine of vectors and documents, or the estimated Jaccard similarity of
	// signatures. It is 0 for fingerprints.
	Similarity float64

	// Kind says how two documents differ, and Probability how likely they are near-duplicates: of
	// package dedup only, and 0 elsewhere.
	Kind        Kind
	Probability float64
}

// A Pair is two documents that are near each other, by id or by position. Where both are of one
// collection, A comes before B in the order of adding, or by position. The other fields are those of
// a [Match].
type Pair[ID comparable] struct {
	A, B        ID
	Distance    int
	Similarity  float64
	Kind        Kind
	Probability float64
}

// A Group is documents that are near-duplicates of each other.
type Group[ID comparable] struct {
	Keep    ID   // the member that represents the group
	Members []ID // all members in the order of adding, Keep included

	// Matches[i] says how near Members[i] is to Keep. In package dedup the probability is 0 for a member that was not
	// compared with Keep, of which a group by chains may have some, and Keep is Identical to itself.
	Matches []Match[ID]
}

// An Entry is a stored document, and what is stored of it.
type Entry[ID comparable, V any] struct {
	ID    ID
	Value V // the fingerprint, the signature or the vector; DeleteFunc has only fingerprints

	// Added is when the document was added, in whole seconds by the clock of the machine. If the clock was set back in
	// between, a document counts as added no earlier than the ones before it.
	Added time.Time
}

// String says how near the document is, in one line: "b at distance 2", "b 0.83 similar", or with
// package dedup "b 0.83 similar, probability 0.99, revised".
func (m Match[ID]) String() string {
	return fmt.Sprint(m.ID) + nearness(m.Distance, m.Similarity, m.Probability, m.Kind)
}

// String is that of a [Match], with both documents: "a, b at distance 2".
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
