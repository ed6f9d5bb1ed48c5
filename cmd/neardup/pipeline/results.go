package pipeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/output"
)

// This file writes pairs and groups, each as a table, and reads groups.

// sortPairs sorts the pairs by the ids. In a pair the smaller id comes first, but a new document always comes
// before an old one.
func (c *collection) sortPairs() {
	byID := make([]uint32, 0, 2*len(c.pairs)) // the documents of pairs, of which most collections have few
	for _, p := range c.pairs {
		byID = append(byID, p.i, p.j)
	}
	slices.Sort(byID)
	byID = slices.Compact(byID)
	slices.SortFunc(byID, func(i, j uint32) int {
		return cmp.Or(strings.Compare(c.docs.At(i).ID, c.docs.At(j).ID), cmp.Compare(i, j))
	})
	rank := make([]uint32, c.docs.Len())
	for r, i := range byID {
		rank[i] = uint32(r)
	}
	for n, p := range c.pairs {
		iOld, jOld := int(p.i) < c.old, int(p.j) < c.old
		if iOld && !jOld || iOld == jOld && rank[p.i] > rank[p.j] {
			c.pairs[n].i, c.pairs[n].j = p.j, p.i
		}
	}
	slices.SortFunc(c.pairs, func(p, q pair) int {
		return cmp.Or(cmp.Compare(rank[p.i], rank[q.i]), cmp.Compare(rank[p.j], rank[q.j]))
	})
}

// writePairs writes the two ids, the value and the kind of each pair. Tables whose columns have names also have the name and the size of the
// group, if both documents are in one.
func (c *collection) writePairs(w *cli.Output, path string) error {
	c.sortPairs()
	names := []string{"a", "b", c.method.valueName()}
	if c.exact != nil {
		names = append(names, "kind", "probability")
	}
	t, sizes := output.NewTable(w, path, append(names, "group", "size")...), c.sizes()
	for _, p := range c.pairs {
		values := []any{c.docs.At(p.i).ID, c.docs.At(p.j).ID, json.Number(c.method.show(p.value))}
		if c.exact != nil {
			values = append(values, p.kind.String(), json.Number(fmt.Sprintf("%.4f", p.probability)))
		}
		switch group := c.groupOf(int(p.i)); {
		case !t.HasHeader():
		case group == c.groupOf(int(p.j)):
			values = append(values, c.Doc(group).ID, sizes[group])
		default:
			values = append(values, nil, nil)
		}
		if err := t.Row(values...); err != nil {
			return err
		}
	}
	return t.End()
}

// writeClusters writes the id of each new document and the id of the document that its group keeps,
// in the order of the input. Tables whose columns have names also have the name and the size of the group.
func (c *collection) writeClusters(w *cli.Output, path string) error {
	t, sizes := output.NewTable(w, path, "id", "kept", "group", "size"), c.sizes()
	for i := c.old; i < c.docs.Len(); i++ {
		values := []any{c.Doc(i).ID, c.Doc(int(c.cluster[i])).ID}
		if group := c.groupOf(i); t.HasHeader() {
			values = append(values, c.Doc(group).ID, sizes[group])
		}
		if err := t.Row(values...); err != nil {
			return err
		}
	}
	return t.End()
}

// ReadClusters calls use with each id in a file that writeClusters wrote, and with that of the document which is kept.
func ReadClusters(path string, use func(id, kept string) error) error {
	return output.ReadTable(path, []string{"id", "kept"}, func(_ int32, row map[string]string) error {
		kept, ok := row["kept"]
		if !ok {
			return errors.New("not two ids, as --clusters writes them")
		}
		return use(row["id"], kept)
	})
}
