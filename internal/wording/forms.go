package wording

import (
	"cmp"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/internal/frequency"
	"github.com/neardup/neardup/internal/parallel"
)

// This file finds the forms of a collection: texts that several documents have in common but for
// what is filled in, such as the letters of one campaign, or pages of one template.
//
// A slot is a place where the documents of a form differ. It opens behind six words that go on in at
// least four ways in the collection, and closes before six words that at least four ways lead to. In
// letters of this kind there is a slot for the name and the place:
//
//	To the council of the town. I [Ann of Leeds] ask you to close the road to lorries.
//
// The form of a text is what stands outside of its slots, and its fill the words in them. Each text
// is read by itself, with the borders of slots that the whole collection shows. So it takes no
// comparison of two texts to find out that they have the same form.
//
// The beginning and the end of a text are no slots. A text that stands on several sites, with other
// words before and behind it, is no form.

const (
	context = 6 // the words before and behind a slot that show it
	ways    = 4 // how many different words must border on them, and how many fills a form must have
)

// Forms knows the borders of slots in a collection, and its forms. It does not change, so it is safe
// for concurrent use.
type Forms struct {
	borders [shards][]border // ascending, by the highest bits of the run
	known   frequency.Filter // the runs in borders
	forms   []uint64         // ascending
}

// shards is the number of parts that goroutines share the work by.
const shards = 64

// A border is a run of six words that borders on slots: how many different words stand before and
// behind it in the collection. Fewer than four count as 0.
type border struct {
	run            uint64 // a hash
	before, behind uint32
}

// A Filled is what is known about a text. The zero value is for a text that has no form.
type Filled struct {
	Form uint64   // tells forms apart
	Fill []uint32 // the words in the slots, ascending
}

// Hash returns a hash of the fill.
func (d Filled) Hash() uint64 {
	h := uint64(0)
	for _, x := range d.Fill {
		h = mix(h, x)
	}
	return h
}

// SameForm reports whether two texts are one form that is filled in differently: they have the same
// form, and at most three quarters of the words that are filled in in common. Short pieces of the form
// between two slots count as filled in.
func SameForm(a, b Filled) bool {
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

// Learn finds the forms of n texts with so many words, which depend on nothing but the set of the texts. It also returns
// what [Forms.Read] says about each of them. It uses all processors, and calls texts several times for
// each text. In a large collection a border with four ways, the fewest, may be missed, with a probability
// of 1 in 4,096.
func Learn(n, words int, texts func(i int) Wording) (*Forms, []Filled) {
	f := &Forms{}
	// Of very many runs, look only at those that a sieve lets pass. Each round looks at a share of them, to
	// bound the memory.
	in, passing := func(uint64) bool { return true }, words+n*(context+1)
	if passing > runsAtOnce {
		in, passing = newSieve(n, passing, texts)
	}
	rounds := uint64(passing/runsAtOnce + 1)
	for round := range rounds {
		f.learn(n, texts, func(run uint64) bool { return run%rounds == round && in(run) })
	}
	borders := 0
	for s := range f.borders {
		slices.SortFunc(f.borders[s], func(a, b border) int { return cmp.Compare(a.run, b.run) })
		borders += len(f.borders[s])
	}
	f.known = frequency.NewFilter(borders)
	for s := range f.borders {
		for _, b := range f.borders[s] {
			f.known.Add(b.run)
		}
	}
	filled := make([]Filled, n)
	parallel.Chunks(n, func(_, from, to int) {
		var r reader
		for i := from; i < to; i++ {
			filled[i] = r.read(f, texts(i))
		}
	})
	f.forms = formsOf(filled)
	for i := range filled {
		if !f.has(filled[i].Form) {
			filled[i] = Filled{}
		}
	}
	return f, filled
}

// formsOf returns the forms that texts have with at least four fills, ascending.
func formsOf(filled []Filled) (forms []uint64) {
	var all [][2]uint64 // a form and a hash of a fill
	for _, d := range filled {
		if d.Form == 0 {
			continue
		}
		all = append(all, [2]uint64{d.Form, d.Hash()})
	}
	slices.SortFunc(all, func(a, b [2]uint64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	all = slices.Compact(all)
	for i := range all {
		if i >= ways-1 && all[i][0] == all[i-ways+1][0] && (len(forms) == 0 || forms[len(forms)-1] != all[i][0]) {
			forms = append(forms, all[i][0])
		}
	}
	return forms
}

// has reports whether a form is one of the collection.
func (f *Forms) has(form uint64) bool {
	_, ok := slices.BinarySearch(f.forms, form)
	return ok
}

// runsAtOnce is how many runs Learn holds in memory, at about 32 bytes each. Tests change it.
var runsAtOnce = 2 << 20

// A place is where a run stands: the words before and behind it.
type place struct {
	run            uint64
	before, behind uint32
}

// learn adds the borders among the runs that in says.
func (f *Forms) learn(n int, texts func(i int) Wording, in func(run uint64) bool) {
	var all [shards]struct {
		sync.Mutex
		places []place
	}
	parallel.Chunks(n, func(_, from, to int) {
		var local [shards][]place
		var r reader
		for i := from; i < to; i++ {
			r.set(texts(i))
			for at, run := range r.runs {
				if !in(run) {
					continue
				}
				before, behind := r.around(at)
				p := place{run, before, behind}
				local[shardOf(run)] = append(local[shardOf(run)], p)
			}
		}
		for s := range local {
			all[s].Lock()
			all[s].places = append(all[s].places, local[s]...)
			all[s].Unlock()
		}
	})
	parallel.Each(shards, func(s int) {
		f.borders[s] = appendBorders(f.borders[s], all[s].places)
		all[s].places = nil
	})
}

// shardOf returns the part of a run.
func shardOf(run uint64) uint64 { return run >> 58 }

// appendBorders appends the borders that places show, in no particular order.
func appendBorders(borders []border, places []place) []border {
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
	var before, behind []uint32
	for slot, n := range count {
		if n < ways {
			continue
		}
		before, behind = before[:0], behind[:0]
		for i := first[slot]; i != 0; i = next[i-1] {
			before, behind = append(before, places[i-1].before), append(behind, places[i-1].behind)
		}
		b := border{places[first[slot]-1].run, different(before), different(behind)}
		if b.before > 0 || b.behind > 0 {
			borders = append(borders, b)
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

// A sieve has a cell for each run, and others that share it: in the lower 16 bits a set of hashes of the
// words before the run, in the upper ones of those behind it.
type sieve []atomic.Uint32

// newSieve makes a sieve of n texts with so many runs. It returns a function that says whether a run
// borders on two different words on one side, and about how many runs do.
func newSieve(n, runs int, texts func(i int) Wording) (passes func(run uint64) bool, passing int) {
	cells := make(sieve, 1<<min(bits.Len(uint(runs)), 26))
	cell := func(run uint64) *atomic.Uint32 { return &cells[run>>32&uint64(len(cells)-1)] }
	parallel.Chunks(n, func(_, from, to int) {
		var r reader
		for i := from; i < to; i++ {
			r.set(texts(i))
			for at, run := range r.runs {
				before, behind := r.around(at)
				bit := uint32(1)<<(before*0x9E3779B1>>28) | 1<<16<<(behind*0x9E3779B1>>28)
				if c := cell(run); c.Load()&bit != bit {
					c.Or(bit)
				}
			}
		}
	})
	isSet := func(x uint32) bool { return x&0xFFFF&(x&0xFFFF-1) != 0 || x>>16&(x>>16-1) != 0 }
	set, used := 1, 1
	for i := range cells {
		if x := cells[i].Load(); isSet(x) {
			set++
			used++
		} else if x != 0 {
			used++
		}
	}
	return func(run uint64) bool { return isSet(cell(run).Load()) }, int(float64(runs) * float64(set) / float64(used))
}

// border returns how a run borders on slots.
func (f *Forms) border(run uint64) border {
	if !f.known.MayHave(run) {
		return border{}
	}
	in := f.borders[shardOf(run)]
	if i, ok := slices.BinarySearchFunc(in, run, func(b border, run uint64) int { return cmp.Compare(b.run, run) }); ok {
		return in[i]
	}
	return border{}
}

// Read returns the form of a text and what is filled in, if it is one of the forms of the collection.
func (f *Forms) Read(w Wording) Filled {
	if len(f.forms) == 0 {
		return Filled{}
	}
	var r reader
	if d := r.read(f, w); f.has(d.Form) {
		return d
	}
	return Filled{}
}

// A reader has the buffers for reading texts one after the other.
type reader struct {
	words []uint32 // of the text, with runs of figures as one, and six marks at each end
	runs  []uint64 // the hash of each run of six words; run i begins with word i
	fill  []uint32
}

// What stands in words for things that are no words, whose lowest bit is 0 and which are larger.
const (
	start  = 0 // before the text
	figure = 1 // a run of figures
	end    = 2 // behind the text
	slot   = 3 // in hashes of forms: a slot
)

// set reads the words and runs of a text.
func (r *reader) set(w Wording) {
	r.words, r.runs = r.words[:0], r.runs[:0]
	for range context {
		r.words = append(r.words, start)
	}
	for i := 0; i < len(w); {
		if w[i]&Figure != 0 {
			r.words = append(r.words, figure)
			i = w.BehindFigures(i)
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

// around returns the words before and behind a run.
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

// read returns the form of a text and its fill, also if no other text has the form. A text without a
// slot, or with most of its words in slots, has no form.
func (r *reader) read(f *Forms, w Wording) Filled {
	r.set(w)
	n := len(r.words) - 2*context
	word := func(i int) uint32 { return r.words[context+i] }
	form, fixed := uint64(0), 0
	r.fill = r.fill[:0]
	isOpen := true // some slot may still close
	for at := 0; at < n; at++ {
		// Run at ends before word at, and run at+context begins with it.
		if at > 0 && isOpen && f.border(r.runs[at]).behind > 0 {
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
	}
	if fixed == n || 2*fixed < n {
		return Filled{}
	}
	slices.Sort(r.fill)
	return Filled{max(form, 1), slices.Clone(r.fill)}
}

// closing returns the word before which a slot closes that opened before word at, or -1. What is
// filled in may end like the fill of other texts, such as "_ street in the town of". Then the slot
// seems to close several times. It closes where the most ways come together.
func (r *reader) closing(f *Forms, at, n int) int {
	to, most := -1, uint32(0)
	for i := at; i < n && (to < 0 || i <= to+context); i++ {
		if b := f.border(r.runs[i+context]).before; b > 0 && b >= most {
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
