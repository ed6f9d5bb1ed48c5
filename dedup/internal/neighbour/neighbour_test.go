package neighbour

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/dedup/internal/signature"
)

// A naive is a graph by the definition: it compares each with each.
type naive struct {
	sets    map[uint32]signature.Set
	digests map[uint32]uint64
	most    Limit
}

// Signature and Digest make it the texts of a graph.
func (n *naive) Signature(slot uint32, l signature.Level, into *signature.Signature) {
	set, ok := n.sets[slot]
	if !ok || !set.Has[l] {
		panic("no such signature")
	}
	*into = set.Of[l]
}

func (n *naive) Digest(slot uint32) uint64 { return n.digests[slot] }

func (n *naive) clone() *naive { return &naive{maps.Clone(n.sets), maps.Clone(n.digests), n.most} }

// with returns the graph with a guest at None, which may be nil, and without a slot, which may be None.
func (n *naive) with(guest *Point, without uint32) *naive {
	n = n.clone()
	delete(n.sets, without)
	if guest != nil {
		n.sets[None], n.digests[None] = *guest.Set, guest.Digest
	}
	return n
}

// sharing returns the slots that share a band of one level with a signature.
func (n *naive) sharing(s *signature.Signature, l signature.Level, band int) (slots []uint32) {
	for slot, set := range n.sets {
		if set.Has[l] && agree(s, &set.Of[l], band) {
			slots = append(slots, slot)
		}
	}
	return slots
}

// neighbours returns the neighbours of a set at a slot, or of the guest for None, with a guest that may be nil and without
// a slot that may be None, and whether there is a crowd. Two are neighbours if they agree in leastAgreement values, and in three from the
// beginning of some band. If more than most do, itself included, only the next ones on each side count, in the order of the values from the
// band on and of the digests.
func (n *naive) neighbours(slot uint32, guest *Point, without uint32) (near []Near, isCrowded bool) {
	n = n.with(guest, without)
	all, digests := n.sets, n.digests
	own := all[slot]
	for l := range signature.Levels {
		if !own.Has[l] {
			continue
		}
		sig := own.Of[l]
		found := map[uint32]bool{}
		for band := range bands {
			sharing := n.sharing(&sig, l, band)
			if len(sharing) > int(n.most) {
				isCrowded = true
				slices.SortFunc(sharing, func(a, b uint32) int {
					x, y := all[a].Of[l], all[b].Of[l]
					for i := range signature.Values {
						if c := cmp.Compare(valueFrom(&x, band, i), valueFrom(&y, band, i)); c != 0 {
							return c
						}
					}
					return cmp.Compare(digests[a], digests[b])
				})
				at := slices.Index(sharing, slot)
				sharing = sharing[max(at-window, 0):min(at+window+1, len(sharing))]
			}
			for _, other := range sharing {
				found[other] = true
			}
		}
		delete(found, slot)
		for other := range found {
			set := all[other]
			same := 0
			for i := range signature.Values {
				if sig.Value(i)%16 == set.Of[l].Value(i)%16 {
					same++
				}
			}
			a := int(agreement(same))
			if level, _ := common(own.Has, set.Has); level == l && a >= int(leastAgreement[l]) {
				near = append(near, Near{other, int32(a)})
			}
		}
	}
	return sorted(near), isCrowded
}

// sample returns the neighbours of a slot, or of the guest for None, among the sixty-four with the smallest digests in the first band that
// more than most share.
func (n *naive) sample(slot uint32, guest *Point, without uint32) (near []Near) {
	n = n.with(guest, without)
	all, own := n.sets, n.sets[slot]
	for l := range signature.Levels {
		if !own.Has[l] {
			continue
		}
		for band := range bands {
			of := own.Of[l]
			sharing := n.sharing(&of, l, band)
			if len(sharing) <= int(n.most) {
				continue
			}
			slices.SortFunc(sharing, func(a, b uint32) int { return cmp.Compare(n.digests[a], n.digests[b]) })
			for _, other := range sharing[:min(len(sharing), 64)] {
				x, y := own.Of[l], all[other].Of[l]
				kx, ky := sketchOf(&x), sketchOf(&y)
				level, _ := common(own.Has, all[other].Has)
				if a := agreement(kx.same(&ky)); other != slot && a >= leastAgreement[l] && level == l {
					near = append(near, Near{other, a})
				}
			}
			return sorted(near)
		}
	}
	return nil
}

// valueFrom returns the four lowest bits, in their opposite order, of value i behind the beginning of a band.
func valueFrom(s *signature.Signature, band, i int) uint8 {
	return bits.Reverse8(uint8(s.Value((3*band+i)%signature.Values) & 15))
}

// agree reports whether two signatures share a band: they agree in its key, and so, nearly always, in its values.
func agree(a, b *signature.Signature, band int) bool { return keyOf(a, band) == keyOf(b, band) }

func sorted(near []Near) []Near {
	near = slices.Clone(near)
	slices.SortFunc(near, func(a, b Near) int { return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Agreement, b.Agreement)) })
	return near
}

// setValue sets value i of a signature.
func setValue(s *signature.Signature, i int, v uint64) {
	shift := i % 4 * 16
	s[i/4] = s[i/4]&^(0xFFFF<<shift) | v<<shift
}

// randomSignature returns random values.
func randomSignature(rnd *rand.Rand) (s signature.Signature) {
	for i := range s {
		s[i] = rnd.Uint64()
	}
	return s
}

// changed returns a signature in which a share of the values, spread or in one piece, is another one of few.
func changed(rnd *rand.Rand, s signature.Signature, share float64) signature.Signature {
	if rnd.IntN(3) == 0 { // in one piece
		n, from := int(share*signature.Values), rnd.IntN(signature.Values)
		for i := range n {
			setValue(&s, (from+i)%signature.Values, rnd.Uint64N(1<<16))
		}
		return s
	}
	for i := range signature.Values {
		if rnd.Float64() < share {
			setValue(&s, i, rnd.Uint64N(3))
		}
	}
	return s
}

// randomSet returns the signatures of one of a few families.
func randomSet(rnd *rand.Rand, bases []signature.Signature) (set signature.Set) {
	base, share := bases[rnd.IntN(len(bases))], rnd.Float64()
	switch rnd.IntN(8) {
	case 0:
		set.Has = [signature.Levels]bool{true, true}
	case 1, 2, 3:
		set.Has[signature.Short] = true
	case 4:
		return signature.Set{} // no features
	default:
		set.Has[signature.Long] = true
	}
	for l := range set.Has {
		if set.Has[l] {
			set.Of[l] = changed(rnd, base, share)
		}
	}
	return set
}

// A kept is a snapshot of a graph.
type kept struct {
	graph *Graph
	want  *naive
}

func snapshot(g *Graph, texts *naive) kept {
	now := texts.clone()
	return kept{g.Snapshot(now), now}
}

// compareJoin compares the neighbours of all, as the lists have them, with searches.
func compareJoin(t *testing.T, g *Graph, want *naive) {
	t.Helper()
	lists := g.Join(context.Background(), nil)
	if !g.IsSettled() {
		g.Settle()
	}
	s, of, listed, found, dense, tries := g.NewSearcher(nil, None), lists.NewSearcher(g), 0, 0, 0, 0
	for slot := range want.sets {
		listed += len(lists.Of(slot))
		if lists.IsDense(slot) {
			dense++
		}
		if tries++; tries > 60 {
			found += len(lists.Of(slot))
			continue
		}
		for _, most := range []Limit{want.most, NoLimit} {
			near, is := s.Neighbours(g.At(slot), most)
			if most == want.most {
				found += len(near)
			}
			if !slices.Equal(sorted(s.Sample(g.At(slot))), sorted(of.Sample(g.At(slot)))) {
				t.Fatalf("slot %d has another sample by the lists", slot)
			}
			got, isAlso := of.Neighbours(g.At(slot), most)
			if !slices.Equal(sorted(near), sorted(got)) || is != isAlso {
				t.Fatalf("slot %d has %d neighbours by the lists, and a search finds %d", slot, len(got), len(near))
			}
		}
	}
	if listed != len(lists.near) || listed > found || dense == 0 && listed != found {
		t.Fatalf("%d pairs are listed, %d by slots, and %d found", len(lists.near)/2, listed/2, found/2)
	}
	less := *g
	less.memory = int64(listed/2-1) * pairBytes * listShare
	if listed > 0 && less.Join(context.Background(), nil) != nil {
		t.Fatalf("there is memory for %d pairs, and %d were listed", listed/2-1, listed/2)
	}
	done, stop := context.WithCancel(context.Background())
	if stop(); g.Join(done, nil) != nil {
		t.Fatal("there are lists after the end of the context")
	}
}

// check compares a search from a slot, or from a guest for None, with the definition, and returns the neighbours.
func check(t *testing.T, what string, g *Graph, want *naive, slot uint32, guest *Point, without uint32) []Near {
	t.Helper()
	p := g.At(slot)
	if slot == None {
		p = *guest
	}
	near, is := want.neighbours(slot, guest, without)
	searcher := g.NewSearcher(guest, without)
	if got, near := sorted(searcher.Sample(p)), want.sample(slot, guest, without); !slices.Equal(got, near) {
		t.Fatalf("%s: slot %d, with a guest: %v, and without %d, has the sample %v, not %v", what, int32(slot), guest != nil, int32(without), got, near)
	}
	got, isAlso := searcher.Neighbours(p, want.most)
	if got = sorted(got); !slices.Equal(got, near) || is != isAlso {
		t.Fatalf("%s: slot %d, with a guest: %v, and without %d, has the neighbours %v, not %v; it is crowded: %v, not %v", what, int32(slot), guest != nil, int32(without), got, near, isAlso, is)
	}
	return near
}

// room makes room for an addition.
func room(t *testing.T, g *Graph) {
	t.Helper()
	if err := g.MakeRoom(1); err != nil {
		t.Fatal(err)
	}
}

// TestNeighbours changes a graph at random, and compares its searches, with and without a guest, and those in snapshots,
// with the definition.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		bases := make([]signature.Signature, 1+seed*3)
		for i := range bases {
			bases[i] = randomSignature(rnd)
		}
		want := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, UsualLimit}
		few := leastKept
		if seed < 2 {
			want.most, few = 40, 20 // so that there are crowds
		}
		g := New(want, 1<<30)
		g.usual, g.kept = want.most, few
		if seed%2 == 1 { // sketches and lists go to a file at once
			for l := range g.levels {
				g.levels[l].sketches.Limit(0)
				g.levels[l].listed = 0
			}
		}
		var snapshots []kept
		found := 0
		compare := func(what string, g *Graph, want *naive) {
			t.Helper()
			if len(want.sets) == 0 {
				return
			}
			slots := slices.Sorted(maps.Keys(want.sets))
			slot := slots[rnd.IntN(len(slots))]
			what = fmt.Sprintf("seed %d, %s", seed, what)
			found += len(check(t, what, g, want, slot, nil, None))
			// With a guest, and without some slot.
			set := randomSet(rnd, bases)
			if rnd.IntN(3) == 0 {
				set = want.sets[slots[rnd.IntN(len(slots))]]
			}
			guest := &Point{Slot: None, Digest: rnd.Uint64(), Set: &set}
			without := None
			if rnd.IntN(2) == 0 {
				without = slots[rnd.IntN(len(slots))]
			}
			check(t, what, g, want, None, guest, without)
			s := g.NewSearcher(guest, without)
			for range 3 {
				if slot = slots[rnd.IntN(len(slots))]; slot == without {
					continue
				}
				near := check(t, what, g, want, slot, guest, without)
				// The nearest are those that agree in the most values.
				nearest := slices.Clone(s.Nearest(slices.Clone(near)))
				slices.SortFunc(near, func(a, b Near) int { return cmp.Compare(b.Agreement, a.Agreement) })
				if len(nearest) != min(len(near), Most) {
					t.Fatalf("%d of %d neighbours", len(nearest), len(near))
				}
				for i := range nearest {
					if nearest[i].Agreement != near[i].Agreement {
						t.Fatalf("neighbour %d agrees in %d, not %d", i, nearest[i].Agreement, near[i].Agreement)
					}
				}
			}
		}
		steps := 1200
		if testing.Short() {
			steps = 800
		}
		for step := range steps {
			switch op := rnd.IntN(20); {
			case op < 12 && (seed > 0 || len(want.sets) < 100):
				slot := uint32(rnd.IntN(700))
				if _, ok := want.sets[slot]; ok {
					continue
				}
				set := randomSet(rnd, bases)
				want.sets[slot], want.digests[slot] = set, rnd.Uint64()
				room(t, g)
				g.Add([]uint32{slot}, []*signature.Set{&set})
			case op < 17:
				slot := uint32(rnd.IntN(700))
				if seed > 0 && rnd.IntN(3) > 0 { // the graph grows
					continue
				}
				g.Delete(slot)
				delete(want.sets, slot)
			case op == 17:
				g.Settle()
			case op == 18:
				snapshots = append(snapshots, snapshot(g, want))
				if len(snapshots) > 3 {
					snapshots = snapshots[1:]
				}
			default:
				if !g.IsSettled() {
					g.Settle()
				}
				compare(fmt.Sprint("step ", step), g, want)
			}
			if step%100 == 99 {
				for _, s := range snapshots {
					compareJoin(t, s.graph, s.want)
					s.graph.Settle()
					compare(fmt.Sprint("a snapshot at step ", step), s.graph, s.want)
				}
			}
		}
		t.Logf("seed %d: %d contents, %d neighbours", seed, len(want.sets), found)
		if found < 150 {
			t.Errorf("seed %d: only %d neighbours were found", seed, found)
		}
	}
}

// TestRenumber deletes so many that ordinals are given again.
func TestRenumber(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 3))
	bases := []signature.Signature{randomSignature(rnd), randomSignature(rnd), randomSignature(rnd)}
	want := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, UsualLimit}
	g := New(want, 1<<30)
	for round := range 6 {
		for slot := range uint32(1500) {
			if _, ok := want.sets[slot]; !ok {
				set := randomSet(rnd, bases)
				want.sets[slot] = set
				want.digests[slot] = uint64(slot)
				room(t, g)
				g.Add([]uint32{slot}, []*signature.Set{&set})
			}
		}
		g.Settle()
		k := snapshot(g, want)
		old, was := k.graph, k.want
		for slot := range uint32(1500) {
			if rnd.IntN(6) > round {
				g.Delete(slot)
				delete(want.sets, slot)
			}
		}
		g.Settle()
		for range 5 {
			for graph, want := range map[*Graph]*naive{g: want, old: was} {
				slots := slices.Sorted(maps.Keys(want.sets))
				slot := slots[rnd.IntN(len(slots))]
				check(t, fmt.Sprint("round ", round), graph, want, slot, nil, None)
			}
		}
	}
}

// TestCrowd: of more signatures that share a band than are compared with each other, those in the window count. How many there are depends
// on what is there, with the guest and without what is left out, and not on the runs in which they are.
func TestCrowd(t *testing.T) {
	t.Parallel()
	const most = 250
	// All agree in so many values from the beginning of the first band, and in 36 others of which no two are in one band. Those
	// of a group agree in some more. If they agree in all values, the digests decide.
	for _, deep := range []int{rows, 20, signature.Values, 9} {
		rnd := rand.New(rand.NewPCG(uint64(deep), 4))
		const groups = 5
		common := randomSignature(rnd)
		make1 := func(i int) (set signature.Set) {
			s := randomSignature(rnd)
			for v := range deep {
				setValue(&s, v, common.Value(v))
			}
			for v := deep; v < min(deep+3, signature.Values); v++ {
				setValue(&s, v, uint64(i%groups))
			}
			for v := 25; v < signature.Values; v += 3 {
				if deep != 9 || i%9 < 2 { // or else few are neighbours
					setValue(&s, v, common.Value(v))
				}
			}
			set.Has[signature.Long], set.Of[signature.Long] = true, s
			return set
		}
		want := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, most}
		g := New(want, 1<<30)
		g.usual, g.kept = most, 100
		put := func(n int) {
			set := make1(n)
			want.sets[uint32(n)], want.digests[uint32(n)] = set, rnd.Uint64()
			g.Add([]uint32{uint32(n)}, []*signature.Set{&set})
		}
		all := func(what string, guest *Point, without uint32) {
			t.Helper()
			if !g.IsSettled() {
				g.Settle()
			}
			what = fmt.Sprintf("%d values, %s", deep, what)
			slots := slices.Sorted(maps.Keys(want.sets))
			slot := slots[rnd.IntN(len(slots))]
			if slot == without {
				slot = slots[0]
			}
			if len(check(t, what, g, want, slot, guest, without)) == 0 {
				t.Logf("%s: slot %d has no neighbours", what, slot)
			}
			if guest != nil {
				check(t, what, g, want, None, guest, without)
			}
		}
		n := 0
		for ; n < most; n++ {
			if put(n); n%70 == 69 {
				g.Settle()
			}
		}
		set, other := make1(3), signature.Set{Has: [signature.Levels]bool{signature.Long: true}}
		other.Of[signature.Long] = randomSignature(rnd)
		guest, stranger := &Point{Slot: None, Digest: rnd.Uint64(), Set: &set}, &Point{Slot: None, Digest: 5, Set: &other}
		for range 2 {
			all("as many as may be", nil, None)
			all("and a guest", guest, None)
			all("and a guest less one", guest, 17)
			all("and another guest", stranger, 17)
		}
		k := snapshot(g, want)
		compareJoin(t, k.graph, k.want)
		for ; n < most+62; n++ {
			put(n)
		}
		for range 3 {
			all("more", nil, None)
			all("more and a guest", guest, 11)
		}
		g.levels[signature.Long].settle()
		g.levels[signature.Long].merge(len(g.levels[signature.Long].runs))
		all("more, settled", nil, None)
		k = snapshot(g, want)
		compareJoin(t, k.graph, k.want)
		all("more and a guest less one", guest, 12)
		for i := range uint32(62) { // exactly as many again
			g.Delete(i)
			delete(want.sets, i)
			if i%10 == 0 {
				all("less and less", guest, 90)
			}
		}
		for range 2 {
			all("as many again", nil, None)
			all("and a guest again", guest, None)
			all("and a guest less one again", guest, 200)
		}
		compareJoin(t, k.graph, k.want)
		for range 4 {
			check(t, "a snapshot", k.graph, k.want, uint32(rnd.IntN(n)), guest, 12)
		}
	}
}

// TestSort: the first ones are those of the whole order, with all that are as near as the last one, and the others are behind them.
func TestSort(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	want := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, UsualLimit}
	s := New(want, 1<<30).NewSearcher(nil, None)
	for range 200 {
		near := make([]Near, rnd.IntN(600))
		for i := range near {
			want.digests[uint32(i)] = rnd.Uint64N(20)
			near[i] = Near{Slot: uint32(i), Agreement: int32(signature.Values - rnd.IntN(1+rnd.IntN(signature.Values+1)))}
		}
		rnd.Shuffle(len(near), func(i, j int) { near[i], near[j] = near[j], near[i] })
		all := slices.Clone(s.Sort(slices.Clone(near), len(near)))
		n := 1 + rnd.IntN(300)
		first := s.Sort(near, n)
		if len(first) < min(n, len(near)) || !slices.Equal(first, all[:len(first)]) {
			t.Fatalf("the nearest %d of %d: %v, want %v", n, len(all), first, all[:min(n, len(all))])
		}
		if rest := s.Sort(near[len(first):], len(near)); !slices.Equal(rest, all[len(first):]) || len(rest) > 0 && rest[0].Agreement >= first[len(first)-1].Agreement {
			t.Fatalf("behind the nearest %d of %d: %v, want %v", n, len(all), rest, all[len(first):])
		}
	}
}

// TestSymmetric: if a is a neighbour of b, b is one of a, also where many agree.
func TestSymmetric(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(9, 9))
	texts := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, UsualLimit}
	g := New(texts, 1<<30)
	base := randomSignature(rnd)
	const n = 600
	for i := range uint32(n) {
		set := signature.Set{Has: [signature.Levels]bool{i%2 == 0, i%3 > 0}}
		for l := range set.Of {
			set.Of[l] = changed(rnd, base, rnd.Float64())
		}
		texts.sets[i], texts.digests[i] = set, rnd.Uint64()
		g.Add([]uint32{i}, []*signature.Set{&set})
	}
	g.Settle()
	s := g.NewSearcher(nil, None)
	is := map[[2]uint32]int{}
	for i := range uint32(n) {
		near, _ := s.Neighbours(g.At(i), UsualLimit)
		for _, near := range near {
			if near.Slot == i {
				t.Fatalf("%d is a neighbour of itself", i)
			}
			if is[[2]uint32{i, near.Slot}] != 0 {
				t.Fatalf("%d has the neighbour %d twice", i, near.Slot)
			}
			is[[2]uint32{i, near.Slot}] = int(near.Agreement)
		}
	}
	for pair, agreement := range is {
		if is[[2]uint32{pair[1], pair[0]}] != agreement {
			t.Fatalf("%v are neighbours one way", pair)
		}
	}
	if len(is) < n {
		t.Errorf("only %d neighbours", len(is))
	}
}

// common returns the level by which two texts are compared, and whether there is one.
func common(a, b [signature.Levels]bool) (l signature.Level, ok bool) {
	switch {
	case a[signature.Short] && b[signature.Short]:
		return signature.Short, true
	case a[signature.Long] && b[signature.Long]:
		return signature.Long, true
	}
	return 0, false
}

// TestMerges: runs that are merged while others are added, deleted and searched for change nothing that is found. A merge of runs that are
// no longer there is not adopted.
func TestMerges(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	bases := make([]signature.Signature, 60)
	for i := range bases {
		bases[i] = randomSignature(rnd)
	}
	want := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, 40} // so that there are crowds, in whose order digests count
	g := New(want, 1<<30)
	g.usual = want.most
	for l := range g.levels {
		g.levels[l].atOnce = 1000
	}
	var merge *Merge
	done := make(chan bool)
	var start chan bool // of a merge that begins after the next changes
	adopted, dropped, n := 0, 0, uint32(0)
	adopt := func() {
		if merge == nil {
			return
		}
		<-done
		before := len(merge.index.runs)
		if g.Adopt(merge); len(merge.index.runs) < before {
			adopted++
		} else {
			dropped++
		}
	}
	begin := func() {
		then := &naive{maps.Clone(want.sets), maps.Clone(want.digests), want.most}
		if merge = g.NextMerge(func() Signatures { return then }); merge != nil {
			m, wait := merge, make(chan bool)
			if start = wait; adopted%2 == 1 {
				close(start)
				start = nil
			}
			go func() {
				<-wait
				m.Do()
				done <- true
			}()
		}
	}
	compare := func(what string) {
		for range 3 {
			for _, slot := range []uint32{uint32(rnd.IntN(int(n))), n - 1} {
				if _, ok := want.sets[slot]; ok {
					check(t, fmt.Sprintf("%s, %d contents", what, n), g, want, slot, nil, None)
				}
			}
		}
	}
	twins := []signature.Set{randomSet(rnd, bases), randomSet(rnd, bases)}
	var free []uint32
	for step := range 18 {
		for range 250 + rnd.IntN(400) {
			slot := n
			if last := len(free) - 1; last >= 0 && rnd.IntN(2) == 0 {
				slot, free = free[last], free[:last]
			} else {
				n++
			}
			set := randomSet(rnd, bases)
			if rnd.IntN(4) == 0 {
				set = twins[rnd.IntN(len(twins))] // of which only the digests differ
			}
			want.sets[slot], want.digests[slot] = set, rnd.Uint64()
			room(t, g)
			g.Add([]uint32{slot}, []*signature.Set{&set})
		}
		few := n / 5
		if step%6 == 5 {
			few = n // so that all get new ordinals
		}
		for range few {
			slot := uint32(rnd.IntN(int(n)))
			if _, ok := want.sets[slot]; ok {
				g.Delete(slot)
				delete(want.sets, slot)
				free = append(free, slot)
			}
		}
		g.Settle()
		if start != nil && step%3 == 1 { // slots have been used again since it was planned
			close(start)
			start = nil
		}
		compare("beside a merge")
		if step%3 == 1 {
			adopt()
			compare("after a merge")
			begin()
		}
	}
	for {
		if start != nil {
			close(start)
			start = nil
		}
		adopt()
		if begin(); merge == nil {
			break
		}
	}
	compare("merged")
	if runs := len(g.levels[signature.Long].runs); adopted < 3 || dropped < 1 || runs > 3 {
		t.Errorf("%d merges were adopted and %d were not; there are %d runs", adopted, dropped, runs)
	}
}

// TestMergeOrder: a merge puts equal signatures into the order of the digests that they had when it began, whatever is in their slots now.
func TestMergeOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	var set signature.Set
	set.Has[signature.Long], set.Of[signature.Long] = true, randomSignature(rnd)
	want := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, UsualLimit}
	g := New(want, 1<<30)
	x := &g.levels[signature.Long]
	x.atOnce = 0
	for n := range uint32(3 * (fewUnsorted + 1)) {
		want.sets[n], want.digests[n] = set, rnd.Uint64()
		g.Add([]uint32{n}, []*signature.Set{&set})
		g.Settle()
	}
	then := &naive{maps.Clone(want.sets), maps.Clone(want.digests), want.most}
	m := g.NextMerge(func() Signatures { return then })
	for n := range want.digests {
		want.digests[n] = rnd.Uint64()
	}
	if len(x.runs) != 3 {
		t.Fatalf("%d runs", len(x.runs))
	}
	m.Do()
	if g.Adopt(m); len(x.runs) != 1 {
		t.Fatalf("%d runs after a merge", len(x.runs))
	}
	for b := range bands {
		last := uint64(0)
		for _, part := range x.runs[0].lists[b].Chunks() {
			for _, e := range part {
				d := then.digests[x.slot(uint32(e))]
				if d < last {
					t.Fatalf("band %d is not in order", b)
				}
				last = d
			}
		}
	}
}

// TestKeys: keys are the same in memory and in a file.
func TestKeys(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 5))
	k := keys{from: 7}
	var all []signature.Signature
	for range 2*fileBlock + 3*keyBlock + 5 {
		s := randomSignature(rnd)
		if err := k.makeRoom(); err != nil {
			t.Fatal(err)
		}
		k.extend(1)
		k.set(k.end()-1, &s)
		all = append(all, s)
	}
	if k.filed != 2*fileBlock || k.end() != 7+len(all) {
		t.Fatalf("%d keys are in the file, and the last one is %d", k.filed, k.end())
	}
	for band := range bands {
		n := 0
		k.rows(band, func(first uint32, row []uint32) {
			for i, key := range row {
				if first != uint32(7+n-i) || key != keyOf(&all[n], band) {
					t.Fatalf("band %d: key %d is another one", band, n)
				}
				n++
			}
		})
		if n != len(all) {
			t.Fatalf("band %d has %d keys, not %d", band, n, len(all))
		}
	}
	if k.file.Err() != nil {
		t.Error(k.file.Err())
	}
}

// TestAreBelow: in a file, a number that is just as large as how many there are is wrong, unless it stands for none.
func TestAreBelow(t *testing.T) {
	if !areBelow([]uint32{0, 2}, 3, 0) || !areBelow([]uint32{none, 2}, 3, none) {
		t.Error("numbers below are wrong")
	}
	if areBelow([]uint32{0, 3}, 3, 0) || areBelow([]uint32{0, 3}, 3, none) || areBelow([]uint32{none}, 3, 0) {
		t.Error("numbers that are not below are right")
	}
}

// TestSortByKey: long lists are sorted as short ones are, also if many keys begin alike.
func TestSortByKey(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 9))
	var room []uint64
	for _, n := range []int{0, 1, 100, 1<<12 - 1, 1 << 12, 10_000} {
		for _, keys := range []uint32{1, 300, 1 << 12, math.MaxUint32} {
			list := make([]uint64, n)
			for i := range list {
				list[i] = uint64(rnd.Uint32N(keys))<<32 | uint64(i)
			}
			want := slices.Clone(list)
			slices.Sort(want)
			if list, room = sortByKey(list, room); !slices.Equal(list, want) {
				t.Errorf("%d entries below %d are out of order", n, keys)
			}
		}
	}
}
