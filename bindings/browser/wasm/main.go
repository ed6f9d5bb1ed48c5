//go:build js && wasm

// Command wasm is neardup for the page of package browser. It runs in a worker of the browser and gives it three functions:
//
//	neardup.compare(a, b)                 the result for two texts, as an object
//	neardup.groups(lines, progress)       the groups of an array of texts, or of the lines of a Uint8Array
//	neardup.version                       of the fingerprints
//
// The values are the same as those of the Go library, bit for bit.
package main

import (
	"context"
	"fmt"
	"strings"
	"syscall/js"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/passages"
)

func main() {
	version, err := new(neardup.Fingerprinter).Version()
	if err != nil {
		panic(err)
	}
	js.Global().Set("neardup", js.ValueOf(map[string]any{
		"version": version,
		"compare": function(func(args []js.Value) (any, error) { return compare(args[0].String(), args[1].String()) }),
		"groups":  function(func(args []js.Value) (any, error) { return groups(texts(args[0]), args[1]) }),
	}))
	select {} // as long as the page is open
}

// function makes a function of JavaScript, which returns an object with an error instead of throwing it.
func function(f func(args []js.Value) (any, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) (result any) {
		defer func() {
			if r := recover(); r != nil {
				result = map[string]any{"error": fmt.Sprint(r)}
			}
		}()
		value, err := f(args)
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return value
	})
}

// texts returns an array of texts, or the lines of a file.
func texts(from js.Value) (all []string) {
	if !from.InstanceOf(js.Global().Get("Uint8Array")) {
		for i := range from.Length() {
			all = append(all, from.Index(i).String())
		}
		return all
	}
	file := make([]byte, from.Length())
	js.CopyBytesToGo(file, from)
	text := strings.TrimPrefix(string(file), "\ufeff")
	for line := range strings.Lines(text) {
		all = append(all, strings.TrimRight(line, "\r\n"))
	}
	return all
}

// compare says how similar two texts are, and which runs of five words or eight characters they share.
func compare(a, b string) (any, error) {
	var f neardup.Fingerprinter
	d, err := dedup.New[int](dedup.Options{})
	if err != nil {
		return nil, err
	}
	sums, signatures := [2]neardup.Fingerprint64{}, [2]neardup.Signature{}
	for i, text := range []string{a, b} {
		if err := d.Add(i, neardup.Text(text)); err != nil {
			return nil, err
		}
		sums[i], signatures[i] = f.Sum64(neardup.Text(text)), f.Sign(neardup.Text(text), neardup.MinHash{})
	}
	e, err := d.Explain(0, 1)
	if err != nil {
		return nil, err
	}
	runs, err := passages.Between(a, b, passages.Length{Words: 5, Characters: 8})
	if err != nil {
		return nil, err
	}
	var shared []any // from and to in a, and in b, in bytes
	for r := range runs {
		if shared = append(shared, r.FromA, r.ToA, r.FromB, r.ToB); len(shared) == 4*10_000 {
			break // of texts that repeat themselves
		}
	}
	return map[string]any{
		"duplicate": e.Duplicate, "similarity": e.Similarity, "probability": e.Probability, "kind": e.Kind.String(),
		"fingerprints": []any{sums[0].String(), sums[1].String()}, "distance": sums[0].Distance(sums[1]),
		"jaccard": signatures[0].Jaccard(signatures[1]), "shared": shared,
	}, nil
}

// groups returns the fingerprints of texts, and the groups of near-duplicates: a line for each, with tabs between the columns. A
// member has the number of its group, its own, that of the one that is kept, the similarity to that, the probability and the kind.
func groups(texts []string, progress js.Value) (any, error) {
	// Of a page of some megabytes, the browser can be told how far it is now and then.
	tell := func(stage string, done, total int) { progress.Invoke(stage, done, total) }
	d, err := dedup.New[int](dedup.Options{Progress: func(p dedup.Progress) { tell(p.Stage, p.Done, p.Total) }})
	if err != nil {
		return nil, err
	}
	var f neardup.Fingerprinter
	var sums, members strings.Builder
	for i, text := range texts {
		if i%500 == 0 {
			tell("reading", i, len(texts))
		}
		fmt.Fprintln(&sums, f.Sum64(neardup.Text(text)))
		if err := d.Add(i, neardup.Text(text)); err != nil {
			return nil, err
		}
	}
	found, err := d.Groups(context.Background(), dedup.GroupOptions[int]{})
	if err != nil {
		return nil, err
	}
	for n, g := range found {
		for _, m := range g.Matches {
			fmt.Fprintf(&members, "%d\t%d\t%d\t%v\t%v\t%v\n", n, m.ID, g.Keep, m.Similarity, m.Probability, m.Kind)
		}
	}
	return map[string]any{"texts": len(texts), "groups": len(found), "members": members.String(), "fingerprints": sums.String()}, nil
}
