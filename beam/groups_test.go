package neardupbeam

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/neardup/neardup"
)

// Groups come out right after any number of rounds and with any number of neighbours in memory, also on graphs that
// take many rounds.
func TestComponents(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for name, edges := range map[string][][2]int{
		"none": nil, "path": chainOf(1000, 1), "mixed path": chainOf(1000, 617), "star": star(3000), "random": random(r, 2000, 1500), "dense": random(r, 60, 800),
	} {
		for _, c := range []struct{ rounds, chunk int }{{6, starChunk}, {1, starChunk}, {2, 7}, {12, 1}} {
			t.Run(fmt.Sprintf("%s/rounds=%d/chunk=%d", name, c.rounds, c.chunk), func(t *testing.T) {
				f := make([]int, 3001)
				for i := range f {
					f[i] = i
				}
				find := func(i int) int {
					for f[i] != i {
						i = f[i]
					}
					return i
				}
				list := []string{}
				for _, e := range edges {
					f[max(find(e[0]), find(e[1]))] = min(find(e[0]), find(e[1]))
					list = append(list, fmt.Sprintf("%04d %04d", e[0], e[1]))
				}
				r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				run(t, "prism", func(s beam.Scope) {
					c := componentsOf(s, beam.ParDo(s, splitEdge, beam.CreateList(s, list)), c.rounds, c.chunk)
					beam.ParDo0(s, &gatherFn{"labels"}, beam.ParDo(s, joinLabel, c))
				})
				root := map[string]string{} // of a component by its smallest vertex
				seen := 0
				for _, l := range take[string](t, "labels") {
					var v, label int
					fmt.Sscanf(l, "%d %d", &v, &label)
					seen++
					key := fmt.Sprint(find(v))
					if root[key] == "" {
						root[key] = fmt.Sprint(label)
					}
					if root[key] != fmt.Sprint(label) || find(label) != find(v) {
						t.Fatalf("vertex %d has the label %d, of component %d; others have %s", v, label, find(v), root[key])
					}
				}
				ends := map[int]bool{}
				for _, e := range edges {
					ends[e[0]], ends[e[1]] = true, true
				}
				if seen != len(ends) {
					t.Errorf("%d labels of %d vertices", seen, len(ends))
				}
			})
		}
	}
}

func chainOf(n, step int) (edges [][2]int) {
	for i := range n - 1 {
		edges = append(edges, [2]int{i * step % n, (i + 1) * step % n})
	}
	return edges
}

func star(n int) (edges [][2]int) {
	for i := 1; i < n; i++ {
		edges = append(edges, [2]int{n, i})
	}
	return edges
}

func random(r *rand.Rand, n, m int) (edges [][2]int) {
	for range m {
		if a, b := r.IntN(n), r.IntN(n); a != b {
			edges = append(edges, [2]int{a, b})
		}
	}
	return edges
}

func splitEdge(edge string) ([]byte, []byte) {
	return []byte(edge[:4]), encoder(nil).text(edge[5:]).value(0, 0)
}

func joinLabel(vertex, label []byte) string { return string(vertex) + " " + string(label) }

func init() {
	register.Function1x2(splitEdge)
	register.Function2x1(joinLabel)
}

// Groups take pairs from elsewhere. A pair with an unknown id fails, and says which id it is.
func TestGroups(t *testing.T) {
	docs := []Document{{ID: "a", Text: "x"}, {ID: "b", Text: "longer"}, {ID: "c", Text: "y"}, {ID: "d", Text: "z"}}
	groups := func(pairs []Pair, o Options) ([]Member, error) {
		p, s := beam.NewPipelineWithRoot()
		profiles, _ := Fingerprint(s, beam.CreateList(s, docs), o)
		beam.ParDo0(s, &gatherFn{"members"}, Groups(s, profiles, beam.CreateList(s, pairs), o))
		_, err := beam.Run(t.Context(), "prism", p)
		return take[Member](t, "members"), err
	}
	got, err := groups([]Pair{{A: "a", B: "b", Similarity: 0.9}, {A: "b", B: "c", Similarity: 0.8}}, Options{Method: SimHash, Linkage: neardup.SingleLinkage})
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	for _, m := range got {
		if m.Keep != "b" {
			t.Errorf("%v: the longest one is b", m)
		}
	}
	if got, err = groups([]Pair{{A: "a", B: "elsewhere"}}, Options{Method: SimHash}); err == nil {
		t.Errorf("a pair of an unknown document: %v", got)
	}
}
