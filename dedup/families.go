package dedup

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/family"
)

// This file finds the families: documents of one form or template. They are near-duplicates only if the options
// let [neardup.SameForm] count, but they are never passed over in silence.

// A Family is four or more documents of one form that is filled in differently, or pages of one template: what
// they have in common, many other documents share.
type Family[ID comparable] struct {
	Members []ID // in the order of adding

	// Form is the text that they have in common, with […] for what is filled in. Filled has for each member
	// what is filled in. For a long text, it has only the beginning. Both are empty for records, and for the
	// caller's own features.
	Form   string
	Filled []string
}

// Families returns the families: documents that are joined by pairs of the kind [neardup.SameForm], and by
// chains of such pairs. The largest come first, and equally large ones in an order that depends only on the
// documents. It takes as long as Pairs, or little time if nothing has changed since Pairs, Groups or Families
// were called. Any error comes from the context or the files.
func (d *Deduplicator[ID]) Families(ctx context.Context) ([]Family[ID], error) {
	return d.FamiliesSince(ctx, 0)
}

// FamiliesSince returns the families of documents that were added after the first n that were ever added,
// with the old documents that are of one form with them. Old documents are not compared with each other.
// With n ≤ 0 it is Families.
func (d *Deduplicator[ID]) FamiliesSince(ctx context.Context, n int) ([]Family[ID], error) {
	s, err := d.snapshot(n)
	if err != nil {
		return nil, err
	}
	joins := s.formEdges(ctx)
	if err := cmp.Or(ctx.Err(), s.files()); err != nil {
		return nil, err
	}
	of := s.joined(joins) // numbered among themselves, since they are usually few among very many
	at, _ := s.among(of)
	members := make([][]int32, len(of)) // contents by root, which is the smallest
	for n, root := range represent(len(of), pairsOf(joins, at), neardup.SingleLinkage, nil) {
		members[root] = append(members[root], of[n])
	}
	var families []Family[ID]
	for _, contents := range members {
		if len(contents) >= leastFamily {
			families = append(families, s.family(contents))
		}
	}
	slices.SortStableFunc(families, func(f, g Family[ID]) int { return len(g.Members) - len(f.Members) })
	return families, s.files()
}

// family returns the family of some contents. Its form is what the texts of mostShown contents have in common,
// and each member is then compared with that form alone, so a large family takes time in proportion to its texts.
func (s *snapshot[ID]) family(contents []int32) (f Family[ID]) {
	type member struct {
		at      uint32
		content int32
	}
	var members []member
	var docs []uint32
	for _, i := range contents {
		docs = s.of(int(i), docs)
		for _, at := range docs {
			members = append(members, member{at, i})
		}
	}
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.at, b.at) })
	// Contents are in the order of their digests, so the first ones are as good as chosen at random.
	var bodies []string
	for _, i := range contents[:min(len(contents), mostShown)] {
		if body := s.body(i); body != "" {
			bodies = append(bodies, body)
		}
	}
	form := family.Common(bodies)
	f.Form = strings.TrimSpace(form.String())
	for _, m := range members {
		f.Members = append(f.Members, s.name(m.at))
		if len(bodies) > 0 {
			filled := form.Filled(s.body(m.content))
			f.Filled = append(f.Filled, strings.ToValidUTF8(filled[:min(len(filled), mostFilled)], ""))
		}
	}
	return f
}

// body returns the normalized text of a content, or "" if it has none.
func (s *snapshot[ID]) body(i int32) (text string) {
	c := s.contents.At(s.order[i])
	c.Body(func(body string) { text = strings.Clone(body) })
	return text
}

// joined returns the contents that edges join, ascending.
func (s *snapshot[ID]) joined(edges []edge) (contents []int32) {
	for _, e := range edges {
		contents = append(contents, e.a, e.b)
	}
	slices.Sort(contents)
	return slices.Compact(contents)
}
