package write

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/cleaned"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/group"
	"github.com/neardup/neardup/cmd/neardup/output"
	"github.com/neardup/neardup/cmd/neardup/together"
)

// This file writes pairs and groups, each as a table, and the cleaned and the annotated collection; and it reads groups.

// sortPairs sorts the pairs by the ids. In a pair the smaller id comes first, but a new document always comes
// before an old one.
func (r *Results) sortPairs() {
	byID := make([]uint32, 0, 2*len(r.Groups.Pairs)) // the documents of pairs, of which most collections have few
	for _, p := range r.Groups.Pairs {
		byID = append(byID, p.I, p.J)
	}
	workers := r.Options.Workers
	together.Sort(workers, byID, cmp.Compare[uint32])
	byID = slices.Compact(byID)
	together.Sort(workers, byID, func(i, j uint32) int {
		return cmp.Or(strings.Compare(r.Docs.At(i).ID, r.Docs.At(j).ID), cmp.Compare(i, j))
	})
	rank := make([]uint32, r.Docs.Len())
	for r, i := range byID {
		rank[i] = uint32(r)
	}
	for n, p := range r.Groups.Pairs {
		iOld, jOld := int(p.I) < r.Old, int(p.J) < r.Old
		if iOld && !jOld || iOld == jOld && rank[p.I] > rank[p.J] {
			r.Groups.Pairs[n].I, r.Groups.Pairs[n].J = p.J, p.I
		}
	}
	together.Sort(workers, r.Groups.Pairs, func(p, q group.Pair) int {
		return cmp.Or(cmp.Compare(rank[p.I], rank[q.I]), cmp.Compare(rank[p.J], rank[q.J]))
	})
}

// pairs writes the two ids, the value and the kind of each pair. Tables whose columns have names also have the name and the size of the
// group, if both documents are in one.
func (r *Results) pairs(w *cli.Output) error {
	r.sortPairs()
	names := []string{"a", "b", r.Options.Method.ValueName()}
	if r.Groups.HasKinds {
		names = append(names, "kind", "probability")
	}
	t, sizes := output.NewTable(w, r.Options.Pairs, append(names, "group", "size")...), r.Groups.Sizes()
	err := t.Rows(r.Options.Workers, len(r.Groups.Pairs), func(i int) ([]any, error) {
		p := &r.Groups.Pairs[i]
		values := []any{r.Docs.At(p.I).ID, r.Docs.At(p.J).ID, json.Number(r.Options.Method.Show(p.Value))}
		if r.Groups.HasKinds {
			values = append(values, p.Kind.String(), json.Number(fmt.Sprintf("%.4f", p.Probability)))
		}
		switch named := r.Groups.Of(int(p.I)); {
		case !t.HasHeader():
		case named == r.Groups.Of(int(p.J)):
			values = append(values, r.Doc(named).ID, sizes[named])
		default:
			values = append(values, nil, nil)
		}
		return values, nil
	})
	return cmp.Or(err, t.End())
}

// clusters writes the id of each new document and the id of the document that its group keeps,
// in the order of the input. Tables whose columns have names also have the name and the size of the group.
func (r *Results) clusters(w *cli.Output) error {
	t, sizes := output.NewTable(w, r.Options.Groups, "id", "kept", "group", "size"), r.Groups.Sizes()
	err := t.Rows(r.Options.Workers, r.New(), func(i int) ([]any, error) {
		i += r.Old
		values := []any{r.Doc(i).ID, r.Doc(int(r.Groups.Kept[i])).ID}
		if named := r.Groups.Of(i); t.HasHeader() {
			values = append(values, r.Doc(named).ID, sizes[named])
		}
		return values, nil
	})
	return cmp.Or(err, t.End())
}

// ReadClusters calls use with each id in a file that clusters wrote, and with that of the document which is kept.
func ReadClusters(path string, use func(id, kept string) error) error {
	return output.ReadTable(path, []string{"id", "kept"}, func(_ int32, row map[string]string) error {
		kept, ok := row["kept"]
		if !ok {
			return errors.New("not a row with two ids, as --groups writes it")
		}
		return use(row["id"], kept)
	})
}

// out writes the documents that are kept, unchanged.
func (r *Results) out(w *cli.Output) error {
	return cleaned.Write(r.Corpus, w, r.Options.Out, nil, r.Groups.Duplicates(), func(i int) ([]string, bool) { return nil, r.Groups.IsKept(i) })
}

// annotations are the columns that --annotate adds.
var annotations = []string{"neardup_group", "neardup_size", "neardup_kept", "neardup_like", "neardup_similarity", "neardup_kind"}

// annotated writes all documents with what was found about each: its group and how many documents that has,
// whether it is kept, and otherwise which document is, how similar they are and how they differ.
func (r *Results) annotated(w *cli.Output) error {
	sizes := r.Groups.Sizes()
	return cleaned.Write(r.Corpus, w, r.Options.Annotate, annotations, r.Groups.Duplicates(), func(i int) ([]string, bool) {
		named := r.Groups.Of(i)
		values := []string{r.Doc(named).ID, strconv.Itoa(int(sizes[named])), "yes", "", "", ""}
		if root := int(r.Groups.Kept[i]); root != i {
			if values[3] = r.Doc(root).ID; !r.Groups.IsKept(i) {
				values[2] = "no"
			}
			if p, ok := r.Groups.LikeOf(i); ok {
				values[4] = r.Options.Method.Show(p.Value)
				if p.Kind != 0 {
					values[5] = p.Kind.String()
				}
			}
		}
		return values, true
	})
}
