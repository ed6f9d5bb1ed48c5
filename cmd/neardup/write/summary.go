package write

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/together"
	"github.com/neardup/neardup/dedup"
)

// This file has the summary of a call, as text or as JSON (--json).

// A Summary is what a call has found.
type Summary struct {
	Documents  int `json:"documents"`
	Texts      int `json:"texts"` // different ones
	Old        int `json:"old"`   // documents
	Duplicates int `json:"duplicates"`
	Groups     int `json:"groups"`
	Left       int `json:"left"` // documents without the duplicates
	Blank      int `json:"without_text"`
	Empty      int `json:"empty"`       // other texts without letters and digits
	Dropped    int `json:"dropped"`     // documents without text that are left out
	Repeated   int `json:"repeated"`    // documents that are left out since another one has their id
	Bad        int `json:"bad"`         // lines and files that were skipped
	PassedOver int `json:"passed_over"` // files of other formats

	Method    string  `json:"method"`
	Wrong     float64 `json:"wrong,omitempty"`    // duplicates that are none, as the probabilities say
	Families  int     `json:"families,omitempty"` // forms that are filled in differently
	Bytes     int64   `json:"bytes"`              // of text
	Seconds   float64 `json:"seconds"`
	described int
	Sources   []SourceShare `json:"sources,omitempty"` // with --source
	said      []string      // sentences about the decision and the families
	largest   []int         // the documents that the largest groups keep
	members   []int         // of the group that each document keeps
}

// summarize counts what was found.
func (r *Results) summarize(took time.Duration) (s Summary) {
	s = Summary{Documents: r.Docs.Len() - r.Old, Old: r.Old, Duplicates: r.Groups.Duplicates(), Bad: r.Read.Bad, Dropped: r.Read.Dropped, Repeated: r.Read.Repeated, PassedOver: len(r.Read.Passed),
		Method: r.Options.Method.Name, Bytes: r.Read.Bytes, Seconds: took.Seconds(), members: make([]int, r.Docs.Len())}
	s.Left = s.Documents - s.Duplicates
	for i := r.Old; i < r.Docs.Len(); i++ {
		s.members[r.Groups.Kept[i]]++
		t := r.Doc(i).Content
		if t.Blank {
			s.Blank++
			continue
		}
		if !t.Counted && !r.Groups.HasKinds {
			t.Counted = true
			s.Texts++
		}
		if t.More != nil && len(t.More.Metadata) > 0 {
			s.described++
		}
		if t.Empty {
			s.Empty++
		}
	}
	if r.Groups.HasKinds {
		together.Sort(r.Options.Workers, r.Read.Texts, cmp.Compare[uint64])
		r.Read.Texts = slices.Compact(r.Read.Texts)
		s.Texts = len(r.Read.Texts)
	}
	for first, n := range s.members {
		if n > 1 || n > 0 && first < r.Old {
			s.Groups++
			s.largest = append(s.largest, first)
		}
	}
	slices.SortFunc(s.largest, func(a, b int) int { return cmp.Or(s.members[b]-s.members[a], a-b) })
	if r.Groups.HasKinds {
		r.summarizeExact(&s)
	}
	if r.sources != nil {
		s.Sources = r.sources.shares()
	}
	return s
}

// summarizeExact adds what the Deduplicator says: how many duplicates are wrong, and which families there are.
func (r *Results) summarizeExact(s *Summary) {
	var expected dedup.Estimate
	if r.Groups.Expected != nil {
		expected = *r.Groups.Expected
	}
	for i := range r.Docs.Len() { // in their order, so that the sum is always the same
		if p := r.Groups.Like[i]; p.Probability > 0 {
			s.Wrong += 1 - expected.InCollection(p.Probability)
		}
	}
	switch least, most := expected.Likely(s.Wrong, s.Duplicates); {
	case s.Duplicates == 0:
	case r.Groups.Expected == nil:
		s.said = append(s.said, fmt.Sprintf("about %.0f of the %d duplicates are expected to be false positives, going by their probabilities", s.Wrong, s.Duplicates))
	default:
		s.said = append(s.said, fmt.Sprintf("about %.0f of the %d duplicates are expected to be false positives, likely %d to %d", s.Wrong, s.Duplicates, least, most))
	}
	families := r.Groups.Families
	s.Families = len(families)
	for n, f := range families {
		if n == mostFamilies {
			s.said = append(s.said, "and "+cli.Count(len(families)-n, "more form", "more forms"))
			break
		}
		what := ""
		if f.Form != "" {
			what = ": " + cli.Printable(f.Form, 80)
		}
		s.said = append(s.said, fmt.Sprintf("%d documents share one form%s", f.Members, what))
		if len(f.Filled) > 1 {
			s.said = append(s.said, fmt.Sprintf("    filled in differently, such as %s; and %s", cli.Printable(f.Filled[0], 60), cli.Printable(f.Filled[1], 60)))
		}
	}
}

// mostFamilies is how many families a summary names.
const mostFamilies = 5

// Summary tells the user what was found.
func (r *Results) Summary(out io.Writer, took time.Duration) error {
	o := &r.Options.Writing
	if o.Quiet && !o.JSON {
		return nil
	}
	s := r.summarize(took)
	w := bufio.NewWriter(out)
	if o.JSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		if err := e.Encode(s); err != nil {
			return err
		}
		return w.Flush()
	}
	and := ""
	if !r.Options.Method.ByContent {
		and = " (different metadata counts too; " + cli.Count(s.described, "document has", "documents have") + " metadata)"
	}
	fmt.Fprintf(w, "%s, %s%s\n", cli.Count(s.Documents, "document", "documents"), cli.Count(s.Texts, "different text", "different texts"), and)
	if s.Old > 0 {
		fmt.Fprintln(w, cli.Count(s.Old, "old document", "old documents"), "to compare with")
	}
	fmt.Fprintf(w, "%s in %s; %s without them\n", cli.Count(s.Duplicates, "duplicate", "duplicates"), cli.Count(s.Groups, "group", "groups"), cli.Count(s.Left, "document remains", "documents remain"))
	for _, line := range s.said {
		fmt.Fprintln(w, line)
	}
	saySources(w, s.Sources)
	r.sayMissing(w, &s)
	if s.Bad > 0 {
		fmt.Fprintf(w, "lines or files skipped: %d\n", s.Bad)
	}
	fmt.Fprintf(w, "%s of text in %.2f s", cli.Size(s.Bytes), s.Seconds)
	if rate := float64(s.Bytes) / 1e6 / s.Seconds; s.Bytes >= 1e6 && rate >= 1 { // otherwise starting up or comparing takes most of the time
		fmt.Fprintf(w, ", %.0f MB/s", rate)
	}
	fmt.Fprintln(w)
	if len(s.largest) > 0 {
		fmt.Fprintln(w, "largest groups:")
	}
	for _, first := range s.largest[:min(5, len(s.largest))] {
		d := r.Doc(first)
		fmt.Fprintf(w, "%6d × %s", s.members[first], cli.Printable(d.ID, 60))
		if d.Place != input.NoPlace {
			if text := r.Sources[d.Source].Beginning(d.Offset, r.Options.Cols); text != "" {
				fmt.Fprintf(w, ": %s", cli.Printable(text, 80))
			}
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// sayMissing says how many texts there are that are none, or have nothing to compare.
func (r *Results) sayMissing(w io.Writer, s *Summary) {
	if s.Blank > 0 {
		fmt.Fprintln(w, cli.Count(s.Blank, "document has no text: it is kept", "documents have no text: they are kept, and do not count as duplicates of each other"))
	}
	if r.Read.Repeated > 0 {
		fmt.Fprintln(w, cli.Count(r.Read.Repeated, "document was", "documents were"), "dropped because another one has the same id")
	}
	if r.Read.Dropped > 0 {
		fmt.Fprintln(w, cli.Count(r.Read.Dropped, "document without text was dropped", "documents without text were dropped"))
	}
	if s.Empty > 0 {
		also := ", if their metadata are equal too"
		if r.Options.Method.ByContent {
			also = ""
		}
		fmt.Fprintf(w, "%s no letters or digits, or none are left after cleaning; only equal ones are duplicates%s\n", cli.Count(s.Empty, "text has", "texts have"), also)
	}
}
