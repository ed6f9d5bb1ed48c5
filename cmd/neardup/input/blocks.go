package input

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// This file reads sources block by block. A block of lines is cut into items by whoever takes it, so a source can be read as fast as its lines
// can be counted, while others cut and parse. Blocks of one source, one after the other, have its items in order.

// A Block is some items of a source.
type Block struct {
	Source int    // its number
	Items  []Item // valid once [Block.Cut] was called
	Blank  int    // blank lines, which are skipped

	lines  *LineReader // from which the items are to be cut; nil if they are
	memory *[]byte     // of which the items are parts; nil if nobody may use it again
	bytes  int
}

const (
	mostInBlock  = 1024 // items other than lines
	bytesInBlock = 1 << 18
)

// Cut cuts the block into items.
func (b *Block) Cut() {
	if b.lines == nil {
		return
	}
	b.Items = make([]Item, 0, len(b.lines.rest)/1024+8)
	for {
		line, err := b.lines.Next()
		if err == io.EOF {
			b.lines = nil
			return
		}
		b.add(b.lines, line, err)
	}
}

// add adds the line that was read last, unless it is blank.
func (b *Block) add(from *LineReader, line []byte, err error) {
	if err == nil && len(bytes.TrimSpace(line)) == 0 {
		if len(line) > 0 {
			b.Blank++
		}
		return
	}
	it := Item{Place: Place{int32(b.Source), from.Line}, Raw: line, Err: err, Offset: from.begin, Bytes: from.Raw}
	it.isLossy = from.isLossy()
	b.Items = append(b.Items, it)
	b.bytes += len(line)
}

// Release lets the memory of the items be used again, if they are lines of UTF-8. Nobody may use any part of them then.
func (b *Block) Release() {
	if b.memory != nil && len(*b.memory) == blockRoom {
		spare.Put(b.memory)
	}
	b.memory = nil
}

// IsLines reports whether a format has lines that can be cut anywhere.
func IsLines(format string) bool { return format == "jsonl" || format == "lines" }

// Blocks is [Source.Read] by blocks. Lines of white space, which Read notes, are counted in the blocks.
func (s *Source) Blocks(n int, r io.Reader, cols Columns, maxLine int, yield func(*Block) bool) error {
	if IsLines(s.Format) {
		lines, err := s.readerOfLines(r, cols, maxLine)
		if err != nil {
			return err
		}
		return s.lineBlocks(lines, n, yield)
	}
	return InBlocks(n, func(item func(Item) bool) error { return s.Read(n, r, cols, maxLine, item) }, yield)
}

// InBlocks puts the items of a source that read passes on into blocks.
func InBlocks(n int, read func(item func(Item) bool) error, yield func(*Block) bool) error {
	b, goOn := &Block{Source: n}, true
	flush := func() {
		if goOn = goOn && (len(b.Items) == 0 || yield(b)); goOn {
			b = &Block{Source: n}
		}
	}
	err := read(func(it Item) bool {
		b.Items = append(b.Items, it)
		b.bytes += len(it.Raw)
		for _, cell := range it.Row {
			b.bytes += len(cell)
		}
		if b.bytes >= bytesInBlock || len(b.Items) >= mostInBlock {
			flush()
		}
		return goOn
	})
	flush()
	return err
}

// lineBlocks yields blocks of lines.
func (s *Source) lineBlocks(lines *LineReader, n int, yield func(*Block) bool) error {
	b := &Block{Source: n} // of lines that are read one by one
	var mixed *[]byte      // memory that such lines are a part of, which is not used again
	goOn := true
	flush := func() {
		if len(b.Items) > 0 || b.Blank > 0 {
			goOn = goOn && yield(b)
			b = &Block{Source: n}
		}
	}
	for goOn {
		if part := lines.whole(); part != nil {
			whole := &Block{Source: n, lines: part, memory: part.block}
			if part.block == mixed {
				whole.memory = nil
			}
			if flush(); goOn {
				goOn = yield(whole)
			}
			continue
		}
		line, err := lines.Next()
		if err == io.EOF {
			flush()
			return nil
		}
		if err != nil && !isLineError(err) {
			flush()
			return fmt.Errorf("%s:%d: %w", s.Path, max(1, lines.Line), err)
		}
		mixed = lines.block
		if b.add(lines, line, err); b.bytes >= bytesInBlock || len(b.Items) >= mostInBlock {
			flush()
		}
	}
	return nil
}

// readLines yields lines that have text, and notes how many have none.
func (s *Source) readLines(lines *LineReader, n int, yield func(Item) bool) error {
	blank := 0
	err := s.lineBlocks(lines, n, func(b *Block) bool {
		b.Cut()
		blank += b.Blank
		return !slices.ContainsFunc(b.Items, func(it Item) bool { return !yield(it) })
	})
	s.NoteBlank(blank)
	return err
}

// NoteBlank notes how many lines of white space there are.
func (s *Source) NoteBlank(n int) {
	if n > 0 {
		s.Note("blank lines skipped: %d", n)
	}
}
