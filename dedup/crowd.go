package dedup

import (
	"context"
	"math"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/judge"
)

// This file is for crowds: contents with more neighbours than can be compared with each other, such as the
// pages of one template. Grouping around centres, and looking for families, then compare a content with the
// nearest ones only. [judge.MostNeighbours] says how many are too many.
//
// A collection may have a crowd and many other documents. Those outside of the crowd are compared as always, in
// the order of neighbours, by beside. Only those in the crowd are looked up one by one.

// A crowd is the contents, by position, for which [judge.Worker.IsCrowded] holds, or all.
type crowd struct {
	all bool
	of  map[int32]bool
}

// has reports whether a content is in the crowd.
func (c *crowd) has(i int32) bool { return c.all || c.of[i] }

// isEmpty reports whether no content is in the crowd.
func (c *crowd) isEmpty() bool { return !c.all && len(c.of) == 0 }

// edgesWith returns the edges of a content with all others that count, with the other one as a, ascending. In a
// crowd it stops after mostMissed in a row that are none. The order of nearest is by nearness, so it sorts them.
func (s *snapshot[ID]) edgesWith(w *judge.Worker, i int32) []edge {
	found := s.nearest(w, i, func(int32) bool { return true }, mostMissed, math.MaxInt)
	slices.SortFunc(found, func(e, f edge) int { return int(e.a - f.a) })
	return found
}

// nearest returns the edges of a content with others that wanted accepts, with the other one as a. In a
// crowd it stops once misses in a row are not near-duplicates, or once it has found most. Outside of a crowd
// it compares all of them.
func (s *snapshot[ID]) nearest(w *judge.Worker, i int32, wanted func(j int32) bool, misses, most int) (found []edge) {
	slot := s.order[i]
	isCrowded, missed := w.IsCrowded(slot), 0
	for n := range w.Nearest(slot) {
		j := s.position[n.Slot]
		if j < 0 || !wanted(j) {
			continue
		}
		v, ok := s.options.judge(w, slot, n.Slot)
		if missed++; ok {
			found, missed = append(found, edge{j, i, v}), 0
		}
		if isCrowded && (missed == misses || len(found) == most) {
			break
		}
	}
	return found
}

// gather returns the edges that a function appends for each content, until there are more than most.
func (s *snapshot[ID]) gather(ctx context.Context, most int, of func(w *judge.Worker, i int32, found *[]edge)) (all []edge) {
	walk(ctx, s, of, func(found []edge) bool {
		all = append(all, found...)
		return len(all) <= most && ctx.Err() == nil
	})
	return all
}

// beside returns all edges with at least one content outside of the crowd; others may be among them. It returns
// nil if all contents are in the crowd, if there are too many edges to keep them, or if the context ends.
// Without it, a single crowd would make all other documents be looked up one by one.
func (s *snapshot[ID]) beside(ctx context.Context) *incident {
	c := s.crowd()
	if e := s.known(); e != nil && !c.all {
		return incidentTo(len(s.order), e.all)
	}
	if c.all || c.isEmpty() { // then the edges are too many
		return nil
	}
	all := s.gather(ctx, s.mostEdges(), func(w *judge.Worker, i int32, found *[]edge) {
		*found = s.besideOf(w, c, i, *found)
	})
	if len(all) > s.mostEdges() || ctx.Err() != nil {
		return nil
	}
	return incidentTo(len(s.order), all)
}

// besideOf appends those edges of a content that beside is for, and that no other content appends. If one of
// the two is in the crowd, the other one appends the edge; if neither is, the later one does. Old contents are
// not walked and append none, so a content in the crowd appends its edges with old ones outside of it.
func (s *snapshot[ID]) besideOf(w *judge.Worker, c *crowd, i int32, found []edge) []edge {
	var with []int32
	isIn := c.has(i)
	if isIn && s.oldDocs == 0 { // there is no old one, so others append all of its edges
		return found
	}
	for _, n := range w.Near(s.order[i]) {
		j := s.position[n.Slot]
		switch isOld := j >= 0 && !s.isFresh(j); {
		case j < 0: // a neighbour without features, which only a file that somebody has made up can have
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

// withOld returns the edges of new contents with old ones, as far as beside lacks them: in a crowd, those with the
// nearest ones. So what is looked up grows with what is new, not with an old crowd. Otherwise each old content,
// which is a centre before all new ones, would be compared with its crowd. It returns nil without old documents.
func (s *snapshot[ID]) withOld(ctx context.Context, beside *incident) *incident {
	if s.oldDocs == 0 {
		return nil
	}
	return incidentTo(len(s.order), s.gather(ctx, math.MaxInt, func(w *judge.Worker, i int32, found *[]edge) {
		if !s.isOld(i) && (beside == nil || s.crowd().has(i)) {
			*found = append(*found, s.nearest(w, i, s.isOld, mostMissedBySearch, mostOld)...)
		}
	}))
}

// formEdges returns the edges of the kind [neardup.SameForm]. In a crowded neighbourhood, they are those
// with the nearest ones; Families joins them by chains. If the context ends some are missing, and the
// caller asks the context.
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
	return append(forms, s.gather(ctx, math.MaxInt, func(w *judge.Worker, i int32, found *[]edge) {
		if beside == nil || c.has(i) {
			*found = s.formsOf(w, i, *found)
		}
	})...)
}

// formsOf appends the edges of a content that are of the kind [neardup.SameForm]. In a crowd it looks at
// mostForms others, whether they are of one form with it or not.
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
