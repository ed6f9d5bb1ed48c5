package dedup

import (
	"context"
	"slices"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/judge"
	"github.com/neardup/neardup/dedup/internal/neighbour"
	"github.com/neardup/neardup/internal/parallel"
)

// This file is for crowds: contents with more neighbours than can be compared with each other, such as the pages of one template. Whoever
// groups around centres, or looks for families, then compares a content with the nearest ones only.

// A crowd is the contents, by position, for which [judge.Worker.IsCrowded] holds, or all.
type crowd struct {
	all bool
	of  map[int32]bool
}

// has reports whether a content is in the crowd.
func (c *crowd) has(i int32) bool { return c.all || c.of[i] }

// isEmpty reports whether nobody is in the crowd.
func (c *crowd) isEmpty() bool { return !c.all && len(c.of) == 0 }

// crowdIn returns the crowd of contents with these neighbours. Without lists, and unless neighbours are searched for, too many have too
// many neighbours.
func (s *snapshot[ID]) crowdIn(lists *neighbour.Lists) *crowd {
	c := &crowd{of: map[int32]bool{}}
	var slots []uint32
	switch {
	case lists == nil && !s.isSearch():
		c.all = true
	case lists == nil:
		for _, i := range s.reached() {
			slots = append(slots, s.order[i])
		}
	case lists.Most() > judge.MostNeighbours:
		slots = s.order
	default:
		slots = lists.Crowded()
	}
	var mu sync.Mutex
	parallel.Chunks(len(slots), func(_, from, to int) {
		w := s.judge.Worker()
		for _, slot := range slots[from:to] {
			if w.IsCrowded(slot) {
				mu.Lock()
				c.of[s.position[slot]] = true
				mu.Unlock()
			}
		}
	})
	return c
}

// In a crowd, to compare each with each would take for ever: of 20,000 pages of one template there are
// 200 million pairs. So whoever groups around centres, or looks for families, compares a content with its nearest neighbours: until
// mostMissed in a row are no near-duplicates, or, for a family, with as many as show what is common. Versions of one page are all found,
// since they are all near-duplicates of the first, and pages of a template cost as much as there are pages. Pairs compares all neighbours.
const (
	mostMissed = 32 // with 16 and with 64 the clusters of all 24 collections are the same
	mostForms  = 32
)

// edgesWith returns the edges of a content with all others that count, with the other one as a, ascending.
func (s *snapshot[ID]) edgesWith(w *judge.Worker, i int32) (found []edge) {
	slot := s.order[i]
	isCrowded, missed := w.IsCrowded(slot), 0
	for n := range w.Nearest(slot) {
		v, ok := s.options.judge(w, slot, n.Slot)
		if missed++; ok && s.position[n.Slot] >= 0 {
			found, missed = append(found, edge{s.position[n.Slot], i, v}), 0
		}
		if missed == mostMissed && isCrowded {
			break
		}
	}
	slices.SortFunc(found, func(e, f edge) int { return int(e.a - f.a) })
	return found
}

// lookUp calls use with all near-duplicates of some contents, in their order, or with none of those that are covered when
// their turn comes. It is for groups with more edges than can be kept, or than anybody can wait for. Those in beside, which may be nil, are
// known already; of old contents, those in beside and in old are all that count.
func (s *snapshot[ID]) lookUp(ctx context.Context, contents []int32, beside, old *incident, covered func(i int32) bool, use func(i int32, found []edge)) {
	isKnown := func(i int32) bool { return beside != nil && !s.crowd().has(i) || s.isOld(i) }
	known := func(i int32) (found []edge) {
		if beside != nil {
			found = beside.of(i)
		}
		if s.isOld(i) {
			found = append(found, old.of(i)...)
		}
		return found
	}
	perLook, next := 16, 0 // few, since members of a group are looked up as long as its centre is not known
	if !s.crowd().isEmpty() {
		perLook = 1
	}
	for next < len(contents) && isKnown(contents[next]) {
		use(contents[next], known(contents[next]))
		next++
	}
	contents = contents[next:]
	next = 0
	parallel.InOrder((len(contents)+perLook-1)/perLook, s.judge.Worker, func(w *judge.Worker, job int, emit func([][]edge) bool) {
		part := contents[job*perLook : min(len(contents), (job+1)*perLook)]
		found := make([][]edge, len(part))
		for k, i := range part {
			switch {
			case isKnown(i):
				found[k] = known(i)
			case !covered(i) && ctx.Err() == nil:
				found[k] = s.edgesWith(w, i)
			}
		}
		emit(found)
	}, func(found [][]edge) bool {
		for _, f := range found {
			use(contents[next], f)
			next++
		}
		return true
	})
}

// beside returns all edges of which one content at least is outside of the crowd, if there is one; others may be among them. It returns
// nil if there is none outside, if there are too many to keep them, or if the context ends. A single crowd must not make everybody else
// be looked up one by one.
func (s *snapshot[ID]) beside(ctx context.Context) *incident {
	c := s.crowd()
	if e := s.known(); e != nil && !c.all {
		return incidentTo(len(s.order), e.all)
	}
	if c.all || c.isEmpty() { // then the edges are too many
		return nil
	}
	var all []edge
	walk(ctx, s, func(w *judge.Worker, i int32, found *[]edge) {
		*found = s.besideOf(w, c, i, *found)
	}, func(found []edge) bool {
		all = append(all, found...)
		return len(all) <= s.mostEdges() && ctx.Err() == nil
	})
	if len(all) > s.mostEdges() || ctx.Err() != nil {
		return nil
	}
	return incidentTo(len(s.order), all)
}

// besideOf appends those edges of a content that beside is for, and that no other content appends. Of two contents it is the one
// outside of the crowd, or else the later one; but old ones append none.
func (s *snapshot[ID]) besideOf(w *judge.Worker, c *crowd, i int32, found []edge) []edge {
	var with []int32
	isIn := c.has(i)
	if isIn && s.oldDocs == 0 { // it has none of them
		return found
	}
	for _, n := range w.Near(s.order[i]) {
		j := s.position[n.Slot]
		switch isOld := j >= 0 && !s.isFresh(j); {
		case j < 0: // in a file that somebody has made
		case isIn && (!isOld || c.has(j)):
		case isIn || isOld || j < i || c.has(j):
			with = append(with, j)
		}
	}
	for _, j := range with {
		if v, _ := s.options.judge(w, s.order[i], s.order[j]); v.kind != 0 {
			found = append(found, edge{j, i, v})
		}
	}
	return found
}

// mostOld is with how many old contents a new one in a crowd has edges: it goes to the most similar of them, and each costs a millisecond or two.
const mostOld = 16

// withOld returns the edges of new contents with old ones, as far as beside lacks them: in a crowd, those with the nearest ones. So what is
// looked up grows with what is new, not with an old crowd. It returns nil without old documents.
func (s *snapshot[ID]) withOld(ctx context.Context, beside *incident) *incident {
	if s.oldDocs == 0 {
		return nil
	}
	var all []edge
	walk(ctx, s, func(w *judge.Worker, i int32, found *[]edge) {
		if s.isOld(i) || beside != nil && !s.crowd().has(i) {
			return
		}
		slot, from, missed := s.order[i], len(*found), 0
		isCrowded := w.IsCrowded(slot)
		for n := range w.Nearest(slot) {
			j := s.position[n.Slot]
			if j < 0 || !s.isOld(j) {
				continue
			}
			v, ok := s.options.judge(w, slot, n.Slot)
			if missed++; ok {
				*found, missed = append(*found, edge{j, i, v}), 0
			}
			if isCrowded && (missed == mostMissedBySearch || len(*found)-from == mostOld) {
				break
			}
		}
	}, func(found []edge) bool {
		all = append(all, found...)
		return ctx.Err() == nil
	})
	return incidentTo(len(s.order), all)
}

// formEdges returns the edges of the kind [neardup.SameForm]. In a crowded neighbourhood, they are those with the nearest ones.
func (s *snapshot[ID]) formEdges(ctx context.Context) (forms []edge) {
	if !s.ready(ctx) {
		return nil
	}
	c := s.crowd()
	if c.isEmpty() {
		for e := range s.stream(ctx) {
			if e.kind == neardup.SameForm {
				forms = append(forms, e)
			}
		}
		return forms
	}
	beside := s.beside(ctx)
	if beside != nil {
		for _, e := range beside.all {
			if e.kind == neardup.SameForm && !(c.has(e.a) && c.has(e.b)) {
				forms = append(forms, e)
			}
		}
	}
	walk(ctx, s, func(w *judge.Worker, i int32, found *[]edge) {
		if beside == nil || c.has(i) {
			*found = s.formsOf(w, i, *found)
		}
	}, func(found []edge) bool {
		forms = append(forms, found...)
		return ctx.Err() == nil
	})
	return forms
}

// formsOf appends the edges of a content that are of the kind [neardup.SameForm].
func (s *snapshot[ID]) formsOf(w *judge.Worker, i int32, found []edge) []edge {
	slot := s.order[i]
	isCrowded, looked := w.IsCrowded(slot), 0
	for n := range w.Nearest(slot) {
		if looked++; looked > mostForms && isCrowded {
			break
		}
		if v, _ := s.options.judge(w, slot, n.Slot); v.kind == neardup.SameForm && s.position[n.Slot] >= 0 {
			found = append(found, edge{s.position[n.Slot], i, v})
		}
	}
	return found
}
