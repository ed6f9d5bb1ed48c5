package figure

import (
	_ "embed"
	"strings"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// This file draws texts: runs of Chinese characters as outlines, all others as text.

// chineseTTF has the Chinese characters that the figures use, from Droid Sans Fallback (Apache
// License 2.0); see fonts/README.md.
//
//go:embed fonts/chinese.ttf
var chineseTTF []byte

var chinese = func() *sfnt.Font {
	f, err := sfnt.Parse(chineseTTF)
	if err != nil {
		panic(err)
	}
	return f
}()

// outlines draws the characters of the Chinese font as outlines, and all other characters as text.
type outlines struct{ text.Plain }

// A run is a part of a line that is drawn in one way.
type run struct {
	text   string
	glyphs []sfnt.GlyphIndex // empty if the run is drawn as text
}

// runs cuts a line into runs.
func runs(line string) (all []run) {
	var buf sfnt.Buffer
	for _, c := range line {
		glyph := sfnt.GlyphIndex(0)
		if c >= 0x2E80 {
			glyph, _ = chinese.GlyphIndex(&buf, c)
		}
		if n := len(all); n == 0 || (glyph > 0) != (all[n-1].glyphs != nil) {
			all = append(all, run{})
		}
		last := &all[len(all)-1]
		last.text += string(c)
		if glyph > 0 {
			last.glyphs = append(last.glyphs, glyph)
		}
	}
	return all
}

// width returns the width of a run. A Chinese character is as wide as the font is high.
func (o outlines) width(r run, fnt font.Font) vg.Length {
	if r.glyphs != nil {
		return vg.Length(len(r.glyphs)) * fnt.Size
	}
	face := o.Fonts.Lookup(fnt, fnt.Size)
	return face.Width(r.text)
}

// Box returns the size of a text. Box and Draw implement text.Handler.
func (o outlines) Box(txt string, fnt font.Font) (width, height, depth vg.Length) {
	_, height, depth = o.Plain.Box(txt, fnt)
	for _, r := range runs(txt) {
		width += o.width(r, fnt)
	}
	return width, height, depth
}

// Draw draws a text.
func (o outlines) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	if txt == "" {
		return
	}
	c.Push()
	defer c.Pop()
	c.SetColor(sty.Color)
	c.Translate(pt)
	c.Rotate(sty.Rotation)
	face := o.Fonts.Lookup(sty.Font, sty.Font.Size)
	lines := o.Lines(strings.TrimRight(txt, "\n"))
	height := sty.Height(txt)
	for i, line := range lines {
		width, _, _ := o.Box(line, sty.Font)
		at := vg.Point{X: vg.Length(sty.XAlign) * width}
		at.Y = height*vg.Length(sty.YAlign) - face.Extents().Ascent + vg.Length(len(lines)-i)*sty.Font.Size
		for _, r := range runs(line) {
			if r.glyphs == nil {
				c.FillString(face, at, r.text)
			}
			for n, g := range r.glyphs {
				fillGlyph(c, g, sty.Font.Size, at.Add(vg.Point{X: vg.Length(n) * sty.Font.Size}))
			}
			at.X += o.width(r, sty.Font)
		}
	}
}

// fillGlyph draws the outline of a Chinese character.
func fillGlyph(c vg.Canvas, g sfnt.GlyphIndex, size vg.Length, at vg.Point) {
	var buf sfnt.Buffer
	const ppem = 1000
	segments, err := chinese.LoadGlyph(&buf, g, fixed.I(ppem), nil)
	if err != nil {
		return
	}
	scale := size / (64 * ppem)
	point := func(p fixed.Point26_6) vg.Point {
		return at.Add(vg.Point{X: vg.Length(p.X) * scale, Y: -vg.Length(p.Y) * scale})
	}
	var path vg.Path
	for i, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if i > 0 {
				path.Close()
			}
			path.Move(point(s.Args[0]))
		case sfnt.SegmentOpLineTo:
			path.Line(point(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(point(s.Args[0]), point(s.Args[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(point(s.Args[0]), point(s.Args[1]), point(s.Args[2]))
		}
	}
	if len(path) > 0 {
		path.Close()
		c.Fill(path)
	}
}
