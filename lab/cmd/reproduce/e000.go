package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/compare"
	"github.com/neardup/neardup/lab/hashes"
	"github.com/neardup/neardup/lab/hyperplane"
	"github.com/neardup/neardup/lab/planted"
	"github.com/neardup/neardup/lab/program2013"
	"github.com/neardup/neardup/lab/variant"
)

// This file is the experiment of Wang 2016: four texts, compared by cosine and by fingerprints. It
// also shows why the ratio of two fingerprints is no similarity, and that SimHash is a hash by
// random hyperplanes.

// e000 is the experiment of Wang 2016.
func e000(l *lab) error {
	l.text("Wang 2016 compares four texts by the cosine of their term counts (VSM), and by two programs for SimHash: 50 bits in C++, and 128 bits in Python. a and b differ in a few words, c and d have nothing to do with them. "+
		"It finds VSM unsuited, since it gives unrelated texts 0.405, and SimHash good. What its programs call similarity it does not say; the published values cannot come from a Hamming distance (0.971627 is no multiple of 1/50), but "+
		"the Python class of the time divides the smaller fingerprint by the larger, as numbers in floating point, and that gives such values. Here are four texts from %s; in b one word in 33 is replaced.", l.data.source)
	texts := l.fourTexts()
	words := neardup.Fingerprinter{Tokenizer: l.data.words, Hash: hashes.S001(), TiesOne: true}
	if err := l.fourCompared(texts, words); err != nil {
		return err
	}
	l.vsmExample()
	if err := l.ratios(texts[0], words); err != nil {
		return err
	}
	return l.hyperplanes()
}

// fourTexts returns a Chinese article, an edited copy of it, and two Chinese articles of other
// topics.
func (l *lab) fourTexts() []string {
	topics := l.data.chineseTopics()
	first := func(topic string, n int) string { // the nth article of a topic that is neither short nor long
		for _, article := range l.data.articles {
			if c := len([]rune(article.text)); article.topic == topic && c >= 400 && c <= 1200 {
				if n--; n < 0 {
					return article.text
				}
			}
		}
		return l.data.articles[0].text
	}
	a, c, d := first(topics[0], 0), first(topics[len(topics)-1], 0), first(topics[len(topics)/2], 1)
	b, _ := l.data.editor.Make(a, 0, variant.Edit{Kind: variant.SubstituteWords, Rate: 0.03})
	return []string{a, b, c, d}
}

// sum returns the fingerprint of a text with the given width.
func sum(f *neardup.Fingerprinter, text string, width int) neardup.Fingerprint128 {
	return f.Sum128(neardup.Text(text)).Truncate(width) // the low bits of this hash are the same for all widths
}

// fourCompared prints the measures for all pairs of the four texts.
func (l *lab) fourCompared(texts []string, words neardup.Fingerprinter) error {
	l.section(3, "Four texts")
	terms := words
	terms.Tokenizer = l.data.terms
	published := map[string][3]string{"a-b": {"0.993358", "0.971627", "0.999939"}, "a-c": {"0.405043", "0.027991", "0.000486"}, "a-a": {"1 (control)", "1 (control)", "1 (control)"}}
	var rows [][]string
	zero := words
	zero.TiesOne = false
	var pairs []string
	var series [4][]float64   // of the figure
	var known [3][2][]float64 // what is published
	for n, p := range [][2]int{{0, 1}, {1, 0}, {0, 0}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}} {
		a, b := texts[p[0]], texts[p[1]]
		name := fmt.Sprintf("%c-%c", 'a'+p[0], 'a'+p[1])
		pairs = append(pairs, name)
		x64, y64 := sum(&words, a, 64), sum(&words, b, 64)
		for i, v := range []float64{words.Vector(neardup.Text(a)).Cosine(words.Vector(neardup.Text(b))), compare.Ratio(sum(&words, a, 50), sum(&words, b, 50)), compare.Ratio(sum(&words, a, 128), sum(&words, b, 128)), compare.HammingSimilarity(x64.Distance(y64), 64)} {
			series[i] = append(series[i], v)
		}
		row := []string{name, fmt.Sprintf("%.6f", words.Vector(neardup.Text(a)).Cosine(words.Vector(neardup.Text(b)))), fmt.Sprintf("%.6f", terms.Vector(neardup.Text(a)).Cosine(terms.Vector(neardup.Text(b))))}
		for _, f := range []neardup.Fingerprinter{words, zero} {
			for _, width := range []int{50, 64, 128} {
				x, y := sum(&f, a, width), sum(&f, b, width)
				h := x.Distance(y)
				if f.TiesOne {
					row = append(row, fmt.Sprintf("%d: %.3f, %.3f, **%.6f**", h, compare.HammingSimilarity(h, width), compare.HammingCosine(h, width), compare.Ratio(x, y)))
				} else {
					row = append(row, fmt.Sprintf("%d, **%.6f**", h, compare.Ratio(x, y)))
				}
			}
		}
		was := published[name]
		if was[0] == "" {
			was = [3]string{"lost", "lost", "lost"}
		}
		for i, v := range was {
			if y, err := strconv.ParseFloat(v, 64); err == nil {
				x := float64(n) + 0.12*float64(i-1) // beside each other
				known[i][0], known[i][1] = append(known[i][0], x), append(known[i][1], y)
			}
		}
		rows = append(rows, append(row, was[:]...))
	}
	l.table([]string{"pair ", "cosine", "without stop words", "50 bits, 0 → 1", "64 bits", "128 bits", "50 bits, 0 → 0", "64 bits", "128 bits", "Wang 2016: VSM", "Simhash1 (50)", "Simhash2 (128)"}, rows)
	l.text("Of fingerprints: the Hamming distance H; behind it 1 − H/f, cos(πH/f) and, in bold, the smaller by the larger number. The hash is `s001`, which the Python class of that time has, with stop words and both rules for a sum of 0; a-b is b-a, and a-a is 1, as they must be. " +
		"`compare.Compare` prints such a table of any texts:")
	l.code(compare.Compare(&words, texts, 50, 64, 128).String())
	cosine := words.Vector(neardup.Text(texts[0])).Cosine(words.Vector(neardup.Text(texts[2])))
	l.headline("E000: cosine of two versions, of unrelated texts", "0.993, 0.405", fmt.Sprintf("%.3f, %.3f", words.Vector(neardup.Text(texts[0])).Cosine(words.Vector(neardup.Text(texts[1]))), cosine), "")
	l.headline("E000: \"similarity\" of the fingerprints of the same", "0.9716, 0.0280 (50 bits); 0.9999, 0.0005 (128)", fmt.Sprintf("%.3f, %.3f; %.3f, %.3f: it follows the highest bit that differs", compare.Ratio(sum(&words, texts[0], 50), sum(&words, texts[1], 50)), compare.Ratio(sum(&words, texts[0], 50), sum(&words, texts[2], 50)), compare.Ratio(sum(&words, texts[0], 128), sum(&words, texts[1], 128)), compare.Ratio(sum(&words, texts[0], 128), sum(&words, texts[2], 128))), "")
	l.note("E000 texts", fmt.Sprintf("cosine of unrelated texts %.3f, published 0.405", cosine))
	l.note("E000 stop", fmt.Sprintf("cosine of unrelated texts %.3f with and %.3f without", cosine, terms.Vector(neardup.Text(texts[0])).Cosine(terms.Vector(neardup.Text(texts[2])))))
	l.text("The cosine of the unrelated a and c is %.3f with stop words and %.3f without.", cosine, terms.Vector(neardup.Text(texts[0])).Cosine(terms.Vector(neardup.Text(texts[2]))))
	l.remark("What the paper holds against VSM comes from the words that every text has.")
	p := newFigure("Every two of four texts", "texts", "similarity")
	p.Categories(pairs...)
	p.Y.Min, p.Y.Max = 0, 1
	at := make([]float64, len(pairs))
	for i := range at {
		at[i] = float64(i)
	}
	for i, name := range []string{"VSM, cosine", "Simhash1, ratio of 50 bits", "Simhash2, ratio of 128 bits", "1 − H/64"} {
		p.Line(name, i, at, series[i])
	}
	for i, name := range []string{"published: VSM", "published: Simhash1", "published: Simhash2"} {
		p.Points(name, i+4, known[i][0], known[i][1])
	}
	return l.figure("e000-texts", "Figure 8 of Wang 2016, which is lost, showed such values. Of unrelated texts the ratio may be as high as of versions, or low. Only the published values of a-b and a-c survive; they are of other texts.", p)
}

// vsmExample computes the worked example of the paper.
func (l *lab) vsmExample() {
	vector := func(weights ...float32) neardup.Vector {
		var terms []neardup.Term
		for i, w := range weights {
			terms = append(terms, neardup.Term{Feature: uint64(i + 1), Weight: w})
		}
		return neardup.NewVector(terms)
	}
	d, c := vector(30, 20, 20, 10, 0), vector(40, 0, 30, 20, 10)
	l.text("Of the worked example of VSM, (30, 20, 20, 10, 0) and (40, 0, 30, 20, 10), the paper prints the dot product 2000 and the cosine 0.86; its formulas are lost. Here the cosine is %.6f.", d.Cosine(c))
}

// ratios shows that the ratio of two fingerprints is no similarity.
func (l *lab) ratios(text string, words neardup.Fingerprinter) error {
	l.section(3, "Why the ratio of two fingerprints is no similarity")
	var h [2]int
	var r [2]float64
	for i, tie := range []bool{true, false} {
		x, y := program2013.New(program2013.Texts[0], 64, tie), program2013.New(program2013.Texts[2], 64, tie)
		h[i] = x.HammingDistance(y)
		r[i] = compare.Ratio(neardup.Fingerprint128{Lo: x.Fingerprint.Uint64()}, neardup.Fingerprint128{Lo: y.Fingerprint.Uint64()})
	}
	l.text("It depends on the highest bit that differs. Of the first and third string of june 2013 with H = %d (0 → 1) the ratio is %.6f, and with H = %d (0 → 0) it is %.6f. One bit of a fingerprint of 64 changed:", h[0], r[0], h[1], r[1])
	f := words
	x := sum(&f, text, 64)
	var rows [][]string
	for _, bit := range []int{0, 16, 32, 48, 56, 60, 62, 63} {
		y := x
		y.Lo ^= 1 << bit
		rows = append(rows, []string{fmt.Sprint(bit), fmt.Sprintf("%016x", y.Lo), "1", fmt.Sprintf("%.4f", compare.HammingSimilarity(1, 64)), fmt.Sprintf("%.6f", compare.Ratio(x, y))})
	}
	l.table([]string{"bit", "fingerprint", "H", "1 − H/64", "ratio"}, rows)

	var shares, ratios, similarities, cosines []float64
	v := words.Vector(neardup.Text(text))
	n := l.size(200)
	for i := range n {
		rate := 0.5 * float64(i+1) / float64(n)
		edited, _ := l.data.editor.Make(text, uint64(i), variant.Edit{Kind: variant.SubstituteWords, Rate: rate})
		a, b := sum(&f, text, 128), sum(&f, edited, 128)
		shares = append(shares, 100*rate)
		ratios = append(ratios, compare.Ratio(a, b))
		similarities = append(similarities, compare.HammingSimilarity(a.Distance(b), 128))
		cosines = append(cosines, v.Cosine(words.Vector(neardup.Text(edited))))
	}
	p := newFigure("One text and its edited copies, 128 bits", "words replaced, %", "similarity")
	p.Y.Min, p.Y.Max, p.X.Min = 0, 1, 0
	p.Points("smaller / larger", 1, shares, ratios)
	p.Points("1 − H/128", 0, shares, similarities)
	p.Points("cosine", 2, shares, cosines)
	if err := l.figure("e000-ratio", "The cosine and 1 − H/128 fall as more words are replaced; the ratio is near 1 or near 0, whatever the edits.", p); err != nil {
		return err
	}
	above, all := [3]int{}, 0
	s := planted.Stream(1)
	for range l.size(2000) {
		a, b := l.data.articles[s.Next()%uint64(len(l.data.articles))], l.data.articles[s.Next()%uint64(len(l.data.articles))]
		if a == b {
			continue
		}
		all++
		for i, width := range []int{50, 64, 128} {
			if compare.Ratio(sum(&f, a.text, width), sum(&f, b.text, width)) > 0.9 {
				above[i]++
			}
		}
	}
	l.note("E000 ratio", fmt.Sprintf("of pairs of unrelated articles %.0f %% have a ratio above 0.9 at 128 bits", percent(above[2], all)))
	l.text("Of %d pairs of different articles, drawn at random, %.0f %% have a ratio above 0.9 at 50 bits, %.0f %% at 64 and %.0f %% at 128. The paper compared four texts; with others of the same kind the ratio could have said the opposite.",
		all, percent(above[0], all), percent(above[1], all), percent(above[2], all))
	return nil
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// hyperplanes measures how many bits differ at an angle.
func (l *lab) hyperplanes() error {
	l.section(3, "SimHash is a hash of random hyperplanes")
	keywords := []neardup.Fingerprint128{{Lo: 0b1010}, {Lo: 0b1100}, {Lo: 0b1110}, {Lo: 0b1000}, {Lo: 0b0001}}
	acc, weights := neardup.Accumulator128{}, make([]float64, len(keywords))
	for i, k := range keywords {
		acc.Add(k.Hi, k.Lo, 1)
		weights[i] = 1
	}
	planes := hyperplane.OfHashes(keywords, 4)
	products := planes.Products(weights)
	slices.Reverse(products) // the paper writes the highest bit first
	l.text("Wang 2016 §3.2 shows it with five keywords of 4 bits, 1010, 1100, 1110, 1000 and 0001. The sum of their vectors is printed as (3, −1, −1, −3), with the fingerprint 1001; the products with the hyperplanes are printed as (3, −1, −1, **3**). Here the products are %v, the fingerprint by the sum is **%04b**, and by the planes **%04b**. "+
		"So the paper has two slips, which make both ways agree on 1001. The example of june 2013 is right: sum (−4, −2, 6), fingerprint 001. "+
		"`go test -C lab ./hyperplane` checks both, and that the planes of the hashes give the SimHash of random features in every bit, ties included.", products, acc.Sum().Truncate(4).Lo, planes.Sum(weights, false).Lo)
	l.step("hyperplanes")
	differ, tied := equivalence(l.size(1000))
	l.text("Of the SimHashes of %d random sets of features, with weights that are random or 1, %d of all bits differ from those of the planes; %d sums were 0.", l.size(1000), differ, tied)
	n := l.size(600)
	type pair struct{ angle, gauss, simhash, s001 float64 }
	pairs := make([]pair, n)
	good := neardup.Fingerprinter{Tokenizer: l.data.words}
	python := neardup.Fingerprinter{Tokenizer: l.data.words, Hash: hashes.S001()}
	each(n, func(i int) {
		a := l.data.articles[i%len(l.data.articles)].text
		rate := math.Pow(float64(i%20+1)/20, 2)
		b, _ := l.data.editor.Make(a, uint64(i), variant.Edit{Kind: variant.SubstituteWords, Rate: rate})
		va, vb := good.Vector(neardup.Text(a)), good.Vector(neardup.Text(b))
		angle := math.Acos(min(va.Cosine(vb), 1)) / math.Pi
		x, y := dense(va, vb)
		planes := hyperplane.Random(128, len(x), uint64(i))
		differ := func(f neardup.Fingerprinter) float64 {
			return float64(f.Sum128(neardup.Text(a)).Distance(f.Sum128(neardup.Text(b)))) / 128
		}
		pairs[i] = pair{angle, float64(planes.Sum(x, false).Distance(planes.Sum(y, false))) / 128, differ(good), differ(python)}
	})
	slices.SortFunc(pairs, func(p, q pair) int {
		if p.angle < q.angle {
			return -1
		}
		return 1
	})
	p := newFigure("Bits that differ, by the angle between two texts", "angle of their term vectors, θ/π", "share of 128 bits that differ")
	groups := 12
	var rows [][]string
	var x, gauss, simhash, s001 []float64
	for g := range groups {
		var m pair
		part := pairs[g*n/groups : (g+1)*n/groups]
		for _, p := range part {
			k := float64(len(part))
			m = pair{m.angle + p.angle/k, m.gauss + p.gauss/k, m.simhash + p.simhash/k, m.s001 + p.s001/k}
		}
		x, gauss, simhash, s001 = append(x, m.angle), append(gauss, m.gauss), append(simhash, m.simhash), append(s001, m.s001)
		rows = append(rows, cells("%.4f", m.angle, m.gauss, m.simhash, m.s001))
	}
	end := x[len(x)-1] * 1.05
	p.X.Min, p.Y.Min = 0, 0
	p.Dashed("θ/π", []float64{0, end}, []float64{0, end})
	p.Line("random hyperplanes", 0, x, gauss)
	p.Line("SimHash, xxh3", 2, x, simhash)
	p.Line("SimHash, s001", 1, x, s001)
	l.table([]string{"θ/π", "hyperplanes", "SimHash, xxh3", "SimHash, s001"}, rows)
	return l.figure("e000-angle", fmt.Sprintf("%d pairs of an article and an edited copy, in %d groups by their angle. Random hyperplanes follow the line; SimHash with xxh3, whose planes have coordinates of ±1, stays up to a fifth below on real texts. With the hash of the program it stays at a quarter to a third of the line: half of its bits are dead for words of two characters, and others hardly change.", n, groups), p)
}

// equivalence returns in how many bits the SimHashes of random features differ from the hashes by
// their planes, and how many sums are 0.
func equivalence(n int) (differ, tied int) {
	s := planted.Stream(4)
	for i := range n {
		features := make([]neardup.Fingerprint128, 2+s.Next()%40)
		weights := make([]float64, len(features))
		a := neardup.Accumulator128{}
		for d := range features {
			features[d] = neardup.Fingerprint128{Hi: s.Next(), Lo: s.Next()}
			w := int64(1)
			if i%2 == 0 {
				w += int64(s.Next() % 9)
			}
			weights[d] = float64(w)
			a.Add(features[d].Hi, features[d].Lo, w)
		}
		planes := hyperplane.OfHashes(features, 128)
		for _, tie := range []bool{false, true} {
			differ += planes.Sum(weights, tie).Distance(sumOf(&a, tie))
		}
		tied += a.SumTiesOne().Distance(a.Sum())
	}
	return differ, tied
}

// dense returns two vectors as lists with a coordinate for every feature of either.
func dense(a, b neardup.Vector) (x, y []float64) {
	at := map[uint64]int{}
	place := func(v neardup.Vector) {
		for _, t := range v {
			if _, ok := at[t.Feature]; !ok {
				at[t.Feature] = len(at)
			}
		}
	}
	place(a)
	place(b)
	x, y = make([]float64, len(at)), make([]float64, len(at))
	for _, t := range a {
		x[at[t.Feature]] = float64(t.Weight)
	}
	for _, t := range b {
		y[at[t.Feature]] = float64(t.Weight)
	}
	return x, y
}

// sumOf returns the fingerprint of an accumulator. tiesOne says whether ties give 1.
func sumOf(a *neardup.Accumulator128, tiesOne bool) neardup.Fingerprint128 {
	if tiesOne {
		return a.SumTiesOne()
	}
	return a.Sum()
}
