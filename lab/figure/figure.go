// Package figure draws plots into SVG files that look the same on every machine. Latin letters are
// text in Liberation Sans, or in a font with the same widths. Chinese characters are drawn as
// outlines, because not every machine has a font with them.
//
// The file text.go draws texts.
package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Plot is a plot with a legend on its right side.
type Plot struct {
	*plot.Plot
	Width, Height vg.Length
	entries       []entry
	log           bool
}

// An entry is a line of the legend.
type entry struct {
	name   string
	thumbs []plot.Thumbnailer
}

// colours can be told apart by people with colour blindness (Okabe and Ito). On paper, marks help.
var colours = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
	color.RGBA{86, 180, 233, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 0, 0, 255}, color.RGBA{128, 128, 128, 255}, color.RGBA{136, 34, 85, 255},
	color.RGBA{51, 34, 136, 255}, color.RGBA{153, 153, 51, 255}, color.RGBA{220, 20, 60, 255},
}

var marks = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{}, draw.PlusGlyph{}, draw.PyramidGlyph{}, draw.CircleGlyph{},
	draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{},
}

// New returns an empty plot with a title. x and y are the labels of the axes; they should name the
// units.
func New(title, x, y string) *Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(8)
	p.TextHandler = handler
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		style.Font.Typeface, style.Font.Variant, style.Handler = "Liberation", "Sans", handler
	}
	p.Title.TextStyle.Font.Size = vg.Points(13)
	p.X.Label.TextStyle.Font.Size, p.Y.Label.TextStyle.Font.Size = vg.Points(11), vg.Points(11)
	p.X.Tick.Marker, p.Y.Tick.Marker = evenly{}, evenly{}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	return &Plot{Plot: p, Width: 7.5 * vg.Inch, Height: 4.2 * vg.Inch}
}

// Line adds points with marks, connected by a line. style chooses the colour and the mark.
func (p *Plot) Line(name string, style int, x, y []float64) {
	line, points, err := plotter.NewLinePoints(xys(x, y))
	check(err)
	line.Color, points.Color = colours[style%len(colours)], colours[style%len(colours)]
	line.Width = vg.Points(1.4)
	points.Shape, points.Radius = marks[style%len(marks)], vg.Points(2.6)
	p.Add(line, points)
	p.entries = append(p.entries, entry{name, []plot.Thumbnailer{line, points}})
}

// Points adds points that are not connected.
func (p *Plot) Points(name string, style int, x, y []float64) {
	points, err := plotter.NewScatter(xys(x, y))
	check(err)
	points.Color, points.Shape, points.Radius = colours[style%len(colours)], marks[style%len(marks)], vg.Points(2)
	if len(x) < 20 {
		points.Radius = vg.Points(3.5) // so few are to be found among lines
	}
	p.Add(points)
	p.entries = append(p.entries, entry{name, []plot.Thumbnailer{points}})
}

// Curve adds a line without marks.
func (p *Plot) Curve(name string, style int, x, y []float64) {
	line, err := plotter.NewLine(xys(x, y))
	check(err)
	line.Color, line.Width = colours[style%len(colours)], vg.Points(1.4)
	p.Add(line)
	p.entries = append(p.entries, entry{name, []plot.Thumbnailer{line}})
}

// Dashed adds a line without marks, for values that are expected.
func (p *Plot) Dashed(name string, x, y []float64) {
	line, err := plotter.NewLine(xys(x, y))
	check(err)
	line.Color, line.Width, line.Dashes = color.Gray{90}, vg.Points(1.2), []vg.Length{vg.Points(5), vg.Points(3)}
	p.Add(line)
	p.entries = append(p.entries, entry{name, []plot.Thumbnailer{line}})
}

// Categories labels the positions 0, 1, 2, … of the x axis with names.
func (p *Plot) Categories(names ...string) {
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.4, float64(len(names))-0.6
	p.X.Width, p.X.Tick.Length = vg.Points(0.5), vg.Points(4)
	p.X.Tick.Width = vg.Points(0.5)
	p.X.Padding = p.Y.Padding
}

// Log makes both axes logarithmic. All values must be above 0.
func (p *Plot) Log() {
	p.log = true
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
}

// CutAt returns where the vertical axis begins, or 0 if that is at or below 0, or if the axis is logarithmic.
func (p *Plot) CutAt() float64 {
	if p.log {
		return 0
	}
	return max(p.Y.Min, 0)
}

// evenly puts four to ten ticks at round numbers.
type evenly struct{}

func (evenly) Ticks(least, most float64) (ticks []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((most-least)/4)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (most-least)/(m*step) <= 10 {
			step *= m
			break
		}
	}
	for i := math.Ceil(least/step - 1e-9); i*step <= most+step*1e-9; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(math.Round(i*step*1e6)/1e6+0, 'g', -1, 64)})
	}
	return ticks
}

// decades puts ticks at the powers of ten and between them.
type decades struct{}

func (decades) Ticks(least, most float64) (ticks []plot.Tick) {
	for e := math.Floor(math.Log10(least)); e <= math.Ceil(math.Log10(most)); e++ {
		for m := 1.; m < 10; m++ {
			t := plot.Tick{Value: m * math.Pow(10, e)}
			if t.Value < least*0.999 || t.Value > most*1.001 {
				continue
			}
			if m == 1 || most < 200*least && (m == 2 || m == 5) {
				t.Label = short(t.Value)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// roundDown returns the largest number of the form 1, 2 or 5 times a power of ten that is not
// larger than v.
func roundDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if v >= m*power*(1-1e-9) {
			return m * power
		}
	}
	return power
}

// short returns a number in few characters, such as 10 k.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%g M", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%g k", v/1e3)
	}
	return fmt.Sprintf("%.3g", v)
}

const margin = 8 // in points

// legend draws the legend at the right, and returns its width.
func (p *Plot) legend(canvas draw.Canvas) vg.Length {
	style := p.X.Tick.Label
	style.XAlign, style.YAlign, style.Rotation = draw.XLeft, draw.YCenter, 0
	style.Font.Size = vg.Points(10)
	width := vg.Length(0)
	for _, e := range p.entries {
		width = max(width, style.Width(e.name))
	}
	const thumb, row, top = 22, 16, 40
	width = 1.12*width + vg.Points(thumb+3*margin) // the viewer's font may be wider
	for i, e := range p.entries {
		at := vg.Point{X: p.Width - width + vg.Points(margin), Y: p.Height - vg.Points(float64(top+row*i))}
		for _, t := range e.thumbs {
			t.Thumbnail(&draw.Canvas{Canvas: canvas.Canvas, Rectangle: vg.Rectangle{
				Min: at.Add(vg.Point{Y: -vg.Points(row / 2)}), Max: at.Add(vg.Point{X: vg.Points(thumb), Y: vg.Points(row / 2)}),
			}})
		}
		canvas.FillText(style, at.Add(vg.Point{X: vg.Points(thumb + 5)}), e.name)
	}
	return width
}

// Save writes the plot to a file.
func (p *Plot) Save(path string) error {
	if p.log { // extend the axes, so that both ends have labels
		for _, axis := range []*plot.Axis{&p.X, &p.Y} {
			axis.Min, axis.Max = roundDown(axis.Min), 1/roundDown(1/axis.Max)
		}
	}
	c := vgsvg.New(p.Width, p.Height)
	canvas := draw.New(c)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	width := vg.Points(margin)
	if len(p.entries) > 1 {
		width = p.legend(canvas)
	}
	p.Draw(draw.Crop(canvas, vg.Points(margin), -width-vg.Points(margin), vg.Points(margin), -vg.Points(margin)))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	// Arial and Helvetica have the same widths as Liberation Sans.
	svg := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	return os.WriteFile(path, svg, 0o644)
}

func xys(x, y []float64) (points plotter.XYs) {
	for i := range x {
		points = append(points, plotter.XY{X: x[i], Y: y[i]})
	}
	return points
}

// check panics if points cannot be drawn: there are none, or one is NaN or infinite.
func check(err error) {
	if err != nil {
		panic("figure: " + err.Error())
	}
}

var handler = outlines{text.Plain{Fonts: font.DefaultCache}}
