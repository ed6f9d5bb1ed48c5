// Package review writes a page of HTML in which people look at pairs of documents: side by side, with what
// differs, and why they match. The page is one file that needs nothing else, and loads nothing.
//
//	page.html    the frame of the page
//	page.css     how it looks
//	page.js      what it does
//	diff.min.js  what differs between two texts (jsdiff 8.0.4, by Kevin Decker, under the BSD licence in diff.LICENSE)
//
// Texts may have anything in them. They are in blocks of data, packed by gzip and base64, and are only ever set as
// text, never as markup. A policy in the page allows the two scripts and the style by their hashes, and nothing else.
package review

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
)

// A Report is what the page shows.
type Report struct {
	Title     string    `json:"title"`
	Key       string    `json:"key"`  // under which the browser keeps labels; other collections have other ones
	Made      string    `json:"made"` // the program and its version
	Documents int       `json:"documents"`
	Threshold float64   `json:"threshold"` // the smallest probability of near-duplicates
	Reason    string    `json:"reason"`    // what is to be expected of them, as a sentence
	Least     float64   `json:"least"`     // pairs with a smaller probability are not in the report
	Left      int       `json:"left"`      // pairs that are not in the report because there are too many
	Curve     []float64 `json:"curve"`     // pairs by probability, in twenty steps; nil if there is none
	Kinds     []string  `json:"kinds"`
	Prior     string    `json:"prior"` // the reason that every pair has
	Families  []Family  `json:"families"`
	Docs      []Doc     `json:"-"`
	Pairs     []Pair    `json:"-"`
}

// A Family is documents of one form that is filled in differently. They are no duplicates of each other, unless somebody asks for that.
type Family struct {
	Members int      `json:"members"`
	Form    string   `json:"form"`   // what they have in common; "" if it is not known
	Filled  []string `json:"filled"` // what stands in some of them
}

// A Doc is a document of a pair.
type Doc struct {
	ID, At, Text string
	Group        int  // its number, or 0
	Size         int  // of the group
	Kept         bool // what the group keeps
}

// A Pair is two documents, by their places in Docs.
type Pair struct {
	A, B                    int
	Similarity, Probability float64
	Kind                    int      // its place in Kinds
	Why                     []Reason // nil if it was not asked for
}

// A Reason is something that speaks for a pair or against it.
type Reason struct {
	Text string
	Adds float64 // to the logarithm of the odds
}

//go:embed page.html
var frame string

//go:embed page.css
var style string

//go:embed page.js
var script string

//go:embed diff.min.js
var diff string

var page = template.Must(template.New("page").Parse(frame))

// textsInBlock is how many texts are unpacked at once.
const textsInBlock = 64

// Write writes the page.
func (r *Report) Write(w io.Writer) error {
	data := struct {
		*Report
		IDs       []string      `json:"ids"`
		Places    []string      `json:"places"`
		Groups    [][3]int      `json:"groups"` // of each document: number, size, and whether it is kept
		A         []int         `json:"a"`
		B         []int         `json:"b"`
		S         []float64     `json:"s"` // similarities
		P         []float64     `json:"p"` // probabilities
		K         []int         `json:"k"`
		Why       map[int][]any `json:"why"` // by pair: text, what it adds, and so on
		BlockSize int           `json:"block"`
	}{Report: r, Why: map[int][]any{}, BlockSize: textsInBlock}
	for _, d := range r.Docs {
		kept := 0
		if d.Kept {
			kept = 1
		}
		data.IDs, data.Places, data.Groups = append(data.IDs, d.ID), append(data.Places, d.At), append(data.Groups, [3]int{d.Group, d.Size, kept})
	}
	for i, p := range r.Pairs {
		data.A, data.B, data.K = append(data.A, p.A), append(data.B, p.B), append(data.K, p.Kind)
		data.S, data.P = append(data.S, rounded(p.Similarity)), append(data.P, rounded(p.Probability))
		for _, f := range p.Why {
			data.Why[i] = append(data.Why[i], f.Text, rounded(f.Adds))
		}
	}
	b, err := json.Marshal(data) // which escapes what could end a script
	if err != nil {
		return err
	}
	var blocks []template.HTML
	for from := 0; from < len(r.Docs); from += textsInBlock {
		var texts []string
		for _, d := range r.Docs[from:min(len(r.Docs), from+textsInBlock)] {
			texts = append(texts, d.Text)
		}
		packed, err := pack(texts)
		if err != nil {
			return err
		}
		blocks = append(blocks, template.HTML(packed)) // base64, which has no markup
	}
	return page.Execute(w, map[string]any{
		"Title":  r.Title,
		"Policy": fmt.Sprintf("default-src 'none'; script-src '%s' '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", hash(diff), hash(script), hash(style)),
		"Style":  template.HTML("<style>" + style + "</style>"),
		"Diff":   template.HTML("<script>" + diff + "</script>"),
		"Script": template.HTML("<script>" + script + "</script>"),
		"Data":   template.HTML(`<script type="application/json" id="data">` + string(b) + "</script>"),
		"Blocks": blocks,
	})
}

// rounded returns x with four digits, so that the page is small.
func rounded(x float64) float64 { return math.Round(x*10_000) / 10_000 }

// hash returns the hash of a script or a style for the policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// pack returns texts as JSON, packed by gzip and base64.
func pack(texts []string) (string, error) {
	var b bytes.Buffer
	to := base64.NewEncoder(base64.StdEncoding, &b)
	z := gzip.NewWriter(to)
	if err := json.NewEncoder(z).Encode(texts); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	if err := to.Close(); err != nil {
		return "", err
	}
	return b.String(), nil
}
