package write

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
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
}

// leastGuarded is how many documents a source must have to be guarded by --most-removed: of a few documents most may be copies by chance.
const leastGuarded = 20

// Sources say where the new documents of a call are from.
type sources struct {
	*Results
	of    []int32 // of each document, the number of its source; -1 for one of earlier calls
	names []string
}

// Keep decides how many documents of each group are kept (--copies), by their sources if --source says what these are. It returns an error if too much of a source, or of all
// documents, would be removed.
func Keep(r *Results) error {
	m, s := &r.Options.Method, &sources{Results: r}
	if m.Source != "" {
		if err := s.read(m.Source); err != nil {
			return err
		}
		r.sources = s
	}
	r.Groups.KeepMore(m, func(i int) int32 { return s.of[i] })
	if m.MostRemoved >= 1 {
		return nil
	}
	all := SourceShare{Documents: r.New(), Removed: r.Groups.Duplicates()}
	if err := s.guard(&all, "all documents", func(int) bool { return true }); err != nil {
		return err
	}
	for n, share := range s.shares() {
		what := fmt.Sprintf("the documents of %q", cli.Printable(share.Name, 60))
		if err := s.guard(&share, what, func(i int) bool { return s.of[i] == int32(n) }); err != nil {
			return err
		}
	}
	return nil
}

// guard returns an error if too much of a source would be removed. isOne picks its documents.
func (s *sources) guard(share *SourceShare, what string, isOne func(i int) bool) error {
	most := s.Options.Method.MostRemoved
	if share.Documents < leastGuarded || float64(share.Removed) <= most*float64(share.Documents) {
		return nil
	}
	err := fmt.Errorf("%d of %d of %s would be removed, which is more than --most-removed %g; nothing is written", share.Removed, share.Documents, what, most)
	largest, of := s.largestGroup(isOne)
	d := s.Doc(largest)
	text := ""
	if d.Place != input.NoPlace {
		text = ": " + cli.Printable(s.Sources[d.Source].Beginning(d.Offset, s.Options.Cols), 80)
	}
	return fmt.Errorf("%w. The largest group has %d of them, like %s%s. To keep more, see --copies, --probability and --kinds", err, of, cli.Printable(d.ID, 60), text)
}

// largestGroup returns the document that names the group in which most of some new documents are removed, and how many.
func (s *sources) largestGroup(isOne func(i int) bool) (first, most int) {
	counts := map[int]int{}
	for i := s.Old; i < s.Docs.Len(); i++ {
		if !s.Groups.IsKept(i) && isOne(i) {
			counts[s.Groups.Of(i)]++
		}
	}
	for named, n := range counts {
		if n > most || n == most && named < first {
			first, most = named, n
		}
	}
	return first, most
}

// read reads the source of each document, which is in a field.
func (s *sources) read(field string) error {
	s.of = make([]int32, s.Docs.Len())
	numbers := map[string]int32{}
	add := func(i int, value string) error {
		source := sourceOf(value)
		n, isKnown := numbers[source]
		if !isKnown {
			n = int32(len(s.names))
			numbers[source] = n
			s.names = append(s.names, strings.Clone(source))
		}
		s.of[i] = n
		return nil
	}
	isID := field == s.Options.Cols.ID
	for i := range s.of {
		if s.of[i] = -1; isID && i >= s.Old {
			add(i, s.Doc(i).ID)
		}
	}
	if isID {
		return nil
	}
	return s.eachValue(field, add)
}

// eachValue reads the new documents once more, and calls use with the value of a field of each, in their order.
func (s *sources) eachValue(field string, use func(i int, value string) error) error {
	cols := s.Options.Cols
	cols.IsRecord, cols.All = true, true
	p := &corpus.Pass[string]{Cols: cols, Frees: true}
	p.Work = func(_, _ int, from *input.Source, it *input.Item) (string, error) {
		_, rec, err := it.Record(from, cols)
		value, isThere := rec[field]
		if err == nil && !isThere && it.Row != nil {
			err = fmt.Errorf("no column %q; the columns are %q", field, from.Header.Names)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", s.At(it.Place), err)
		}
		return strings.Clone(value), err
	}
	p.Use = func(i int, _ *input.Source, _ *input.Item, value string) error { return use(i, value) }
	return p.Run(s.Corpus)
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
func (s *sources) shares() []SourceShare {
	all := make([]SourceShare, len(s.names))
	for n, name := range s.names {
		all[n] = SourceShare{Name: name, Copies: map[string]int{}}
	}
	for i := s.Old; i < len(s.of); i++ {
		share := &all[s.of[i]]
		if share.Documents++; s.Groups.IsKept(i) {
			continue
		}
		share.Removed++
		switch of := s.of[s.Groups.Kept[i]]; {
		case of < 0:
			share.Copies[""]++
		case of != s.of[i]:
			share.Copies[s.names[of]]++
		}
	}
	return all
}

// mostSources is how many sources a summary names.
const mostSources = 5

// saySources says what becomes of the sources of which most is removed.
func saySources(w io.Writer, all []SourceShare) {
	if len(all) == 0 {
		return
	}
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
