// Package family finds forms: texts that several documents have in common but for what is filled in, such as
// the letters of one campaign, the pages of one template, or a daily report.
//
// A slot is a place where the documents of a form differ. It opens after six words that go on in at least four
// ways among documents that are alike, and closes before six words that at least four ways lead to. In letters
// of this kind there is a slot for the name and the place:
//
//	To the council of the town. I [Ann of Leeds] ask you to close the road to lorries.
//
// The form of a text is what is outside of its slots, and its fill the words in them. Each text is read by
// itself, with the borders of slots that its neighbourhood shows. So it takes no comparison of two texts to
// find out that they have the same form.
//
// Figures are filled in too: invoices, or the reports of two days, that differ in nothing else are one form if
// figures are a good part of them. If they are few, as on a page with a counter, the texts are copies.
//
// The beginning and the end of a text are no slots. A text that is on several sites, with other words before
// and after it, is no form.
package family

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/neardup/neardup/internal/wording"
)

const (
	context = 6 // the words before and after a slot that show it
	ways    = 4 // how many different words must border on them, and how many fills a form must have

	// One run of figures in so many words is a good part. An invoice has one in 15, and a page of a manual
	// with a date and a version one in 100.
	figuresPart = 32
)

// Forms knows the borders of slots among some texts, and their forms.
type Forms struct {
	borders map[uint64]border // by the hash of a run of six words
	forms   []uint64          // ascending
}

// A border says how many different words come before and after a run of six words. Fewer than four count as 0.
type border struct{ before, behind uint32 }

// A Filled is what is known about a text. The zero value is for a text that has no form.
type Filled struct {
	Form uint64   // tells forms apart
	Fill []uint32 // the words in the slots; the figures if there are no slots; ascending
}

// hash returns a hash of the fill.
func (d Filled) hash() uint64 {
	h := uint64(0)
	for _, x := range d.Fill {
		h = mix(h, x)
	}
	return h
}

// Same reports whether two texts are one form that is filled in differently: they have the same form, and at most
// three quarters of the words that are filled in in common. Short pieces of the form between two slots count as
// filled in.
func Same(a, b Filled) bool {
	if a.Form == 0 || a.Form != b.Form || len(a.Fill)+len(b.Fill) == 0 {
		return false
	}
	common := 0
	for i, j := 0, 0; i < len(a.Fill) && j < len(b.Fill); {
		switch x, y := a.Fill[i], b.Fill[j]; {
		case x < y:
			i++
		case x > y:
			j++
		default:
			common++
			i++
			j++
		}
	}
	return 8*common <= 3*(len(a.Fill)+len(b.Fill))
}

// Learn finds the forms of some texts, which depend on nothing but the set of the texts. It takes time in
// proportion to their length. It goes through the texts twice: the borders of slots show only when all texts have
// been seen, and then each text is read with them. A form counts only if it is filled in in at least four ways.
func Learn(texts []wording.Wording) *Forms {
	f := &Forms{}
	if len(texts) < ways {
		return f
	}
	var r reader
	most := 0
	for _, w := range texts {
		most += len(w) + context + 1
	}
	places := make([]place, 0, most)
	for _, w := range texts {
		r.set(w)
		for at, run := range r.runs {
			before, behind := r.around(at)
			places = append(places, place{run, before, behind})
		}
	}
	f.borders = bordersOf(places)
	var all [][2]uint64 // a form and a hash of a fill
	for _, w := range texts {
		if d := r.read(f, w); d.Form != 0 {
			all = append(all, [2]uint64{d.Form, d.hash()})
		}
	}
	slices.SortFunc(all, func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
	all = slices.Compact(all)
	for i := range all {
		if i >= ways-1 && all[i][0] == all[i-ways+1][0] && (len(f.forms) == 0 || f.forms[len(f.forms)-1] != all[i][0]) {
			f.forms = append(f.forms, all[i][0])
		}
	}
	return f
}

// A place is one occurrence of a run: the words before and after it.
type place struct {
	run            uint64
	before, behind uint32
}

// bordersOf returns the borders that places show.
func bordersOf(places []place) map[uint64]border {
	// A hash table of lists: first has the last place of a run, plus 1, and next the one before it. Runs
	// may come from an adversary, so a secret factor spreads them.
	factor := rand.Uint64() | 1
	shift := 64 - bits.Len(uint(2*len(places)))
	first, count, next := make([]int32, 1<<(64-shift)), make([]int32, 1<<(64-shift)), make([]int32, len(places))
	for i, p := range places {
		slot := int(p.run * factor >> shift)
		for first[slot] != 0 && places[first[slot]-1].run != p.run {
			slot = (slot + 1) & (len(first) - 1)
		}
		next[i] = first[slot]
		first[slot] = int32(i + 1)
		count[slot]++
	}
	borders := map[uint64]border{}
	var before, behind []uint32
	for slot, n := range count {
		if n < ways {
			continue
		}
		before, behind = before[:0], behind[:0]
		for i := first[slot]; i != 0; i = next[i-1] {
			before, behind = append(before, places[i-1].before), append(behind, places[i-1].behind)
		}
		if b := (border{different(before), different(behind)}); b.before > 0 || b.behind > 0 {
			borders[places[first[slot]-1].run] = b
		}
	}
	return borders
}

// different returns how many different words there are, or 0 for fewer than four. It changes words.
func different(words []uint32) uint32 {
	slices.Sort(words)
	n := len(slices.Compact(words))
	if n < ways {
		return 0
	}
	return uint32(n)
}

// Read returns the form of a text and what is filled in, if it is one of the forms. The text need not be one of
// those that were learnt from.
func (f *Forms) Read(w wording.Wording) Filled {
	if len(f.forms) == 0 {
		return Filled{}
	}
	var r reader
	d := r.read(f, w)
	if _, ok := slices.BinarySearch(f.forms, d.Form); ok {
		return d
	}
	return Filled{}
}

// A reader has the buffers for reading texts one after the other.
type reader struct {
	words   []uint32 // of the text, with runs of figures as one, and six marks at each end
	runs    []uint64 // the hash of each run of six words; run i begins with word i
	figures []uint32 // the words of the figures
	fill    []uint32
}

// These are in words for things that are not words. Hashes of words are raised to 4 at least,
// so they are never these.
const (
	start  = 0 // before the text
	figure = 1 // a run of figures
	end    = 2 // after the text
	slot   = 3 // in hashes of forms: a slot
)

// set reads the words and runs of a text.
func (r *reader) set(w wording.Wording) {
	r.words, r.runs, r.figures = r.words[:0], r.runs[:0], r.figures[:0]
	for range context {
		r.words = append(r.words, start)
	}
	for i := 0; i < len(w); {
		if w[i]&wording.Figure != 0 {
			r.words = append(r.words, figure)
			end := w.BehindFigures(i)
			r.figures = append(r.figures, w[i:end]...)
			i = end
			continue
		}
		r.words = append(r.words, max(w[i], 4))
		i++
	}
	for range context {
		r.words = append(r.words, end)
	}
	for i := range len(r.words) - context + 1 {
		run := uint64(0)
		for _, x := range r.words[i : i+context] {
			run = mix(run, x)
		}
		r.runs = append(r.runs, run)
	}
}

// around returns the words before and after a run.
func (r *reader) around(at int) (before, behind uint32) {
	before, behind = start, end
	if at > 0 {
		before = r.words[at-1]
	}
	if at+context < len(r.words) {
		behind = r.words[at+context]
	}
	return before, behind
}

// read returns the form of a text and its fill, also if no other text has the form. A text in which nothing is
// filled in, or most of it, has no form.
func (r *reader) read(f *Forms, w wording.Wording) Filled {
	r.set(w)
	n := len(r.words) - 2*context
	word := func(i int) uint32 { return r.words[context+i] }
	form, fixed, figures := uint64(0), 0, 0
	r.fill = r.fill[:0]
	isOpen := true // some slot may still close
	for at := 0; at < n; at++ {
		// Run at ends before word at, and run at+context begins with it.
		if at > 0 && isOpen && f.borders[r.runs[at]].behind > 0 {
			to := r.closing(f, at, n)
			if isOpen = to >= 0; isOpen {
				form = mix(form, slot)
				for ; at < to; at++ {
					r.fill = append(r.fill, word(at))
				}
			}
		}
		form = mix(form, word(at))
		fixed++
		if word(at) == figure {
			figures++
		}
	}
	switch {
	case fixed == n && figures*figuresPart >= n:
		r.fill = append(r.fill, r.figures...)
	case fixed == n || 2*fixed < n:
		return Filled{}
	}
	slices.Sort(r.fill)
	return Filled{max(form, 1), slices.Clone(r.fill)}
}

// closing returns the word before which a slot closes that opened before word at, or -1. What is
// filled in may end like the fill of other texts, such as "_ street in the town of". Then the slot
// seems to close several times. It closes where the most ways come together. It looks no further than
// six words after the best place so far.
func (r *reader) closing(f *Forms, at, n int) int {
	to, most := -1, uint32(0)
	for i := at; i < n && (to < 0 || i <= to+context); i++ {
		if b := f.borders[r.runs[i+context]].before; b > 0 && b >= most {
			to, most = i, b
		}
	}
	return to
}

// mix adds a word to a hash.
func mix(h uint64, word uint32) uint64 {
	hi, lo := bits.Mul64(h^uint64(word)^0xA0761D6478BD642F, 0x9E3779B97F4A7C15)
	return hi ^ lo
}

// Bytes returns about how many bytes the forms take.
func (f *Forms) Bytes() int { return 32*len(f.borders) + 8*len(f.forms) }
