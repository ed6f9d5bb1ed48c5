package blockstore

import (
	"fmt"
	"strconv"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/hamming"
)

// Blocks say how the stores cut fingerprints of 64 bits into keys: into m blocks, whose widths
// differ by at most one bit, the wider ones first, from the most significant bit on; with a table
// for every choice of m−k of them, where k is the distance. Two fingerprints within the distance differ
// in at most k blocks, so they agree in the key of at least one table: the pigeonhole principle (S001 §3,
// S002 §1, S003 §2.1; Manku, Jain, Das Sarma 2007 for more blocks than k+1).
//
//	distance 3, 4 blocks     4 tables with keys of 16 bits: those of the papers
//	            5 blocks    10 tables with keys of 25 or 26 bits
//	            6 blocks    20 tables with keys of 31 to 33 bits
//
// Among n fingerprints that are spread evenly a search compares n / 2^bits in each table. All
// programs that share a store must use the same Blocks; the stores see to that.
type Blocks struct {
	distance, blocks int
	tables           [][]bitSpan
}

// A bitSpan is some consecutive bits of a fingerprint.
type bitSpan struct{ shift, width int }

const maxStoreTables = 60 // MySQL allows 64 indexes

// NewBlocks returns the blocks for a distance, 0 to 63. 0 blocks mean distance+1, the fewest. Fewer are an
// error, and so are more than 64, and those that need more than 60 tables.
func NewBlocks(distance, blocks int) (Blocks, error) {
	if blocks == 0 {
		blocks = distance + 1
	}
	switch {
	case distance < 0 || distance > 63:
		return Blocks{}, fmt.Errorf("neardup: distance %d is not between 0 and 63", distance)
	case blocks <= distance:
		return Blocks{}, fmt.Errorf("neardup: %d blocks guarantee nothing at the distance %d: it needs %d or more", blocks, distance, distance+1)
	case blocks > 64:
		return Blocks{}, fmt.Errorf("neardup: %d blocks of 64 bits", blocks)
	case hamming.Binomial(blocks, distance) > maxStoreTables:
		return Blocks{}, fmt.Errorf("neardup: %d blocks at the distance %d need %d tables, more than %d", blocks, distance, hamming.Binomial(blocks, distance), maxStoreTables)
	}
	b := Blocks{distance: distance, blocks: blocks}
	for choice := range hamming.Combinations(blocks, blocks-distance) {
		var t []bitSpan
		for _, block := range choice {
			s := b.span(block)
			if n := len(t); n > 0 && t[n-1].shift == s.shift+s.width {
				t[n-1] = bitSpan{s.shift, s.width + t[n-1].width}
			} else {
				t = append(t, s)
			}
		}
		b.tables = append(b.tables, t)
	}
	return b, nil
}

// span returns the bits of a block.
func (b Blocks) span(block int) bitSpan {
	width, wider := 64/b.blocks, 64%b.blocks
	end := block*width + min(block, wider) // from the most significant bit on
	if block < wider {
		width++
	}
	return bitSpan{64 - end - width, width}
}

// Distance returns the distance up to which nothing is missed.
func (b Blocks) Distance() int { return b.distance }

// Blocks returns the number of blocks.
func (b Blocks) Blocks() int { return b.blocks }

// Tables returns the number of tables.
func (b Blocks) Tables() int { return len(b.tables) }

// KeyBits returns the number of bits in the keys of a table.
func (b Blocks) KeyBits(table int) int {
	bits := 0
	for _, s := range b.tables[table] {
		bits += s.width
	}
	return bits
}

// Key returns the key of a fingerprint in a table: the chosen blocks one after the other, the most
// significant first, in the lowest KeyBits bits.
func (b Blocks) Key(table int, fp neardup.Fingerprint64) uint64 {
	key := uint64(0)
	for _, s := range b.tables[table] {
		key = key<<s.width | uint64(fp)>>s.shift&(1<<s.width-1)
	}
	return key
}

// KeyName returns the key of a fingerprint in a table as S003 writes it (§2.3), and S002 in Redis (§1): the number of the
// table, from 1 on, a colon, and the key in as many hexadecimal digits as its bits need, such as “1:800d”.
func (b Blocks) KeyName(table int, fp neardup.Fingerprint64) string {
	name := append(strconv.AppendInt(make([]byte, 0, 20), int64(table+1), 10), ':')
	key := b.Key(table, fp)
	for shift := (b.KeyBits(table) - 1) / 4 * 4; shift >= 0; shift -= 4 {
		name = append(name, "0123456789abcdef"[key>>shift&15])
	}
	return string(name)
}

// String describes the blocks, differently if they are different, such as “64 bits, distance 3, 4 blocks”. Stores
// keep it, to refuse programs with others.
func (b Blocks) String() string {
	return "64 bits, distance " + strconv.Itoa(b.distance) + ", " + strconv.Itoa(b.blocks) + " blocks"
}
