package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/lab/must"
	"github.com/neardup/neardup/lab/variant"
)

// This file is the part of E001 about short texts: how often a threshold takes two texts for
// near-duplicates that are not, or misses two that are.

// A measure is a distance of two short texts in 64ths: bits of a fingerprint of 64, two bits of one
// of 128, values of a signature of 64, or an angle.
type measure struct {
	name     string
	distance func(a, b string) float64
}

func (l *lab) measures() []measure {
	type features struct {
		name string
		neardup.Fingerprinter
	}
	chars := features{"characters", neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 1}}}
	bigrams := features{"bigrams", neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 2}}}
	words := features{"words", neardup.Fingerprinter{Tokenizer: l.data.words}}
	var all []measure
	for _, f := range []features{chars, bigrams, words} {
		all = append(all, measure{f.name + ", 64 bits", func(a, b string) float64 { return float64(f.Sum64(neardup.Text(a)).Distance(f.Sum64(neardup.Text(b)))) }})
	}
	for _, f := range []features{chars, bigrams, words} {
		all = append(all, measure{f.name + ", 128 bits", func(a, b string) float64 {
			return float64(f.Sum128(neardup.Text(a)).Distance(f.Sum128(neardup.Text(b)))) / 2
		}})
	}
	minHash := neardup.MinHash{Values: 64}
	return append(all,
		measure{"bigrams, MinHash", func(a, b string) float64 {
			return 64 * (1 - bigrams.Sign(neardup.Text(a), minHash).Jaccard(bigrams.Sign(neardup.Text(b), minHash)))
		}},
		measure{"bigrams, cosine", func(a, b string) float64 {
			return 64 * math.Acos(min(bigrams.Vector(neardup.Text(a)).Cosine(bigrams.Vector(neardup.Text(b))), 1)) / math.Pi
		}})
}

// atHalf is the threshold of [lab.asDefault] at which a pair has a probability of one half.
const atHalf = thresholds - 1

// asDefault goes by the probability that the library says of a pair among all texts of the pairs: a probability of one
// half is at the last threshold, and 1 at 0.
func (l *lab) asDefault(pairs []shortPair) measure {
	d, err := dedup.New[string](dedup.Options{})
	if err != nil {
		panic(err)
	}
	for _, p := range pairs {
		d.Add(p.A, neardup.Text(p.A))
		d.Add(p.B, neardup.Text(p.B))
	}
	far := map[[2]string]float64{}
	for p, err := range d.Pairs(context.Background()) {
		must.Do(err)
		far[[2]string{p.A, p.B}] = 2 * atHalf * (1 - p.Probability)
	}
	return measure{"neardup, default", func(a, b string) float64 {
		for _, k := range [][2]string{{a, b}, {b, a}} {
			if x, ok := far[k]; ok {
				return x
			}
		}
		if a == b {
			return 0
		}
		return 64
	}}
}

// A misjudgement counts the pairs that a threshold gets wrong.
type misjudgement struct{ alike, unlike, missed, wrong int }

func (m misjudgement) rate() float64 { return float64(m.missed+m.wrong) / float64(m.alike+m.unlike) }

const thresholds = 21

// misjudged returns the misjudgements of a measure at the thresholds from 0 to 20.
func misjudged(pairs []shortPair, m measure) (at [thresholds]misjudgement) {
	distances := make([]float64, len(pairs))
	each(len(pairs), func(i int) { distances[i] = m.distance(pairs[i].A, pairs[i].B) })
	for i, p := range pairs {
		for t := range at {
			found := distances[i] <= float64(t)+1e-9
			if p.Label == 1 {
				at[t].alike++
				if !found {
					at[t].missed++
				}
			} else {
				at[t].unlike++
				if found {
					at[t].wrong++
				}
			}
		}
	}
	return at
}

// leastWrong returns the threshold with the fewest misjudgements; of several, the smallest.
func leastWrong(at [thresholds]misjudgement) (best int) {
	for t := range at {
		if at[t].rate() < at[best].rate() {
			best = t
		}
	}
	return best
}

// shortPairs returns the labelled pairs of 8 to 45 characters, and pairs that are a text and an
// edited copy, or two different texts.
func (l *lab) shortPairs() (labelled, edited []shortPair) {
	inRange := func(s string, from, to int) bool { n := len([]rune(s)); return n >= from && n <= to }
	kinds := []variant.Kind{variant.DeleteCharacters, variant.InsertCharacters, variant.SubstituteCharacters, variant.SwapCharacters}
	for i, p := range l.data.short {
		if !inRange(p.A, 8, 45) || !inRange(p.B, 8, 45) {
			continue
		}
		labelled = append(labelled, p)
		if copied, places := l.data.editor.Make(p.A, uint64(i), variant.Edit{Kind: kinds[i%4], Rate: 0.05}); places > 0 && copied != p.A {
			edited = append(edited, shortPair{p.A, copied, 1})
		}
		other := l.data.short[(i+1+i*i%97)%len(l.data.short)].B // a text of another pair
		if inRange(other, 8, 45) {
			edited = append(edited, shortPair{p.A, other, 0})
		}
	}
	return labelled, edited
}

// shortTexts measures how often pairs of short texts are misjudged.
func (l *lab) shortTexts() error {
	l.section(3, "Short texts misjudged")
	labelled, edited := l.shortPairs()
	l.text("june 2013 shows a rate of misjudgement for texts of 8 to 45 Chinese characters, in a figure that is lost. Here are the shares of %d pairs that a threshold gets wrong, both ways taken together: %s. To mean the same is harder than to be a near-duplicate, so a second figure has %d pairs, half of them a text and a copy with one or two characters deleted, inserted, "+
		"replaced or swapped, and half two different texts. All thresholds are in 64ths: bits of fingerprints of 64, two bits of 128, values of signatures of 64, and for the cosine the angle 64·θ/π, which is what a fingerprint estimates (20 is a cosine of 0.56). For `neardup, default` 20 is a probability of one half, its threshold, and 0 is certainty.", len(labelled), l.data.shorts, len(edited))
	measures := l.measures()
	if err := l.shortFigure(measures, "e001-paraphrases", "Labelled pairs of 8 to 45 characters", labelled); err != nil {
		return err
	}
	if err := l.shortFigure(measures, "e001-edited", "Edited copies of 8 to 45 characters", edited); err != nil {
		return err
	}
	l.byLength(edited)
	l.text("**What to do with short texts.** A radius of 3 bits is for pages, not for messages: one character of a question changes two of a dozen bigrams, and that moves more bits. Fingerprints of short texts need the thresholds above; at these, 128 bits are better than 64. Each of them, with a threshold that is chosen on these very pairs, misjudges fewer than the default, which misses short copies. The different texts of the second figure are of other pairs, so hardly any of them are close. Single characters do best where any two texts are different, also because a bag of them does not see two that are swapped, as a quarter of these copies are; but they take texts of the same words for the same, so where many texts are about the same things, as the labelled pairs, the threshold must be lower. " +
		"`Deduplicator` with nothing set compares short texts by their trigrams of characters, or pairs of Chinese ones, and by what else the two have in common. `dedup.Options.Probability`, or `Calibrate` with some labelled pairs, moves the threshold. Texts that say the same in other words are not near-duplicates, and no threshold here makes them so.")
	return nil
}

// shortFigure shows what share of the pairs each measure gets wrong, by threshold.
func (l *lab) shortFigure(measures []measure, name, title string, pairs []shortPair) error {
	l.step("short texts: %s", name)
	p := newFigure(title, "threshold, 64ths", "share of the pairs misjudged")
	p.Y.Min, p.Y.Max = 0, 0.6
	var rows [][]string
	var best misjudgement
	bestOf, bestAt := "", 0
	var last misjudgement // of the library's default
	of := append(measures, l.asDefault(pairs))
	from, to := thresholds, 0
	good, bad := 1., 0. // of the fingerprints, each at its best threshold
	for i, m := range of {
		at := misjudged(pairs, m)
		var x, y []float64
		for t := range at {
			x, y = append(x, float64(t)), append(y, at[t].rate())
		}
		least := leastWrong(at)
		p.Line(m.name, i, x, y)
		last = at[thresholds-1]
		row := []string{m.name}
		for _, t := range []int{3, least} {
			row = append(row, fmt.Sprintf("%.1f", 100*at[t].rate()), fmt.Sprintf("%.1f", percent(at[t].missed, at[t].alike)), fmt.Sprintf("%.1f", percent(at[t].wrong, at[t].unlike)))
		}
		rows = append(rows, append(row, atLeast(least)))
		if strings.HasSuffix(m.name, "bits") {
			from, to = min(from, least), max(to, least)
			good, bad = min(good, at[least].rate()), max(bad, at[least].rate())
		}
		if bestOf == "" || at[least].rate() < best.rate() {
			best, bestOf, bestAt = at[least], m.name, least
		}
	}
	l.table([]string{title + " ", "misjudged at 3, %", "missed", "wrong", "at the best, %", "missed", "wrong", "best threshold"}, rows)
	l.headline("E001: short texts misjudged, "+strings.ToLower(title[:1])+title[1:], "figure lost", fmt.Sprintf("at H ≤ 3 %s %% (words, xxh3), %s %% (characters); at the best threshold of each fingerprint, %.1f to %.1f %%", rows[2][1], rows[0][1], 100*good, 100*bad), fmt.Sprintf("%.1f %%", 100*last.rate()))
	l.text("To take all pairs for alike would misjudge %.1f %%.", percent(last.unlike, last.alike+last.unlike))
	caption := fmt.Sprintf("The fewest are misjudged by %s at %d: %.1f %%. The best thresholds of the fingerprints are %d to %s.", bestOf, bestAt, 100*best.rate(), from, atLeast(to))
	return l.figure(name, caption, p)
}

// atLeast returns a threshold as text. The best threshold may lie beyond the last one that is
// tried.
func atLeast(t int) string {
	if t == thresholds-1 {
		return fmt.Sprint(t, " or more")
	}
	return fmt.Sprint(t)
}

// byLength shows how the misjudgements depend on the length of the texts.
func (l *lab) byLength(pairs []shortPair) {
	var rows [][]string
	of := append(l.measures(), l.asDefault(pairs))
	for _, r := range [][2]int{{8, 12}, {13, 18}, {19, 30}, {31, 45}} {
		var part []shortPair
		for _, p := range pairs {
			if n := len([]rune(p.A)); n >= r[0] && n <= r[1] {
				part = append(part, p)
			}
		}
		if len(part) == 0 {
			continue
		}
		row := []string{fmt.Sprintf("%d to %d", r[0], r[1]), fmt.Sprint(len(part))}
		for _, m := range of {
			if m.name != "bigrams, 64 bits" && m.name != "bigrams, 128 bits" && m.name != "neardup, default" {
				continue
			}
			at := misjudged(part, m)
			least := leastWrong(at)
			usual := 3
			if m.name == "neardup, default" {
				usual = atHalf
			}
			row = append(row, fmt.Sprintf("%.1f", 100*at[usual].rate()), fmt.Sprintf("%.1f at %s", 100*at[least].rate(), atLeast(least)))
		}
		rows = append(rows, row)
	}
	l.table([]string{"characters ", "pairs", "64 bits: misjudged at 3, %", "at the best", "128 bits: at 3", "at the best", "default: at 20", "at the best"}, rows)
	l.text("Edited copies again, by the length of the text, with bigrams and with the default.")
}
