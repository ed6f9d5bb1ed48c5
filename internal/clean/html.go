package clean

import (
	"bytes"
	"io"
	"strings"

	"github.com/neardup/neardup/internal/lex"
	"golang.org/x/net/html"
)

// MaxMarkup is the longest tag, comment or run of text that is looked at as a
// whole. What is longer ends all the same, see htmlText.
const MaxMarkup = 64 << 10

// htmlText turns a page into the text it shows: without markup, comments,
// scripts, styles and what only those see who cannot play or draw, with character
// references resolved, white space collapsed, and a line for each block. It does
// not build a tree and lays nothing out: what styles hide counts as shown.
//
// A tag of more than 64 KiB (images in the page are such) ends at the next >, a
// comment of more at the next -->, and a script of more at the next </script;
// nothing else depends on a limit.
type htmlText struct {
	pending []byte // what may be cut in the middle of something

	raw    string // the element whose text is being read, if markup does not count in it
	skip   string // how what is too long ends
	hidden int    // open elements whose text is not shown
	pre    int    // open elements in which lines stay lines
	svg    int    // open elements of SVG and MathML, where no element is raw
	label  int    // open elements in those whose text is not shown

	filled bool // the line has text
	space  bool // a space is due before more of it
}

// write appends to dst what the next piece of the page shows. The piece is not
// kept.
func (h *htmlText) write(dst, piece []byte, last bool) []byte {
	// A piece must be looked at together with enough of what follows. So, but
	// for the last one, it is kept until there is twice as much as can be needed.
	if len(h.pending) > 0 || !last {
		h.pending = append(h.pending, piece...)
		if len(h.pending) < 2*MaxMarkup && !last {
			return dst
		}
		piece = h.pending
	}
	read := 0
	for more := true; more; {
		var n int
		dst, n, more = h.read(dst, piece[read:], last)
		read += n
	}
	h.pending = h.pending[:copy(h.pending, piece[read:])]
	return dst
}

// read reads page until something is too long, or, before the last piece, may not
// be there in full. It returns how much it has read, and whether to go on there.
func (h *htmlText) read(dst, page []byte, last bool) (_ []byte, read int, more bool) {
	if h.skip != "" {
		end := bytes.Index(page, []byte(h.skip))
		if end < 0 {
			if last {
				return dst, len(page), false
			}
			return dst, max(0, len(page)-len(h.skip)+1), false
		}
		read = end + len(h.skip)
		h.skip = ""
	}
	var r io.Reader = bytes.NewReader(page[read:])
	raw := h.raw
	if raw != "" { // begin where markup does not count
		r = io.MultiReader(strings.NewReader("<"+raw+">"), r)
	}
	z := html.NewTokenizer(r)
	z.SetMaxBuf(MaxMarkup)
	if raw != "" {
		z.Next()
	}
	z.AllowCDATA(h.svg > 0)
	for last || read <= len(page)-MaxMarkup {
		raw, h.raw = h.raw, ""
		kind := z.Next()
		size := len(z.Raw())
		tooLong := size >= MaxMarkup
		switch {
		case kind == html.TextToken:
			if tooLong {
				if cut := bytes.LastIndexAny(page[read+size-64:read+size], "&<"); cut >= 0 {
					size -= 64 - cut
				}
				h.raw = raw
			}
			text := page[read : read+size]
			if bytes.HasPrefix(text, []byte("<![CDATA[")) && h.svg > 0 {
				text, raw = bytes.TrimSuffix(text[9:], []byte("]]>")), "cdata"
			}
			dst = h.text(dst, text, raw)
		case tooLong && bytes.HasPrefix(page[read:], []byte("<!--")): // the last bytes may belong to its end
			h.skip = "-->"
			size -= len(h.skip)
		case tooLong:
			h.skip = ">"
			kind = html.StartTagToken
			if page[read+1] == '/' {
				kind = html.EndTagToken
			}
			dst = h.tag(dst, tagName(page[read+1:]), kind)
			size -= len(h.skip)
		case kind == html.ErrorToken:
			return dst, len(page), false
		case kind == html.StartTagToken, kind == html.SelfClosingTagToken, kind == html.EndTagToken:
			name, _ := z.TagName()
			dst = h.tag(dst, string(name), kind)
			if h.raw == "" {
				z.NextIsNotRawText()
			}
			z.AllowCDATA(h.svg > 0)
		}
		read += size
		if tooLong {
			return dst, read, true
		}
	}
	return dst, read, false
}

// tagName returns the name in a tag, given what follows its <.
func tagName(tag []byte) string {
	name := strings.ToLower(string(bytes.TrimPrefix(tag[:min(len(tag), 16)], []byte("/"))))
	if end := strings.IndexAny(name, " \n\r\t\f/>"); end >= 0 {
		name = name[:end]
	}
	return name
}

// isRaw reports whether markup does not count in an element.
func isRaw(element string) bool {
	switch element {
	case "iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp":
		return true
	}
	return false
}

// text takes in a run of text, the content of the element raw or of any other.
func (h *htmlText) text(dst, text []byte, raw string) []byte {
	switch raw {
	case "iframe", "noembed", "noframes", "noscript", "script", "style":
		return dst
	}
	if h.hidden > 0 || h.label > 0 {
		return dst
	}
	if raw != "plaintext" && raw != "xmp" && raw != "cdata" && bytes.IndexByte(text, '&') >= 0 {
		text = lex.Bytes(html.UnescapeString(string(text)))
	}
	keep := h.pre > 0 || raw == "plaintext" || raw == "xmp" || raw == "textarea"
	for len(text) > 0 {
		c := text[0]
		switch {
		case keep && (c == '\n' || c == '\r' && !bytes.HasPrefix(text, []byte("\r\n"))):
			dst = append(dst, '\n')
			h.filled, h.space = false, false
		case lex.IsSpace(c):
			h.space = h.filled
		default:
			if h.space {
				dst = append(dst, ' ')
			}
			n := 1
			for n < len(text) && !lex.IsSpace(text[n]) {
				n++
			}
			dst = append(dst, text[:n]...)
			h.filled, h.space = true, false
			text = text[n:]
			continue
		}
		text = text[1:]
	}
	return dst
}

// tag takes in a tag.
func (h *htmlText) tag(dst []byte, name string, kind html.TokenType) []byte {
	start := kind != html.EndTagToken
	count := func(n *int) {
		if start {
			*n++
		} else if *n > 0 {
			*n--
		}
	}
	if name == "svg" || name == "math" || h.svg > 0 {
		if start && endsSVG(name) {
			h.svg, h.label = 0, 0
		} else {
			h.space = h.space || h.filled && (name == "svg" || name == "math")
			if kind == html.SelfClosingTagToken {
				return dst // only here such a tag is an element
			}
			switch name {
			case "svg", "math":
				if count(&h.svg); h.svg == 0 {
					h.label = 0
				}
			case "desc", "metadata", "script", "style", "title":
				count(&h.label)
			}
			return dst
		}
	}
	if start && isRaw(name) {
		h.raw = name
	}
	switch name {
	case "audio", "canvas", "datalist", "rp", "template", "video": // for those who do not see it
		count(&h.hidden)
		h.space = h.filled && (h.space || name != "rp")
	case "button", "embed", "iframe", "img", "input", "label", "meter", "object", "progress", "td", "th":
		h.space = h.filled
	case "pre":
		count(&h.pre)
		return h.line(dst)
	case "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog",
		"dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5",
		"h6", "head", "header", "hgroup", "hr", "html", "legend", "li", "listing", "main", "menu", "nav", "ol",
		"optgroup", "option", "p", "plaintext", "search", "section", "select", "summary", "table", "tbody", "textarea",
		"tfoot", "thead", "title", "tr", "ul", "xmp":
		return h.line(dst)
	}
	return dst
}

// endsSVG reports whether an element cannot be in SVG or MathML, so that a parser
// takes those for closed.
func endsSVG(element string) bool {
	switch element {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2", "h3",
		"h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s",
		"small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var":
		return true
	}
	return false
}

// line ends the line, if it has any text.
func (h *htmlText) line(dst []byte) []byte {
	if h.filled {
		dst = append(dst, '\n')
	}
	h.filled, h.space = false, false
	return dst
}
