package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/neardup/neardup/cmd/neardup/internal/cli"
)

// This file has the summary of a call, as text or as JSON (--json).

// A summary is what a call has found.
type summary struct {
	Documents  int `json:"documents"`
	Texts      int `json:"texts"` // different ones
	Old        int `json:"old"`   // documents
	Duplicates int `json:"duplicates"`
	Groups     int `json:"groups"`
	Left       int `json:"left"`        // documents without the duplicates
	Empty      int `json:"empty"`       // texts without letters and digits
	Bad        int `json:"bad"`         // lines that were skipped
	PassedOver int `json:"passed_over"` // files of other formats

	Method     string  `json:"method"`
	Threshold  float64 `json:"threshold,omitempty"` // of the methods auto and cosine
	Reason     string  `json:"reason,omitempty"`
	Precision  float64 `json:"precision,omitempty"` // an estimate; 0 if the collection cannot tell
	Recall     float64 `json:"recall,omitempty"`    // of a large collection, at least
	Bytes      int64   `json:"bytes"`               // of text
	Seconds    float64 `json:"seconds"`
	described  int
	thresholds []string // as sentences
	largest    []int    // the documents that the largest groups keep
	members    []int    // of the group that each document keeps
}

// summarize counts what was found.
func (c *collection) summarize(took time.Duration) (s summary, err error) {
	s = summary{Documents: len(c.docs) - c.old, Old: c.old, Duplicates: c.duplicates(), Bad: c.bad, PassedOver: len(c.passed),
		Method: c.method.name, Bytes: c.bytes, Seconds: took.Seconds(), members: make([]int, len(c.docs))}
	s.Left = s.Documents - s.Duplicates
	for i := c.old; i < len(c.docs); i++ {
		s.members[c.cluster[i]]++
		t := c.docs[i].content
		if !t.counted && c.exact == nil {
			t.counted = true
			s.Texts++
		}
		if t.more != nil && len(t.more.metadata) > 0 {
			s.described++
		}
		if t.isEmpty() {
			s.Empty++
		}
	}
	if c.exact != nil {
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
		t, plan, err := c.exact.says()
		if err != nil {
			return s, err
		}
		s.Threshold, s.Reason, s.Precision = t.Similarity, t.Reason, t.Precision
		s.thresholds = append(s.thresholds, t.String())
		if plan.Trees > 0 {
			s.Recall = plan.Recall
			s.thresholds = append(s.thresholds, plan.String())
		}
	}
	return s, nil
}

// summary tells the user what was found.
func (c *collection) summary(out io.Writer, o *options, took time.Duration) error {
	if o.quiet && !o.json {
		return nil
	}
	s, err := c.summarize(took)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	if o.json {
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
	for _, line := range s.thresholds {
		fmt.Fprintln(w, line)
	}
	if s.Old > 0 {
		fmt.Fprintf(w, "%d old documents to compare with\n", s.Old)
	}
	fmt.Fprintf(w, "%d duplicates in %d groups; %d documents are left without them\n", s.Duplicates, s.Groups, s.Left)
	if s.Empty > 0 {
		also := ", if their metadata are equal too"
		if c.method.byContent {
			also = ""
		}
		fmt.Fprintf(w, "%d texts have no letters or digits, or none are left after cleaning; only equal ones are duplicates%s\n", s.Empty, also)
	}
	if s.Bad > 0 {
		fmt.Fprintf(w, "%d bad lines skipped\n", s.Bad)
	}
	mb := float64(s.Bytes) / 1e6
	fmt.Fprintf(w, "%.1f MB of text in %.2f s, %.0f MB/s\n", mb, s.Seconds, mb/s.Seconds)
	if len(s.largest) > 0 {
		fmt.Fprintln(w, "largest groups:")
	}
	for _, first := range s.largest[:min(5, len(s.largest))] {
		d := &c.docs[first]
		fmt.Fprintf(w, "%6d × %s", s.members[first], cli.Printable(d.id, 60))
		if d.place != noPlace {
			if text := c.sources[d.source].beginning(d.offset, c.cols); text != "" {
				fmt.Fprintf(w, ": %s", cli.Printable(text, 80))
			}
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
