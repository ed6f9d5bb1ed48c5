package wording

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		text    string
		figures string // one character for each word: f for a figure
	}{
		{"", ""},
		{"The cat sat", "..."},
		{"3 March 2026", "fff"},
		{"in march", ".."},
		{"marching on Mondays", "..."},
		{"on Thu, may be", "...."},
		{"the cat sat on the mat in may", "........"},
		{"Thu, 3 Mar", "fff"},
		{"on Friday, 13 Oct 2026", ".ffff"},
		{"mp3 and COVID-19", "f..f"},
		{"三月五日晴", "f.f.."},
		{"第①章", "..."},
		{"٣ كتب", "f."},
		{"write to a.b-c@example.org today", "..fffff."},
		{"see https://example.org/a/b?c=d.", ".fffffff"},
		{"见www.example.org。好", ".fff."},
		{"an @ sign", ".."},
	} {
		var got strings.Builder
		for _, w := range Read(c.text) {
			got.WriteByte(".f"[w&Figure])
		}
		if got.String() != c.figures {
			t.Errorf("%q: %s, want %s", c.text, got.String(), c.figures)
		}
	}
	if a, b := Read("Ｔhe  CAT, sat!"), Read("the cat\nsat"); !slices.Equal(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestEqualButFigures(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "", true},
		{"on 3 March 2026 at 10:30", "on 2026-03-03 at noon", false},
		{"on 3 March 2026 we met", "On 2026-03-04 we met.", true},
		{"it costs 10,000 yuan", "it costs 5 yuan", true},
		{"it costs yuan", "it costs 5 yuan", false},
		{"5 it costs", "it costs 5", false},
		{"one 1", "one", false},
		{"see https://a.org/x now", "see www.b.org now", true},
		{"see a now", "see b now", false},
	} {
		a, b := Read(c.a), Read(c.b)
		if EqualButFigures(a, b) != c.want || EqualButFigures(b, a) != c.want {
			t.Errorf("%q and %q: not %t", c.a, c.b, c.want)
		}
	}
}

// TestContains compares with the longest common subsequence.
func TestContains(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	some := func() Wording {
		w := make(Wording, rnd.IntN(7))
		for i := range w {
			w[i] = rnd.Uint32N(3)<<1 | rnd.Uint32N(2)
		}
		return w
	}
	yes := 0
	for range 20_000 {
		a, b := some(), some()
		common := make([][]int, len(a)+1)
		for i := range common {
			common[i] = make([]int, len(b)+1)
			for j := range common[i] {
				switch {
				case i == 0 || j == 0:
				case a[i-1]>>1 == b[j-1]>>1:
					common[i][j] = common[i-1][j-1] + 1
				default:
					common[i][j] = max(common[i-1][j], common[i][j-1])
				}
			}
		}
		want := common[len(a)][len(b)] == len(b)
		if a.Contains(b) != want {
			t.Fatalf("%v contains %v: not %t", a, b, want)
		}
		if want {
			yes++
		}
	}
	if yes < 1000 {
		t.Errorf("only %d contained", yes)
	}
}

// letter fills in a form; an empty name leaves the slot empty.
func letter(name, place, reason string) string {
	return fmt.Sprintf("To the council of the town. I %s of %s ask you to close the road to lorries at night. It is too loud for all of us, because %s is so near. Thank you very much for your help.", name, place, reason)
}

func learnTexts(texts []string) (*Forms, []Filled) {
	return Learn(len(texts), 50*len(texts), func(i int) Wording { return Read(texts[i]) })
}

func TestForms(t *testing.T) {
	names, places, reasons := strings.Fields("Ann Bob Cleo Dan Eve"), strings.Fields("Leeds York Bath Hull Ripon"), []string{"the old mill", "our school", "a bend", "the bridge of the canal", "my house"}
	var texts []string
	for i := range 5 {
		texts = append(texts, letter(names[i], places[i], reasons[i]))
	}
	others := []string{"", "nothing to do with it", letter("Ann", "Leeds", "the old mill") + " With kind regards", strings.Repeat("again and ", 40)}
	f, filled := learnTexts(append(slices.Clone(texts), others...))
	for i := range texts {
		if filled[i].Form == 0 || filled[i].Form != filled[0].Form {
			t.Fatalf("letter %d: %+v", i, filled[i])
		}
		for j := range i {
			if !SameForm(filled[i], filled[j]) || !SameForm(filled[j], filled[i]) {
				t.Errorf("letters %d and %d are not of one form: %v, %v", i, j, filled[i], filled[j])
			}
		}
		if SameForm(filled[i], filled[i]) {
			t.Errorf("letter %d is filled in differently than itself", i)
		}
	}
	for i := range others {
		if d := filled[len(texts)+i]; d.Form != 0 {
			t.Errorf("%q is of a form: %+v", others[i], d)
		}
	}
	// A text that comes later is read alike.
	later := f.Read(Read(letter("Mr Smith", "Lower Slaughter", "the pub")))
	if !SameForm(later, filled[0]) {
		t.Errorf("a later letter: %+v", later)
	}
	// The same person writes again: more than half of the fill is the same.
	again := f.Read(Read(letter("Ann", "Leeds", "the mill")))
	if again.Form != filled[0].Form || SameForm(again, filled[0]) {
		t.Errorf("the same person again: %+v", again)
	}
	// Three fills show no slots.
	if _, filled := learnTexts(texts[:3]); filled[0].Form != 0 {
		t.Error("three letters make a form")
	}
}

// TestFormsOrder: forms do not depend on the order of the texts, nor on how many rounds they take.
func TestFormsOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var texts []string
	for i := range 200 {
		texts = append(texts, letter(fmt.Sprintf("n%c%c", 'a'+i%26, 'a'+i%7), fmt.Sprintf("p%c%c", 'a'+i%5, 'a'+i%11), fmt.Sprintf("the r%c", 'a'+i%13)))
	}
	read := func() map[string]string {
		f, filled := learnTexts(texts)
		got := map[string]string{}
		for i, text := range texts {
			if later := f.Read(Read(text)); later.Form != filled[i].Form || !slices.Equal(later.Fill, filled[i].Fill) {
				t.Errorf("%q: Learn says %v and Read %v", text, filled[i], later)
			}
			got[text] = fmt.Sprint(filled[i])
		}
		return got
	}
	want := read()
	for round := range 5 {
		rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		if round == 4 {
			runsAtOnce = 500
			defer func() { runsAtOnce = 2 << 20 }()
		}
		if got := read(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("round %d: other forms", round)
		}
	}
}

// FuzzWording: no bytes are invalid, and the comparisons agree with each other.
func FuzzWording(f *testing.F) {
	f.Add("on 3 March 2026 we met", "On 2026-03-04 we met.")
	f.Add("a@b.org", "\xffwww.\x00a")
	f.Add("三月五日 http://例.org/a", "٣")
	f.Fuzz(func(t *testing.T, x, y string) {
		a, b := Read(x), Read(y)
		if !EqualButFigures(a, a) || !a.Contains(a) || !a.Contains(nil) {
			t.Fatalf("%q does not equal itself", x)
		}
		if EqualButFigures(a, b) != EqualButFigures(b, a) {
			t.Fatalf("%q and %q depend on the order", x, y)
		}
		if a.Contains(b) && b.Contains(a) && !Equal(a, b) {
			t.Fatalf("%q and %q contain each other", x, y)
		}
		forms, filled := Learn(2, 0, func(i int) Wording { return []Wording{a, b}[i] })
		if later := forms.Read(a); later.Form != filled[0].Form || SameForm(filled[0], filled[1]) != SameForm(filled[1], filled[0]) {
			t.Fatalf("%q and %q: %v", x, y, filled)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	text := strings.Repeat(letter("Ann", "Leeds", "the old mill"), 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Read(text)
	}
}

func BenchmarkLearn(b *testing.B) {
	rnd := rand.New(rand.NewPCG(3, 4))
	texts := make([]Wording, 2000)
	words := 0
	for i := range texts {
		w := make(Wording, 300)
		for j := range w {
			w[j] = rnd.Uint32N(rnd.Uint32N(20_000)+10) * 2
		}
		texts[i] = w
		words += len(w)
	}
	for b.Loop() {
		Learn(len(texts), 50*len(texts), func(i int) Wording { return texts[i] })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(words), "ns/word")
}
