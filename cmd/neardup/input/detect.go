package input

import (
	"bytes"
	_ "embed"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// This file finds out which encoding a text that is not UTF-8 has. A sample of it is decoded in every way, and each way gets the probability
// of what comes out: the sum of ln p over its letters beyond ASCII and those beside them, where p is how often a letter stands behind the one
// before in the language that fits best (letters.txt). The most probable way wins, if the next one that reads another text is far enough
// behind; otherwise nobody can say, and the user is asked. The costs of cases, signs and what occurs in no text are rounded from the same texts.

//go:embed letters.txt
var lettersFile string

// A language says how likely its letters are.
type language struct {
	name    string
	costs   map[[2]rune]uint8 // -8 ln p of a letter behind another one; of {0, r}, of one behind any
	isLatin bool              // it has pairs of ASCII
}

// Costs, as -8 ln p.
const (
	costBackOff  = 16  // beside that of the letter alone, of a letter that does not follow the one before in the texts of the language
	costForeign  = 104 // of a letter that the language does not have
	costSign     = 44  // of a sign that texts have: quotation marks, dashes, …
	costOddSign  = 100 // of another one
	costControl  = 150 // of a control character
	costWrong    = 240 // of bytes that are none of this encoding
	costCapital  = 14  // of a capital letter that begins a word
	costCapitals = 9   // of one behind another one
	costInWord   = 48  // of one behind a small letter
	costLanguage = 160 // of a language that does not fit the ASCII around the letters, at most
	costMixed    = 40  // of letters of another script and of ASCII beside each other
	costPlain    = 48  // of a pair of ASCII that the language has seldom
)

// usualSigns are signs that texts in all languages have.
const usualSigns = "«»“”„‘’‚‹›–—…·•°§©®™€£\u00a0\u00ad　、。，．：；？！（）「」『』【】《》〈〉〔〕・“”‘’～ー"

// sureCost is how far the second way has to be behind, as -8 ln p: e^10 times less probable.
const (
	sureCost = 80
)

// isText reports whether the characters beyond ASCII cost no more than those of texts. Bytes that are not text cost more in every encoding: 96
// to 130 each, of random ones; texts in 38 languages cost 20 to 65, and single names in them up to 90.
func (w *way) isText() bool { return w.cost <= costPerLetter*float64(beyondASCII(w.text))+240 }

const costPerLetter = 76

// mostSample is how many bytes are decoded in every way.
const mostSample = 1 << 14

// languages returns the languages that are known, by their encodings.
var languages = sync.OnceValue(func() map[string][]*language {
	all := map[string][]*language{}
	var l *language
	for line := range strings.Lines(lettersFile) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "=":
			l = &language{name: words[1], costs: map[[2]rune]uint8{}}
			for _, name := range words[2:] {
				all[name] = append(all[name], l)
			}
		default:
			cost, _ := strconv.Atoi(words[0])
			for _, pair := range words[1:] {
				a, n := utf8.DecodeRuneInString(pair)
				b, m := utf8.DecodeRuneInString(pair[n:])
				if m == 0 {
					a, b = 0, a
				}
				l.costs[[2]rune{a, b}] = uint8(min(cost, 255))
				l.isLatin = l.isLatin || a > 0 && a < utf8.RuneSelf && b < utf8.RuneSelf
			}
		}
	}
	return all
})

// allLanguages returns each language once.
var allLanguages = sync.OnceValue(func() (all []*language) {
	seen := map[*language]bool{}
	for _, some := range languages() {
		for _, l := range some {
			if !seen[l] {
				seen[l], all = true, append(all, l)
			}
		}
	}
	return all // their order does not matter: the least cost counts
})

// ways are the encodings that are tried. Of two that read the same text, the first one is taken.
var ways = sync.OnceValue(func() (all []*Encoding) {
	for _, name := range []string{"windows-1252", "windows-1250", "windows-1251", "windows-1253", "windows-1254", "windows-1255", "windows-1256",
		"windows-1257", "windows-1258", "windows-874", "koi8-r", "koi8-u", "ibm866", "iso-8859-2", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8", "iso-8859-13",
		"iso-8859-15", "iso-8859-16", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"} {
		if e, err := encodingOf(name); err == nil {
			all = append(all, e)
		}
	}
	return all
})

// detect finds out the encoding of a text that is neither ASCII nor UTF-8 and has no mark.
func detect(text []byte) verdict {
	sample := sampleText(text)
	priors := priorsOf(text[:min(len(text), mostSample)])
	var v verdict
	var letters way // the best one by its letters alone
	for _, e := range append(slices.Clip(ways()), wideWays(sample)...) {
		decoded, err := e.of.NewDecoder().Bytes(sample)
		if err != nil {
			continue
		}
		w := way{encoding: e, text: string(decoded)}
		w.cost, w.letters = costOf(w.text, languagesOf(e), priors)
		if w.letters < letters.letters || letters.encoding == nil {
			letters = w
		}
		v.add(w)
	}
	margin := v.second.cost - v.best.cost
	v.isText = v.best.encoding != nil && (v.second.encoding == nil || margin >= sureCost) && v.best.isText()
	v.isSure = v.isText && (v.second.encoding == nil || margin >= sureCost*rarity(v.best.text))
	if v.isSure && v.best.letters > letters.letters && !reads(v.best.text, letters.text) { // an English text with a name in another language
		v.second, v.isSure = letters, false
	}
	return v
}

// add adds a way.
func (v *verdict) add(w way) {
	switch {
	case v.best.encoding == nil || w.cost < v.best.cost && !reads(w.text, v.best.text):
		v.best, v.second = w, v.best
	case (v.second.encoding == nil || w.cost < v.second.cost) && !reads(w.text, v.best.text):
		v.second = w
	}
}

// rarity returns by how much surer a verdict has to be if a text has only one or two words with a few letters beyond ASCII: these are names, or
// of another language than the text, and often the same one again and again.
func rarity(text string) float64 {
	words := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r < utf8.RuneSelf && !isLatin(r|0x20) }) {
		if n := beyondASCII(word); n > 0 {
			if words[word] = true; len(words) > 2 || n > 3 {
				return 1
			}
		}
	}
	return 3 - float64(len(words))/2
}

// beyondASCII returns how many characters of a text are not ASCII.
func beyondASCII(text string) (n int) {
	for _, r := range text {
		if r >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// languagesOf returns the languages of an encoding.
func languagesOf(e *Encoding) []*language {
	if strings.HasPrefix(e.Name, "UTF-16") {
		all := languages()
		return slices.Concat(all["gb18030"], all["big5"], all["shift_jis"], all["euc-kr"], all["windows-1251"], all["windows-1252"], all["windows-1256"], all["windows-874"])
	}
	return languages()[strings.ToLower(e.Name)]
}

// wideWays returns UTF-16 of both orders, if a text may be it: if it has a zero byte, or no ASCII at all.
func wideWays(sample []byte) []*Encoding {
	if len(sample)%2 == 1 || bytes.IndexByte(sample, 0) < 0 {
		return nil
	}
	return []*Encoding{utf16LE, utf16BE}
}

// reads reports whether two ways read the same text. The letters of Romanian with a cedilla and with a comma below are the same ones.
func reads(a, b string) bool { return a == b || romanian.Replace(a) == romanian.Replace(b) }

var romanian = strings.NewReplacer("ş", "ș", "ţ", "ț", "Ş", "Ș", "Ţ", "Ț")

// sampleText returns the lines of a text that have bytes beyond ASCII, as many as are looked at. A text in UTF-16 is not cut into lines.
func sampleText(text []byte) []byte {
	if bytes.IndexByte(text, 0) >= 0 {
		return text[:min(len(text)&^1, mostSample)]
	}
	var sample []byte
	var seen [256]bool
	for line := range bytes.Lines(text) {
		if isASCII(line) || len(sample) >= mostSample && !hasNew(line, &seen) {
			continue
		}
		if len(line) > mostSample { // cut where no character is
			if i := bytes.LastIndexFunc(line[:mostSample], func(r rune) bool { return r < '0' }); i > mostSample/2 {
				line = line[:i]
			} else {
				line = line[:mostSample]
			}
		}
		for _, c := range line {
			seen[c] = true
		}
		sample = append(sample, line...)
	}
	return sample
}

// hasNew reports whether a line has a byte beyond ASCII that was not seen yet: by these, encodings differ.
func hasNew(line []byte, seen *[256]bool) bool {
	for _, c := range line {
		if c >= utf8.RuneSelf && !seen[c] {
			return true
		}
	}
	return false
}

// costOf returns the cost of a text in the language that fits best, and in the one that fits best without priors.
func costOf(text string, all []*language, priors map[*language]float64) (least, letters float64) {
	least, letters = math.Inf(1), math.Inf(1)
	plain, signs := Letters(text, false), signCost(text)
	for _, l := range all {
		these := plain
		if l.isApart() {
			these = Letters(text, true)
		}
		cost, before := 0, '_'
		for _, r := range these {
			if r >= utf8.RuneSelf || before >= utf8.RuneSelf {
				cost += l.cost(before, r)
			}
			before = r
		}
		letters = min(letters, float64(cost)+signs)
		least = min(least, float64(cost)+signs+priors[l])
	}
	return least, letters
}

// isApart reports whether the tones of a language are counted behind their letters.
func (l *language) isApart() bool { return l.name == "vi" }

// priorsOf returns what each language costs by the ASCII of a text. So few letters beyond it as Dutch or Italian have do not tell their encoding;
// the words around them do. That counts less than some letters, since texts have names and titles in other languages.
func priorsOf(text []byte) map[*language]float64 {
	count, plain, other := plainPairs(text)
	priors, least := map[*language]float64{}, -1.0
	for _, all := range languages() {
		for _, l := range all {
			if !l.isLatin {
				priors[l] = 0
				continue
			}
			priors[l] = l.plainCost(count)
			if least < 0 || priors[l] < least {
				least = priors[l]
			}
		}
	}
	for l := range priors {
		switch {
		case l.isLatin:
			priors[l] = min(priors[l]-least, costLanguage)
		case plain > 8*other: // another script would have more letters
			priors[l] = costLanguage
		}
	}
	return priors
}

// plainPairs counts the pairs of letters of ASCII that stand behind each other, these letters, and the bytes beyond ASCII.
func plainPairs(text []byte) (count map[[2]rune]int, plain, other int) {
	count = map[[2]rune]int{}
	before := '_'
	for _, c := range text {
		r := '_'
		switch {
		case c >= utf8.RuneSelf:
			r = 0
			other++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			r = rune(c | 0x20)
			plain++
		}
		if before != 0 && r != 0 && (before != '_' || r != '_') {
			count[[2]rune{before, r}]++
		}
		before = r
	}
	return count, plain, other
}

// plainCost returns the cost of pairs of ASCII in a language.
func (l *language) plainCost(count map[[2]rune]int) float64 {
	cost := 0
	for pair, n := range count {
		k, ok := l.costs[pair]
		if !ok {
			k = costPlain
		}
		cost += n * int(k)
	}
	return float64(cost)
}

// cost returns that of a letter behind another one.
func (l *language) cost(before, r rune) int {
	if !l.isLatin && (isLatin(before) || isLatin(r)) {
		return l.costOf(before, r) + costMixed
	}
	return l.costOf(before, r)
}

func isLatin(r rune) bool { return r >= 'a' && r <= 'z' }

func (l *language) costOf(before, r rune) int {
	if c, ok := l.costs[[2]rune{before, r}]; ok {
		return int(c)
	}
	if c, ok := l.costs[[2]rune{0, r}]; ok {
		if len(l.name) > 1 && r >= 0x2E80 { // of languages with many letters, only single ones are counted
			return int(c)
		}
		return int(c) + costBackOff
	}
	if r < utf8.RuneSelf {
		return costBackOff + 24 // an ASCII letter behind one that it seldom follows
	}
	return costForeign
}

// signCost returns the cost of all in a text that is no letter, and of its capital letters.
func signCost(text string) float64 {
	cost, before := 0, '_'
	for i, r := range text {
		switch {
		case r == utf8.RuneError:
			if i+3 < len(text) { // the last character may be cut off
				cost += costWrong
			}
		case r < utf8.RuneSelf:
			if r < ' ' && !strings.ContainsRune("\t\n\f\r\x1b", r) { // halves of UTF-16
				cost += costControl
			}
		case unicode.IsLetter(r) || unicode.IsMark(r):
			cost += capitalCost(before, r)
		default:
			after, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			cost += oneSignCost(before, r, after)
		}
		before = r
	}
	return float64(cost)
}

// capitalCost returns the cost of a letter for being a capital one behind another character.
func capitalCost(before, r rune) int {
	switch {
	case !unicode.IsUpper(r):
		return 0
	case unicode.IsUpper(before):
		return costCapitals
	case unicode.IsLower(before):
		return costInWord
	}
	return costCapital
}

// oneSignCost returns the cost of a sign between two characters. No sign stands within a word, and those where ISO-8859-15 has letters stand
// beside none.
func oneSignCost(before, r, after rune) int {
	isBehind, isBefore := isSmallScript(before), isSmallScript(after)
	if strings.ContainsRune("¦¨´¸¼½¾", r) && (isBefore || isBehind) {
		return costOddSign + 2*costInWord
	}
	return wordSignCost(r, isBehind, isBefore)
}

// wordSignCost is oneSignCost for a sign behind and before letters, or not.
func wordSignCost(r rune, isBehind, isBefore bool) int {
	within := 0
	if isBefore && isBehind {
		within = costInWord
	}
	switch {
	case r == '¡' || r == '¿':
		if isBefore && !isBehind {
			return costSign
		}
		return costOddSign
	case r == '’' && isBefore && !isBehind: // an apostrophe does not stand before one, either
		return costSign + 2*costInWord
	case strings.ContainsRune("’·—", r):
		return costSign
	case strings.ContainsRune(usualSigns, r):
		return costSign + within
	case isControl(r):
		return costControl
	}
	return costOddSign + within
}

// isSmallScript reports whether a character is a letter of a script with words between blanks.
func isSmallScript(r rune) bool { return unicode.IsLetter(r) && r < 0x2E80 }

// isControl reports whether a character is in no text.
func isControl(r rune) bool {
	return r < 0xA0 || unicode.Is(unicode.Co, r) || !unicode.IsPrint(r) && !unicode.Is(unicode.Cf, r)
}

// Letters returns the letters of a text in small letters, with _ for what stands between words. With apart, marks for tones of Vietnamese stand
// behind their letters, as windows-1258 has them.
func Letters(text string, apart bool) (all []rune) {
	if apart {
		text = TonesApart(text)
	}
	between := true
	for _, r := range romanian.Replace(text) {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			if r = unicode.ToLower(r); r == 'ı' || r == 'i' { // whose capitals differ by language
				all = append(all, r)
			} else {
				all = append(all, r)
			}
			between = false
		case !between:
			all = append(all, '_')
			between = true
		}
	}
	return all
}

// TonesApart decomposes the marks of tones, and nothing else.
func TonesApart(text string) string {
	isTone := func(r rune) bool { return strings.ContainsRune("\u0300\u0301\u0303\u0309\u0323", r) }
	var b strings.Builder
	for _, r := range norm.NFC.String(text) {
		parts := []rune(norm.NFD.String(string(r)))
		i := slices.IndexFunc(parts, isTone)
		if i < 1 {
			b.WriteRune(r)
			continue
		}
		b.WriteString(norm.NFC.String(string(slices.Delete(slices.Clone(parts), i, i+1))))
		b.WriteRune(parts[i])
	}
	return b.String()
}

// Detect returns the encoding of a text, nil if it is UTF-8, and whether that is sure enough to read it.
func Detect(text []byte) (e *Encoding, isSure bool) {
	e, _, err := encodingIn(text)
	var unclear *unclearError
	if errors.As(err, &unclear) {
		return unclear.v.best.encoding, false
	}
	return e, true
}

// Text returns what a text in this encoding says. Bytes that are none of it become U+FFFD.
func (e *Encoding) Text(b []byte) (string, error) {
	text, err := e.of.NewDecoder().Bytes(b)
	return string(text), err
}
