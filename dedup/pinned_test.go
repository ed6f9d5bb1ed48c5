package dedup

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/race"
)

// TestPinned holds every answer about five small collections to the last bit: a change that is meant to leave answers as
// they are does. If yours is meant to change them, measure what it does to precision and recall before you write the new
// digests down, and say so in the changelog.
func TestPinned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		texts    []string
		searches int
		digest   [6]string // what pinned returns
	}{
		{"English", englishA.collection(rand.New(rand.NewPCG(1, 2)), 400), 40, [6]string{"b26820af59d9f549", "c635e0a07bc64934", "f5b53f98fc93b491", "2ed7da4bce7132a1", "7fe58c40b549361f", "04c96138bdc14f4c"}},
		{"Chinese", chineseA.collection(rand.New(rand.NewPCG(3, 4)), 400), 40, [6]string{"cf1e2b654f8af882", "d9ee90f4c3a980d7", "7d8b2086451696e8", "884822b2776f3deb", "46e8d98433a2bc1c", "6da1b7056b6c1101"}},
		{"pages", pages(t), 20, [6]string{"aff63644dc140848", "10f58a7e202c1238", "c97a24865385b661", "f3fa339baff606da", "a74f77eacd1c3bc2", "0f57a5134ce53b9c"}},
		{"short texts", shortTexts(), 100, [6]string{"80b419eb97e8533b", "dd64f2937c8f84c6", "3a954078d7bdb7f6", "afa410983229489a", "a06b2da27f0ace54", "d7d352f43978280d"}},
		{"a template", template(270), 8, [6]string{"0e9e7d225e2b6624", "bd190383bc0b18da", "2f2f0453af266657", "68d61724f9bfdba3", "373d86aba11d9757", "f5cbb5d72e4550a4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if race.Enabled && c.searches < 50 {
				t.Skip("too slow with the race detector")
			}
			d := of(t, Options{}, named("d", c.texts))
			for i, got := range pinned(d, c.texts, c.searches) {
				if got != c.digest[i] {
					t.Errorf("%s: the digest is %s, not %s", []string{"facts", "comparisons", "searches", "explanations", "thresholds", "groups of new ones"}[i], got, c.digest[i])
				}
			}
		})
	}
}

// pinned returns digests of all that a Deduplicator of texts says, also about some texts that it searches for.
func pinned(d *Deduplicator[string], texts []string, searches int) (digests []string) {
	digest := func(lines ...string) {
		digests = append(digests, fmt.Sprintf("%016x", xxh3.HashString(strings.Join(lines, "\n"))))
	}
	digest(everything(d)...)
	var compared, searched, explained, thresholds, groups []string
	for c := range d.Comparisons(bg) {
		compared = append(compared, fmt.Sprintf("%s %s %x %x %v %x", c.A, c.B, c.Similarity, c.Probability, c.IsTemplate, values(c.Evidence)))
	}
	slices.Sort(compared)
	digest(compared...)
	rnd := rand.New(rand.NewPCG(5, 6))
	for range searches {
		text := texts[rnd.IntN(len(texts))]
		words := strings.SplitAfter(text, " ")
		from := rnd.IntN(len(words))
		text = strings.Join(slices.Delete(words, from, min(len(words), from+2)), "")
		for m, err := range d.Search(bg, neardup.Text(text)) {
			searched = append(searched, fmt.Sprintf("%s %x %x %v %v", m.ID, m.Similarity, m.Probability, m.Kind, err))
		}
		top, err := d.SearchTop(bg, neardup.Text(text), 2)
		searched = append(searched, fmt.Sprint(top, err))
	}
	digest(searched...)
	id := func() string { return fmt.Sprintf("d%04d", rnd.IntN(len(texts))) }
	for range 60 {
		a := id()
		b := fmt.Sprintf("d%04d", min(len(texts)-1, atoi(a)+1+rnd.IntN(2)))
		if rnd.IntN(6) == 0 {
			b = id()
		}
		e := must(d.Explain(a, b))
		explained = append(explained, fmt.Sprintf("%s %s %x %x %v %v %v %x %x", a, b, e.Similarity, e.Probability, e.Kind, e.Duplicate, e.Compared, values(e.Evidence), e.Features))
	}
	digest(explained...)
	var labels []Label[string]
	for range 40 {
		if a, b := id(), id(); a < b {
			labels = append(labels, Label[string]{a, b, false})
		}
	}
	for p := range d.Pairs(bg) {
		if xxh3.HashString(p.A+p.B)%4 == 0 {
			labels = append(labels, Label[string]{p.A, p.B, p.Probability > 0.7})
		}
	}
	slices.SortFunc(labels, func(a, b Label[string]) int { return strings.Compare(a.A+a.B, b.A+b.B) })
	labels = slices.CompactFunc(labels, func(a, b Label[string]) bool { return a.A+a.B == b.A+b.B })
	targets := []Target{{Complete: true}, {}, {Precision: 0.9}, {Recall: 0.9}}
	if searches < 10 { // of a collection in which much is compared
		targets = targets[:1]
	}
	for _, target := range targets {
		c, err := d.Calibrate(bg, labels, target)
		thresholds = append(thresholds, fmt.Sprintf("%x %x %v %v %v %v\n%v", c.Options.Bias, c.Options.Probability, c.Point, c.Curve, c.Used, c.Ask, err))
	}
	thresholds = append(thresholds, must(d.Estimate(bg)).String())
	digest(thresholds...)
	olds := []int{len(texts) / 4, len(texts) - 10}
	groups = make([]string, len(linkages)*len(olds))
	for k, old := range olds { // the outer loop, because what was compared for one of them is kept for all linkages
		for i, by := range linkages {
			got, err := d.Groups(bg, GroupOptions[string]{Linkage: by, Old: old, Prefer: func(a, b Entry[string]) bool { return a.Length%7 < b.Length%7 }})
			groups[i*len(olds)+k] = fmt.Sprint(by, old, got, err)
		}
	}
	for n := len(texts) - 60; n < len(texts); n += 20 {
		for p := range d.PairsSince(bg, n) {
			groups = append(groups, fmt.Sprintf("%v %x", p, p.Probability))
		}
		groups = append(groups, fmt.Sprint(d.FamiliesSince(bg, n)))
	}
	digest(groups...)
	return digests
}

// values returns what quantities add, without their names.
func values(quantities []Quantity) (all []float64) {
	for _, q := range quantities {
		all = append(all, q.Value, q.Adds)
	}
	return all
}

func atoi(id string) (n int) {
	fmt.Sscanf(id, "d%d", &n)
	return n
}

// pages returns the pages of testdata, long ones cut, and of each third one a copy with other numbers, without a line, or with one more.
func pages(t *testing.T) (texts []string) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, name := range []string{"en", "zh", "more"} {
		file, err := os.ReadFile("../testdata/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(file))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var page struct{ Text string }
			if err := json.Unmarshal(lines.Bytes(), &page); err != nil {
				t.Fatal(err)
			}
			text := strings.ToValidUTF8(page.Text[:min(len(page.Text), 300<<rnd.IntN(5))], "")
			texts = append(texts, text)
			rows := strings.SplitAfter(text, "\n")
			switch at := rnd.IntN(len(rows)); rnd.IntN(9) {
			case 0:
				texts = append(texts, strings.Map(func(r rune) rune {
					if r >= '0' && r < '9' {
						return r + 1
					}
					return r
				}, text))
			case 1:
				texts = append(texts, strings.Join(slices.Delete(rows, at, at+1), ""))
			case 2:
				texts = append(texts, strings.Join(slices.Insert(rows, at, fmt.Sprintf("Last changed on day %d. 修订 %d。\n", rnd.IntN(99), at)), ""))
			}
		}
	}
	return texts
}

// shortTexts returns 300 texts of a line, most of them beside one that differs in a few characters.
func shortTexts() (texts []string) {
	rnd := rand.New(rand.NewPCG(9, 10))
	for len(texts) < 300 {
		l := englishA
		if rnd.IntN(2) == 0 {
			l = chineseA
		}
		text := l.text(rnd, 2+rnd.IntN(14))
		texts = append(texts, text)
		for range rnd.IntN(4) {
			changed := []rune(text)
			for range 1 + rnd.IntN(2) {
				switch i := rnd.IntN(len(changed)); rnd.IntN(4) {
				case 0:
					changed[i] = []rune(l.word(rnd.IntN(99)))[0]
				case 1:
					changed = slices.Delete(changed, i, i+min(1, len(changed)-1))
				case 2:
					changed = slices.Insert(changed, i, []rune(fmt.Sprint(rnd.IntN(9)))...)
				case 3:
					changed = append(changed, '!')
				}
			}
			texts = append(texts, string(changed))
		}
	}
	return texts
}

// template returns n texts, of which one in eight is a letter of a form, one in eight a longer copy of another text, and the others are
// pages of a template.
func template(n int) (texts []string) {
	rnd := rand.New(rand.NewPCG(11, 12))
	frame, letter := englishA.some(rnd, 60), englishA.some(rnd, 60)
	for i := range n {
		switch fill := englishA.text(rnd, 1+rnd.IntN(12)); i % 8 {
		case 0:
			texts = append(texts, englishA.join(letter[:20])+" "+fill+" "+englishA.join(letter[20:])+fmt.Sprintf(" of day 7%d", rnd.IntN(300)))
		case 1:
			texts = append(texts, texts[rnd.IntN(len(texts))]+" "+englishA.text(rnd, 1))
		default:
			texts = append(texts, englishA.join(frame[:30])+" "+fill+" "+englishA.join(frame[30:]))
		}
	}
	return texts
}
