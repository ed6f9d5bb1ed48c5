package variant

import (
	"fmt"
	"strings"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/lab/dataset"
)

// planned says which kind of pair an edit makes of a text and its variant. Identical is for a copy.
// Edits of characters are left out: a character more or less may make a word another one, or two of
// one.
var planned = []struct {
	kind  neardup.Kind
	edits []Edit
}{
	{neardup.SameWords, []Edit{{FullWidth, 0.3}}},
	{neardup.SameExceptNumbers, []Edit{{ChangeNumbers, 0.5}, {ChangeDates, 0.5}}},
	{neardup.Contained, []Edit{{DeleteWords, 0.05}, {InsertWords, 0.05}, {DeleteSentences, 0.1}, {AddBoilerplate, 0.3}, {AddAdvertisements, 0.2}}},
	{neardup.Revised, []Edit{{SubstituteWords, 0.05}, {SwapWords, 0.05}, {ReorderSentences, 0.2}, {ChangeNames, 0.5}}},
}

// TestConfusion plants edits, asks a Deduplicator for the kind of each text and its variant, and
// prints how often it says what:
//
//	go test -C lab ./variant -run Confusion -v
func TestConfusion(t *testing.T) {
	var texts []string
	for _, name := range []string{"en", "zh"} {
		docs, err := dataset.Read("../../testdata/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range dataset.Distinct(docs) {
			texts = append(texts, d.Whole())
		}
	}
	d, err := dedup.New[string](dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if err := d.Add(fmt.Sprint("text ", i), neardup.Text(text)); err != nil {
			t.Fatal(err)
		}
	}
	type pair struct{ a, b, by string }
	pairs := map[neardup.Kind][]pair{}
	g := Generator{Vocabulary: SampleVocabulary(neardup.Words{}, func(yield func(string) bool) {
		for _, text := range texts {
			if !yield(text) {
				return
			}
		}
	})}
	for i, text := range texts {
		pairs[neardup.Identical] = append(pairs[neardup.Identical], pair{text, strings.Clone(text), "copy"})
		pairs[neardup.SameWords] = append(pairs[neardup.SameWords], pair{text, strings.ReplaceAll(text, " ", "  ") + " …", "white space"})
		if upper := strings.ToUpper(text); upper != text {
			pairs[neardup.SameWords] = append(pairs[neardup.SameWords], pair{text, upper, "upper case"})
		}
		for _, p := range planned {
			for _, e := range p.edits {
				if (e.Kind == DeleteWords || e.Kind == InsertWords) && !strings.Contains(text, "the ") {
					continue // in Chinese, this may make one number of two
				}
				if edited, n := g.Make(text, uint64(i), e); n > 0 {
					pairs[p.kind] = append(pairs[p.kind], pair{text, edited, e.String()})
				}
			}
		}
	}
	// Letters of a form, by different people about different places, and the same in Chinese.
	var letters [2][]string
	for i := range 40 {
		some := func(n int) string { return g.Vocabulary[(i*31+n*17)%len(g.Vocabulary)] }
		letters[0] = append(letters[0], fmt.Sprintf("To the council of the town. I %s %s of %s ask you on 3 May to close the road to lorries at night, since it is too loud for all of us. The noise is worst at %s %s, where the children sleep. Thank you very much for your help.", some(1), some(2), some(3), some(4), some(5)))
		letters[1] = append(letters[1], fmt.Sprintf("尊敬的领导：您好！我是%c%c区的居民%c%c，楼下的工地每天夜里还在施工，噪音很大，老人和孩子都无法休息，希望有关部门尽快处理。联系地址：%c%c路。谢谢您的帮助。", '一'+rune(i*37), '丁'+rune(i*91), '万'+rune(i*53), '丈'+rune(i*71), '且'+rune(i*29), '世'+rune(i*43)))
	}
	for l := range letters {
		for i, letter := range letters[l] {
			if err := d.Add(fmt.Sprint("letter ", l, i), neardup.Text(letter)); err != nil {
				t.Fatal(err)
			}
			for _, other := range letters[l][:i] {
				pairs[neardup.SameForm] = append(pairs[neardup.SameForm], pair{letter, other, "letter"})
			}
		}
	}
	kinds := []neardup.Kind{neardup.Identical, neardup.SameWords, neardup.SameExceptNumbers, neardup.SameForm, neardup.Contained, neardup.Revised}
	line := fmt.Sprintf("%-18s", "planted, found:")
	for _, k := range kinds {
		line += fmt.Sprintf("%18v", k)
	}
	t.Log(line)
	for _, want := range kinds {
		found := map[neardup.Kind]int{}
		for _, p := range pairs[want] {
			e := explained(t, d, p.a, p.b)
			if found[e.Kind]++; e.Kind != want {
				t.Logf("%v by %s: %v", want, p.by, e.Kind)
			}
		}
		line := fmt.Sprintf("%-18v", want)
		for _, k := range kinds {
			line += fmt.Sprintf("%18d", found[k])
		}
		t.Log(line)
		if n := len(pairs[want]); n < 40 || float64(found[want]) < 0.95*float64(n) {
			t.Errorf("%v: %d of %d", want, found[want], n)
		}
	}
}

// explained explains two texts, which are stored for as long as it takes.
func explained(t *testing.T, d *dedup.Deduplicator[string], a, b string) dedup.Explanation {
	t.Helper()
	for id, text := range map[string]string{"a": a, "b": b} {
		if err := d.Add(id, neardup.Text(text)); err != nil {
			t.Fatal(err)
		}
		defer d.Delete(id)
	}
	e, err := d.Explain("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	return e
}
