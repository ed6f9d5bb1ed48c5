package judge

import (
	"slices"

	"github.com/neardup/neardup/dedup/internal/evidence"
	"github.com/neardup/neardup/dedup/internal/neighbour"
)

// This file finds the places of contents: what their neighbourhoods say about them.
//
// To read a place takes as many comparisons as it has neighbours, up to 64. Searches ask for the places of the same contents again and again, and between
// two of them a neighbour or two have come or gone, such as the guest. So what they have read is kept, and only the difference is compared. The
// neighbours themselves are always looked up, so a place is the same as if it had been read anew.

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
func (w *Worker) readPlace(slot uint32, p *evidence.Place) {
	w.standing(slot) // which needs all neighbours too
	near := w.searcher.Nearest(w.Near(slot))
	if w.before == nil || slot == neighbour.None {
		p.Read(w.text(slot), near, w.text)
		return
	}
	was, ok := w.before.find(slot)
	if !ok || !w.changePlace(slot, p, was, near) {
		p.Read(w.text(slot), near, w.text)
		w.remember(slot, p)
	}
}

// remembered is a place as a search has read it, and which contents its neighbours were: others may have their slots now.
type remembered struct {
	*evidence.Place
	digests []uint64
}

// mostChanged is how many neighbours may have come, and how many may have gone, since a place was read that is used again. Each costs as much as one
// of a place that is read anew.
const mostChanged = neighbour.Most / 4

// changePlace makes p the place of a slot with these neighbours, from what it was. It returns false if too much has changed.
func (w *Worker) changePlace(slot uint32, p *evidence.Place, was *remembered, near []neighbour.Near) bool {
	at := make(map[uint32]int, len(was.Near))
	for k, n := range was.Near {
		at[n.Slot] = k
	}
	same, come := make([]int, len(near)), 0
	for k, n := range near {
		there, ok := at[n.Slot]
		if !ok || was.digests[there] != w.content(n.Slot).Digest {
			same[k] = evidence.NotThere
			come++
			continue
		}
		same[k] = there
		delete(at, n.Slot)
	}
	if come > mostChanged || len(at) > mostChanged {
		return false
	}
	for gone, k := range at {
		if c := w.content(gone); !c.HasFeatures() || c.Digest != was.digests[k] { // its text is not there any more
			return false
		}
	}
	p.Change(w.text(slot), was.Place, same, near, w.text)
	if come+len(at) > mostChanged/2 {
		w.remember(slot, p)
	}
	return true
}

// remember keeps a place for later searches, without the guest.
func (w *Worker) remember(slot uint32, p *evidence.Place) {
	of := &remembered{Place: p.Clone()}
	if g := slices.IndexFunc(p.Near, func(n neighbour.Near) bool { return n.Slot == neighbour.None }); g >= 0 {
		same := make([]int, 0, len(p.Near))
		for k := range p.Near {
			if k != g {
				same = append(same, k)
			}
		}
		of.Place = &evidence.Place{}
		of.Change(w.text(slot), p, same, slices.Delete(slices.Clone(p.Near), g, g+1), w.text)
	}
	for _, n := range of.Near {
		of.digests = append(of.digests, w.content(n.Slot).Digest)
	}
	w.before.put(slot, of, of.Bytes()+8*len(of.digests))
}
