package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/buckets"
	"github.com/neardup/neardup/lab/hashes"
	"github.com/neardup/neardup/lab/planted"
	"github.com/neardup/neardup/lab/program2013"
)

// This file is the experiment of june 2013: the program, the bits that its hash never sets,
// messages of city names, and the candidates of the index. The part about short texts is in
// short.go.

// e001 is the experiment of june 2013.
func e001(l *lab) error {
	l.section(3, "The program")
	var b strings.Builder
	if err := program2013.Print(&b, true); err != nil {
		return err
	}
	same := "the same, byte for byte"
	if printed := b.String(); printed != program2013.Listing {
		same = "another one"
	}
	l.text("The Java program of 2013, statement by statement, prints this. The listing of june 2013, compiled after one damaged line was mended, prints `program2013/listing.txt`: %s.", same)
	l.code(b.String())
	l.headline("E001: output of the program", fmt.Sprintf("the listing, compiled: %d bytes", len(program2013.Listing)), same, "")
	var first, third [2]*program2013.SimHash // with both rules
	for i, tie := range []bool{true, false} {
		first[i], third[i] = program2013.New(program2013.Texts[0], 64, tie), program2013.New(program2013.Texts[2], 64, tie)
	}
	l.text("A sum of 0 gives 1 in the program, and 0 in its comment and in the text around it. Of the third string %d of 64 sums are 0, so by the text its distance from the first is %d, not %d. `subByDistance` reads the bits of the one and goes as far as the highest bit of the other, so with leading zeros it forgets blocks, and the index would miss neighbours.",
		third[0].HammingDistance(third[1]), first[1].HammingDistance(third[1]), first[0].HammingDistance(third[0]))
	l.note("E001 tie", fmt.Sprintf("H of the first and third string %d or %d", first[0].HammingDistance(third[0]), first[1].HammingDistance(third[1])))
	l.deadBits()
	if err := l.cities(); err != nil {
		return err
	}
	l.candidates()
	return l.shortTexts()
}

// deadBits shows which bits of the hashes never change for short words.
func (l *lab) deadBits() {
	l.section(3, "Bits that short words leave dead")
	l.text("Of the hash of the program, and of BKDR in 64 bits, words must be long to reach the upper bits. Here are the bits that are the same for all of %d words of a length, which no fingerprint of such words can differ in: 0 is good.", l.size(20_000))
	families := []struct {
		name string
		neardup.Hash
		bits int
	}{
		{"s001, 64 bits", neardup.Hash{Sum64: hashes.S001().Sum64}, 64}, {"s001, 128 bits", hashes.S001(), 128}, {"BKDR, 31 bits, seed 131", hashes.BKDR32(131), 31},
		{"BKDR 64, seed 131", hashes.BKDR64(131), 64}, {"BKDR 64, seed 13131", hashes.BKDR64(13131), 64}, {"BKDR 64 mixed", hashes.Mix(hashes.BKDR64(131)), 64},
		{"AP, 31 bits", hashes.AP(), 31}, {"DJB, 31 bits", hashes.DJB(), 31}, {"JS, 31 bits", hashes.JS(), 31}, {"RS, 31 bits", hashes.RS(), 31},
		{"CityHash64", hashes.CityHash64(), 64}, {"Murmur3, 128 bits", hashes.Murmur3(), 128},
	}
	var rows [][]string
	for _, f := range families {
		row := []string{f.name}
		for _, c := range []struct{ first, count, length int }{{0x4E00, 20_992, 1}, {0x4E00, 20_992, 2}, {0x4E00, 20_992, 3}, {0x4E00, 20_992, 5}, {'a', 26, 2}, {'a', 26, 4}, {'a', 26, 8}} {
			s := planted.Stream(c.length)
			var words []string
			for range l.size(20_000) {
				word := make([]rune, c.length)
				for i := range word {
					word[i] = rune(c.first + int(s.Next()%uint64(c.count)))
				}
				words = append(words, string(word))
			}
			dead := hashes.DeadBits(words, f.Hash)
			row = append(row, fmt.Sprint(dead.Truncate(f.bits).Distance(neardup.Fingerprint128{})))
		}
		rows = append(rows, row)
	}
	l.table([]string{"dead bits ", "1 Chinese character", "2", "3", "5", "2 letters", "4", "8"}, rows)
	l.text("AP, DJB, JS and RS are the others that Li 2015 names. They have 31 bits like the classic BKDR, so half of a fingerprint of 64 bits would be the same for all texts.")
	l.text("So of the 128 bits of Wang 2016 about half can differ for Chinese words of two characters: what 128 bits add to 50 is some dozen, not 78. In 64 bits one bit is dead for such words, and a third for single characters. E002 shows on sentences how this fills buckets.")
}

// cityNames has the words of the study in june 2013.
var cityNames = strings.Split("北京,上海,香港,深圳,广州,台北,南京,大连,苏州,青岛,无锡,佛山,重庆,宁波,杭州,成都,武汉,澳门,天津,沈阳", ",")

// cities measures the distance of messages by their similarity.
func (l *lab) cities() error {
	l.section(3, "Twenty cities")
	l.step("cities")
	families := []struct {
		name string
		sum  func(string) uint64
	}{{"s001", hashes.S001().Sum64}, {"xxh3", neardup.HashFeature}}
	fingerprint := func(words []string, f int, tie bool) neardup.Fingerprint64 { // f is an index of families
		a := neardup.Accumulator64{}
		for _, w := range words {
			a.Add(families[f].sum(w), 1)
		}
		if tie {
			return a.SumTiesOne()
		}
		return a.Sum()
	}
	l.text("Messages of city names, from the study that june 2013 reprints. It says that H = 13 where the similarity is 0.667, about 7 at 0.8, and 4 at 0.9412, so that 3 bits are too strict for short texts; its messages are lost. All twenty names against the first ones only, with `s001`:")
	code := func(f int, tie bool) func([]string) neardup.Fingerprint64 {
		return func(words []string) neardup.Fingerprint64 { return fingerprint(words, f, tie) }
	}
	l.firstCities(code(0, true), code(0, false))
	l.cityMatrix(code(0, true), code(0, false), code(1, false))

	s := planted.Stream(7)
	draw := func(n int) []string { // draws n names, in random order
		words := append([]string{}, cityNames...)
		for i := range n {
			j := i + int(s.Next()%uint64(20-i))
			words[i], words[j] = words[j], words[i]
		}
		return words[:n]
	}
	const draws = 2000
	// mean returns the mean distance of messages with a and b names, common of them in both.
	mean := func(f, a, b, common int) float64 {
		sum := 0
		for range draws {
			words := draw(a + b - common)
			sum += fingerprint(words[:a], f, true).Distance(fingerprint(words[a-common:], f, true))
		}
		return float64(sum) / draws
	}
	var rows [][]string
	p := newFigure("Messages of city names", "Jaccard similarity", "mean Hamming distance, bits of 64")
	var x, s001, xxh3, theory []float64
	published := map[[3]int]string{{17, 16, 16}: "4", {10, 8, 8}: "about 7", {12, 8, 8}: "13"}
	for _, m := range [][3]int{{10, 10, 0}, {12, 12, 4}, {10, 10, 4}, {10, 10, 5}, {3, 2, 2}, {6, 4, 4}, {9, 6, 6}, {12, 8, 8}, {5, 4, 4}, {10, 8, 8}, {15, 12, 12}, {18, 18, 16}, {10, 10, 9}, {20, 18, 18}, {17, 16, 16}, {20, 19, 19}} {
		a, b, common := m[0], m[1], m[2]
		j := float64(common) / float64(a+b-common)
		cosine := float64(common) / math.Sqrt(float64(a*b))
		dice := 2 * float64(common) / float64(a+b)
		expected := 64 * math.Acos(cosine) / math.Pi
		one, other := mean(0, a, b, common), mean(1, a, b, common)
		x, s001, xxh3, theory = append(x, j), append(s001, one), append(xxh3, other), append(theory, expected)
		was := published[m]
		if was == "" {
			was = "–"
		}
		rows = append(rows, append([]string{fmt.Sprintf("%d and %d, %d common", a, b, common)}, append(append(cells("%.3f", j, dice, cosine), cells("%.1f", expected, one, other)...), was)...))
	}
	l.table([]string{"names ", "Jaccard", "Dice", "cosine", "64·θ/π", "mean H, s001", "mean H, xxh3", "june 2013"}, rows)
	p.Dashed("64·θ/π", x, theory)
	p.Line("s001", 1, x, s001)
	p.Line("xxh3", 0, x, xxh3)
	p.Points("june 2013, published", 6, []float64{0.667, 0.8, 0.9412}, []float64{13, 7, 4})
	p.Y.Min = 0
	l.text("%d draws each, 0 → 1. Sets without a common name are at %.1f bits with `s001` and at %.1f with xxh3, not at 32: the hashes of twenty words are one draw, and of `s001` the upper bits of two characters are alike besides. At the end the means do not fall any more, since one of two messages that differ by a name has an even number of them, so that some sums are 0 and all of these bits 1. "+
		"Of the messages of 17 and 16 names that share 16, %.0f %% are farther apart than 3 bits. The mean depends on the number of names, too, so one published distance fits several readings.", draws, s001[0], xxh3[0], far(draw, func(words []string) neardup.Fingerprint64 { return fingerprint(words, 0, true) }))
	at := func(j float64) (means []float64) {
		for i := range x {
			if math.Abs(x[i]-j) < 1e-9 {
				means = append(means, s001[i])
			}
		}
		return means
	}
	high, middle, low := at(16./17), at(4./5), at(2./3)
	found := fmt.Sprintf("%.1f; %.0f to %.0f; %.0f to %.0f", high[0], slices.Min(middle), slices.Max(middle), slices.Min(low), slices.Max(low))
	l.note("E001 cities", "H at the three similarities on average "+found+", by the number of names; published 4, about 7, 13")
	l.headline("E001: H at a similarity of 0.941, 0.8, 0.667", "4, about 7, 13", found+" on average, by the number of names", "")
	return l.figure("e001-cities", "Mean distance by similarity. The three values of june 2013, 13, 7 and 4 bits, fit its similarities best if these are Jaccard: by 64·θ/π sets of equal size would be at 13, 10 and 5 bits. As cosines they would be at 17, 13 and 7.", p)
}

// firstCities compares the message of all cities with those of the first ones only. tiesOne and
// tiesZero make its SimHashes by either rule for a sum of 0.
func (l *lab) firstCities(tiesOne, tiesZero func(words []string) neardup.Fingerprint64) {
	ones, zeros, heads := []string{"H, 0 → 1"}, []string{"H, 0 → 0"}, []string{"left out "}
	for j := 1; j <= 10; j++ {
		heads = append(heads, fmt.Sprintf("%d (J %.2f)", j, 1-float64(j)/20))
		ones = append(ones, fmt.Sprint(tiesOne(cityNames).Distance(tiesOne(cityNames[:20-j]))))
		zeros = append(zeros, fmt.Sprint(tiesZero(cityNames).Distance(tiesZero(cityNames[:20-j]))))
	}
	l.table(heads, [][]string{ones, zeros})
}

// cityMatrix compares messages of city names, each with each. The matrices of the study are lost;
// the messages are chosen so that its three similarities occur. codes are ways to make their SimHashes, of which the first is
// compared.
func (l *lab) cityMatrix(codes ...func([]string) neardup.Fingerprint64) {
	sum := codes[0]
	messages := []struct {
		name  string
		words []string
	}{
		{"1: first 12", cityNames[:12]}, {"2: first 8", cityNames[:8]}, {"3: first 10", cityNames[:10]}, {"4: first 17", cityNames[:17]},
		{"5: first 16", cityNames[:16]}, {"6: last 8", cityNames[12:]}, {"7: all", cityNames},
	}
	heads := []string{"names "}
	var rows [][]string
	for i, m := range messages {
		heads = append(heads, m.name[:1])
		row := []string{m.name}
		for j, other := range messages {
			if j < i {
				row = append(row, "")
				continue
			}
			row = append(row, fmt.Sprintf("%.3f / %d", neardup.SetOf(m.words...).Jaccard(neardup.SetOf(other.words...)), sum(m.words).Distance(sum(other.words))))
		}
		rows = append(rows, row)
	}
	l.text("The study shows matrices of the similarities and of the fingerprints of some messages, as images that are lost. Here are messages in which its three similarities occur: Jaccard / H, with `s001`, 0 → 1.")
	l.table(heads, rows)

	l.text("Their SimHash codes, in hexadecimal, the highest bit first.")
	rows = nil
	for _, m := range messages {
		row := []string{m.name}
		for _, sum := range codes {
			row = append(row, "`"+sum(m.words).String()+"`")
		}
		rows = append(rows, row)
	}
	l.table([]string{"names ", "s001, 0 → 1 ", "s001, 0 → 0 ", "xxh3, 0 → 0 "}, rows)
}

// far returns the percentage of messages of 17 names that differ in more than 3 bits from the
// message with one name less.
func far(draw func(int) []string, fingerprint func([]string) neardup.Fingerprint64) float64 {
	n, draws := 0, 2000
	for range draws {
		words := draw(17)
		if fingerprint(words).Distance(fingerprint(words[:16])) > 3 {
			n++
		}
	}
	return percent(n, draws)
}

// candidates counts how many fingerprints a search of the index compares.
func (l *lab) candidates() {
	l.section(3, "Candidates of the index")
	l.step("candidates")
	var rows [][]string
	for _, n := range []int{l.size(10_000), l.size(100_000), l.size(1_000_000)} {
		s := planted.Stream(n)
		ix := buckets.Index{}
		for range n {
			ix.Add(neardup.Fingerprint64(s.Next()))
		}
		met, searches := 0, 1000
		for range searches {
			met += ix.Search(neardup.Fingerprint64(s.Next()), func(int, int) bool { return true }).Met
		}
		rows = append(rows, []string{fmt.Sprint(n), fmt.Sprintf("%.2f", float64(met)/float64(searches)), fmt.Sprintf("%.2f", 4*float64(n)/65536), fmt.Sprintf("%.0f", float64(n))})
	}
	l.table([]string{"uniform fingerprints", "compared by a search", "4·N/65536", "without an index"}, rows)
	l.text("june 2013 speaks of 2³⁴ fingerprints as \"about 1 billion\", and Wang 2019 of 2³³ as \"nearly 1 billion\"; they are 17.2 and 8.6 billion. The 4 · 262,144 comparisons of june 2013 for 2³⁴ are right.")
}
