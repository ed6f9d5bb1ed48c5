package main

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/go-ego/gse"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/lab/dataset"
	"github.com/neardup/neardup/lab/must"
	"github.com/neardup/neardup/passages"
	"github.com/neardup/neardup/wordlist"
)

// This file has the methods that are compared.

var (
	pairsOfWords = neardup.Shingles{}
	threeWords   = neardup.Shingles{N: 3}
	bigrams      = neardup.NGrams{N: 2}
	trigrams     = neardup.NGrams{N: 3}
)

// methodsOf returns the methods that can be used on a set.
func methodsOf(s *set) []method {
	if len(s.fields) > 0 {
		return []method{pipeline("records", schema(s.fields), 0)}
	}
	methods := []method{
		simHash("simhash 64, distance 3", pairsOfWords, 64, false, 1-3./64),
		simHash("simhash 64", pairsOfWords, 64, false, 0),
		simHash("simhash 128", pairsOfWords, 128, false, 0),
		simHash("simhash 128, log-idf", pairsOfWords, 128, true, 0),
		minHash("minhash, pairs of words", pairsOfWords, 0),
		minHash("minhash, three words", threeWords, 0),
		minHash("minhash, three words, 0.7", threeWords, 0.7),
		minHash("minhash, three words, 0.8", threeWords, 0.8),
		minHash("minhash, bigrams", bigrams, 0),
		pipeline("cosine, pairs of words", neardup.Fingerprinter{Tokenizer: pairsOfWords}, 0),
		pipeline("cosine, three words", neardup.Fingerprinter{Tokenizer: threeWords}, 0),
		pipeline("cosine, bigrams", neardup.Fingerprinter{Tokenizer: bigrams}, 0),
		pipeline("cosine, trigrams", neardup.Fingerprinter{Tokenizer: trigrams}, 0),
		pipeline("auto, similarity chosen", neardup.Fingerprinter{}, 0),
		auto(),
		withoutTemplates("auto, without what 4 documents share", 4),
		withoutTemplates("auto, without what 10 documents share", 10),
		withoutTemplates("auto, without what 30 documents share", 30),
	}
	if slices.ContainsFunc(s.docs, func(d dataset.Document) bool { return len(d.Fields) > 0 }) { // with a title, and what is known besides
		methods = append(methods, titles(), byProbability("auto, by columns", neardup.Fingerprinter{Fields: literature}))
	}
	for _, by := range []struct {
		name string
		neardup.Tokenizer
	}{{"words", neardup.Words{}}, {"three words", threeWords}, {"characters", neardup.NGrams{N: 1}}, {"bigrams", bigrams}, {"trigrams", trigrams},
		{"words of the segmenter", segmenter{}}, {"all words of its dictionary", segmenter{all: true}}} {
		methods = append(methods, simHash("simhash 64, distance 3, "+by.name, by, 64, false, 1-3./64))
	}
	return methods
}

// A segmenter yields the words of gse's dictionary: the most probable ones, or all. Stop words are left out.
type segmenter struct{ all bool }

// gseWords loads the dictionary when it is needed.
var gseWords = sync.OnceValue(func() *neardup.Segmenter {
	return must.Get(neardup.NewSegmenter(neardup.SegmenterOptions{StopWords: neardup.NewLexicon(stopWords...)}))
})

var gseAll = sync.OnceValue(func() *gse.Segmenter {
	var s gse.Segmenter
	must.Do(s.LoadDictEmbed("zh"))
	return &s
})

var stopWords = slices.Concat(wordlist.ChineseStopWords(), wordlist.EnglishStopWords())

var isStop = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, w := range stopWords {
		set[w] = true
	}
	return set
})

// Tokens implements [neardup.Tokenizer].
func (s segmenter) Tokens(text string) iter.Seq[neardup.Token] {
	if !s.all {
		return gseWords().Tokens(text)
	}
	stop := isStop()
	return func(yield func(neardup.Token) bool) {
		for _, w := range gseAll().CutAll(text) {
			w = strings.ToLower(w)
			isWord := strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
			if isWord && !stop[w] && !yield(neardup.Token{Text: w}) {
				return
			}
		}
	}
}

// simHash compares fingerprints. fixed is the similarity to use, or 0 to choose the best.
func simHash(name string, by neardup.Tokenizer, bits int, weighted bool, fixed float64) method {
	m := method{name: name, fixed: fixed, bits: bits, loosest: 1 - 20./64}
	m.find = func(s *set, least float64) []neardup.Pair[int] {
		f := neardup.Fingerprinter{Tokenizer: by}
		if weighted {
			b := neardup.DocumentFrequenciesBuilder{}
			for _, d := range s.docs {
				b.Add(neardup.Text(d.Whole()))
			}
			f.Weight = neardup.Product{neardup.LogCount, neardup.IDF{Frequencies: b.Build(), Smooth: true}}
		}
		if bits == 64 {
			return near(s, f.Sum64, m, least)
		}
		return near(s, f.Sum128, m, least)
	}
	return m
}

// near returns the pairs of documents whose fingerprints are near each other.
func near[F neardup.Fingerprint](s *set, sum func(neardup.Document) F, m method, least float64) (found []neardup.Pair[int]) {
	fps := make([]F, len(s.docs))
	for i, d := range s.docs {
		fps[i] = sum(neardup.Text(d.Whole()))
	}
	for p, err := range neardup.Pairs(context.Background(), fps, m.distance(least)) {
		must.Do(err)
		found = append(found, neardup.Pair[int]{A: p.A, B: p.B, Similarity: 1 - float64(p.Distance)/float64(m.bits)})
	}
	return found
}

// minHash compares signatures, with an index. fixed is the similarity to use, or 0 to choose the best.
func minHash(name string, of neardup.Tokenizer, fixed float64) method {
	return method{name: name, fixed: fixed, loosest: 0.3, find: func(s *set, least float64) []neardup.Pair[int] {
		ix, err := neardup.NewSignatureIndex[int](least, neardup.SignatureIndexOptions{})
		if err != nil {
			panic(err)
		}
		f := neardup.Fingerprinter{Tokenizer: of}
		must.Do(ix.AddAll(context.Background(), func(yield func(int, neardup.Signature) bool) {
			for i, d := range s.docs {
				yield(i, f.Sign(neardup.Text(d.Whole()), neardup.MinHash{}))
			}
		}))
		return must.Collect(ix.Pairs(context.Background()))
	}}
}

// auto compares texts with a Deduplicator of which nothing is set.
func auto() method { return byProbability("auto", neardup.Fingerprinter{}) }

// byProbability compares texts or records with a Deduplicator that decides by the probability.
func byProbability(name string, f neardup.Fingerprinter) method {
	m := pipeline(name, f, anySimilarity)
	with := m.find
	m.find = func(s *set, _ float64) []neardup.Pair[int] { return with(s, 0) }
	return m
}

// literature is what docs/weights.md says of records of literature.
var literature = []neardup.Field{
	{Name: "title", Split: neardup.Words{}, Weight: 1}, {Name: "author", Split: neardup.Words{}, Weight: 1}, {Name: "journal", Split: neardup.Words{}, Weight: 1},
	{Name: "year", Named: true}, {Name: "volume", Named: true}, {Name: "number", Named: true}, {Name: "pages", Named: true},
}

// titles is auto on the titles alone.
func titles() method {
	m := auto()
	with := m.find
	m.name = "auto, titles alone"
	m.find = func(s *set, _ float64) []neardup.Pair[int] {
		short := *s
		short.docs = slices.Clone(s.docs)
		for i := range short.docs {
			short.docs[i].Text = ""
		}
		return with(&short, 0)
	}
	return m
}

// withoutTemplates is auto with texts from which runs of 20 words are cut if so many documents have them.
func withoutTemplates(name string, documents int) method {
	m := auto()
	with := m.find
	m.name = name
	m.find = func(s *set, _ float64) []neardup.Pair[int] {
		f, err := passages.New[int](passages.Options{Length: passages.Length{Words: 20}})
		if err != nil {
			panic(err)
		}
		is := make([][]bool, len(s.docs)) // the bytes that are cut
		for i, d := range s.docs {
			must.Do(f.Add(i, d.Whole()))
			is[i] = make([]bool, len(d.Whole()))
		}
		for _, p := range must.Collect(f.Passages(context.Background())) {
			for _, x := range p.Places {
				for k := x.From; k < x.To && p.Documents >= documents; k++ {
					is[x.Number][k] = true
				}
			}
		}
		cut := *s
		cut.docs = slices.Clone(s.docs)
		for i, d := range s.docs {
			var left []byte
			for k := range len(is[i]) {
				if !is[i][k] {
					left = append(left, d.Whole()[k])
				}
			}
			cut.docs[i].Title, cut.docs[i].Text = "", string(left)
		}
		return with(&cut, 0)
	}
	return m
}

// anySimilarity is below that of every pair that auto finds: a probability decides.
const anySimilarity = 1e-9

// pipeline compares texts or records with a Deduplicator. fixed is the similarity to use, or 0 to
// choose the best.
func pipeline(name string, f neardup.Fingerprinter, fixed float64) method {
	return method{name: name, fixed: fixed, loosest: 0.2, find: func(s *set, least float64) []neardup.Pair[int] {
		d, err := dedup.New[int](dedup.Options{Fingerprinter: f, Similarity: least})
		if err != nil {
			panic(err)
		}
		must.Do(d.AddAll(context.Background(), func(yield func(int, neardup.Document) bool) {
			for i, doc := range s.docs {
				if len(f.Fields) > 0 {
					yield(i, doc.Fields)
				} else {
					yield(i, neardup.Text(doc.Whole()))
				}
			}
		}))
		return must.Collect(d.Pairs(context.Background()))
	}}
}

// schema returns the fields of records: of restaurants or of persons.
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
	f.Weight = neardup.Count
	for _, name := range names {
		f.Fields = append(f.Fields, neardup.Field{Name: name}, neardup.Field{Name: name, Split: trigrams})
	}
	return f
}
