package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/hashes"
	"github.com/neardup/neardup/lab/planted"
	"github.com/neardup/neardup/lab/variant"
	"github.com/neardup/neardup/papers"
	"github.com/neardup/neardup/wordlist"
)

// This file is the experiment of Zhang 2020: weights by part of speech, length, markers and title.
// All systems are compared here, on edited articles and on texts that people revised.

// The factors of the weight of Zhang 2020, and of other papers.
var (
	tf       neardup.Weight = neardup.Count
	pos      neardup.Weight = papers.PartOfSpeech(nil)
	relative neardup.Weight = papers.Sum{neardup.Constant(1), papers.RelativeLength{}}
	title    neardup.Weight = papers.TitleWords{}
	byLength neardup.Weight = papers.Sum{neardup.Constant(1), papers.TermLength{}} // Wang 2019
)

func markers() neardup.Weight {
	return neardup.Markers{Lexicon: neardup.NewLexicon(append(wordlist.ChineseMarkers(), wordlist.EnglishMarkers()...)...)}
}

// systems returns the systems that are compared on texts, each with the settings of its paper. s
// has the document frequencies of the collection.
func (l *lab) systems(s *neardup.DocumentFrequencies, kept tuned) []system {
	f := neardup.Fingerprinter{Tokenizer: l.data.terms}
	idf := neardup.IDF{Frequencies: s}
	weighed := func(name string, w ...neardup.Weight) system {
		g := f
		g.Weight = neardup.Product(w)
		return simHash(name, g)
	}
	return []system{
		weighed("SimHash, TF", tf),
		weighed("Wang 2019, TF-IDF × length", tf, idf, byLength),
		weighed("Zhang 2020", tf, idf, pos, relative, markers(), title),
		weighed("Zhang 2020, no title", tf, idf, pos, relative, markers()),
		l.onFields(),
		kept.iMatch(l.data.terms, s),
		shingles("Shingle, 1 in 25", 4, 25),
		superShingles("DSC-SS", 4, 25, kept.size),
		library(),
	}
}

// onFields is the method of Li 2015 on texts: CityHash64, the first line as a small field with
// weight 2, and the other words weighed by their counts.
func (l *lab) onFields() system {
	f := neardup.Fingerprinter{Tokenizer: l.data.terms, Hash: hashes.CityHash64(), Fields: []neardup.Field{{Name: "title"}, {Name: "text", Large: true}}}
	sums := cached(func(d *document) neardup.Fingerprint64 {
		title, text, _ := strings.Cut(d.text, "\n")
		if text == "" {
			return f.Sum64(neardup.Record{"text": title})
		}
		return f.Sum64(neardup.Record{"title": title, "text": text})
	})
	return system{name: "Li 2015, CityHash64", least: 1 - 3./64, loose: 1 - 20./64, bits: 64, find: func(pool []*document, least float64) []neardup.Pair[int] {
		return within(sums(pool), distance(least, 64))
	}}
}

// fourWays returns four ways to edit a fraction of the words.
func fourWays(rate float64) [][]variant.Edit {
	var ways [][]variant.Edit
	for _, k := range []variant.Kind{variant.DeleteWords, variant.InsertWords, variant.SubstituteWords, variant.SwapWords} {
		ways = append(ways, []variant.Edit{{Kind: k, Rate: rate}})
	}
	return ways
}

// e004 is the experiment of Zhang 2020.
func e004(l *lab) error {
	l.text("Zhang 2020 weighs words by TF-IDF × part of speech (3 for nouns, 2 for verbs, 1 else) × (1 + relative length) × 5 for marker words × 5 for words of the title, and " +
		"compares it with SimHash by term frequency and with sampled shingles: five topics of 500 similar documents among 10,000 others. Published: " +
		"**precision 0.953, recall 0.940**, stable over the topics, and the shortest time. The texts, the constants for parts of speech and the formula that puts the factors together are lost; ours are those named here.")
	l.text("Here: %s; %d of %d articles were taken out because they have much of the text of another (a fifth of the runs of four characters of both, or half of one's), so that what is "+
		"planted is all there is to be found. From each topic the first %d are taken with four variants each, in which words are deleted, inserted, replaced or swapped, and put among all other articles, %d. A document "+
		"is detected if it is said to be like another one, and rightly so if one of those is of its own group: precision and recall count documents, as in the papers.",
		l.data.source, l.data.removed, len(l.data.raw), l.size(100), len(l.data.articles)-l.size(100))
	l.note("E004 others", fmt.Sprintf("%d others: fewer to be mistaken about, so a higher precision", len(l.data.articles)-l.size(100)))
	l.step("systems")
	f := neardup.Fingerprinter{Tokenizer: l.data.terms}
	frequencies := statistics(f, l.data.articles)
	kept := tune(l.data.terms, frequencies, l.data.pool(l.size(50), fourWays(0.02), l.data.topics[0]))
	systems := l.systems(frequencies, kept)
	l.text("Words are those of the segmenter of gse without stop words, but with the markers, each with the one part of speech that its dictionary has; hashes xxh3, but CityHash64 for Li 2015, whose small field is the first line; 64 bits, H ≤ 3. I-Match keeps the terms with an idf of %s of the largest, which is the best for the first topic with 2 %% of the words edited; shingles are of four characters, those whose hash is 0 mod 25, with a "+
		"resemblance of at least 0.5; DSC-SS takes texts for alike that share a run of %d of these shingles, sorted by their hashes, the best for the first topic again. `neardup, default` is `dedup.New` with a probability of one half: nothing is set. Its decision function was fitted to other collections, among them planted copies in which 0.5 to 20 %% of the words or characters are replaced, so it knows edits of this kind; `zh-topics` is not among them. Document frequencies of the papers' weights and of I-Match are those of all articles without variants, or of the revised articles; the library needs none.", kept.window, kept.size)
	l.text("What is taken out is told by runs of characters, which the library's default and the shingles compare, too. So hardly anything is left that these could take for alike by mistake, and their precision is near 100 %% by construction; what other methods take wrongly is in part on the same event. The papers had more to be mistaken about: 10,000 others (Zhang 2020), 5,000 (Wang 2019, Li 2015).")
	titled := 0
	for _, a := range l.data.articles {
		if first, rest, _ := strings.Cut(strings.TrimSpace(a.text), "\n"); rest != "" && len([]rune(first)) <= 40 {
			titled++
		}
	}
	l.text("The title is the first line. Of %.0f %% of these articles that is a line of up to 40 characters; of the others it is their first paragraph, since they have none, and so the factor for the title does not have the conditions of Zhang 2020 here.", percent(titled, len(l.data.articles)))
	if err := l.byTopic(systems); err != nil {
		return err
	}
	l.natural(systems)
	if err := l.byKind(systems); err != nil {
		return err
	}
	if err := l.ablation(); err != nil {
		return err
	}
	if err := l.segmenters(); err != nil {
		return err
	}
	if err := l.revisions(l.systems(statistics(f, l.data.revised), kept)); err != nil {
		return err
	}
	return l.timesOf(systems)
}

func names(systems []system) (all []string) {
	for _, s := range systems {
		all = append(all, s.name)
	}
	return all
}

// byTopic measures every topic, with several fractions of the words edited.
func (l *lab) byTopic(systems []system) error {
	rates := []float64{0.01, 0.02, 0.05, 0.10}
	scores := make([][][]score, len(rates)) // by rate, topic and system
	for r, rate := range rates {
		for t, topic := range l.data.topics {
			l.step("words edited %g %%, topic %d of %d, %s", 100*rate, t+1, len(l.data.topics), topic)
			pool := l.data.pool(l.size(100), fourWays(rate), topic)
			var row []score
			for _, s := range systems {
				row = append(row, judge(pool, s.find(pool, s.least)).at(s.least))
			}
			scores[r] = append(scores[r], row)
		}
	}
	l.section(3, "By topic, 5 %% of the words edited")
	l.text("Precision / recall / F1 in percent. Published by Zhang 2020 on its own data: 95.3 / 94.0.")
	var rows [][]string
	for t, topic := range l.data.topics {
		row := []string{topic}
		for _, s := range scores[2][t] {
			row = append(row, s.String())
		}
		rows = append(rows, row)
	}
	l.table(append([]string{"topic "}, names(systems)...), rows)
	recalls, precisions := make([][]float64, len(systems)), make([][]float64, len(systems))
	for _, row := range scores[2] {
		for i, s := range row {
			recalls[i], precisions[i] = append(recalls[i], s.recall()), append(precisions[i], s.precision())
		}
	}
	zhang, shingle, own := position(systems, "Zhang 2020"), position(systems, "Shingle, 1 in 25"), len(systems)-1
	for r, rate := range rates[1:3] {
		sums := make([]score, len(systems))
		for _, row := range scores[r+1] {
			for i, s := range row {
				sums[i] = sums[i].add(s)
			}
		}
		l.headline(fmt.Sprintf("E004: precision / recall / F1, %g %% of the words edited", 100*rate), "95.3 / 94.0 (F1 is ours: 94.6); which edits is not said", sums[zhang].String(), sums[own].String())
	}
	l.remark("Zhang 2020 finds its weights better than plain counts of terms. On edited articles they are not, up to 5 %% of the words: see the table by share of the words edited. On texts that people revised they are, at H ≤ 3; at the best radius of each, plain counts are again ahead on edited articles, and all factors together are the last of all weights.")
	l.text("Zhang 2020 finds the recall of sampled shingles low and unstable, and its own stable. Here that of shingles is %.1f to %.1f %%: they are compared by a resemblance of 0.5, of which the sample is an estimate. That of its own method is %.1f to %.1f %%.", 100*slices.Min(recalls[shingle]), 100*slices.Max(recalls[shingle]), 100*slices.Min(recalls[zhang]), 100*slices.Max(recalls[zhang]))
	if err := l.topicFigure("e004-precision", "Precision by topic, 5 % of the words edited", "precision, share of what is detected", "As figure 1 of Zhang 2020. The dashed line is what it published, about 0.953; its figure is lost.", systems, precisions, 0.953); err != nil {
		return err
	}
	atLeast := func(x float64) string {
		if x > 0.9995 {
			return "100 %"
		}
		return fmt.Sprintf("%.1f %% or more", 100*x)
	}
	caption := fmt.Sprintf("As figure 2 of Zhang 2020. The dashed line is what it published, about 0.94. The default of the library has a recall of %s in every topic, and a precision of %s.", atLeast(slices.Min(recalls[own])), atLeast(slices.Min(precisions[own])))
	if err := l.topicFigure("e004-topics", "Recall by topic, 5 % of the words edited", "recall, share of the documents", caption, systems, recalls, 0.94); err != nil {
		return err
	}
	return l.byRate(systems, rates, scores)
}

// byRate shows the scores by the share of the words edited, of all topics.
func (l *lab) byRate(systems []system, rates []float64, scores [][][]score) error {
	l.section(3, "By share of the words edited")
	var rows [][]string
	p := newFigure("Recall by the share of the words edited, all topics", "words edited, %", "recall, share of the documents")
	p.Y.Min, p.Y.Max, p.X.Min = 0, 1, 0
	for i, s := range systems {
		row := []string{s.name}
		var x, y []float64
		for r, rate := range rates {
			sum := score{}
			for t := range l.data.topics {
				sum = sum.add(scores[r][t][i])
			}
			row = append(row, sum.String())
			x, y = append(x, 100*rate), append(y, sum.recall())
		}
		rows = append(rows, row)
		p.Line(s.name, i, x, y)
	}
	p.Dashed("Zhang 2020, published", []float64{0, 100 * rates[len(rates)-1]}, []float64{0.94, 0.94})
	zhangs := rows[position(systems, "Zhang 2020")]
	l.note("E004 rates", fmt.Sprintf("precision / recall / F1 %s at 2 %%, %s at 5 %%", zhangs[2], zhangs[3]))
	without := rows[position(systems, "Zhang 2020, no title")]
	l.note("E004 title", fmt.Sprintf("at 5 %% %s with the factor for the title, %s without", zhangs[3], without[3]))
	heads := []string{"P / R / F1, all topics "}
	for _, rate := range rates {
		heads = append(heads, fmt.Sprintf("%g %%", 100*rate))
	}
	l.table(heads, rows)
	return l.figure("e004-rates", "The papers' radius of 3 bits is made for copies with next to no edits. Zhang 2020 does not say how much its similar documents differ.", p)
}

// natural puts the articles that share much text back in, and measures what the systems find.
func (l *lab) natural(systems []system) {
	l.section(3, "What is alike without being planted")
	l.step("articles that are alike by nature")
	f := neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 4}}
	sets := make([]neardup.Set, len(l.data.raw))
	each(len(sets), func(i int) { sets[i] = f.Set(neardup.Text(l.data.raw[i].text)) })
	var rows [][]string
	for _, s := range systems {
		pairs := s.find(l.data.raw, s.least)
		documents, alike := map[int]bool{}, 0
		for _, p := range pairs {
			documents[p.A], documents[p.B] = true, true
			a, b := sets[p.A], sets[p.B]
			if a.Jaccard(b) >= 0.2 || max(a.Containment(b), b.Containment(a)) >= 0.5 {
				alike++
			}
		}
		rows = append(rows, []string{s.name, fmt.Sprint(len(pairs)), fmt.Sprint(len(documents)), fmt.Sprintf("%.1f", percent(alike, len(pairs)))})
	}
	l.table([]string{"system ", "pairs", "documents", "that share much text, %"}, rows)
	l.text("All %d articles, those included that were taken out. Had they stayed in, these would have been counted as mistakes. To share much is here again a fifth of the runs of four characters of both, or half of one's.", len(l.data.raw))
	l.text("This is the rule by which they were taken out, so it says that little else is found, and not that these are copies.")
}

// byKind measures every kind of edit, at several rates.
func (l *lab) byKind(systems []system) error {
	l.section(3, "By kind of edit")
	of := max(l.size(300)/len(l.data.topics), 1)
	l.text("The first %d articles of each topic, with one variant each, among all others. The rates are shares of the words, characters, sentences, different names, numbers and so on; boilerplate and advertisements have this share of the length of the text, in whole lines. Articles without any number, say, have no variant: the second column says how many have one. First recall, then F1, in percent at the four rates.", of)
	light, heavy, whole := []float64{0.01, 0.02, 0.05, 0.10}, []float64{0.05, 0.10, 0.20, 0.50}, []float64{0.10, 0.25, 0.50, 1}
	var recall, f1 [][]string
	total := make([]score, len(systems))
	for k := range variant.Kinds {
		rates := whole
		switch {
		case k <= variant.SwapCharacters:
			rates = light
		case k <= variant.AddAdvertisements:
			rates = heavy
		}
		r, f := make([][]string, len(systems)), make([][]string, len(systems))
		most := 0
		for _, rate := range rates {
			l.step("%s %g %%", k, 100*rate)
			pool := l.data.pool(of, [][]variant.Edit{{{Kind: k, Rate: rate}}}, l.data.topics...)
			for i, s := range systems {
				got := judge(pool, s.find(pool, s.least)).at(s.least)
				r[i] = append(r[i], fmt.Sprintf("%.0f", 100*got.recall()))
				f[i] = append(f[i], fmt.Sprintf("%.0f", 100*got.f1()))
				total[i] = total[i].add(got)
				most = max(most, got.known/2)
			}
		}
		row := []string{strings.ReplaceAll(k.String(), "-", " "), fmt.Sprint(most), strings.Join(percents(rates), " ")}
		recall, f1 = append(recall, slices.Clone(row)), append(f1, slices.Clone(row))
		for i := range systems {
			recall[k] = append(recall[k], strings.Join(r[i], " "))
			f1[k] = append(f1[k], strings.Join(f[i], " "))
		}
	}
	all := []string{"**all: P / R / F1**", "", ""}
	for _, s := range total {
		all = append(all, "**"+s.String()+"**")
	}
	l.headline("E004: precision / recall / F1, all kinds of edits", "–", total[2].String()+"; plain SimHash "+total[0].String(), total[len(total)-1].String())
	heads := append([]string{"recall, by edit ", "variants", "rates, % "}, names(systems)...)
	l.table(heads, append(recall, all))
	heads[0] = "F1, by edit "
	l.table(heads, f1)
	l.remark("Bags of words do not see in which order they stand: sentences in another order cost SimHash by term frequency nothing, but they move the first line, which weighs more in Li 2015 and Zhang 2020. A character that is edited costs more than a word that is, because it breaks a word and there are more of them.")
	l.text("Full width costs nothing where texts are folded, which the tokenizers of the library do for all methods here; the papers do not say so.")
	return nil
}

func percents(rates []float64) (all []string) {
	for _, r := range rates {
		all = append(all, fmt.Sprintf("%g", math.Round(1000*r)/10))
	}
	return all
}

// ablation adds the factors of the weights one by one.
func (l *lab) ablation() error {
	l.section(3, "What each factor does")
	pools := [2][]*document{l.data.pool(l.size(30), fourWays(0.05), l.data.topics...), l.data.revised}
	f := neardup.Fingerprinter{Tokenizer: l.data.terms}
	weights := [2][]named{factors(statistics(f, l.data.articles)), factors(statistics(f, l.data.revised))}
	var rows [][]string
	var curves []verdict
	lowest, highest := 1., 0. // of the best F1 of each weight
	for i, w := range weights[0] {
		l.step("ablation: %s", w.name)
		row := []string{w.name}
		for n, p := range pools {
			g := f
			g.Weight = weights[n][i].Weight
			s := simHash(w.name, g)
			v := judge(p, s.find(p, s.loose))
			at := v.at(s.least)
			least, best := v.best()
			row = append(row, at.String(), s.setting(least), fmt.Sprintf("%.1f", 100*best.f1()))
			if n == 0 {
				curves = append(curves, v)
				lowest, highest = min(lowest, best.f1()), max(highest, best.f1())
			}
		}
		rows = append(rows, row)
	}
	compared := func(a, b string) string {
		at := func(name string) []string {
			return rows[slices.IndexFunc(rows, func(r []string) bool { return r[0] == name })]
		}
		return fmt.Sprintf("%s instead of %s on edited articles", at(b)[1], at(a)[1])
	}
	l.note("E004 nl", "nl alone: "+compared("TF-IDF × (1 + relative length)", "TF-IDF × relative length, the bare nl"))
	l.note("E004 sum", "as a sum: "+compared("all factors (Zhang 2020)", "TF-IDF × (sum of the factors)"))
	l.table([]string{"weight ", "edited: P / R / F1", "best H", "F1", "revised: P / R / F1", "best H", "F1"}, rows)
	l.text("Edited: the first %d articles of every topic with four variants each, 5 %% of the words edited, among all others. Revised: %s. First at the papers' radius of 3, then at the radius that is best for this very collection, which nobody knows beforehand.", l.size(30), l.data.revision)
	l.remark("The factor for the title lets fingerprints depend on few words: edits elsewhere then change little, which raises recall at H ≤ 3, and texts that share those words get close, which costs precision. A wider radius does more than any factor; at the best radius only the logarithm of the counts is better than plain counts on edited articles.")
	p := newFigure("F1 by the radius, 5 % of the words edited", "largest Hamming distance, bits of 64", "F1 of the documents")
	p.Y.Min, p.Y.Max = 0, 1
	for n, i := range []int{0, 1, 7, 11, 12} {
		var x, y []float64
		for h := range 21 {
			x, y = append(x, float64(h)), append(y, curves[i].at(1-float64(h)/64).f1())
		}
		p.Line(weights[0][i].name, n, x, y)
	}
	return l.figure("e004-radius", fmt.Sprintf("The papers' radius is 3. At the best radius of each, F1 is %.1f to %.1f %%.", 100*lowest, 100*highest), p)
}

// A named is a weight with a name.
type named struct {
	name string
	neardup.Weight
}

// factors returns the weights of the papers, with one factor after the other.
func factors(s *neardup.DocumentFrequencies) []named {
	idf := neardup.IDF{Frequencies: s}
	return []named{
		{"TF (as june 2013 has it, with xxh3)", tf},
		{"TF-IDF", neardup.Product{tf, idf}},
		{"TF-IDF × part of speech", neardup.Product{tf, idf, pos}},
		{"TF-IDF × (1 + relative length)", neardup.Product{tf, idf, relative}},
		{"TF-IDF × relative length, the bare nl", neardup.Product{tf, idf, papers.RelativeLength{}}},
		{"TF-IDF × markers", neardup.Product{tf, idf, markers()}},
		{"TF-IDF × title", neardup.Product{tf, idf, title}},
		{"all factors (Zhang 2020)", neardup.Product{tf, idf, pos, relative, markers(), title}},
		{"all factors but the title", neardup.Product{tf, idf, pos, relative, markers()}},
		{"TF-IDF × (sum of the factors)", neardup.Product{tf, idf, papers.Sum{pos, papers.RelativeLength{}, markers(), title}}},
		{"TF × (1 + length)", neardup.Product{tf, byLength}},
		{"TF-IDF × (1 + length) (Wang 2019)", neardup.Product{tf, idf, byLength}},
		{"(1 + ln TF) × IDF", neardup.Product{neardup.LogCount, idf}},
	}
}

// revisions compares the systems on texts that people revised.
func (l *lab) revisions(systems []system) error {
	l.section(3, "What people edit")
	l.text("On %s: %d documents.", l.data.revision, len(l.data.revised))
	var rows [][]string
	for _, s := range systems {
		l.step("revisions: %s", s.name)
		v := judge(l.data.revised, s.find(l.data.revised, s.loose))
		at := v.at(s.least)
		least, best := v.best()
		rows = append(rows, append(append([]string{s.name, s.setting(s.least)}, cells("%.1f", 100*at.precision(), 100*at.recall(), 100*at.f1())...), s.setting(least), fmt.Sprintf("%.1f", 100*best.f1()), pairScore(l.data.revised, s.find(l.data.revised, s.least))))
	}
	own := len(rows) - 1
	of := func(i int) string {
		return rows[i][2] + " / " + rows[i][3] + " / " + rows[i][4] + "; by pairs " + rows[i][len(rows[i])-1]
	}
	l.headline("E004: the same, texts that people have edited (the default's function was fitted to them, too)", "–", of(2), of(own))
	l.table([]string{"system ", "setting", "precision, %", "recall, %", "F1, %", "best setting", "F1, %", "by pairs: P / R / F1"}, rows)
	l.text("By documents, as in the papers, and by pairs, as in the README. Nearly every document here has a partner, so a wrong pair lowers the precision by documents only if the document is in no right pair. The best setting is chosen on this collection, so it is a bound.")
	l.remark("`zh-revisions` is one of the collections to which the default's function was fitted. The README has its F1 by pairs if it is fitted to all others.")
	return nil
}

// timesOf measures the time for collections of different sizes.
func (l *lab) timesOf(systems []system) error {
	l.section(3, "Time")
	all := slices.Clone(l.data.articles)
	r := planted.Stream(6)
	for i := range all { // the topics differ in length
		j := i + int(r.Next()%uint64(len(all)-i))
		all[i], all[j] = all[j], all[i]
	}
	p := newFigure("Time from the texts to the pairs", "articles", "seconds")
	p.Log()
	var sizes []int
	for _, part := range []int{16, 8, 4, 2, 1} {
		sizes = append(sizes, len(all)/part)
	}
	var rows [][]string
	longest := make([]float64, len(systems))
	for i := range systems {
		var x, y []float64
		row := []string{systems[i].name}
		for _, n := range sizes {
			l.step("time: %s, %d articles", systems[i].name, n)
			took := math.Inf(1) // the best of three
			for range 3 {
				pool := make([]*document, n) // new documents, so that nothing is cached
				for k, d := range all[:n] {
					pool[k] = &document{text: d.text}
				}
				start := time.Now()
				systems[i].find(pool, systems[i].least)
				took = min(took, time.Since(start).Seconds())
			}
			x, y = append(x, float64(n)), append(y, took)
			row = append(row, fmt.Sprintf("%.3f", took))
			longest[i] = took
		}
		p.Line(systems[i].name, i, x, y)
		rows = append(rows, row)
	}
	heads := []string{"seconds, articles: "}
	for _, n := range sizes {
		heads = append(heads, fmt.Sprint(n))
	}
	l.table(heads, rows)
	l.text("From the texts to the pairs, on all processors, the best of three, document frequencies of the papers' weights counted before. Zhang 2020 finds its method the fastest, with a time that hardly grows with the number of files. Here it takes %.2f times as long as plain SimHash, since it does more for each word, and %.1f times as long as the shingles that the paper compares it with; the time of every method grows with the number of texts. The default of the library does not segment; it takes %.2f times as long as plain SimHash.",
		longest[2]/longest[0], longest[2]/longest[position(systems, "Shingle, 1 in 25")], longest[len(longest)-1]/longest[0])
	l.headline("E004: time", "the fastest, hardly grows with the number", fmt.Sprintf("%.2f times plain SimHash, %.1f times the shingles; grows", longest[2]/longest[0], longest[2]/longest[position(systems, "Shingle, 1 in 25")]), fmt.Sprintf("%.2f times plain SimHash, which segments as the library here does not", longest[len(longest)-1]/longest[0]))
	return l.figure("e004-time", "Both axes are logarithmic.", p)
}
