package options

import (
	"fmt"

	"github.com/neardup/neardup/cmd/neardup/input"
)

// This file says which documents a process takes of a call that is divided among several (--shard).

// A Shard says which share of the documents a call takes: number Number, from 1, of Of.
type Shard struct{ Number, Of int }

// ParseShard reads a shard such as 3/16.
func ParseShard(text string) (s Shard, err error) {
	var more string
	if n, _ := fmt.Sscanf(text, "%d/%d%s", &s.Number, &s.Of, &more); n != 2 || s.Number < 1 || s.Number > s.Of || s.Of > MostShards {
		return s, fmt.Errorf("--shard %q: must be the number of the shard, a slash and the number of shards (at most %d), such as 3/16", text, MostShards)
	}
	return s, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

const (
	MostShards = 10_000 // into which a call can be divided

	// Of few files, each shard takes so many lines in turn. It reads the others too, but does nothing with them. Of filesPerShard files for
	// each shard or more, it takes whole files.
	linesPerTurn  = 1024
	filesPerShard = 4
)

// IsMine reports whether an item belongs to this shard. In a call without shards, every item does. n is the number of
// sources.
func (s Shard) IsMine(at input.Place, n int) bool {
	if s.Of == 0 {
		return true
	}
	turn := TurnOf(at)
	number := int(turn.Source)
	if n < filesPerShard*s.Of {
		number += int(turn.Line)
	}
	return number%s.Of == s.Number-1
}

// TurnOf returns the source of a place, and the number of its turn there. All items of a turn belong to the same
// shard.
func TurnOf(at input.Place) input.Place {
	return input.Place{Source: at.Source, Line: at.Line / linesPerTurn}
}
