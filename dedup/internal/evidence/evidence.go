// Package evidence compares two texts, and says what speaks for and against their being near-duplicates.
//
// How similar two texts are depends on these two alone, and so does what is in only one of them (text.go).
// What their neighbourhoods say is of another kind (place.go): whether what they share is shared by many, and
// whether others are as close. A [Vector] has both. Package decision turns it into a probability.
package evidence

import (
	"github.com/neardup/neardup/internal/cosine"
	"github.com/neardup/neardup/internal/exact"
)

// A Vector is what is known about a pair. It is the same for (a, b) and (b, a), to the bit: the sums go through
// both texts in the order of their features or words, and every term treats the two alike.
//
// Shortness, which some quantities are multiplied with, is the share of the characters in the similarity, from
// 0 for texts of 1,000 words or more to 1 for those of up to 50: the mean of the two texts.
type Vector struct {
	Similarity float64 // see [Similarity]
	Records    bool    // the two are records

	// IsCopy says that at most one word in twenty is different inside of each text, and at most one in twenty
	// before and after what they share. Then they are copies even if there are many of them. With more, nobody
	// can tell an article on many sites from the pages of a template.
	IsCopy bool
	Texts  [FromTexts]float64
	Places [FromPlaces]float64
}

// The quantities that depend on the two texts alone. Cosines are given as their logits, which are cut
// off at 0.01 and 0.995.
const (
	Characters      = iota // cosine of the runs of three characters
	Words                  // cosine of the words, in any order
	ShortRuns              // cosine of the runs of three words, times shortness
	ShortCharacters        // cosine of the runs of three characters, times shortness
	Beginning              // share h of the first 20 words that are in no run of the other text, as h/(h+0.05)
	Anywhere               // logarithm of the share of all words that are in no run of the other text
	FiguresInBoth          // shortness, if each text has a figure that the other has not
	FiguresInOne           // shortness, if at least one of them has
	Replaced               // how often both repeat a word that the other has not: ln(1+n)
	NearCopy               // by how much the logit of the cosine of the runs of characters is above 2.5, a cosine of 0.92
	Longest                // logarithm of the share of the words in the longest stretch that is in no run of the other text
	Scatter                // in how many places about the words are that are in no run: ln((all such words + 10)/(those of the longest stretch + 10))
	FromTexts
)

// The quantities that depend on the neighbourhoods.
const (
	LocalRuns       = iota // cosine of the runs of words, weighted by how few neighbours have them
	LocalCharacters        // the same for runs of characters
	Crowd                  // how many others are a third as close, or closer: ln(1+n−4)
	FromPlaces
)

// Names has the names of the quantities, for people: those from the texts, then those from the neighbourhoods.
var Names = [FromTexts + FromPlaces]string{
	"runs of characters", "words", "runs of words, if short", "runs of characters, if short",
	"changed words at the beginning", "changed words", "unmatched numbers in both, if short", "unmatched numbers in one, if short", "a word replaced throughout", "nearly a copy", "longest change", "number of changed places",
	"runs of words that few neighbours have", "runs of characters that few neighbours have", "other texts about as close",
}

const (
	mostChange  = 0.2  // more than a fifth of the words makes no difference
	leastChange = 0.03 // added before a logarithm is taken
	usualCrowd  = 4    // as many others as this are no crowd: versions of one text
	onePlace    = 10   // words that are added before places are counted: a few single words are one place
	nearCopy    = 2.5  // with 2 and with 3, the sets in docs/dedup.md come out alike

	// So many imaginary neighbours have none of the features, so that what few texts have in common still says
	// something. Runs of characters are shared by chance, so there are more of those. With 20 and 40 the sets in
	// docs/dedup.md come out alike; with 20, families of five copies look like a template.
	priorWords, priorCharacters = 40, 100
)

// Pair returns the evidence about two texts with their places. slotA and slotB are their slots, by which
// each is left out of the neighbourhood of the other. If b is in the place of a, their cosines have been
// computed there already.
func (c *Comparer) Pair(a, b *Text, placeA, placeB *Place, slotA, slotB uint32) (v Vector) {
	is, ok := placeA.of(slotB)
	if !ok {
		is = compare(a, b, nil)
	}
	v.Similarity, v.Records = is.similarity, a.Record && b.Record
	x, y, words := c.sides(a, b)
	v.IsCopy = x.isCopy() && y.isCopy() && min(x.repeated, y.repeated) <= 1 // or else it is the name of a page
	short := (a.Fine + b.Fine) / 2
	t := &v.Texts
	t[Characters], t[Words] = logit(is.levels[1]), logit(words)
	t[ShortRuns], t[ShortCharacters] = float64(short*logit(is.levels[0])), float64(short*t[Characters])
	h := (x.beginning() + y.beginning()) / 2
	t[Beginning] = h / (h + 0.05)
	t[Anywhere] = exact.Ln(min(float64(x.uncovered+y.uncovered)/float64(max(x.words+y.words, 1)), mostChange) + leastChange)
	if x.figures > 0 && y.figures > 0 {
		t[FiguresInBoth] = short
	}
	if x.figures > 0 || y.figures > 0 {
		t[FiguresInOne] = short
	}
	t[Replaced] = exact.Ln(1 + float64(min(x.repeated, y.repeated)))
	t[NearCopy] = max(t[Characters]-nearCopy, 0)
	longest := max(float64(x.longest)/float64(max(x.words, 1)), float64(y.longest)/float64(max(y.words, 1)))
	t[Longest] = exact.Ln(min(longest, mostChange) + leastChange)
	t[Scatter] = exact.Ln(float64(x.uncovered+y.uncovered+onePlace) / float64(x.longest+y.longest+onePlace))
	v.Places = c.places(a, b, placeA, placeB, is.similarity, slotA, slotB)
	return v
}

// logit returns ln(x/(1−x)), cut off. The limits are part of the function that was fitted, and
// cannot change without it.
func logit(x float64) float64 {
	x = min(max(x, 0.01), 0.995)
	return exact.Ln(x / (1 - x))
}

// places returns the evidence of two neighbourhoods.
func (c *Comparer) places(a, b *Text, placeA, placeB *Place, similarity float64, slotA, slotB uint32) (v [FromPlaces]float64) {
	local := c.local(a, b, placeA, placeB)
	v[LocalRuns], v[LocalCharacters] = logit(local[0]), logit(local[1])
	crowd := 0
	for _, side := range []struct {
		*Place
		other uint32
	}{{placeA, slotB}, {placeB, slotA}} {
		for k, near := range side.Near {
			if near.Slot == side.other {
				continue
			}
			if 1-side.alike[k].similarity+0.01 <= 3*(1-similarity+0.01) { // the hundredth, so that copies are no crowd of themselves
				crowd++
			}
		}
	}
	v[Crowd] = exact.Ln(1 + float64(max(crowd-usualCrowd, 0)))
	return v
}

// local returns the cosine of each level where a feature that df of n neighbours have is weighted by
// ln((prior + n)/df). n and df are the larger ones of the two neighbourhoods, so that a and b can be
// exchanged; df counts the text itself too. Features that many neighbours share are those of a template, and
// say little about the two texts.
func (c *Comparer) local(a, b *Text, placeA, placeB *Place) (of [2]float64) {
	if len(placeA.have) != len(a.Terms) || len(placeB.have) != len(b.Terms) {
		return of // a text could not be read any more; its file has the error
	}
	c.weigh(max(len(placeA.Near), len(placeB.Near)))
	var dots, as, bs [2]float64
	for i, j := 0, 0; i < len(a.Terms) || j < len(b.Terms); {
		switch {
		case j == len(b.Terms) || i < len(a.Terms) && a.Terms[i].Feature < b.Terms[j].Feature:
			l, w := a.Terms[i].Feature&1, float64(a.Terms[i].Weight)
			as[l] += float64(float64(w*w) * c.weights[l][placeA.have[i]])
			i++
		case i == len(a.Terms) || b.Terms[j].Feature < a.Terms[i].Feature:
			l, w := b.Terms[j].Feature&1, float64(b.Terms[j].Weight)
			bs[l] += float64(float64(w*w) * c.weights[l][placeB.have[j]])
			j++
		default:
			l, x, y := a.Terms[i].Feature&1, float64(a.Terms[i].Weight), float64(b.Terms[j].Weight)
			w := c.weights[l][max(placeA.have[i], placeB.have[j])]
			dots[l] += float64(float64(x*y) * w)
			as[l] += float64(float64(x*x) * w)
			bs[l] += float64(float64(y*y) * w)
			i++
			j++
		}
	}
	if !a.Levels { // one level, with keys that are odd or even
		s := cosine.Of(dots[0]+dots[1], as[0]+as[1], bs[0]+bs[1])
		return [2]float64{s, s}
	}
	for l := range of {
		of[l] = cosine.Of(dots[l], as[l], bs[l])
	}
	return of
}

// weigh sets the squared weights of features by how many of n neighbours have them. They depend on n alone, so
// the last ones are kept for the next pair.
func (c *Comparer) weigh(n int) {
	if c.n == n && c.weights[0] != nil {
		return
	}
	c.n = n
	for l, prior := range []float64{priorWords, priorCharacters} {
		c.weights[l] = c.weights[l][:0]
		for df := range n + 1 {
			w := max(exact.Ln((prior+float64(n))/float64(df+1)), 0.01)
			c.weights[l] = append(c.weights[l], float64(w*w))
		}
	}
}
