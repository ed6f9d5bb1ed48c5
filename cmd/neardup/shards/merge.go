package shards

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/group"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/learn"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/dedup/shard"
	"github.com/neardup/neardup/internal/graph"
)

// This file has the later steps of a call that is divided among processes. All parts must be there.
//
//	join     finds which documents can matter to each other, in a share of the buckets: part.links
//	compare  compares a share of these documents, all that are connected in one process: part.found
//	the end  puts together what was found, and writes the outputs
//
// The end does what of the other steps is missing, so only who has several machines needs to call these.

// join finds which documents the buckets of a share link, and returns a link from the first document of each component to each of the others.
func (p *Parts) join(s options.Shard) (links []uint32, err error) {
	if err := p.arrange(); err != nil {
		return nil, err
	}
	of := shard.NewLinks(s.Number-1, s.Of)
	numbers := p.numbers()
	for i, q := range p.of {
		if err := q.eachSignature(func(k int, sig *shard.Signature) { of.Add(numbers[i][k], sig) }); err != nil {
			return nil, err
		}
	}
	forest := graph.NewForest(p.n)
	if err := of.Find(context.Background(), func(a, b uint32) { forest.Join(int(a), int(b)) }); err != nil {
		return nil, err
	}
	for i, root := range forest.Roots() {
		if root != i {
			links = append(links, uint32(root), uint32(i))
		}
	}
	return links, nil
}

const linksMark = "neardup links 1\n"

// writeLinks is the step join. It writes the links into the directory of the shard.
func (p *Parts) writeLinks(s options.Shard, outs *cli.Outputs, stderr io.Writer) error {
	links, err := p.join(s)
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint64([]byte(linksMark), p.key)
	for _, x := range links {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	fmt.Fprintf(stderr, "neardup: %s\n", cli.Count(len(links)/2, "link", "links"))
	return p.write(s, linksFile, b, outs)
}

// connected returns for each document the smallest one that is connected with it. With all set, it finds the links that are missing, or
// else it returns an error.
func (p *Parts) connected(all bool) (roots []int, err error) {
	if err := p.arrange(); err != nil {
		return nil, err
	}
	forest := graph.NewForest(p.n)
	var missing []string
	for s := range p.shards() {
		b, err := p.read(s, linksFile, linksMark)
		if errors.Is(err, os.ErrNotExist) {
			missing = append(missing, s.String())
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := joinAll(forest, b); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(p.of[s.Number-1].dir, linksFile), err)
		}
	}
	switch {
	case len(missing) > 0 && !all:
		return nil, fmt.Errorf("the step join has not been done for %s", strings.Join(missing, ", "))
	case len(missing) > 0: // it takes no longer to find all
		links, err := p.join(options.Shard{Number: 1, Of: 1})
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(links); i += 2 {
			forest.Join(int(links[i]), int(links[i+1]))
		}
	}
	return forest.Roots(), nil
}

// joinAll joins the links in a file.
func joinAll(forest graph.Forest, b []byte) error {
	for ; len(b) >= 8; b = b[8:] {
		x, y := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if int64(max(x, y)) >= int64(len(forest)) {
			return errPart
		}
		forest.Join(int(x), int(y))
	}
	if len(b) > 0 {
		return errPart
	}
	return nil
}

// shareOf returns which documents some shards compare, the ones that are wanted: of all that are connected all or none. The shards get about as
// many bytes of text each. Documents that nobody is connected with are in none.
func (p *Parts) shareOf(wanted []bool, roots []int) []bool {
	const each = 256 // bytes, for the work that a document makes besides its text
	type component struct {
		root, members int
		bytes         int64
	}
	of := make([]component, p.n)
	for _, r := range p.runs {
		for i := r.from; i < r.to; i++ {
			c := &of[roots[r.number+i-r.from]]
			c.root = roots[r.number+i-r.from]
			c.members++
			c.bytes += int64(p.places[r.part][i].Size) + each
		}
	}
	var several []component
	for _, c := range of {
		if c.members > 1 {
			several = append(several, c)
		}
	}
	slices.SortFunc(several, func(a, b component) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), a.root-b.root) })
	loads := make(loads, len(wanted)) // the least one first
	for i := range loads {
		loads[i].shard = i
	}
	mine := make([]bool, p.n)
	for _, c := range several {
		mine[c.root] = wanted[loads[0].shard]
		loads[0].bytes += c.bytes
		heap.Fix(&loads, 0)
	}
	for i, root := range roots { // roots are the smallest
		mine[i] = mine[root]
	}
	return mine
}

// loads is a heap of how much work shards have got.
type loads []struct {
	bytes int64
	shard int
}

func (l loads) Len() int { return len(l) }
func (l loads) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].bytes, l[j].bytes), l[i].shard-l[j].shard) < 0
}
func (l loads) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (loads) Push(any)        {}
func (loads) Pop() any        { return nil }

// compare compares the documents of the shards that are wanted.
func (p *Parts) compare(wanted []bool, c *corpus.Corpus, o *options.Options, of dedup.Options, roots []int) (*group.Found, error) {
	d, err := p.deduplicator(of, p.shareOf(wanted, roots))
	if err != nil {
		return nil, err
	}
	return group.NewEngine(c, o, d, of).Find(o.Pairs != "")
}

const foundMark = "neardup found 2\n"

// writeFound is the step compare. It writes what it found into the directory of the shard.
func (p *Parts) writeFound(s options.Shard, o *options.Options, outs *cli.Outputs, stderr io.Writer) error {
	roots, err := p.connected(false)
	if err != nil {
		return err
	}
	c := corpus.New(o, nil, stderr)
	fp, err := o.Fingerprinter()
	if err == nil {
		err = learn.Features(c, o, fp, outs)
	}
	if err == nil {
		err = p.check(fp)
	}
	if err != nil {
		return err
	}
	wanted := make([]bool, len(p.of))
	wanted[s.Number-1] = true
	f, err := p.compare(wanted, c, o, o.Deduplicator(fp, c.Log.Progress.Tell), roots)
	c.Log.Progress.End()
	if err != nil {
		return err
	}
	b, err := f.Append(binary.LittleEndian.AppendUint64([]byte(foundMark), p.key))
	if err != nil {
		return err
	}
	return p.write(s, foundFile, b, outs)
}

// MergeSteps are the names of the steps.
var MergeSteps = []string{"join", "compare"}

// Step does a share of a step.
func (p *Parts) Step(name string, s options.Shard, o *options.Options, outs *cli.Outputs, stderr io.Writer) error {
	defer outs.Discard()
	defer options.LimitMemory(o.Memory)()
	defer debug.SetGCPercent(debug.SetGCPercent(RareGC))
	if s.Of != len(p.of) {
		return fmt.Errorf("--shard %s: there are %d shards", s, len(p.of))
	}
	if name == "join" {
		return p.writeLinks(s, outs, corpus.New(o, nil, stderr).Log.Notes)
	}
	return p.writeFound(s, o, outs, stderr)
}

// RareGC is how much garbage there may be where little else is in memory, in per cent of that. [options.LimitMemory] limits it too.
const RareGC = 400

// load fills a corpus with the documents that are in parts.
func (p *Parts) load(c *corpus.Corpus, o *options.Options) error {
	if inputs := corpus.InputFilesOf(c.Sources); !slices.EqualFunc(inputs, p.of[0].Inputs, corpus.InputFile.Equal) {
		return errors.New("the inputs have changed since the shards were made, or this is a different working directory")
	}
	docs := make([]corpus.Doc, p.n)
	isHash := make([]bool, p.n)
	hashes := make([]uint64, p.n)
	known, ids := &corpus.Contents{}, load.NewIDs(c, o)
	numbers := p.numbers()
	for i, q := range p.of {
		err := q.eachDocument(func(k int, d *partDocument) error {
			n, at := numbers[i][k], p.places[i][k]
			to := &corpus.Compared
			switch of := (&corpus.Content{Mark: corpus.Mark{Empty: d.empty}, Blank: d.blank}); {
			case d.blank:
				to = of
			case d.empty:
				to, _ = known.Claim(d.hash, of)
			}
			docs[n] = corpus.Doc{Place: input.Place{Source: at.Source, Line: at.Line}, Offset: d.offset, ID: d.id, Length: d.length, Content: to}
			ids.Claim(&docs[n])
			isHash[n], hashes[n] = d.isHash, binary.LittleEndian.Uint64(d.hash[:])
			return nil
		})
		if err != nil {
			return err
		}
		r := &c.Read
		r.Bad, r.Dropped, r.ByPlace, r.Bytes = r.Bad+q.Bad, r.Dropped+q.Dropped, r.ByPlace+q.ByPlace, r.Bytes+q.Bytes
		for k := range c.Sources {
			c.Sources[k].Encoding = cmp.Or(c.Sources[k].Encoding, q.Sources[k].Encoding)
			for _, note := range q.Sources[k].Notes {
				c.Sources[k].Note("%s", note)
			}
		}
	}
	defer c.SayNotes()
	for i := range docs {
		d := &docs[i]
		if err := ids.Identify(d, isHash[i]); err != nil {
			return fmt.Errorf("%s: %w", c.At(d.Place), err)
		}
		if !d.Content.Blank {
			c.Read.Texts = append(c.Read.Texts, hashes[i])
		}
		c.Docs.Append(*d)
		ids.Add(i)
	}
	return nil
}

// Group fills a corpus with the documents of all parts, and groups them by what the parts have found. It finds what is missing. The engine is for the
// page of a call with --report, and nil without.
func (p *Parts) Group(c *corpus.Corpus, o *options.Options, fp *neardup.Fingerprinter, wantPairs bool) (*group.Groups, group.Engine, error) {
	if err := cmp.Or(p.check(fp), p.arrange()); err != nil {
		return nil, nil, err
	}
	if err := p.load(c, o); err != nil {
		return nil, nil, err
	}
	settings := o.Deduplicator(fp, c.Log.Progress.Tell)
	f, missing, err := p.found()
	if err != nil {
		return nil, nil, err
	}
	var roots []int
	isMissing := slices.Contains(missing, true)
	if isMissing || o.Report != "" {
		if roots, err = p.connected(true); err != nil {
			return nil, nil, err
		}
	}
	if isMissing {
		more, err := p.compare(missing, c, o, settings, roots)
		if err != nil {
			return nil, nil, err
		}
		f.Add(more)
	}
	g, err := group.Put(c, o, f, wantPairs)
	if err != nil || o.Report == "" {
		return g, nil, err
	}
	d, err := p.deduplicator(settings, p.shareOf(slices.Repeat([]bool{true}, len(p.of)), roots)) // whose documents are compared once more
	return g, group.NewEngine(c, o, d, settings), err
}

// found returns what the parts have found, and which of them have not been compared.
func (p *Parts) found() (all *group.Found, missing []bool, err error) {
	all, missing = &group.Found{Expected: &dedup.Estimate{}}, make([]bool, len(p.of))
	for s := range p.shards() {
		b, err := p.read(s, foundFile, foundMark)
		if errors.Is(err, os.ErrNotExist) {
			missing[s.Number-1] = true
			continue
		}
		f := &group.Found{}
		if err == nil {
			if err = f.Decode(b, p.n); err != nil {
				err = fmt.Errorf("%s: %w", filepath.Join(p.of[s.Number-1].dir, foundFile), err)
			}
		}
		if err != nil {
			return nil, nil, err
		}
		all.Add(f)
	}
	return all, missing, nil
}
