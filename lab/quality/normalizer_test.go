package neardup

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/race"
)

// labelled returns the texts of a set of the data and the pairs of those that are
// versions of one, or skips.
func labelled(t *testing.T, set string) (texts []string, truth map[Pair[int]]bool) {
	number := map[string]int{}
	for dec := json.NewDecoder(data(t, set, "docs.jsonl.gz")); dec.More(); {
		var d struct{ ID, Title, Text string }
		if err := dec.Decode(&d); err != nil {
			t.Fatal(err)
		}
		number[d.ID] = len(texts)
		texts = append(texts, d.Title+"\n"+d.Text)
	}
	return texts, truthOf(t, set, number)
}

// truthOf returns the pairs of a set that belong together, by the numbers of the ids.
func truthOf(t *testing.T, set string, number map[string]int) map[Pair[int]]bool {
	labels, err := os.ReadFile(filepath.Join(os.Getenv("NEARDUP_DATA"), set, "truth.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	// As score.py: a second column that repeats is one of clusters, unless a third one says how similar
	// the two of a pair are.
	var rows [][2]string
	different, scored := map[string]bool{}, false
	for line := range strings.Lines(string(labels)) {
		a, b, _ := strings.Cut(strings.TrimSpace(line), "\t")
		b, _, scored = strings.Cut(b, "\t")
		rows = append(rows, [2]string{a, b})
		different[b] = true
	}
	truth := map[Pair[int]]bool{}
	clusters := map[string][]int{}
	add := func(i, j int) { truth[Pair[int]{A: min(i, j), B: max(i, j)}] = true }
	for _, row := range rows {
		i := number[row[0]]
		if scored || len(rows) == len(different) {
			add(i, number[row[1]])
			continue
		}
		for _, j := range clusters[row[1]] {
			add(i, j)
		}
		clusters[row[1]] = append(clusters[row[1]], i)
	}
	return truth
}

// score fingerprints texts and returns precision and recall by pairs.
func score[F Fingerprint](sum func(Document) F, texts []string, truth map[Pair[int]]bool, k int) (precision, recall float64) {
	fps := make([]F, len(texts))
	for i, text := range texts {
		fps[i] = sum(Text(text))
	}
	found, good := 0, 0
	for p := range Pairs(bg, fps, k) {
		found++
		if p.Distance = 0; truth[p] {
			good++
		}
	}
	return float64(good) / float64(max(found, 1)), float64(good) / float64(max(len(truth), 1))
}

// TestNormalizerQuality prints what each step does to precision and recall on real
// versions, and to the recall of copies that were changed in the way the step is
// for:
//
//	NEARDUP_DATA=… go test . -full -run NormalizerQuality -v
func TestNormalizerQuality(t *testing.T) {
	if race.Enabled || !*full {
		t.Skip("takes long")
	}
	t.Parallel()
	steps := []Normalizer{{}, {Form: NFC}, {Form: Width}, {Form: NFKC}, {Fold: true}, {Space: true}, {HTML: true},
		{URLs: Mask}, {URLs: Remove}, {Emails: Mask}, {Dates: Mask}, {Dates: Remove}, {Numbers: Mask}, {Numbers: Remove},
		{URLs: Remove, Emails: Remove, Dates: Remove, Numbers: Remove}, {URLs: Mask, Emails: Mask, Dates: Mask, Numbers: Mask}, {Boilerplate: &Boilerplate{}}}
	for _, set := range []string{"en-versions", "zh-revisions"} {
		texts, truth := labelled(t, set)
		plain := ""
		for _, n := range steps {
			name := n.version()
			if n.Boilerplate != nil {
				var b BoilerplateBuilder
				for _, text := range texts {
					b.Add(text)
				}
				n.Boilerplate = b.Build(len(texts) / 50)
				name = fmt.Sprintf("boilerplate (%d lines in 2%% of the texts)", n.Boilerplate.Len())
			}
			f := Fingerprinter{Normalizer: n}
			p64, r64 := score(f.Sum64, texts, truth, 3)
			p128, r128 := score(f.Sum128, texts, truth, 12)
			figures := fmt.Sprintf("%.3f %.3f   %.3f %.3f", p64, r64, p128, r128)
			t.Logf("%-12s %-48s %s", set, name, figures)
			if n == (Normalizer{}) {
				plain = figures
			}
			if n == (Normalizer{Fold: n.Fold, Space: n.Space}) && figures != plain {
				t.Errorf("%s changes what the tokenizer sees", name)
			}
		}
	}
}

// TestDisguises prints the recall of copies of real texts that were changed in one
// way, without and with the step that is for it.
func TestDisguises(t *testing.T) {
	t.Parallel()
	var docs []string
	for _, lang := range []string{"en", "zh", "more"} {
		for _, d := range corpus(t, lang) {
			docs = append(docs, d.Text)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	number, url := regexp.MustCompile(`[0-9]+`), regexp.MustCompile(`https?://[^\s)>"]+`)
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	page := func(text string) string {
		return "<!doctype html><title>Page</title><script>var a = 1 < 2;</script><nav><a href='/home?x=1'>Home</a></nav><div class=\"content\"><p>" +
			strings.ReplaceAll(escape(text), "\n", "</p>\n<p style='margin:0'>") + "</p></div>"
	}
	wide := func(text string) string {
		return strings.Map(func(r rune) rune {
			if r > ' ' && r < 0x7F {
				return r + 0xFEE0
			}
			return r
		}, text)
	}
	menu := "Home\nProducts and services\nNews of the day\nContact and imprint\nPrivacy of our visitors\nTerms of use apply\n© 2026 Example Corporation, all rights reserved\n"
	var b BoilerplateBuilder
	for _, d := range docs {
		b.Add(d + "\n" + menu)
	}
	common := b.Build(len(docs) * 9 / 10)
	for _, test := range []struct {
		name   string
		n      Normalizer
		change func(string) string
		least  float64
	}{
		{"upper case", Normalizer{}, strings.ToUpper, 1},
		{"full width", Normalizer{}, wide, 1},
		{"other spaces and punctuation", Normalizer{}, func(s string) string {
			return strings.NewReplacer(" ", "\u00a0 ", "\n", "\r\n", ",", ";", "。", "．\u3000").Replace(s)
		}, 1},
		{"in a page", Normalizer{HTML: true}, page, 0.85},
		{"other addresses", Normalizer{URLs: Mask}, func(s string) string {
			return url.ReplaceAllStringFunc(s, func(string) string {
				return fmt.Sprintf("https://example.com/%x/%x?id=%d", rnd.Uint32(), rnd.Uint32(), rnd.Uint32())
			})
		}, 0.97},
		{"other numbers", Normalizer{Numbers: Remove, Dates: Remove, URLs: Remove}, func(s string) string {
			return number.ReplaceAllStringFunc(s, func(n string) string { return fmt.Sprint(rnd.IntN(9) + 1)[:1] + n[1:] })
		}, 0.7},
		{"a menu and a footer", Normalizer{Boilerplate: common}, func(s string) string { return s + "\n" + menu }, 1},
	} {
		recall := func(n Normalizer) float64 {
			f := Fingerprinter{Normalizer: n}
			near := 0
			for _, d := range docs {
				if f.Sum64(Text(d)).Distance(f.Sum64(Text(test.change(d)))) <= 3 {
					near++
				}
			}
			return float64(near) / float64(len(docs))
		}
		without, with := recall(Normalizer{}), recall(test.n)
		t.Logf("%-30s %.3f without, %.3f with %s", test.name, without, with, test.n.version())
		if with < test.least {
			t.Errorf("%s: recall %.3f with %s, want %.3f", test.name, with, test.n.version(), test.least)
		}
	}
}
