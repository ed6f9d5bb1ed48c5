package baseline

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
)

// This file has I-Match, with the digests of the paper of 2002 and of Li 2015.

// An IMatch selects the important terms of a text. Two texts are near-duplicates if the digests of
// their terms are equal (Chowdhury et al. 2002; Li 2015 §1.3). The order and the places of the
// terms do not count.
type IMatch struct {
	// Tokenizer cuts texts into terms, or shingles; nil is neardup.Words{}.
	Tokenizer neardup.Tokenizer

	// Statistics are the document frequencies of the collection. A term is kept if it is in the
	// statistics and its idf, ln(N/df), is from Low to High. Without statistics all terms are kept.
	Statistics *neardup.DocumentFrequencies
	Low, High  float64

	// MaxCount drops terms that occur more often in the text, as Li 2015 does. 0 keeps all.
	MaxCount int
}

// Terms returns the terms that are kept, each once, in ascending order.
func (m *IMatch) Terms(text string) []string {
	f := neardup.Fingerprinter{Tokenizer: m.Tokenizer}
	if f.Tokenizer == nil {
		f.Tokenizer = neardup.Words{}
	}
	var terms []string
	for feature := range f.Features(neardup.Text(text)) {
		if m.MaxCount > 0 && feature.Count > float64(m.MaxCount) {
			continue
		}
		if s := m.Statistics; s != nil {
			df := s.Frequency(feature.Text)
			if idf := math.Log(float64(s.Documents()) / float64(df)); df == 0 || idf < m.Low || idf > m.High {
				continue
			}
		}
		terms = append(terms, feature.Text)
	}
	slices.Sort(terms)
	return terms
}

// SHA1 returns the SHA-1 of terms in hexadecimal, as the paper of 2002 does. The terms are hashed
// one after the other, with separator between them. Without terms the result is "". The caller must
// not treat two texts without terms as equal.
func SHA1(terms []string, separator string) string {
	if len(terms) == 0 {
		return ""
	}
	h := sha1.New()
	for i, t := range terms {
		if i > 0 {
			h.Write([]byte(separator))
		}
		h.Write([]byte(t))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Sum returns the sum of the hashes of terms in hexadecimal, as Li 2015 does. Without terms it is
// "".
func Sum(terms []string) string {
	if len(terms) == 0 {
		return ""
	}
	sum := uint64(0)
	for _, t := range terms {
		sum += xxh3.HashString(t)
	}
	return fmt.Sprintf("%016x", sum)
}
