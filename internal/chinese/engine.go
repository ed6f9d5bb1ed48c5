package chinese

import (
	"math"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/go-ego/gse"
	"github.com/neardup/neardup/internal/lex"
)

// A Dictionary is the dictionary of gse, ready to cut sentences. It does not change and is safe for
// concurrent use.
type Dictionary struct {
	Dict   *gse.Dictionary
	Digest uint64

	// For each token of the dictionary, in its order: the cost of the word,
	// −log₂ of its probability in units of 2⁻¹⁶, and its length in units.
	cost   []uint32
	length []uint16

	paths sync.Pool // *path
}

// A Word is a word of a text.
type Word struct {
	Text       string // folded
	POS        string // part of speech, if the word is in the dictionary
	Start, End int    // of the text
}

// A Reader cuts a text that comes in pieces into words, sentence by sentence.
type Reader struct {
	S       *Dictionary
	base    int    // where the text not yet read starts
	pending []byte // a sentence that has not ended
	scanned int    // how much of it has been looked at
}

func (s *Reader) Feed(piece string, last bool, yield func(w Word) bool) bool {
	if len(s.pending) > 0 || !last {
		s.pending = append(s.pending, piece...)
		if !last {
			piece = s.ended()
		} else {
			piece, s.pending = string(s.pending), nil
		}
	}
	if piece == "" {
		return true
	}
	p := s.S.paths.Get().(*path)
	defer func() {
		clear(p.units[:cap(p.units)]) // let go of the text
		s.S.paths.Put(p)
	}()
	for pos := 0; pos < len(piece); {
		if isControl(piece[pos]) {
			pos++
			continue
		}
		size, _ := Sentence(piece, pos, pos)
		s.S.shortest(p, piece[pos:pos+size])
		if !s.S.yield(p, piece, s.base, pos, yield) {
			return false
		}
		pos += size
	}
	s.base += len(piece)
	return true
}

// ended returns the sentences of pending that have ended, and removes them.
func (s *Reader) ended() string {
	end, pos, text := 0, 0, lex.String(s.pending)
	for pos < len(text) {
		if isControl(text[pos]) {
			pos++
			end = pos
			continue
		}
		size, ended := Sentence(text, pos, max(pos, s.scanned))
		if !ended {
			break
		}
		pos += size
		end = pos
	}
	piece := string(s.pending[:end])
	s.pending = s.pending[:copy(s.pending, s.pending[end:])]
	s.scanned = len(s.pending)
	return piece
}

// A path is the work space for one sentence. The sentence is cut into units as
// gse cuts the words of its dictionary; a path ends after each unit.
type path struct {
	units  []gse.Text
	ends   []int        // where each unit ends in the sentence
	lower  []byte       // units that had to be lowered
	tokens []*gse.Token // what a look-up finds
	best   []step       // the cheapest path to each unit
	words  []step       // the words of the cheapest path, last first
}

// A step is the last word of a path: a token of the dictionary, or −1 for an
// unknown unit, and the units it covers.
type step struct {
	cost        uint64
	token       int32
	first, last int32
}

// unknown is the cost of a unit that is not in the dictionary, as in gse.
const unknown = 32 << 16

// unit returns the size of the first unit of text, a run of letters and digits
// of at most two bytes or any other character, and whether it has upper case
// ASCII.
func unit(text string) (size int, upper bool) {
	for size < len(text) {
		c := text[size]
		n := 1
		switch {
		case c-'A' < 26:
			upper = true
		case c-'a' < 26, c-'0' < 10:
		case c < utf8.RuneSelf, c >= 0xE0:
			n = 0
		default:
			var c lex.Class
			if _, c, n = lex.Next(lex.Bytes(text), size); c != lex.Letter {
				n = 0
			}
		}
		if n == 0 {
			if size == 0 {
				_, size = utf8.DecodeRuneInString(text)
			}
			break
		}
		size += n
	}
	return size, upper
}

// shortest finds the cheapest path through a sentence (Viterbi).
func (s *Dictionary) shortest(p *path, text string) {
	p.units, p.ends, p.lower, p.best = p.units[:0], p.ends[:0], p.lower[:0], p.best[:0]
	if cap(p.lower) < len(text) {
		p.lower = make([]byte, 0, max(len(text), maxSentence)) // never moves below
	}
	for pos := 0; pos < len(text); {
		if c := text[pos]; c >= utf8.RuneSelf && len(p.ends) > 0 && !lex.IsHan(lex.Bytes(text[pos:])) {
			if _, class, size := lex.Next(lex.Bytes(text), pos); class == lex.Ignored { // as if it were not there
				pos += size
				p.ends[len(p.ends)-1] = pos
				continue
			}
		}
		size, upper := unit(text[pos:])
		u := lex.Bytes(text[pos : pos+size])
		if upper {
			from := len(p.lower)
			for _, c := range u {
				if c-'A' < 26 {
					c += 'a' - 'A'
				}
				p.lower = append(p.lower, c)
			}
			u = p.lower[from:]
		}
		pos += size
		p.units = append(p.units, u)
		p.ends = append(p.ends, pos)
		p.best = append(p.best, step{cost: math.MaxUint64})
	}
	base := unsafe.Pointer(unsafe.SliceData(s.Dict.Tokens))
	cost := uint64(0)
	for i := range p.units {
		n := s.Dict.LookupTokens(p.units[i:min(i+len(p.tokens), len(p.units))], p.tokens)
		alone := false
		for _, t := range p.tokens[:n] {
			token := (uintptr(unsafe.Pointer(t)) - uintptr(base)) / unsafe.Sizeof(*t)
			last := i + int(s.length[token]) - 1
			alone = alone || last == i
			if c := cost + uint64(s.cost[token]); c < p.best[last].cost {
				p.best[last] = step{c, int32(token), int32(i), int32(last)}
			}
		}
		if c := cost + unknown; !alone && c < p.best[i].cost {
			p.best[i] = step{c, -1, int32(i), int32(i)}
		}
		cost = p.best[i].cost
	}
	p.words = p.words[:0]
	for i := len(p.best) - 1; i >= 0; i = int(p.best[i].first) - 1 {
		p.words = append(p.words, p.best[i])
	}
}

// yield yields the words of a path through the sentence at pos of a text that
// starts at base.
func (s *Dictionary) yield(p *path, text string, base, pos int, yield func(w Word) bool) bool {
	end := func(i int) int { return pos + p.ends[p.words[i].last] }
	for i, to := len(p.words)-1, pos; i >= 0; {
		w, from := p.words[i], to
		to = end(i)
		c, plain := ClassOf(text[from:to])
		i--
		if c == lex.Separator || c == lex.Ignored || c == lex.Mark {
			continue
		}
		// Letters of three bytes are units of their own (Vietnamese, Hangul), and
		// so are marks.
		merged := false
		for i >= 0 && !lex.IsHan(lex.Bytes(text[to:])) {
			next, more := ClassOf(text[to:end(i)])
			if next != lex.Mark && next != lex.Ignored && (next != lex.Letter || c == lex.Single) {
				break
			}
			to, plain = end(i), plain && more
			merged = merged || next != lex.Ignored
			i--
		}
		t := Word{Text: text[from:to], Start: base + from, End: base + to}
		if !plain {
			t.Text = lex.Fold(t.Text)
		}
		if w.token >= 0 && !merged {
			t.POS = s.Dict.Tokens[w.token].Pos()
		}
		if !yield(t) {
			return false
		}
	}
	return true
}

const (
	maxSentence  = 4096 // bytes: where a sentence without an end is cut
	maxUserWord  = 64   // characters
	SentenceEnds = "。！？；"
)

// Sentence returns the length of the sentence that starts at pos of text, its end
// mark included, and whether it ends there or the text does. It looks from the
// character at from on, as there is no end before that. Control characters end a
// Sentence too and belong to none: the trie of gse cannot tell NUL from the end
// of a word.
func Sentence(text string, pos, from int) (size int, ended bool) {
	for i, r := range text[from:] {
		i += from
		switch {
		case r < utf8.RuneSelf && isControl(byte(r)), i-pos >= maxSentence:
			return i - pos, true
		case r >= 0x3000 && strings.ContainsRune(SentenceEnds, r):
			return i + utf8.RuneLen(r) - pos, true
		}
	}
	return len(text) - pos, false
}

func isControl(c byte) bool { return c < ' ' || c == 0x7F }

// ClassOf returns the class of a word: letter if it has letters and marks only,
// separator, mark or ignored if it has nothing else of note, and single otherwise;
// and whether folding leaves it as it is.
func ClassOf(s string) (c lex.Class, plain bool) {
	b := lex.Bytes(s)
	var seen [lex.Ignored + 1]bool
	plain = true
	for i := 0; i < len(b); {
		if lex.IsHan(b[i:]) {
			seen[lex.Single] = true
			i += 3
			continue
		}
		r, class, size := lex.Next(b, i)
		seen[class] = true
		if class != lex.Separator {
			same := rune(b[i])
			if same >= utf8.RuneSelf {
				same, _ = utf8.DecodeRune(b[i:])
			}
			plain = plain && r == same && class != lex.Ignored
		}
		i += size
	}
	switch {
	case seen[lex.Single], seen[lex.Letter] && seen[lex.Separator]:
		return lex.Single, plain
	case seen[lex.Letter]:
		return lex.Letter, plain
	case seen[lex.Mark]:
		return lex.Mark, plain
	case seen[lex.Ignored] && !seen[lex.Separator]:
		return lex.Ignored, plain
	}
	return lex.Separator, plain
}
