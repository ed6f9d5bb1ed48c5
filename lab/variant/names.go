package variant

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file finds names in a text and replaces them. A name gets the same new name everywhere in
// the text, and different names get different new names.

// A naming has the names of a text. class maps a name to its class: people (nr), places (ns) or
// organisations (nt) if the tokenizer is a segmenter that tells, otherwise "".
type naming struct {
	spans     []span   // where names are
	different []string // distinct names, in the order of their first places
	class     map[string]string
}

// findNames finds the names of a text. A word that is a name in one place counts as a name
// everywhere.
func (g *Generator) findNames(text string) naming {
	n := naming{class: map[string]string{}}
	end := 0
	for t := range g.tokens(text) {
		word := text[t.Start:t.End]
		c, size := utf8.DecodeRuneInString(word)
		class, is := "", false
		if len(t.POS) > 1 && t.POS[0] == 'n' && strings.IndexByte("rst", t.POS[1]) >= 0 {
			class, is = t.POS[:2], true
		} else if between := text[end:t.Start]; unicode.IsUpper(c) && len(word) > size && end > 0 && !isTitle(word) {
			// A capital says nothing at the beginning of a sentence, so look at what is before it.
			is = !strings.ContainsAny(between, ".!?。！？\n\"“‘") || between == ". " && isTitle(text[:end])
		}
		end = t.End
		n.spans = append(n.spans, span{t.Start, t.End})
		if _, known := n.class[word]; is && !known {
			n.class[word] = class
			n.different = append(n.different, word)
		}
	}
	n.spans = slices.DeleteFunc(n.spans, func(s span) bool { _, is := n.class[text[s[0]:s[1]]]; return !is })
	return n
}

// changeNames replaces a fraction rate of the distinct names.
func (g *Generator) changeNames(text string, rate float64, r *source) (string, int) {
	n := g.findNames(text)
	by, taken := map[string]string{}, map[string]bool{}
	chosen := r.some(len(n.different), rate)
	for _, i := range chosen {
		name := n.different[i]
		for tries := 0; by[name] == "" || taken[by[name]] || strings.Contains(text, by[name]); tries++ {
			if by[name] = newName(name, n.class[name], r); tries > 100 { // no new names are left
				by[name] += strconv.Itoa(tries)
			}
		}
		taken[by[name]] = true
	}
	edited, _ := change(text, n.spans, 1, r, func(name string, _ *source) string {
		if other, ok := by[name]; ok {
			return other
		}
		return name
	})
	return edited, len(chosen)
}

const (
	surnames  = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗"
	given     = "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂英华玉建国文志春"
	places    = "东西南北江河山海安平长新永清金石宁泰和兴"
	beginning = "Al Ber Car Dor El Fen Gar Hol Ir Jor Kel Lor Mar Nor Os Per Ral Sel Tor Wal"
	ending    = "bert den field ford gan ham ley lin man mer more nard ney rick ridge son ston ter ton win"
)

// newName makes a name up. There are some thousand of each class.
func newName(old, class string, r *source) string {
	from := func(characters string) string {
		all := []rune(characters)
		return string(all[r.below(len(all))])
	}
	switch {
	case !isHan(old):
		first, last := strings.Fields(beginning), strings.Fields(ending)
		name := first[r.below(len(first))] + last[r.below(len(last))]
		if r.below(2) == 0 { // longer names, so that there are enough of them
			name += last[r.below(len(last))]
		}
		return name
	case class == "ns":
		return from(places) + from(places) + from("市县区镇州")
	case class == "nt":
		return from(places) + from(places) + from(places) + "公司"
	}
	return from(surnames) + from(given) + from(given)
}
