package family

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/internal/wording"
)

// letter fills in a form; an empty name leaves the slot empty.
func letter(name, place, reason string) string {
	return fmt.Sprintf("To the council of the town. I %s of %s ask you to close the road to lorries at night. It is too loud for all of us, because %s is so near. Thank you very much for your help.", name, place, reason)
}

func learnTexts(texts []string) (*Forms, []Filled) {
	words := make([]wording.Wording, len(texts))
	for i := range texts {
		words[i] = wording.Read(texts[i])
	}
	f := Learn(words)
	filled := make([]Filled, len(texts))
	for i := range texts {
		filled[i] = f.Read(words[i])
	}
	return f, filled
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
			if !Same(filled[i], filled[j]) || !Same(filled[j], filled[i]) {
				t.Errorf("letters %d and %d are not of one form: %v, %v", i, j, filled[i], filled[j])
			}
		}
		if Same(filled[i], filled[i]) {
			t.Errorf("letter %d is filled in differently than itself", i)
		}
	}
	for i := range others {
		if d := filled[len(texts)+i]; d.Form != 0 {
			t.Errorf("%q is of a form: %+v", others[i], d)
		}
	}
	// A text that comes later is read alike.
	later := f.Read(wording.Read(letter("Mr Smith", "Lower Slaughter", "the pub")))
	if !Same(later, filled[0]) {
		t.Errorf("a later letter: %+v", later)
	}
	// The same person writes again: most of the fill is the same.
	again := f.Read(wording.Read(letter("Ann", "Leeds", "the mill")))
	if again.Form != filled[0].Form || Same(again, filled[0]) {
		t.Errorf("the same person again: %+v", again)
	}
	// Three fills show no slots.
	if _, filled := learnTexts(texts[:3]); filled[0].Form != 0 {
		t.Error("three letters make a form")
	}
}

// TestFormsOrder: forms do not depend on the order of the texts.
func TestFormsOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var texts []string
	for i := range 200 {
		texts = append(texts, letter(fmt.Sprintf("n%c%c", 'a'+i%26, 'a'+i%7), fmt.Sprintf("p%c%c", 'a'+i%5, 'a'+i%11), fmt.Sprintf("the r%c", 'a'+i%13)))
	}
	read := func() string {
		_, filled := learnTexts(texts)
		got := map[string]string{}
		for i, text := range texts {
			got[text] = fmt.Sprint(filled[i])
		}
		return fmt.Sprint(got)
	}
	want := read()
	for round := range 5 {
		rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		if read() != want {
			t.Fatalf("round %d: other forms", round)
		}
	}
}

// TestShape: what is common and what is filled in are the text again.
func TestShape(t *testing.T) {
	texts := []string{letter("Ann", "Leeds", "the old mill"), letter("Bob Miller", "York", "our school"), letter("Cleo", "Bath", "a bend")}
	s := Common(texts)
	if form := s.String(); form != strings.Replace(letter("[…]", "", "[…]"), " of  ask", " ask", 1) { // a word between two slots counts as filled in
		t.Errorf("the form is %q", form)
	}
	if filled := s.Filled(texts[1]); filled != "Bob Miller of York | our school" {
		t.Errorf("filled in is %q", filled)
	}
}

// FuzzShape: any texts have a shape, and the pieces of each are the text.
func FuzzShape(f *testing.F) {
	f.Add(letter("Ann", "Leeds", "the old mill"), letter("Bob", "York", "our school"))
	f.Add("", "a")
	f.Add("三月五日天气晴朗", "三月六日天气晴朗 \xff")
	f.Fuzz(func(t *testing.T, x, y string) {
		s := Common([]string{x, y})
		for _, text := range []string{x, y} {
			all := ""
			s.each(text, func(piece string, isCommon bool) { all += piece })
			if all != text {
				t.Fatalf("%q became %q", text, all)
			}
			s.Filled(text)
		}
		_ = s.String()
		a, b := wording.Read(x), wording.Read(y)
		forms := Learn([]wording.Wording{a, b, a, b, b})
		if p, q := forms.Read(a), forms.Read(b); Same(p, q) != Same(q, p) {
			t.Fatalf("%q and %q depend on the order", x, y)
		}
	})
}

// TestLastWay: a slot that seems to close several times closes where it closes last, if as many ways come together there.
func TestLastWay(t *testing.T) {
	letter := func(fill string) string {
		return "To the council of the town. I am " + fill + " and ask you to close the road to lorries at night. It is too loud for all of us here. Thank you very much for your help."
	}
	var texts []string
	for i, name := range strings.Fields("Ann Bob Cleo Dan Eve Fred Gus") {
		if i < 4 {
			name += " street in the town of"
		}
		texts = append(texts, letter(name))
	}
	_, filled := learnTexts(texts)
	if !Same(filled[0], filled[4]) {
		t.Errorf("%+v and %+v are not of one form", filled[0], filled[4])
	}
}

// TestThreeQuarters: three of four equal fields are enough for the same form.
func TestThreeQuarters(t *testing.T) {
	a, b := Filled{1, []uint32{1, 2, 3, 4}}, Filled{1, []uint32{1, 2, 3, 5}}
	if !Same(a, b) {
		t.Error("three quarters in common: not the same form")
	}
}

// TestCopiesAreNoForm: copies count once among the fills of a form, so two fills are no form however many copies there are.
func TestCopiesAreNoForm(t *testing.T) {
	a, b := wording.Read("invoice number 17 of our shop"), wording.Read("invoice number 18 of our shop")
	if d := Learn([]wording.Wording{a, a, a, b}).Read(a); d.Form != 0 {
		t.Errorf("%v", d)
	}
}

// TestPinned holds what is found in made letters, bills and other texts, to the last bit.
func TestPinned(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		return string([]byte{byte('a' + rnd.IntN(26)), byte('a' + rnd.IntN(5)), byte('a' + rnd.IntN(3))})
	}
	some := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(word() + " ")
		}
		return b.String()
	}
	number := func() string { return fmt.Sprintf("%d.%02d ", rnd.IntN(50), rnd.IntN(4)) }
	var all []string
	for range 400 {
		var texts []string
		for range 1 + rnd.IntN(2) {
			parts := make([]string, 1+rnd.IntN(5))
			for i := range parts {
				parts[i] = some(rnd.IntN(9))
			}
			isBill := rnd.IntN(3) == 0
			for range 3 + rnd.IntN(5) {
				text := ""
				for _, part := range parts {
					switch {
					case isBill || rnd.IntN(4) == 0:
						text += part + number()
					case rnd.IntN(3) == 0:
						text += part + some(rnd.IntN(3)) + word() + " of " + part[:min(len(part), 4)]
					default:
						text += part + some(rnd.IntN(4))
					}
				}
				texts = append(texts, text)
			}
		}
		_, filled := learnTexts(texts)
		all = append(all, fmt.Sprint(filled))
		s := Common(texts[:min(3, len(texts))])
		all = append(all, s.String())
		for i, text := range texts {
			all = append(all, s.Filled(text), fmt.Sprint(Same(filled[i], filled[0])))
		}
	}
	if digest := xxh3.HashString(strings.Join(all, "\n")); digest != 0x85b348486cef3b30 {
		t.Errorf("the digest is %#x", digest)
	}
}
