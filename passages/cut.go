package passages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// This file says what can be cut out of the documents so that each passage occurs only once. The first place of
// a passage stays, in the order of adding, and all others go. So of every word that is cut, an equal one stays
// in an earlier place. But a passage may stay in pieces: if half of its first place is part of another passage,
// that half is cut there and stays where the other one occurs first.

// CutOptions say what is cut. The zero value cuts all passages, by words.
type CutOptions struct {
	Sentences    bool // only whole sentences are cut, so the rest stays readable; no sentence ends before a lower-case letter or a figure
	Paragraphs   bool // only whole lines or paragraphs are cut
	MinDocuments int  // only passages that occur in at least this many documents: the lines of a template, but not press releases
	Since        int  // only in documents after the first Since
}

// A Cut is the part of a document that also occurs in an earlier place.
type Cut[ID any] struct {
	ID     ID
	Number int // how many documents were added before it
	Left   int // how many words or characters stay

	// Spans are what is cut, in the order of the text; no two overlap. With Sentences or Paragraphs, the white
	// space after them is cut too. Sources has, for each span, the first place of the passage with which the
	// span begins; if a span continues into another passage, the first place of that passage is elsewhere.
	Spans, Sources []Place[ID]

	// Needed says that a passage that is cut elsewhere has its first place here. So the document must stay.
	Needed bool

	sum uint64 // XXH3 of the text
}

// A stretch of a text is cut.
type stretch[ID any] struct {
	from, to int // bytes
	source   Place[ID]
}

// Cuts yields the documents that have something to cut, in the order of adding. It takes as long as Passages.
// An error comes last; setting both Sentences and Paragraphs is an error too.
func (f *Finder[ID]) Cuts(ctx context.Context, c CutOptions) iter.Seq2[Cut[ID], error] {
	return func(yield func(Cut[ID], error) bool) {
		if c.Sentences && c.Paragraphs {
			yield(Cut[ID]{}, errors.New("passages: Sentences and Paragraphs cannot both be set"))
			return
		}
		s, found, err := f.join(ctx, c.Since)
		if err != nil {
			yield(Cut[ID]{}, err)
			return
		}
		// Passages come by their first places, but cuts are yielded by document, so all repeats are sorted before
		// the first cut. That is also why Needed is right for every cut: by then all first places are known.
		repeats := newSorter[[4]uint64](s.Memory / 4)
		needed := make(bitset, len(s.ids)/64+1)
		for places := range s.places(found) {
			if documents(places) >= c.MinDocuments {
				needed.add(uint64(places[0].doc))
				err = s.addRepeats(repeats, places, c.Since)
			}
			if err != nil || ctx.Err() != nil {
				break
			}
		}
		for group := range repeats.allGroups {
			if err != nil || ctx.Err() != nil {
				break
			}
			cut := s.cut(group, &c)
			cut.Needed = needed.has(uint64(cut.Number))
			if err = s.file.Err(); err == nil && len(cut.Spans) > 0 && !yield(cut, nil) {
				return
			}
		}
		if err := cmp.Or(err, errOf(ctx, found.file, repeats.file)); err != nil {
			yield(Cut[ID]{}, err)
		}
	}
}

// addRepeats adds a record for each place of a passage but the first: the document and the bytes, and the first
// place: its document, tokens and bytes. The first place is that in the whole collection, old documents
// included, so a new document is cut where it repeats an old one, and old ones are left as they are.
func (s *snapshot[ID]) addRepeats(to *sorter[[4]uint64], places []place, since int) error {
	first := places[0]
	for _, p := range places[1:] {
		if p.doc < since {
			continue
		}
		r := [4]uint64{uint64(p.doc) << s.docShift(), uint64(p.from)<<32 | uint64(p.to), uint64(first.doc)<<32 | uint64(first.tokens), uint64(first.from)<<32 | uint64(first.to)}
		if err := to.add(r); err != nil {
			return err
		}
	}
	return nil
}

// cut makes the cut of a document from its records. It reads the text again, because whole sentences and the
// number of tokens that are left need its tokens, which are not kept.
func (s *snapshot[ID]) cut(repeats [][4]uint64, by *CutOptions) Cut[ID] {
	doc := int(repeats[0][0] >> s.docShift())
	c := Cut[ID]{ID: s.ids[doc], Number: doc}
	slices.SortStableFunc(repeats, func(a, b [4]uint64) int { return cmp.Compare(a[1], b[1]) })
	var t tokenized
	var buf []byte
	text := s.text(doc, &buf)
	t.Read(text, true)
	c.sum = xxh3.HashString(text)
	// Passages overlap, or follow each other with nothing but spaces between them. Those are one stretch, with the
	// source of the first one: two cuts would leave the spaces.
	var all []stretch[ID]
	for _, r := range repeats {
		from, to, source := int(r[1]>>32), int(uint32(r[1])), int(r[2]>>32)
		if n := len(all); n > 0 && isNext(&t, all[n-1].to, from) {
			all[n-1].to = max(all[n-1].to, to)
			continue
		}
		all = append(all, stretch[ID]{from, to, Place[ID]{s.ids[source], source, int(r[3] >> 32), int(uint32(r[3])), int(uint32(r[2]))}})
	}
	if by.Sentences || by.Paragraphs {
		all = wholes(text, &t, all, by.Sentences)
	}
	c.set(&t, all)
	return c
}

// set says what is cut of a text with these tokens. The stretches do not overlap, so each token is counted once.
func (c *Cut[ID]) set(t *tokenized, all []stretch[ID]) {
	c.Left = t.Len()
	for _, x := range all {
		first, _ := slices.BinarySearch(t.From, uint32(x.from))
		end, _ := slices.BinarySearch(t.From, uint32(x.to))
		c.Left -= end - first
		c.Spans = append(c.Spans, Place[ID]{c.ID, c.Number, x.from, x.to, end - first})
		c.Sources = append(c.Sources, x.source)
	}
}

// isNext reports whether there is no token between the end of one stretch and the beginning of the next.
func isNext(t *tokenized, end, begin int) bool {
	i, _ := slices.BinarySearch(t.From, uint32(end))
	return i == t.Len() || int(t.From[i]) >= begin
}

// wholes returns the sentences, or the paragraphs, all of whose words are in one stretch. It goes through the
// text once, and drops the stretches that it has passed, so its time is proportional to the text.
func wholes[ID any](text string, t *tokenized, spans []stretch[ID], sentences bool) (all []stretch[ID]) {
	next := 0 // token
	for begin := 0; begin < len(text); {
		end := begin + sentence(text[begin:], sentences)
		for len(spans) > 0 && spans[0].to <= begin {
			spans = spans[1:]
		}
		if len(spans) == 0 {
			break
		}
		first, last := begin, end // of what must be in the span
		i := next
		for ; next < t.Len() && int(t.From[next]) < end; next++ {
			first, last = int(t.From[i]), int(t.To[next])
		}
		switch n := len(all); {
		case first < spans[0].from || last > spans[0].to:
		case n > 0 && all[n-1].to == begin:
			all[n-1].to = end
		case i < next: // a sentence without words, such as a row of dots, is cut only together with the one before
			all = append(all, stretch[ID]{begin, end, spans[0].source})
		}
		begin = end
	}
	return all
}

// Apply returns the text of the document without what is cut, or with mask in its place; then the white space
// after it stays. It is an error if text is not that of the document: the spans are bytes of that text, and in
// another one they could cut anything.
func (c *Cut[ID]) Apply(text, mask string) (string, error) {
	if xxh3.HashString(text) != c.sum {
		return "", fmt.Errorf("passages: this is not the text of document number %d", c.Number)
	}
	var b strings.Builder
	end := 0
	for _, x := range c.Spans {
		b.WriteString(text[end:x.From])
		if end = x.To; mask != "" {
			part := text[x.From:x.To]
			b.WriteString(mask)
			b.WriteString(part[len(strings.TrimRightFunc(part, isSpace)):])
		}
	}
	b.WriteString(text[end:])
	return b.String(), nil
}

// sentence returns where the first sentence of a text, or its first paragraph, ends, with the white space after
// it. A line end always ends a sentence too.
func sentence(text string, sentences bool) int {
	ended := "" // the character that ended a sentence, if only enders and closers have come since
	for i, r := range text {
		if ended != "" && !strings.ContainsRune(enders+closers, r) {
			// 。 always ends a sentence. A full stop does so only before white space, unlike the one in 3.5, and
			// only if no lower-case letter or figure follows, unlike those in "U.S. army" and "Fig. 3".
			if strings.Contains(wideEnders, ended) || isSpace(r) && !goesOn(text[i:]) {
				return i + gap(text[i:])
			}
			ended = ""
		}
		switch {
		case r == '\n' || r == '\u2029':
			return i + gap(text[i:])
		case sentences && strings.ContainsRune(enders, r):
			ended = string(r)
		}
	}
	return len(text)
}

// goesOn reports whether a text begins, after white space in the same line, with a figure, or with a lower-case
// letter of Latin, Greek or Cyrillic. Then the full stop before it belongs to an abbreviation.
func goesOn(text string) bool {
	for _, r := range text {
		switch {
		case r == '\n' || r == '\u2029':
			return false
		case isSpace(r):
		default:
			return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'ß' && r <= 'ÿ' && r != '÷' || r >= 'α' && r <= 'ω' || r >= 'а' && r <= 'џ'
		}
	}
	return false
}

// enders end a sentence. wideEnders do so without white space after them. closers may come between an ender and
// the end of the sentence, and belong to it.
const (
	enders     = ".!?…؟।" + wideEnders
	wideEnders = "。！？｡"
	closers    = "\"')]}”’»」』）】》"
)

// gap returns how many bytes of the white space at the beginning of a text lie between two sentences. That is all
// of it up to the last line end, so that the next line stays indented.
func gap(text string) int {
	space := text[:len(text)-len(strings.TrimLeftFunc(text, isSpace))]
	if i := strings.LastIndexByte(space, '\n'); i >= 0 {
		return i + 1
	}
	return len(space)
}

// isSpace reports whether a character is white space. It has the property White_Space of Unicode 17 as a list,
// and not unicode.IsSpace, so that no toolchain changes a result.
func isSpace(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\v', '\f', '\r', 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}
