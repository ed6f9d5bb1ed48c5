package shard_test

import (
	"context"
	"fmt"
	"github.com/neardup/neardup"

	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/dedup/shard"
)

// Three processes: the first makes signatures, the second links them, and the third compares those that are linked.
func Example() {
	texts := []string{
		"The board approved the merger of both companies on Monday.",
		"The quick brown fox jumps over the lazy dog and runs away.",
		"The board has approved the merger of both companies on Monday.",
	}

	signer, err := shard.NewSigner(dedup.Options{})
	if err != nil {
		panic(err)
	}
	var signatures [][]byte // which may be in files
	for _, text := range texts {
		s, _ := signer.Sign(neardup.Text(text)) // texts have no errors
		b, _ := s.AppendBinary(nil)
		signatures = append(signatures, b)
	}

	links := shard.NewLinks(0, 1)
	for i, b := range signatures {
		var s shard.Signature
		if _, err := s.Decode(b); err != nil {
			panic(err)
		}
		links.Add(uint32(i), &s)
	}
	linked := map[uint32]bool{}
	err = links.Find(context.Background(), func(a, b uint32) { linked[a], linked[b] = true, true })
	if err != nil {
		panic(err)
	}

	d, err := dedup.New[int](dedup.Options{})
	if err != nil {
		panic(err)
	}
	for i, text := range texts {
		if linked[uint32(i)] {
			d.Add(i, neardup.Text(text))
		}
	}
	for p, err := range d.Pairs(context.Background()) {
		fmt.Println(p.A, p.B, p.Kind, err)
	}
	// Output: 0 2 contained <nil>
}
