package clean

import (
	"bytes"
	"io"
	"strings"

	"github.com/neardup/neardup/internal/lex"
	"golang.org/x/net/html"
)

// This file turns HTML into the text that a page shows. It uses the tokenizer of
// golang.org/x/net/html, so it splits a page into tags and text as browsers do, but it builds no
// tree and knows no layout. A handful of counters of open elements replaces the tree. That takes
// linear time and bounded memory on any input, and needs no correct nesting.
//
// Some elements are raw: what is inside is text even if it looks like markup, up to the end tag of
// the element (script, style, title, textarea and others). The tokenizer knows them by name.
// But inside SVG and MathML no element is raw, and it is up to this file to tell the tokenizer so.
//
// The tokenizer reads from an io.Reader and cannot stop in the middle of a token and go on with the
// next piece. So pieces are collected until there are twice MaxMarkup bytes, and a token is read
// only while MaxMarkup more bytes are there, or the page is complete. A token is limited to
// MaxMarkup bytes, so it is then complete or too long, wherever the page was cut into pieces. The
// tokenizer is of no use after a token that is too long, and reading starts again with a new one
// behind the part that was read; raw and skip say in which state.

// MaxMarkup is the length in bytes up to which a tag, a comment or a run of text is read as a
// whole. htmlText says what happens to longer ones.
const MaxMarkup = 64 << 10

// An htmlText turns one page, in pieces, into the text it shows. It leaves out markup, comments,
// scripts, styles and what is meant for browsers that cannot play or draw something. It resolves
// character references, collapses white space, and writes a line for each block. What styles hide
// counts as shown.
//
// A tag of more than 64 KiB (one with an image in it, for example) ends at the next >, even in
// quotes. A longer comment ends at the next -->, and a longer script at the next </script. A longer
// text is read in parts, which makes no difference.
type htmlText struct {
	pending []byte // bytes of the page not read yet

	raw    string // the raw element whose text comes next, or empty
	skip   string // if not empty, skip up to and including this end of a too long token
	hidden int    // open elements whose text is not shown
	pre    int    // open elements in which line breaks are kept
	svg    int    // open svg and math elements, in which no element is raw
	label  int    // open elements inside SVG and MathML whose text is not shown

	filled bool // the current line of the output has text
	space  bool // write a space before more text on this line
}

// write appends to dst the text that the next piece of the page shows, and returns dst. It does not
// keep the piece. Text may come with a later piece, since up to 128 KiB wait for what follows.
func (h *htmlText) write(dst, piece []byte, last bool) []byte {
	// Collect pieces until there are twice as many bytes as a token can have. So each byte is
	// copied to the front of pending at most a few times.
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

// read reads the page up to a token that is too long. Unless last is set, it also stops where the
// next token might not be complete. It returns the number of bytes read, and whether the caller
// should call it again with the rest, because a token was too long.
func (h *htmlText) read(dst, page []byte, last bool) (_ []byte, read int, more bool) {
	if h.skip != "" {
		if read = h.skipTo(page, last); h.skip != "" {
			return dst, read, false
		}
	}
	z := h.tokenizer(page[read:])
	for last || read <= len(page)-MaxMarkup {
		// raw is the element that this token is the text of. The call of h.tag below sets
		// h.raw for the next token.
		raw := h.raw
		h.raw = ""
		kind := z.Next()
		token := page[read : read+len(z.Raw())]
		if len(token) >= MaxMarkup {
			dst, n := h.long(dst, token, raw, kind)
			return dst, read + n, true
		}
		switch kind {
		case html.TextToken:
			dst = h.textOrCDATA(dst, token, raw)
		case html.ErrorToken:
			return dst, len(page), false
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			name, _ := z.TagName()
			dst = h.tag(dst, string(name), kind)
			if h.raw == "" {
				z.NextIsNotRawText()
			}
			z.AllowCDATA(h.svg > 0)
		}
		read += len(token)
	}
	return dst, read, false
}

// skipTo skips the rest of a token that was too long, up to and including h.skip, which it then
// clears. If page does not have that, it skips what cannot belong to it. It returns the number of
// bytes skipped.
func (h *htmlText) skipTo(page []byte, last bool) int {
	end := bytes.Index(page, []byte(h.skip))
	switch {
	case end >= 0:
		end += len(h.skip)
		h.skip = ""
		return end
	case last:
		return len(page)
	}
	// The end of page may hold the beginning of what ends the token.
	return max(0, len(page)-len(h.skip)+1)
}

// tokenizer returns a tokenizer that goes on with page in the state that h is in.
func (h *htmlText) tokenizer(page []byte) *html.Tokenizer {
	var r io.Reader = bytes.NewReader(page)
	if h.raw != "" {
		// Go on inside a raw element: a start tag in front brings the new tokenizer into that
		// state.
		r = io.MultiReader(strings.NewReader("<"+h.raw+">"), r)
	}
	z := html.NewTokenizer(r)
	z.SetMaxBuf(MaxMarkup)
	if h.raw != "" {
		z.Next()
	}
	z.AllowCDATA(h.svg > 0)
	return z
}

// long processes what was read of a token that is too long, and sets raw and skip for the next call
// of read. It returns the number of bytes of token that are done with; the rest is to be read
// again.
func (h *htmlText) long(dst, token []byte, raw string, kind html.TokenType) (_ []byte, done int) {
	done = len(token)
	switch {
	case kind == html.TextToken:
		// A character reference or, in a raw element, the end tag may begin in the last
		// bytes. Leave those for the next call.
		if cut := bytes.LastIndexAny(token[done-64:], "&<"); cut >= 0 {
			done -= 64 - cut
		}
		h.raw = raw
		return h.textOrCDATA(dst, token[:done], raw), done
	case bytes.HasPrefix(token, []byte("<!--")):
		// The last bytes may belong to the --> that ends the comment, so read them again.
		h.skip = "-->"
		return dst, done - len(h.skip)
	}
	// A declaration, or a tag: its name is enough.
	h.skip = ">"
	kind = html.StartTagToken
	if token[1] == '/' {
		kind = html.EndTagToken
	}
	return h.tag(dst, tagName(token[1:]), kind), done - len(h.skip)
}

// tagName returns the name in a tag in lower case, given the bytes behind its <. At most 16 bytes
// are looked at, which is more than any name that tag knows.
func tagName(tag []byte) string {
	name := strings.ToLower(string(bytes.TrimPrefix(tag[:min(len(tag), 16)], []byte("/"))))
	if end := strings.IndexAny(name, " \n\r\t\f/>"); end >= 0 {
		name = name[:end]
	}
	return name
}

// isRaw reports whether the content of an element is raw text in HTML.
func isRaw(element string) bool {
	switch element {
	case "iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp":
		return true
	}
	return false
}

// textOrCDATA appends a token of text to dst, as text does. Inside SVG and MathML it may be a CDATA
// section, of which only the content is text.
func (h *htmlText) textOrCDATA(dst, token []byte, raw string) []byte {
	if content, ok := bytes.CutPrefix(token, []byte("<![CDATA[")); ok && h.svg > 0 {
		return h.text(dst, bytes.TrimSuffix(content, []byte("]]>")), "cdata")
	}
	return h.text(dst, token, raw)
}

// text appends a run of text to dst and collapses its white space. raw is the raw element that the
// text is the content of, "cdata" for a CDATA section, or empty.
func (h *htmlText) text(dst, text []byte, raw string) []byte {
	if h.hidden > 0 || h.label > 0 {
		return dst
	}
	keep := h.pre > 0
	switch raw {
	case "iframe", "noembed", "noframes", "noscript", "script", "style":
		return dst
	case "plaintext", "xmp":
		return h.collapse(dst, text, true)
	case "cdata":
		return h.collapse(dst, text, keep)
	case "textarea":
		keep = true
	}
	if bytes.IndexByte(text, '&') >= 0 {
		text = lex.Bytes(html.UnescapeString(string(text)))
	}
	return h.collapse(dst, text, keep)
}

// collapse appends text to dst with its white space collapsed. With keep, a line break in text
// stays one. It may be called with a text in parts.
func (h *htmlText) collapse(dst, text []byte, keep bool) []byte {
	for len(text) > 0 {
		c := text[0]
		switch {
		case keep && (c == '\n' || c == '\r' && !bytes.HasPrefix(text, []byte("\r\n"))):
			dst = append(dst, '\n')
			h.filled, h.space = false, false
		case lex.IsSpace(c):
			h.space = h.filled // none at the beginning of a line
		default: // a word, up to the next white space
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

// tag updates the counters for a tag, and appends a line break to dst if the element is a block.
// name is in lower case. A self-closing tag counts as a start tag, as in HTML, except inside SVG.
//
// An end tag without a start tag changes no counter, and an element that is never closed stays open
// up to the end of the page. So no stack is needed.
func (h *htmlText) tag(dst []byte, name string, kind html.TokenType) []byte {
	start := kind != html.EndTagToken
	if h.svg > 0 || opensSVG(name) {
		if !start || !endsSVG(name) {
			h.tagSVG(name, kind)
			return dst
		}
		h.svg, h.label = 0, 0
	}
	if start && isRaw(name) {
		h.raw = name
	}
	switch name {
	case "audio", "canvas", "datalist", "rp", "template", "video":
		// The content is a fallback for browsers without the feature, or never shown.
		count(&h.hidden, start)
		h.space = h.filled && (h.space || name != "rp")
	case "button", "embed", "iframe", "img", "input", "label", "meter", "object", "progress", "td", "th":
		h.space = h.filled // in the line, but apart from what is around it
	case "pre":
		count(&h.pre, start)
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

// tagSVG updates the counters for a tag inside SVG or MathML, or one that opens or closes it. Only
// titles, descriptions and the like are told apart there. All other text is shown.
func (h *htmlText) tagSVG(name string, kind html.TokenType) {
	h.space = h.space || h.filled && opensSVG(name)
	if kind == html.SelfClosingTagToken {
		return // an empty element; in HTML the slash would mean nothing
	}
	start := kind == html.StartTagToken
	switch name {
	case "svg", "math":
		if count(&h.svg, start); h.svg == 0 {
			h.label = 0
		}
	case "desc", "metadata", "script", "style", "title":
		count(&h.label, start)
	}
}

// count changes a number of open elements for a start tag or an end tag. It never becomes negative.
func count(open *int, start bool) {
	if start {
		*open++
	} else if *open > 0 {
		*open--
	}
}

// opensSVG reports whether an element is the root of a drawing in SVG or of a formula in MathML.
func opensSVG(element string) bool { return element == "svg" || element == "math" }

// endsSVG reports whether an element cannot be in SVG or MathML. The HTML standard says that its
// start tag closes all open SVG and MathML elements.
func endsSVG(element string) bool {
	switch element {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2", "h3",
		"h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s",
		"small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var":
		return true
	}
	return false
}

// line ends the current line of the output if it has any text. So nested blocks make no empty
// lines.
func (h *htmlText) line(dst []byte) []byte {
	if h.filled {
		dst = append(dst, '\n')
	}
	h.filled, h.space = false, false
	return dst
}
