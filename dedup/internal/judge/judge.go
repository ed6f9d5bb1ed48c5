// Package judge says of two contents how similar they are, how likely they are near-duplicates, and of which
// kind they are. It puts the stages together: readings and their comparison (package evidence), neighbourhoods
// (neighbour), the probability (decision) and forms (family).
//
// A verdict depends on the two contents and on their neighbourhoods, and on nothing else. It is the same
// for (a, b) and (b, a).
//
// What is made of a content serves many pairs, so a [Judge] has caches for it: texts, places, standings and
// forms. All of them can be made again at any time, so a cache changes the time and never a verdict. A text
// depends on its content alone, and everything else on the neighbourhood too. That decides what must be dropped
// when a document comes or goes.
package judge

import (
	"iter"
	"slices"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/content"
	"github.com/neardup/neardup/dedup/internal/decision"
	"github.com/neardup/neardup/dedup/internal/evidence"
	"github.com/neardup/neardup/dedup/internal/family"
	"github.com/neardup/neardup/dedup/internal/neighbour"
	"github.com/neardup/neardup/dedup/internal/signature"
	"github.com/neardup/neardup/internal/wording"
)

// A Judge judges the contents of a graph. It may be used by several goroutines, each with a [Worker], while the
// graph and the contents do not change.
type Judge struct {
	maker    *content.Maker
	contents *content.Contents
	graph    *neighbour.Graph
	lists    *neighbour.Lists // the neighbours of all contents; nil if they are searched for
	bias     float64

	guest   *Guest // nil if there is none
	without uint32

	memory int64
	texts  *cache[*evidence.Text]
	places *cache[*evidence.Place]
	stands *cache[*standing]
	forms  *cache[*form]
	before *cache[*evidence.Known] // places of earlier searches; nil if there are none
}

// A Guest is a content that is not in the graph, but is judged as if it were.
type Guest struct {
	Content content.Content
	Set     signature.Set
}

// A form is what the neighbourhood of a content says about forms: the forms of its neighbours, and how the
// content itself fills in the one that it has.
type form struct {
	*family.Forms
	own family.Filled
}

// New returns a judge of contents. lists has the neighbours of all; if it is nil, they are searched for
// in the graph, which must be settled then. bias is added to the logarithm of all odds. memory is how
// many bytes may be used.
func New(m *content.Maker, contents *content.Contents, g *neighbour.Graph, lists *neighbour.Lists, bias float64, memory int64) *Judge {
	j := &Judge{
		maker: m, contents: contents, graph: g, lists: lists, bias: bias, without: neighbour.None, memory: memory,
		texts: newCache[*evidence.Text](memory / textShare), places: newCache[*evidence.Place](memory / placeShare), stands: newCache[*standing](memory / placeShare), forms: newCache[*form](memory / formShare),
	}
	if lists == nil {
		j.before = newCache[*evidence.Known](memory / placeShare)
	}
	return j
}

// Changed returns a judge for the same contents and graph after they have changed. It keeps the texts,
// which do not depend on what others there are, and places to begin with; those of slots that became free
// must have been forgotten.
func (j *Judge) Changed() *Judge {
	g := *j
	g.places, g.stands, g.forms = newCache[*evidence.Place](g.memory/placeShare), newCache[*standing](g.memory/placeShare), newCache[*form](g.memory/formShare)
	return &g
}

// Forget drops what is kept of a slot that becomes free, since another content may get the slot. What depends
// on other documents need not be forgotten: Changed drops all of that.
func (j *Judge) Forget(slot uint32) {
	j.texts.forget(slot)
	if j.before != nil {
		j.before.forget(slot)
	}
}

// With returns a judge for the same contents, a guest, and without the content of a slot: as it would be if the
// guest were added and that one deleted. guest may be nil, and without [neighbour.None]. It shares the texts,
// and the places to begin with, but nothing else: a guest changes the neighbourhoods of others.
func (j *Judge) With(guest *Guest, without uint32) *Judge {
	g := *j
	g.guest, g.without = guest, without
	g.places, g.stands, g.forms = newCache[*evidence.Place](guestCache), newCache[*standing](guestCache), newCache[*form](guestCache)
	return &g
}

// guestCache is how much is kept for the time of a search.
const guestCache = 64 << 20

// A Worker judges for one goroutine. What it makes of contents goes into the caches of the judge, or, between
// Begin and End, into memory of its own.
type Worker struct {
	*Judge
	searcher *neighbour.Searcher
	compare  evidence.Comparer
	words    []wording.Wording
	members  []uint32 // whose words these are
	buffer   evidence.Buffer
	text1    evidence.Text // from which those in the caches are copied
	place1   evidence.Place

	guest1     evidence.Text // in the memory of which guestText is
	guestAt    evidence.Place
	guestText  *evidence.Text // nil until they are needed
	guestPlace *evidence.Place

	alone     bool // between Begin and End
	ownTexts  own[evidence.Text, *evidence.Text]
	ownPlaces own[evidence.Place, *evidence.Place]

	learnt     *family.Forms // the forms of some slots, nil if none are kept
	learntFrom []uint32      // these, ascending

	near struct { // the neighbours that were looked up last, and whose they are
		all       []neighbour.Near
		of        uint32
		most      neighbour.Limit // 0 if none were looked up
		isCrowded bool
	}
}

// Begin says that from now on until End, contents are compared that have no neighbours but each other. Nobody
// else needs what is made of them, so their memory is used for the next ones at once.
func (w *Worker) Begin() { w.alone = true }

// End forgets what was made of contents since Begin.
func (w *Worker) End() {
	w.alone = false
	w.ownTexts.clear(w.memory / ownShare)
	w.ownPlaces.clear(w.memory / ownShare)
}

// Worker returns a worker for one goroutine, with the buffers of one that is done, if there is any. A caller
// that forgets Done loses only that.
func (j *Judge) Worker() *Worker {
	var p *neighbour.Point
	if j.guest != nil {
		p = &neighbour.Point{Slot: neighbour.None, Digest: j.guest.Content.Digest, Set: &j.guest.Set}
	}
	w := workers.Get().(*Worker)
	w.Judge = j
	if j.lists != nil {
		w.searcher = j.lists.NewSearcher(j.graph)
	} else {
		w.searcher.Reset(j.graph, p, j.without)
	}
	return w
}

// workers are those that are done, whose memory the next ones use.
var workers = sync.Pool{New: func() any { return &Worker{searcher: &neighbour.Searcher{}} }}

// Done says that nobody needs the worker and what it has returned any more. The next worker gets its buffers,
// but nothing that refers to a judge, so that a pool does not keep old contents alive.
func (w *Worker) Done() {
	clear(w.words[:cap(w.words)])
	w.searcher.Reset(nil, nil, neighbour.None)
	*w = Worker{searcher: w.searcher, compare: w.compare, words: w.words[:0], members: w.members, buffer: w.buffer, text1: w.text1, place1: w.place1, guest1: w.guest1, guestAt: w.guestAt}
	if w.text1.Bytes()+w.place1.Bytes()+w.guest1.Bytes()+w.guestAt.Bytes() < mostSpare {
		workers.Put(w)
	}
}

// point returns the point of a slot, or of the guest.
func (w *Worker) point(slot uint32) neighbour.Point {
	if slot == neighbour.None {
		return neighbour.Point{Slot: neighbour.None, Digest: w.guest.Content.Digest, Set: &w.guest.Set}
	}
	return w.graph.At(slot)
}

// content returns the content of a slot, or of the guest.
func (w *Worker) content(slot uint32) content.Content {
	if slot == neighbour.None {
		return w.guest.Content
	}
	return w.contents.At(slot)
}

// Near returns the neighbours of a slot, or of the guest for [neighbour.None]: in a crowd of many thousands,
// only those that are next to it. The slice is valid until the next call of a method.
func (w *Worker) Near(slot uint32) []neighbour.Near { return w.among(slot, neighbour.UsualLimit) }

// NearOfAll is Near with all others of a crowd. In a crowd of many thousands it takes time and memory for all
// of them, so it is for callers who need a definite answer.
func (w *Worker) NearOfAll(slot uint32) []neighbour.Near {
	if !w.isInLargeCrowd(slot) {
		return w.Near(slot)
	}
	return w.among(slot, neighbour.NoLimit)
}

// A standing is what is known of the crowd of a slot. Finding it out takes all its neighbours, so it is kept.
type standing struct {
	isCrowded bool // see [Worker.IsCrowded]
	isLarge   bool // see [Worker.isInLargeCrowd]
	random    []neighbour.Near
}

// standing returns that of a slot, or of the guest.
func (w *Worker) standing(slot uint32) *standing {
	find := func() (*standing, int) {
		near := w.Near(slot)
		st := &standing{isLarge: w.near.isCrowded && len(near) >= neighbour.Most}
		if st.isCrowded = st.isLarge || len(near) > MostNeighbours; st.isLarge { // then near has the nearest
			st.random = w.searcher.Sample(w.point(slot))
		} else if st.isCrowded {
			st.random = w.searcher.Some(near, neighbour.Most)
		}
		return st, 64 + 8*len(st.random)
	}
	if slot == neighbour.None || w.alone {
		st, _ := find()
		return st
	}
	return w.stands.get(slot, find)
}

// isInLargeCrowd reports whether a slot has neighbours in a crowd of many thousands besides those that are next
// to it. In most such crowds a few words are all that is common.
func (w *Worker) isInLargeCrowd(slot uint32) bool { return w.standing(slot).isLarge }

// among returns the neighbours of a slot, in a crowd of more than most only those that are next to it. It
// remembers the last answer, whose slice the next other question overwrites.
func (w *Worker) among(slot uint32, most neighbour.Limit) []neighbour.Near {
	l := &w.near
	// A caller who asks for neighbours soon asks for the place, which needs them too. Where there is no crowd,
	// a limit makes no difference.
	isKnown := l.of == slot && l.most > 0 && (l.most == most || l.most < most && !l.isCrowded)
	if !isKnown {
		l.of, l.most = slot, most
		l.all, l.isCrowded = w.searcher.Neighbours(w.point(slot), most)
	}
	return l.all
}

// IsCrowded reports whether a slot has so many neighbours that it should not be compared with all. It stops
// looking as soon as there are more than MostNeighbours. Otherwise it has found all of them, and keeps them
// for the next question.
func (w *Worker) IsCrowded(slot uint32) bool {
	if l := &w.near; l.of != slot || l.most != neighbour.UsualLimit {
		near, isCrowded, isWhole := w.searcher.NeighboursUpTo(w.point(slot), neighbour.UsualLimit, MostNeighbours)
		if l.most = 0; !isWhole {
			return true
		}
		l.of, l.most, l.all, l.isCrowded = slot, neighbour.UsualLimit, near, isCrowded
	}
	return w.standing(slot).isCrowded
}

// AreNear reports whether two contents are neighbours.
func (w *Worker) AreNear(a, b uint32) bool {
	return slices.ContainsFunc(w.NearOfAll(a), func(n neighbour.Near) bool { return n.Slot == b })
}

// Nearest yields all neighbours of a slot, the nearest first, each once. In a crowd, a few at random come between
// the nearest ones (see mostRandom), and in a large one those outside of its windows come last. Most callers stop
// early. So more than the neighbours of its place are only looked for, and sorted, when they are asked for.
func (w *Worker) Nearest(slot uint32) iter.Seq[neighbour.Near] {
	return func(yield func(neighbour.Near) bool) {
		if !w.IsCrowded(slot) {
			w.inOrder(slices.Clone(w.Near(slot)), func(_ int, n neighbour.Near) bool { return yield(n) })
			return
		}
		random := w.random(slot, mostRandom)
		left := random
		each := func(i int, n neighbour.Near) bool {
			if i%beforeRandom == beforeRandom-1 && len(left) > 0 {
				if !yield(left[0]) {
					return false
				}
				left = left[1:]
			}
			return contains(random, n) || yield(n)
		}
		first := w.place(slot).Near // which are in order
		for i, n := range first {
			if !each(i, n) {
				return
			}
		}
		near := slices.Clone(w.Near(slot))
		goOn := w.inOrder(near, func(i int, n neighbour.Near) bool { return i < len(first) || each(i, n) })
		if !goOn || !w.inOrder(left, func(_ int, n neighbour.Near) bool { return yield(n) }) || !w.isInLargeCrowd(slot) {
			return
		}
		seen := make(map[uint32]bool, len(near))
		for _, n := range append(near, random...) {
			seen[n.Slot] = true
		}
		w.inOrder(slices.Clone(w.NearOfAll(slot)), func(_ int, n neighbour.Near) bool { return seen[n.Slot] || yield(n) })
	}
}

// contains reports whether a neighbour is among some.
func contains(some []neighbour.Near, n neighbour.Near) bool {
	return slices.ContainsFunc(some, func(x neighbour.Near) bool { return x.Slot == n.Slot })
}

// inOrder calls yield with neighbours, the nearest first, and their numbers, until it returns false. It sorts
// 256 at first, and twice as many each time, so a caller who stops early does not pay for sorting all.
func (w *Worker) inOrder(all []neighbour.Near, yield func(i int, n neighbour.Near) bool) bool {
	number := 0
	for n := 256; len(all) > 0; n *= 2 {
		near := w.searcher.Sort(all, n)
		for _, x := range near {
			if !yield(number, x) {
				return false
			}
			number++
		}
		all = all[len(near):]
	}
	return true
}

// random returns up to n neighbours of a slot that is crowded, at random: those with the smallest digests, so
// they are the same ones each time and in any order of adding.
func (w *Worker) random(slot uint32, n int) []neighbour.Near {
	some := w.standing(slot).random
	return some[:min(len(some), n):min(len(some), n)]
}

// text returns the text of a slot, from a cache if it is there. Between Begin and End it uses memory of the worker.
func (w *Worker) text(slot uint32) *evidence.Text {
	read := func(t *evidence.Text) {
		c := w.content(slot)
		t.Read(w.maker, &c, &w.buffer)
	}
	switch {
	case slot == neighbour.None:
		if w.guestText == nil {
			w.guestText = &w.guest1
			read(w.guestText)
		}
		return w.guestText
	case w.alone:
		t, isNew := w.ownTexts.get(slot)
		if isNew {
			read(t)
		}
		return t
	}
	return w.texts.get(slot, func() (*evidence.Text, int) {
		read(&w.text1)
		t := w.text1.Clone()
		return t, t.Bytes()
	})
}

// place returns what the neighbourhood of a slot says about it.
func (w *Worker) place(slot uint32) *evidence.Place {
	switch {
	case slot == neighbour.None:
		if w.guestPlace == nil {
			w.guestPlace = &w.guestAt
			w.readPlace(slot, w.guestPlace)
		}
		return w.guestPlace
	case w.alone:
		p, isNew := w.ownPlaces.get(slot)
		if isNew {
			w.readPlace(slot, p)
		}
		return p
	}
	return w.places.get(slot, func() (*evidence.Place, int) {
		w.readPlace(slot, &w.place1)
		p := w.place1.Clone()
		return p, p.Bytes()
	})
}

// readPlace reads the place of a slot, in the memory that p has.
//
// Searches ask for the same places again and again, and from one search to the next only a neighbour or two
// change, such as the guest. So places are kept. The neighbours are always looked up, so the result is the same
// as reading the place from scratch. A kept place is replaced only after more than mostStale changes, since
// keeping one means copying it.
func (w *Worker) readPlace(slot uint32, p *evidence.Place) {
	w.standing(slot) // which needs all neighbours too
	near := w.searcher.Nearest(w.Near(slot))
	if w.before == nil || slot == neighbour.None {
		p.Read(w.text(slot), near, w.text)
		return
	}
	was, isKnown := w.before.find(slot)
	changed := 0
	if isKnown {
		changed, isKnown = p.Change(w.text(slot), was, near, w.digest, w.text)
	}
	if !isKnown {
		p.Read(w.text(slot), near, w.text)
	}
	if !isKnown || changed > mostStale {
		w.remember(slot, p)
	}
}

// remember keeps a place for later searches, without the guest, which no later search has. The guest may have pushed
// out the last neighbour, so the place may have one too few; Change adds it when the neighbours are looked up.
func (w *Worker) remember(slot uint32, p *evidence.Place) {
	known := p.Known(w.digest)
	if g := slices.IndexFunc(p.Near, func(n neighbour.Near) bool { return n.Slot == neighbour.None }); g >= 0 {
		var alone evidence.Place
		alone.Change(w.text(slot), known, slices.Delete(slices.Clone(p.Near), g, g+1), w.digest, w.text)
		known = alone.Known(w.digest)
	}
	w.before.put(slot, known, known.Bytes())
}

// digest returns that of the content in a slot, or of the guest; 0 if the slot is free.
func (w *Worker) digest(slot uint32) uint64 { return w.content(slot).Digest }

// A Score says how similar two contents are, and how likely they are near-duplicates.
type Score struct {
	Similarity, Probability float64

	// IsTemplate says that by their texts alone they would be near-duplicates, but that the neighbourhood shows
	// that what they share is shared by many: a template. Then Probability is that of their texts alone, as it
	// is for copies of which there are many.
	IsTemplate bool
}

// Score returns the score of two neighbours. Each is a slot, or [neighbour.None] for the guest.
func (w *Worker) Score(a, b uint32) Score {
	v := w.Evidence(a, b)
	s := Score{Similarity: v.Similarity}
	texts, all := decision.Probabilities(&v, w.bias)
	if s.Probability = all; all < 0.5 && texts >= 0.5 && areMany(len(w.place(a).Near), len(w.place(b).Near)) {
		s.Probability, s.IsTemplate = texts, !v.IsCopy // whether copies are of one form, their words show
	}
	return s
}

// areMany reports whether one of two documents, with a and b neighbours, is in a neighbourhood of leastMany or
// more documents, itself included.
func areMany(a, b int) bool { return max(a, b)+1 >= leastMany }

// Evidence returns what [Worker.Score] is computed from.
func (w *Worker) Evidence(a, b uint32) evidence.Vector {
	return w.compare.Pair(w.text(a), w.text(b), w.place(a), w.place(b), a, b)
}

// form returns what the neighbourhood of a slot says about forms. It looks at up to mostForms texts, and not at
// the whole neighbourhood.
func (w *Worker) form(slot uint32) *form {
	return w.forms.get(slot, func() (*form, int) {
		own := w.text(slot)
		f := &form{Forms: &family.Forms{}}
		if own.Record {
			return f, 64 // all records of a table are one form, filled in differently
		}
		near := w.place(slot).Near
		// Of a crowd, the nearest may all be changed in one place, which would look like a form.
		if len(near) == neighbour.Most && w.IsCrowded(slot) {
			near = w.random(slot, len(near))
		}
		of := append(w.members[:0], slot)
		for _, n := range near {
			// A form is at least half of each text, so two texts of one share a third of their words.
			if n.Agreement*3 >= signature.Values && len(of) < mostForms {
				of = append(of, n.Slot)
			}
		}
		w.members = of
		f.Forms = w.learn(of)
		f.own = f.Read(own.Words)
		return f, 64 + f.Bytes()
	})
}

// learn returns the forms of the texts of slots, which it sorts. What forms there are depends on the set alone,
// and all versions of one page have the same neighbours, so the forms of the last set are kept.
func (w *Worker) learn(of []uint32) *family.Forms {
	slices.Sort(of)
	if w.learnt == nil || !slices.Equal(of, w.learntFrom) {
		w.words = w.words[:0]
		for _, slot := range of {
			w.words = append(w.words, w.text(slot).Words)
		}
		w.learnt, w.learntFrom = family.Learn(w.words), append(w.learntFrom[:0], of...)
		clear(w.words)
	}
	return w.learnt
}

// Kind returns the kind of two neighbours with a score: the first one that fits. SameForm comes before
// SameExceptNumbers, since the numbers of a form, such as an invoice, are what is filled in (package family).
// Two contents are never identical.
func (w *Worker) Kind(a, b uint32, s Score) neardup.Kind {
	x, y := w.text(a).Words, w.text(b).Words
	switch {
	case wording.Equal(x, y):
		return neardup.SameWords
	case s.IsTemplate || w.isForm(a, b):
		return neardup.SameForm
	case wording.EqualButFigures(x, y):
		return neardup.SameExceptNumbers
	case x.Contains(y) || y.Contains(x):
		return neardup.Contained
	}
	return neardup.Revised
}

// isForm reports whether two contents are one form that is filled in differently, as the
// neighbourhood of one of them shows.
func (w *Worker) isForm(a, b uint32) bool {
	return w.fillsIn(a, b) || w.fillsIn(b, a)
}

func (w *Worker) fillsIn(a, b uint32) bool {
	f := w.form(a)
	return f.own.Form != 0 && family.Same(f.own, f.Read(w.text(b).Words))
}
