package pipeline

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
	said      []string // sentences about the decision and the families
	largest   []int    // the documents that the largest groups keep
	members   []int    // of the group that each document keeps
}

// summarize counts what was found.
func (c *collection) summarize(took time.Duration) (s Summary, err error) {
	s = Summary{Documents: c.docs.Len() - c.old, Old: c.old, Duplicates: c.duplicates(), Bad: c.bad, Dropped: c.dropped, Repeated: c.repeated, PassedOver: len(c.passed),
		Method: c.method.Name, Bytes: c.bytes, Seconds: took.Seconds(), members: make([]int, c.docs.Len())}
	s.Left = s.Documents - s.Duplicates
	for i := c.old; i < c.docs.Len(); i++ {
		s.members[c.cluster[i]]++
		t := c.Doc(i).content
		if t.blank {
			s.Blank++
			continue
		}
		if !t.counted && c.exact == nil {
			t.counted = true
			s.Texts++
		}
		if t.more != nil && len(t.more.metadata) > 0 {
			s.described++
		}
		if t.empty {
			s.Empty++
		}
	}
	if c.exact != nil {
		slices.Sort(c.texts)
		c.texts = slices.Compact(c.texts)
		s.Texts = len(c.texts)
	}
	for first, n := range s.members {
		if n > 1 || n > 0 && first < c.old {
			s.Groups++
			s.largest = append(s.largest, first)
		}
	}
	slices.SortFunc(s.largest, func(a, b int) int { return cmp.Or(s.members[b]-s.members[a], a-b) })
	if c.exact != nil {
		if err := c.summarizeExact(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// summarizeExact adds what the Deduplicator says: how many duplicates are wrong, and which families there are.
func (c *collection) summarizeExact(s *Summary) error {
	for i := range c.docs.Len() { // in their order, so that the sum is always the same
		if p := c.like[i]; p.probability > 0 {
			s.Wrong += 1 - p.probability
		}
	}
	if s.Duplicates > 0 {
		s.said = append(s.said, fmt.Sprintf("about %.0f of the %d duplicates are wrong, by their probabilities", s.Wrong, s.Duplicates))
	}
	families, err := c.exact.families()
	if err != nil {
		return err
	}
	s.Families = len(families)
	for n, f := range families {
		if n == mostFamilies {
			s.said = append(s.said, fmt.Sprintf("and %d more forms", len(families)-n))
			break
		}
		what := ""
		if f.Form != "" {
			what = ": " + cli.Printable(f.Form, 80)
		}
		s.said = append(s.said, fmt.Sprintf("%d documents are of one form%s", f.Members, what))
		if len(f.Filled) > 1 {
			s.said = append(s.said, fmt.Sprintf("    filled in differently, such as %s; and %s", cli.Printable(f.Filled[0], 60), cli.Printable(f.Filled[1], 60)))
		}
	}
	return nil
}

// mostFamilies is how many families a summary names.
const mostFamilies = 5

// summary tells the user what was found.
func (c *collection) summary(out io.Writer, o *Writing, took time.Duration) error {
	if o.Quiet && !o.JSON {
		return nil
	}
	s, err := c.summarize(took)
	if err != nil {
		return err
	}
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
	if !c.method.byContent {
		and = fmt.Sprintf(" (or different metadata; %d documents have metadata)", s.described)
	}
	fmt.Fprintf(w, "%d documents, %d different texts%s\n", s.Documents, s.Texts, and)
	if s.Old > 0 {
		fmt.Fprintf(w, "%d old documents to compare with\n", s.Old)
	}
	fmt.Fprintf(w, "%d duplicates in %d groups; %d documents are left without them\n", s.Duplicates, s.Groups, s.Left)
	for _, line := range s.said {
		fmt.Fprintln(w, line)
	}
	c.sayMissing(w, &s)
	if s.Bad > 0 {
		fmt.Fprintf(w, "%d lines or files were skipped\n", s.Bad)
	}
	mb := float64(s.Bytes) / 1e6
	fmt.Fprintf(w, "%.1f MB of text in %.2f s, %.0f MB/s\n", mb, s.Seconds, mb/s.Seconds)
	if len(s.largest) > 0 {
		fmt.Fprintln(w, "largest groups:")
	}
	for _, first := range s.largest[:min(5, len(s.largest))] {
		d := c.Doc(first)
		fmt.Fprintf(w, "%6d × %s", s.members[first], cli.Printable(d.ID, 60))
		if d.Place != input.NoPlace {
			if text := c.Sources[d.Source].Beginning(d.offset, c.cols); text != "" {
				fmt.Fprintf(w, ": %s", cli.Printable(text, 80))
			}
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// sayMissing says how many texts there are that are none, or have nothing to compare.
func (c *collection) sayMissing(w io.Writer, s *Summary) {
	if s.Blank > 0 {
		fmt.Fprintf(w, "%d documents have no text: they are kept, and no one is a duplicate of another\n", s.Blank)
	}
	if c.repeated > 0 {
		fmt.Fprintf(w, "%d documents are left out, since another one has their id\n", c.repeated)
	}
	if c.dropped > 0 {
		fmt.Fprintf(w, "%d documents without text are left out\n", c.dropped)
	}
	if s.Empty > 0 {
		also := ", if their metadata are equal too"
		if c.method.byContent {
			also = ""
		}
		fmt.Fprintf(w, "%d texts have no letters or digits, or none are left after cleaning; only equal ones are duplicates%s\n", s.Empty, also)
	}
}
