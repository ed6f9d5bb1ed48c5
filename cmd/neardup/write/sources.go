package write

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
)

// This file says what becomes of each source of documents (--source): a site, an author, a donor. It stops a call that would remove too much of one (--most-removed), before
// anything is written.

// A SourceShare says what becomes of a source.
type SourceShare struct {
	Name      string         `json:"name"`
	Documents int            `json:"documents"`
	Removed   int            `json:"removed"`
	Copies    map[string]int `json:"copies,omitempty"` // by source, how many are removed in favour of a document of it; "" for earlier runs

	largest int // the document that names the group which most of them are in
	of      int // how many that are
}

// leastGuarded is how many documents a source must have to be guarded by --most-removed: of a few documents most may be copies by chance.
const leastGuarded = 20

// BySource reads where the new documents are from, if --source asks for it, keeps the documents that --copies says, and returns an error if too much of a source, or of all
// documents, would be removed.
func (r *Results) BySource() error {
	m := &r.Options.Method
	if err := r.readSources(); err != nil {
		return err
	}
	r.Groups.KeepMore(m, func(i int) int32 {
		if i < len(r.source) {
			return r.source[i]
		}
		return -1
	})
	if m.MostRemoved >= 1 {
		return nil
	}
	all := SourceShare{Documents: r.Docs.Len() - r.Old, Removed: r.Groups.Duplicates()}
	all.largest, all.of = r.largestGroup(func(int) bool { return true })
	if err := r.guard(&all, "all documents"); err != nil {
		return err
	}
	for n, s := range r.shares() {
		s.largest, s.of = r.largestGroup(func(i int) bool { return r.source[i] == int32(n) })
		if err := r.guard(&s, fmt.Sprintf("the documents of %q", cli.Printable(s.Name, 60))); err != nil {
			return err
		}
	}
	return nil
}

// guard returns an error if too much of a source would be removed.
func (r *Results) guard(s *SourceShare, what string) error {
	most := r.Options.Method.MostRemoved
	if s.Documents < leastGuarded || float64(s.Removed) <= most*float64(s.Documents) {
		return nil
	}
	err := fmt.Errorf("%d of %d of %s would be removed, which is more than --most-removed %g; nothing is written", s.Removed, s.Documents, what, most)
	d := r.Doc(s.largest)
	text := ""
	if d.Place != input.NoPlace {
		text = ": " + cli.Printable(r.Sources[d.Source].Beginning(d.Offset, r.Options.Cols), 80)
	}
	return fmt.Errorf("%w. The largest group has %d of them, like %s%s. To keep more, see --copies, --probability and --kinds", err, s.of, cli.Printable(d.ID, 60), text)
}

// largestGroup returns the document that names the group in which most of some new documents are removed, and how many.
func (r *Results) largestGroup(isOne func(i int) bool) (first, most int) {
	counts := map[int]int{}
	for i := r.Old; i < r.Docs.Len(); i++ {
		if !r.Groups.IsKept(i) && isOne(i) {
			counts[r.Groups.Of(i)]++
		}
	}
	for named, n := range counts {
		if n > most || n == most && named < first {
			first, most = named, n
		}
	}
	return first, most
}

// readSources reads the source of each document.
func (r *Results) readSources() error {
	name := r.Options.Method.Source
	if name == "" {
		return nil
	}
	r.source = make([]int32, r.Docs.Len())
	numbers := map[string]int32{}
	add := func(i int, value string) {
		source := sourceOf(value)
		n, isKnown := numbers[source]
		if !isKnown {
			n = int32(len(r.sourceNames))
			numbers[source] = n
			r.sourceNames = append(r.sourceNames, strings.Clone(source))
		}
		r.source[i] = n
	}
	for i := range r.source {
		if r.source[i] = -1; name == r.Options.Cols.ID && i >= r.Old {
			add(i, r.Doc(i).ID)
		}
	}
	if name == r.Options.Cols.ID {
		return nil
	}
	return r.EachField(name, func(i int, value string) error {
		add(i, value)
		return nil
	})
}

// sourceOf returns the source that a value names: the host of a URL, without www; otherwise the value.
func sourceOf(value string) string {
	if value == "" {
		return "(none)"
	}
	if strings.Contains(value, "://") {
		if u, err := url.Parse(value); err == nil && u.Hostname() != "" {
			return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
		}
	}
	return value
}

// shares returns what becomes of each source, by its number.
func (r *Results) shares() []SourceShare {
	all := make([]SourceShare, len(r.sourceNames))
	for n, name := range r.sourceNames {
		all[n] = SourceShare{Name: name, Copies: map[string]int{}}
	}
	for i := r.Old; i < len(r.source); i++ {
		s := &all[r.source[i]]
		if s.Documents++; r.Groups.IsKept(i) {
			continue
		}
		s.Removed++
		switch of := r.source[r.Groups.Kept[i]]; {
		case of < 0:
			s.Copies[""]++
		case of != r.source[i]:
			s.Copies[r.sourceNames[of]]++
		}
	}
	return all
}

// mostSources is how many sources a summary names.
const mostSources = 5

// saySources says what becomes of the sources of which most is removed.
func saySources(w io.Writer, all []SourceShare) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b SourceShare) int {
		return cmp.Or(cmp.Compare(b.Removed, a.Removed), cmp.Compare(a.Name, b.Name))
	})
	fmt.Fprintf(w, "%s; removed of each:\n", cli.Count(len(all), "source", "sources"))
	for _, s := range all[:min(mostSources, len(all))] {
		fmt.Fprintf(w, "%6d of %d  %s", s.Removed, s.Documents, cli.Printable(s.Name, 60))
		name, most := "", 0
		for other, n := range s.Copies {
			if n > most || n == most && other < name {
				name, most = other, n
			}
		}
		switch {
		case most > 0 && name == "":
			fmt.Fprintf(w, ", %d of them like documents of earlier runs", most)
		case most > 0:
			fmt.Fprintf(w, ", %d of them like documents of %s", most, cli.Printable(name, 60))
		}
		fmt.Fprintln(w)
	}
}
