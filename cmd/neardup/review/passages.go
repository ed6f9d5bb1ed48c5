package review

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
)

// This file makes the page that shows passages in the documents in which they stand. It has no script.

//go:embed passages.html
var passagesFrame string

var passagesPage = template.Must(template.New("passages").Parse(passagesFrame))

// A PassagePage is what the page shows.
type PassagePage struct {
	Title, Summary string
	All            int // passages, of which the page has some
	Passages       []Passage
}

// A Passage is a text that stands in several places.
type Passage struct {
	Tokens, Documents int
	All               int // places, of which the page has some
	Text              string
	Places            []Spot
}

// A Spot is a place of a passage: what stands before it, how it begins and ends, and what stands behind it. End is empty if Begin has
// all of it.
type Spot struct{ ID, At, Before, Begin, End, After string }

// Write writes the page.
func (p *PassagePage) Write(w io.Writer) error {
	colours, _, _ := strings.Cut(style, "* {") // those of the page of pairs
	return passagesPage.Execute(w, struct {
		*PassagePage
		Colours template.CSS
	}{p, template.CSS(colours)})
}
