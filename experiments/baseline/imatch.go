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

// An IMatch turns a text into one digest of its important terms; texts are near-duplicates
// if their digests are equal (Chowdhury et al. 2002; S003 §1.3). Order and position do not
// count.
type IMatch struct {
	// Tokenizer cuts texts into terms, or shingles; nil is neardup.Words{}.
	Tokenizer neardup.Tokenizer

	// Statistics are the document frequencies of the collection. Terms are kept
	// whose idf, ln(N/df), is from Low to High; those that are not in the statistics
	// are not. Without statistics all are kept.
	Statistics *neardup.Statistics
	Low, High  float64

	// MaxCount drops terms that are repeated more often in the text, S003's filter; 0
	// keeps all.
	MaxCount int
}

// Terms returns the terms that are kept, each once, in ascending order.
func (m *IMatch) Terms(text string) []string {
	f := neardup.Fingerprinter{Tokenizer: m.Tokenizer}
	if f.Tokenizer == nil {
		f.Tokenizer = neardup.Words{}
	}
	var terms []string
	for feature := range f.Features(text) {
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

// SHA1 returns the SHA-1 of terms, one after the other with a separator between them, in
// hexadecimal, as the paper of 2002 does. Without terms it is "", which is equal to nothing.
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

// Sum returns the sum of the hashes of terms, in hexadecimal, as S003 does. Without terms it
// is "".
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
