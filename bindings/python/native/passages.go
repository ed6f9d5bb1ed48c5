package main

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/passages"
	"github.com/neardup/neardup/passages/leaks"
)

// This file has what is copied inside texts. Places are in bytes of the texts as they were passed; Python makes characters of them.

// findPassages emits the passages of the texts: how many tokens and documents each has, and where its places end.
func findPassages(ctx context.Context, c *call, emit func(*table) error) error {
	var args passages.Length
	if err := c.into(&args); err != nil {
		return err
	}
	f, err := passages.New[int](passages.Options{Length: args})
	if err != nil {
		return err
	}
	err = f.AddAll(ctx, func(yield func(int, string) bool) {
		for i := range c.len() {
			if !yield(i, c.text(i)) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return inParts(f.Passages(ctx), emit, func(some []passages.Passage[int]) *table {
		places, ends := flat(column1(some, func(p passages.Passage[int]) []passages.Place[int] { return p.Places }))
		t := new(table)
		add(t, "tokens", column1(some, func(p passages.Passage[int]) int64 { return int64(p.Tokens) }))
		add(t, "documents", column1(some, func(p passages.Passage[int]) int64 { return int64(p.Documents) }))
		add(t, "ends", ends)
		add(t, "text", column1(places, func(p passages.Place[int]) int64 { return int64(p.ID) }))
		add(t, "from", column1(places, func(p passages.Place[int]) int64 { return int64(p.From) }))
		add(t, "to", column1(places, func(p passages.Place[int]) int64 { return int64(p.To) }))
		return t
	})
}

// decontaminate emits which parts of items leak into which texts. The first items of the call are the parts, args.Parts of each item;
// the others are the texts.
func decontaminate(ctx context.Context, c *call, emit func(*table) error) error {
	var args struct {
		passages.Length
		Parts []int
	}
	if err := c.into(&args); err != nil {
		return err
	}
	b, err := leaks.New[int](args.Length)
	if err != nil {
		return err
	}
	at := 0
	for item, n := range args.Parts {
		parts := make([]string, n)
		for i := range parts {
			if at == c.len() {
				return fmt.Errorf("neardup: a call with %d items has not all parts", c.len())
			}
			parts[i] = c.text(at)
			at++
		}
		if err := b.Add(item, parts...); err != nil {
			return err
		}
	}
	first := at
	// A part of the texts at a time, on all processors, in order.
	const atOnce = 4096
	for ; at < c.len() && ctx.Err() == nil; at += atOnce {
		n := min(atOnce, c.len()-at)
		found := make([][]leaks.Leak[int], n)
		err := each(ctx, n, func(i int) {
			for l := range b.Search(c.text(at + i)) {
				found[i] = append(found[i], l)
			}
		})
		if err != nil {
			return err
		}
		if err := emitLeaks(found, at-first, emit); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// emitLeaks emits the leaks of some texts, of which the first has a number.
func emitLeaks(found [][]leaks.Leak[int], first int, emit func(*table) error) error {
	type leak struct {
		text int
		leaks.Leak[int]
	}
	var all []leak
	for i, of := range found {
		for _, l := range of {
			all = append(all, leak{first + i, l})
		}
	}
	if len(all) == 0 {
		return nil
	}
	runs, ends := flat(column1(all, func(l leak) []passages.Run { return l.Runs }))
	t := new(table)
	add(t, "text", column1(all, func(l leak) int64 { return int64(l.text) }))
	add(t, "item", column1(all, func(l leak) int64 { return int64(l.ID) }))
	add(t, "part", column1(all, func(l leak) int64 { return int64(l.Part) }))
	add(t, "shared", column1(all, func(l leak) int64 { return int64(l.Shared) }))
	add(t, "tokens", column1(all, func(l leak) int64 { return int64(l.Tokens) }))
	add(t, "ends", ends)
	add(t, "from", column1(runs, func(r passages.Run) int64 { return int64(r.FromB) }))
	add(t, "to", column1(runs, func(r passages.Run) int64 { return int64(r.ToB) }))
	return emit(t)
}
