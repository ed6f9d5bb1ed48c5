package blockstore

import (
	"fmt"
	"strconv"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/hamming"
)

// A database has no index for Hamming distances, but it has indexes for equal keys. Blocks turns
// the one into the other by the pigeonhole principle: if two fingerprints differ in at most k bits
// and are cut into m > k blocks, at least m−k blocks are equal. A store keeps one key for each
// choice of m−k blocks, looks up the keys of a query, and verifies what it finds.

// Blocks says how stores cut 64-bit fingerprints into keys. A fingerprint is cut into m blocks,
// from the most significant bit on. Their widths differ by at most one bit, the wider ones first.
// There is a table for every choice of m−k blocks, where k is the distance, and its key consists of
// the chosen blocks. Two fingerprints within the distance differ in at most k blocks, so they agree
// in the key of at least one table (june 2013 §3, Wang 2019 §1, Li 2015 §2.1; Manku, Jain and Das
// Sarma 2007 for more than k+1 blocks).
//
//	distance 3, 4 blocks     4 tables with keys of 16 bits: those of the papers
//	            5 blocks    10 tables with keys of 25 or 26 bits
//	            6 blocks    20 tables with keys of 31 to 33 bits
//
// Among n evenly distributed fingerprints, a search compares n / 2^bits in each table. So more
// blocks mean more tables to write and fewer fingerprints to compare.
//
// Make Blocks with [NewBlocks]; the zero value has no tables. A value does not change and is safe
// for concurrent use. All programs that share a store must use the same Blocks, and the stores
// check that.
type Blocks struct {
	distance, blocks int
	tables           [][]bitSpan // the bits of each key, adjacent blocks joined
}

// A bitSpan is a run of width bits of a fingerprint, the lowest of them at shift.
type bitSpan struct{ shift, width int }

const maxStoreTables = 60 // MySQL allows 64 indexes

// NewBlocks returns the blocks for a distance, 0 to 63. blocks is their number; 0 means distance+1,
// the fewest possible. It is an error if blocks is not above the distance, is above 64, or needs
// more than 60 tables.
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

// span returns the bits of a block. Block 0 has the most significant bit.
func (b Blocks) span(block int) bitSpan {
	width, wider := 64/b.blocks, 64%b.blocks
	end := block*width + min(block, wider) // bits before the block, from the most significant on
	if block < wider {
		width++
	}
	return bitSpan{64 - end - width, width}
}

// Distance returns k, the largest distance at which nothing is missed.
func (b Blocks) Distance() int { return b.distance }

// Blocks returns m, the number of blocks.
func (b Blocks) Blocks() int { return b.blocks }

// Tables returns the number of tables, "m choose k".
func (b Blocks) Tables() int { return len(b.tables) }

// KeyBits returns the number of bits in the keys of a table. Tables count from 0; a table outside 0
// to Tables()−1 panics, here and in the other methods.
func (b Blocks) KeyBits(table int) int {
	bits := 0
	for _, s := range b.tables[table] {
		bits += s.width
	}
	return bits
}

// Key returns the key of a fingerprint in a table: the chosen blocks one after the other, the most
// significant first, in the lowest [Blocks.KeyBits] bits.
func (b Blocks) Key(table int, fp neardup.Fingerprint64) uint64 {
	key := uint64(0)
	for _, s := range b.tables[table] {
		key = key<<s.width | uint64(fp)>>s.shift&(1<<s.width-1)
	}
	return key
}

// KeyName returns the key of a fingerprint in a table as text, in the notation of Li 2015 §2.3 and
// of Wang 2019 §1 for Redis, such as "1:800d": the number of the table counted from 1, a colon, and
// the key in as many hexadecimal digits as its bits need.
func (b Blocks) KeyName(table int, fp neardup.Fingerprint64) string {
	name := append(strconv.AppendInt(make([]byte, 0, 20), int64(table+1), 10), ':')
	key := b.Key(table, fp)
	for shift := (b.KeyBits(table) - 1) / 4 * 4; shift >= 0; shift -= 4 {
		name = append(name, "0123456789abcdef"[key>>shift&15])
	}
	return string(name)
}

// String describes the blocks, such as "64 bits, distance 3, 4 blocks". Different Blocks have
// different descriptions. Stores keep the description, to refuse programs with other Blocks.
func (b Blocks) String() string {
	return "64 bits, distance " + strconv.Itoa(b.distance) + ", " + strconv.Itoa(b.blocks) + " blocks"
}
