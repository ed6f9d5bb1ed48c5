package neighbour

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/dedup/internal/signature"
)

// A naive is a graph by the definition: it compares each with each.
type naive struct {
	sets    map[uint32]signature.Set
	digests map[uint32]uint64
	hub     int
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

func (n *naive) clone() *naive { return &naive{maps.Clone(n.sets), maps.Clone(n.digests), n.hub} }

// neighbours returns the neighbours of a set at a slot, or of the guest for None, with a guest that may be nil and without
// a slot that may be None. Two are neighbours if they agree in leastAgreement values, and from the beginning of some band in
// three; in eight if more than hub agree with the one in three, itself included; and in twenty if more than hub do in eight.
func (n *naive) neighbours(slot uint32, guest *signature.Set, without uint32) (near []Near) {
	all := maps.Clone(n.sets)
	delete(all, without)
	if guest != nil {
		all[None] = *guest
	}
	own := all[slot]
	for l := range signature.Levels {
		if !own.Has[l] {
			continue
		}
		sig := own.Of[l]
		found := map[uint32]bool{}
		for band := range bands {
			var sharing []uint32
			for _, most := range agreements {
				sharing = sharing[:0]
				for other, set := range all {
					if set.Has[l] && agree(&sig, &set.Of[l], band, most) {
						sharing = append(sharing, other)
					}
				}
				if len(sharing) <= n.hub {
					break
				}
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
	return sorted(near)
}

// agree reports whether two signatures agree in n values from the beginning of a band: by the key in three, by their sketches in all.
func agree(a, b *signature.Signature, band, n int) bool {
	for i := range n {
		if at := (3*band + i) % signature.Values; a.Value(at)%16 != b.Value(at)%16 {
			return false
		}
	}
	return keyOf(a, band) == keyOf(b, band)
}

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

// compareJoin compares the neighbours of all with searches.
func compareJoin(t *testing.T, g *Graph, want *naive) {
	t.Helper()
	lists := g.Join(context.Background(), nil)
	if !g.IsSettled() {
		g.Settle()
	}
	s, n, tries := g.NewSearcher(nil, None), 0, 0
	for slot := range want.sets {
		if n += len(lists.Of(slot)); tries >= 60 {
			continue
		}
		tries++
		near := sorted(s.Neighbours(g.At(slot)))
		if !slices.Equal(lists.Of(slot), near) {
			t.Fatalf("slot %d has %d neighbours in the lists, and a search finds %d", slot, len(lists.Of(slot)), len(near))
		}
	}
	if n != len(lists.near) {
		t.Fatalf("%d pairs, not %d", len(lists.near)/2, n/2)
	}
	less := *g
	less.memory = int64(n/2-1) * pairBytes * listShare
	if n > 0 && less.Join(context.Background(), nil) != nil {
		t.Fatalf("there is memory for %d pairs, and %d were listed", n/2-1, n/2)
	}
	done, stop := context.WithCancel(context.Background())
	if stop(); g.Join(done, nil) != nil {
		t.Fatal("there are lists after the end of the context")
	}
}

// room makes room for an addition.
func room(t *testing.T, g *Graph) {
	t.Helper()
	if err := g.MakeRoom(); err != nil {
		t.Fatal(err)
	}
}

// TestNeighbours changes a graph at random, and compares its searches, with and without a guest, and those in snapshots,
// with the definition.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		bases := make([]signature.Signature, 1+seed*3)
		for i := range bases {
			bases[i] = randomSignature(rnd)
		}
		want := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, hub}
		g := New(want, 1<<30)
		if seed%2 == 1 { // sketches go to a file as soon as there is a page of them
			for l := range g.levels {
				g.levels[l].sketches.memory = 0
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
			s := g.NewSearcher(nil, None)
			near := want.neighbours(slot, nil, None)
			if got := sorted(s.Neighbours(g.At(slot))); !slices.Equal(got, near) {
				t.Fatalf("seed %d, %s: slot %d has the neighbours %v, not %v", seed, what, slot, got, near)
			}
			found += len(near)
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
			s = g.NewSearcher(guest, without)
			near = want.neighbours(None, &set, without)
			if got := sorted(s.Neighbours(*guest)); !slices.Equal(got, near) {
				t.Fatalf("seed %d, %s: a guest without %d has the neighbours %v, not %v", seed, what, int32(without), got, near)
			}
			for range 3 {
				if slot = slots[rnd.IntN(len(slots))]; slot == without {
					continue
				}
				near = want.neighbours(slot, &set, without)
				got := s.Neighbours(g.At(slot))
				if !slices.Equal(sorted(got), near) {
					t.Fatalf("seed %d, %s: slot %d, with a guest and without %d, has the neighbours %v, not %v", seed, what, slot, int32(without), sorted(got), near)
				}
				// The nearest are those that agree in the most values.
				nearest := slices.Clone(s.Nearest(slices.Clone(near)))
				slices.SortFunc(near, func(a, b Near) int { return cmp.Compare(b.Agreement, a.Agreement) })
				if len(nearest) != min(len(near), most) {
					t.Fatalf("%d of %d neighbours", len(nearest), len(near))
				}
				for i := range nearest {
					if nearest[i].Agreement != near[i].Agreement {
						t.Fatalf("neighbour %d agrees in %d, not %d", i, nearest[i].Agreement, near[i].Agreement)
					}
				}
			}
		}
		steps := 2500
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
				g.Add(slot, &set)
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
	want := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, hub}
	g := New(want, 1<<30)
	for round := range 6 {
		for slot := range uint32(1500) {
			if _, ok := want.sets[slot]; !ok {
				set := randomSet(rnd, bases)
				want.sets[slot] = set
				want.digests[slot] = uint64(slot)
				room(t, g)
				g.Add(slot, &set)
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
				near := want.neighbours(slot, nil, None)
				if got := sorted(graph.NewSearcher(nil, None).Neighbours(graph.At(slot))); !slices.Equal(got, near) {
					t.Fatalf("round %d: slot %d has the neighbours %v, not %v", round, slot, got, near)
				}
			}
		}
	}
}

// TestHub: in a bucket of more than hub signatures, more values must agree; how many are in it depends on what is there, with
// the guest and without what is left out, and not on the runs in which they are.
func TestHub(t *testing.T) {
	t.Parallel()
	const hub = 600 // all are compared with all, so the real one takes long
	// All agree in so many values from the beginning of the first band, and in 36 others of which no two are in one band. Those
	// of a group agree in the values up to the fewest that must agree next.
	for deep, next := range map[int]int{rows: agreements[1], agreements[1] - 1: agreements[1], agreements[2] - 1: agreements[2]} {
		rnd := rand.New(rand.NewPCG(uint64(deep), 4))
		const groups = 11
		common := randomSignature(rnd)
		make1 := func(i int) (set signature.Set) {
			s := randomSignature(rnd)
			for v := range deep {
				setValue(&s, v, common.Value(v))
			}
			for v := deep; v < next; v++ {
				setValue(&s, v, uint64(i%groups))
			}
			for v := 22; v < signature.Values; v += 3 {
				setValue(&s, v, common.Value(v))
			}
			set.Has[signature.Long], set.Of[signature.Long] = true, s
			return set
		}
		want := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, hub}
		g := New(want, 1<<30)
		for l := range g.levels {
			g.levels[l].hub = hub
		}
		put := func(n int) {
			set := make1(n)
			want.sets[uint32(n)] = set
			g.Add(uint32(n), &set)
		}
		check := func(what string, guest *signature.Set, without uint32) {
			t.Helper()
			if !g.IsSettled() {
				g.Settle()
			}
			var p *Point
			if guest != nil {
				p = &Point{Slot: None, Digest: 5, Set: guest}
			}
			s := g.NewSearcher(p, without)
			slots := slices.Sorted(maps.Keys(want.sets))
			slot := slots[rnd.IntN(len(slots))]
			if slot == without {
				slot = slots[0]
			}
			near := want.neighbours(slot, guest, without)
			if got := sorted(s.Neighbours(g.At(slot))); !slices.Equal(got, near) {
				t.Fatalf("%d values: %s: slot %d has %d neighbours, not %d", deep, what, slot, len(got), len(near))
			}
			if guest != nil {
				near := want.neighbours(None, guest, without)
				if got := sorted(s.Neighbours(*p)); !slices.Equal(got, near) {
					t.Fatalf("%d values: %s: the guest has %d neighbours, not %d", deep, what, len(got), len(near))
				}
			}
			if len(near) == 0 {
				t.Logf("%d values: %s: slot %d has no neighbours", deep, what, slot)
			}
		}
		n := 0
		for ; n < hub; n++ {
			if put(n); n%150 == 149 {
				g.Settle()
			}
		}
		guest := make1(7)
		other := signature.Set{Has: guest.Has}
		other.Of[signature.Long] = randomSignature(rnd)
		for range 2 {
			check("hub", nil, None)
			check("hub and a guest", &guest, None)
			check("hub and a guest less one", &guest, 17)
			check("hub and another guest", &other, 17)
		}
		for ; n < hub+22; n++ {
			put(n)
		}
		for range 3 {
			check("more than hub", nil, None)
			check("more than hub and a guest", &guest, 11)
		}
		g.Settle()
		check("more than hub, settled", nil, None)
		k := snapshot(g, want)
		compareJoin(t, k.graph, k.want)
		g2 := g
		g = k.graph
		g.Settle()
		check("one run", nil, None)
		check("one run and a guest", &guest, 12)
		g = g2
		for i := range uint32(22) { // exactly hub again
			g.Delete(i)
			delete(want.sets, i)
		}
		for range 2 {
			check("hub again", nil, None)
			check("hub again and a guest", &guest, None)
			check("hub again and a guest less one", &guest, 400)
		}
	}
}

// TestSort: the first ones are those of the whole order, with all that are as near as the last one, and the others are behind them.
func TestSort(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	want := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, hub}
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
	texts := &naive{map[uint32]signature.Set{}, map[uint32]uint64{}, hub}
	g := New(texts, 1<<30)
	base := randomSignature(rnd)
	const n = 600
	for i := range uint32(n) {
		set := signature.Set{Has: [signature.Levels]bool{i%2 == 0, i%3 > 0}}
		for l := range set.Of {
			set.Of[l] = changed(rnd, base, rnd.Float64())
		}
		texts.sets[i], texts.digests[i] = set, rnd.Uint64()
		g.Add(i, &set)
	}
	g.Settle()
	s := g.NewSearcher(nil, None)
	is := map[[2]uint32]int{}
	for i := range uint32(n) {
		for _, near := range s.Neighbours(g.At(i)) {
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
		k.append(&s)
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
