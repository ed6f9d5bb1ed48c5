package main

import (
	"slices"

	"github.com/neardup/neardup"
)

var (
	pairsOfWords = neardup.Shingles{}
	threeWords   = neardup.Shingles{N: 3}
	bigrams      = neardup.NGrams{N: 2}
	trigrams     = neardup.NGrams{N: 3}
)

// methodsOf returns the methods that serve for a set.
func methodsOf(s *set) []method {
	if len(s.fields) > 0 {
		return []method{pipeline("records", schema(s.fields), 0)}
	}
	methods := []method{
		simHash("simhash 64, distance 3", 64, false, 1-3./64),
		simHash("simhash 64", 64, false, 0),
		simHash("simhash 128", 128, false, 0),
		simHash("simhash 128, log-idf", 128, true, 0),
		minHash("minhash, pairs of words", pairsOfWords),
		minHash("minhash, three words", threeWords),
		minHash("minhash, bigrams", bigrams),
		pipeline("cosine, pairs of words", neardup.Fingerprinter{Tokenizer: pairsOfWords}, 0),
		pipeline("cosine, three words", neardup.Fingerprinter{Tokenizer: threeWords}, 0),
		pipeline("cosine, bigrams", neardup.Fingerprinter{Tokenizer: bigrams}, 0),
		pipeline("cosine, trigrams", neardup.Fingerprinter{Tokenizer: trigrams}, 0),
		pipeline("auto, similarity chosen", neardup.Fingerprinter{}, 0),
		pipeline("auto", neardup.Fingerprinter{}, 0.57),
	}
	return methods
}

// simHash compares fingerprints. fixed is the similarity, or 0.
func simHash(name string, bits int, weighted bool, fixed float64) method {
	m := method{name: name, fixed: fixed, bits: bits, loosest: 1 - 20./64}
	m.find = func(s *set, least float64) []neardup.SimilarPair[int] {
		f := neardup.Fingerprinter{}
		if weighted {
			b := neardup.StatisticsBuilder{}
			for _, d := range s.docs {
				b.Add(d.Whole())
			}
			f.Weight = neardup.Product{neardup.LogCount, neardup.IDF{Statistics: b.Build(), Smooth: true}}
		}
		if bits == 64 {
			return near(s, f.Sum64, m, least)
		}
		return near(s, f.Sum128, m, least)
	}
	return m
}

func near[F neardup.Fingerprint](s *set, sum func(string) F, m method, least float64) (found []neardup.SimilarPair[int]) {
	fps := make([]F, len(s.docs))
	for i, d := range s.docs {
		fps[i] = sum(d.Whole())
	}
	for p := range neardup.Pairs(fps, m.distance(least)) {
		found = append(found, neardup.SimilarPair[int]{A: p.I, B: p.J, Similarity: 1 - float64(p.Distance)/float64(m.bits)})
	}
	return found
}

// minHash compares signatures, in an index.
func minHash(name string, of neardup.Tokenizer) method {
	return method{name: name, loosest: 0.3, find: func(s *set, least float64) []neardup.SimilarPair[int] {
		ix, err := neardup.NewSignatureIndex[int](least, nil)
		if err != nil {
			panic(err)
		}
		f := neardup.Fingerprinter{Tokenizer: of}
		ix.AddAll(func(yield func(int, neardup.Signature) bool) {
			for i, d := range s.docs {
				yield(i, f.Sign(d.Whole(), neardup.MinHash{}))
			}
		})
		return slices.Collect(ix.Pairs())
	}}
}

// pipeline is a Deduplicator.
func pipeline(name string, f neardup.Fingerprinter, fixed float64) method {
	return method{name: name, fixed: fixed, loosest: 0.2, find: func(s *set, least float64) []neardup.SimilarPair[int] {
		d, err := neardup.NewDeduplicator[int](neardup.Settings{Fingerprinter: f, Similarity: least})
		if err != nil {
			panic(err)
		}
		if len(f.Fields) > 0 {
			d.AddRecords(func(yield func(int, neardup.Record) bool) {
				for i, doc := range s.docs {
					yield(i, doc.Fields)
				}
			})
		} else {
			d.AddAll(func(yield func(int, string) bool) {
				for i, doc := range s.docs {
					yield(i, doc.Whole())
				}
			})
		}
		return slices.Collect(d.Pairs())
	}}
}

// schema returns the fields of records: of restaurants, and of persons.
func schema(names []string) (f neardup.Fingerprinter) {
	if slices.Contains(names, "cuisine") {
		f.Fields = []neardup.Field{
			{Name: "name", Split: neardup.Words{}, Weight: 1},
			{Name: "name", Split: trigrams, Weight: 1},
			{Name: "address", Split: neardup.Words{}},
			{Name: "city", Split: neardup.Words{}, Weight: 1},
		}
		return f
	}
	f.Weight = neardup.Count // a typing error makes a value that is rare, and says little
	for _, name := range names {
		f.Fields = append(f.Fields, neardup.Field{Name: name}, neardup.Field{Name: name, Split: trigrams})
	}
	return f
}
