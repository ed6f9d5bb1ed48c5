package pipeline

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/dedup/shard"
	"github.com/neardup/neardup/internal/graph"
)

// This file has the later steps of a call that is divided among processes (shard.go has the first one). All parts must be there.
//
//	join     finds which documents can matter to each other, in a share of the buckets: part.links
//	compare  compares a share of these documents, all that are connected in one process: part.found
//	the end  puts together what was found, and writes the outputs
//
// The end does what of the other steps is missing, so only who has several machines needs to call these. Documents are
// known by their numbers in the order of the inputs, as they are in a call that is not divided.

// Parts are all parts of a call, by the numbers of their shards.
type Parts struct {
	of     []*part
	places [][]partPlace
	runs   []partRun // in the order of the documents
	n      int       // documents
	key    uint64    // tells these parts from all others
}

// A partRun is some documents of a part that follow each other in the inputs.
type partRun struct {
	part, from, to int
	number         int // of the first one
}

// ReadParts reads what the parts in some directories say of themselves.
func ReadParts(dirs []string) (*Parts, error) {
	p := &Parts{}
	for _, dir := range dirs {
		q, err := readPart(dir)
		if err != nil {
			return nil, err
		}
		if p.of == nil {
			p.of = make([]*part, q.Shard.Of)
		}
		switch at := q.Shard.Number - 1; {
		case len(p.of) != q.Shard.Of:
			return nil, fmt.Errorf("%s is one of %d shards, and there are others of %d", dir, q.Shard.Of, len(p.of))
		case p.of[at] != nil:
			return nil, fmt.Errorf("%s and %s have the same shard, %s", p.of[at].dir, dir, q.Shard)
		default:
			p.of[at] = q
		}
	}
	h := xxh3.New()
	for i, q := range p.of {
		if q == nil {
			return nil, fmt.Errorf("shard %d/%d is missing: name its directory too, or make it first with: neardup dedup --shard %d/%d --state DIR …", i+1, len(p.of), i+1, len(p.of))
		}
		if !q.isOfOneCall(p.of[0]) {
			return nil, fmt.Errorf("%s and %s were made with other flags, of other inputs, or by another version of the program", p.of[0].dir, q.dir)
		}
		b, err := json.Marshal(q)
		if err != nil {
			return nil, err
		}
		h.Write(b)
	}
	p.key = h.Sum64()
	return p, nil
}

// partFiles returns the files of parts that a call writes or reads.
func (o *Options) partFiles() (paths []string) {
	if o.Shard.Of > 0 {
		paths = partFiles(o.PartDir)
	}
	if o.Parts != nil {
		for _, q := range o.Parts.of {
			paths = append(paths, partFiles(q.dir)...)
		}
	}
	return paths
}

// Command returns the flags of the call, as [Options].Command had them.
func (p *Parts) Command() []byte { return p.of[0].Command }

// arrange reads the places of all documents, and finds their order.
func (p *Parts) arrange() error {
	if p.places != nil {
		return nil
	}
	p.places = make([][]partPlace, len(p.of))
	at := func(part, i int) input.Place {
		d := &p.places[part][i]
		return input.Place{Source: d.Source, Line: d.Line}
	}
	for i, q := range p.of {
		var err error
		if p.places[i], err = q.places(); err != nil {
			return err
		}
		for k := 1; k < len(p.places[i]); k++ {
			if comparePlaces(at(i, k-1), at(i, k)) > 0 {
				return fmt.Errorf("%s: document %d: %w", filepath.Join(q.dir, placesFile), k+1, errPart)
			}
		}
	}
	heads := &partHeads{at: at}
	for i := range p.of {
		if len(p.places[i]) > 0 {
			heads.runs = append(heads.runs, partRun{part: i})
		}
	}
	heap.Init(heads)
	for heads.Len() > 0 {
		r := heap.Pop(heads).(partRun)
		all := len(p.places[r.part])
		for r.from = r.to; r.to < all && (heads.Len() == 0 || comparePlaces(at(r.part, r.to), heads.first()) <= 0); r.to++ {
		}
		r.number = p.n
		p.n += r.to - r.from
		if p.runs = append(p.runs, r); r.to < all {
			heap.Push(heads, r)
		}
	}
	if p.n > math.MaxInt32 {
		return fmt.Errorf("%d documents are too many for one collection", p.n)
	}
	return nil
}

// comparePlaces orders places as they come in the inputs.
func comparePlaces(a, b input.Place) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line))
}

// partHeads is a heap of runs by where their next documents stand.
type partHeads struct {
	runs []partRun // of which the next document is to
	at   func(part, i int) input.Place
}

func (h *partHeads) Len() int           { return len(h.runs) }
func (h *partHeads) Less(i, j int) bool { return comparePlaces(h.next(i), h.next(j)) < 0 }
func (h *partHeads) Swap(i, j int)      { h.runs[i], h.runs[j] = h.runs[j], h.runs[i] }
func (h *partHeads) Push(r any)         { h.runs = append(h.runs, r.(partRun)) }
func (h *partHeads) Pop() any {
	r := h.runs[len(h.runs)-1]
	h.runs = h.runs[:len(h.runs)-1]
	return r
}
func (h *partHeads) next(i int) input.Place { return h.at(h.runs[i].part, h.runs[i].to) }
func (h *partHeads) first() input.Place     { return h.next(0) }

// numbers returns the number of each document of each part.
func (p *Parts) numbers() [][]uint32 {
	numbers := make([][]uint32, len(p.of))
	for i := range numbers {
		numbers[i] = make([]uint32, len(p.places[i]))
	}
	for _, r := range p.runs {
		for i := r.from; i < r.to; i++ {
			numbers[r.part][i] = uint32(r.number + i - r.from)
		}
	}
	return numbers
}

// join finds the links of a share of the buckets, without those that follow from others.
func (p *Parts) join(s Shard) (links []uint32, err error) {
	if err := p.arrange(); err != nil {
		return nil, err
	}
	of := shard.NewLinks(s.Number-1, s.Of)
	forest := graph.NewForest(p.n)
	link := func(a, b uint32) {
		if forest.Find(int(a)) != forest.Find(int(b)) {
			forest.Join(int(a), int(b))
			links = append(links, a, b)
		}
	}
	numbers := p.numbers()
	for i, q := range p.of {
		if err := q.eachSignature(func(k int, sig *shard.Signature) { of.Add(numbers[i][k], sig) }); err != nil {
			return nil, err
		}
	}
	return links, of.Find(context.Background(), link)
}

const linksMark = "neardup links 1\n"

// writeLinks is the step join. It writes the links into the directory of the shard.
func (p *Parts) writeLinks(s Shard, outs *cli.Outputs, stderr io.Writer) error {
	links, err := p.join(s)
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint64([]byte(linksMark), p.key)
	for _, x := range links {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	fmt.Fprintf(stderr, "neardup: %d links\n", len(links)/2)
	return p.write(s, linksFile, b, outs)
}

// write writes a file with a checksum into the directory of a shard.
func (p *Parts) write(s Shard, name string, b []byte, outs *cli.Outputs) error {
	to, err := outs.Create(filepath.Join(p.of[s.Number-1].dir, name), nil)
	if err != nil {
		return err
	}
	to.Write(binary.LittleEndian.AppendUint64(b, xxh3.Hash(b))) // Commit has the error
	return outs.Commit()
}

// read reads what write has written, behind the mark and the key. The error is [os.ErrNotExist] if it is not there, or is of other parts.
func (p *Parts) read(s Shard, name, mark string) ([]byte, error) {
	path := filepath.Join(p.of[s.Number-1].dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.InFile(path, err)
	}
	n := len(b) - 8
	head := len(mark) + 8
	if n < head || string(b[:len(mark)]) != mark || xxh3.Hash(b[:n]) != binary.LittleEndian.Uint64(b[n:]) {
		return nil, fmt.Errorf("%s: %w; remove the file, and it is made again", path, errPart)
	}
	if binary.LittleEndian.Uint64(b[len(mark):]) != p.key {
		return nil, fmt.Errorf("%s: %w: it is of other parts", path, os.ErrNotExist)
	}
	return b[head:n], nil
}

// check returns an error unless texts become the features that they became when the parts were made.
func (p *Parts) check(fp *neardup.Fingerprinter) error {
	version, err := fp.Version()
	if err == nil && version != p.of[0].Features {
		err = fmt.Errorf("a file that the flags name has changed since %s was made", p.of[0].dir)
	}
	return err
}

// shards yields the shards of the parts.
func (p *Parts) shards() iter.Seq[Shard] {
	return func(yield func(Shard) bool) {
		for i := range p.of {
			if !yield(Shard{i + 1, len(p.of)}) {
				return
			}
		}
	}
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
		links, err := p.join(Shard{1, 1})
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

// shareOf returns which documents some shards compare: of all that are connected all or none. The shards get about as many bytes of text
// each. Documents that nobody is connected with are in none.
func (p *Parts) shareOf(shards []Shard, roots []int) []bool {
	of := make([]bool, len(p.of))
	for _, s := range shards {
		of[s.Number-1] = true
	}
	return p.share(of, roots)
}

// share is shareOf with the shards that are wanted, by their numbers.
func (p *Parts) share(wanted []bool, roots []int) []bool {
	const each = 256 // bytes, for the work that a document makes besides its text
	type component struct {
		root, members int
		bytes         int64
		shard         int
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

// texts yields the texts of some documents, in their order. The error is set if one cannot be read, and then no more come.
func (p *Parts) texts(wanted []bool, failed *error) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		files := make([]*os.File, len(p.of))
		ends := make([]int64, len(p.of))
		defer func() {
			for _, f := range files {
				if f != nil {
					f.Close()
				}
			}
		}()
		open := func(part int) (err error) {
			q := p.of[part]
			path := filepath.Join(q.dir, textsFile)
			if files[part], err = os.Open(path); err != nil {
				return cli.InFile(path, err)
			}
			if info, err := files[part].Stat(); err != nil || info.Size() != q.Files[textsFile].Bytes {
				return fmt.Errorf("%s: %w", path, cmp.Or(err, errPart))
			}
			return nil
		}
		for _, r := range p.runs {
			for i := r.from; i < r.to; i++ {
				d, begin := p.places[r.part][i], ends[r.part]
				ends[r.part] += int64(d.Size)
				number := r.number + i - r.from
				if !wanted[number] {
					continue
				}
				if files[r.part] == nil {
					if *failed = open(r.part); *failed != nil {
						return
					}
				}
				if begin+int64(d.Size) > p.of[r.part].Files[textsFile].Bytes {
					*failed = fmt.Errorf("%s: document %d: %w", filepath.Join(p.of[r.part].dir, textsFile), i+1, errPart)
					return
				}
				text := make([]byte, d.Size)
				if _, err := files[r.part].ReadAt(text, begin); err != nil || uint32(xxh3.Hash(text)) != d.Sum {
					*failed = fmt.Errorf("%s: document %d: %w", filepath.Join(p.of[r.part].dir, textsFile), i+1, cmp.Or(err, errPart))
					return
				}
				if !yield(number, string(text)) {
					return
				}
			}
		}
	}
}

// deduplicator returns one with some documents.
func (p *Parts) deduplicator(s dedup.Options, wanted []bool) (*dedup.Deduplicator[int], error) {
	d, err := dedup.New[int](s)
	if err != nil {
		return nil, err
	}
	var failed error
	err = d.AddAll(context.Background(), p.texts(wanted, &failed))
	return d, cmp.Or(failed, err)
}

// compare compares the documents of some shares.
func (p *Parts) compare(shards []Shard, o *Options, of dedup.Options, roots []int) (*found, error) {
	d, err := p.deduplicator(of, p.shareOf(shards, roots))
	if err != nil {
		return nil, err
	}
	return findWith(&o.Method, d, 0, o.Pairs != "", func(i int) int { return i })
}

const foundMark = "neardup found 1\n"

// writeFound is the step compare. It writes what it found into the directory of the shard.
func (p *Parts) writeFound(s Shard, o *Options, outs *cli.Outputs, stderr io.Writer) error {
	roots, err := p.connected(false)
	if err != nil {
		return err
	}
	c := o.NewCollection(stderr)
	fp, weights, err := o.features()
	if err == nil {
		err = c.learn(o, fp, weights, outs, nil)
	}
	if err == nil {
		err = p.check(fp)
	}
	if err != nil {
		return err
	}
	f, err := p.compare([]Shard{s}, o, o.deduplicator(fp, c.progress.tell), roots)
	c.progress.end()
	if err != nil {
		return err
	}
	b, err := f.append(binary.LittleEndian.AppendUint64([]byte(foundMark), p.key))
	if err != nil {
		return err
	}
	return p.write(s, foundFile, b, outs)
}

// MergeSteps are the names of the steps.
var MergeSteps = []string{"join", "compare"}

// Step does a share of a step.
func (p *Parts) Step(name string, s Shard, o *Options, outs *cli.Outputs, stderr io.Writer) error {
	defer outs.Discard()
	defer limitMemory(o.Memory)()
	defer debug.SetGCPercent(debug.SetGCPercent(rareGC))
	if s.Of != len(p.of) {
		return fmt.Errorf("--shard %s: the parts are %d shards", s, len(p.of))
	}
	if name == "join" {
		return p.writeLinks(s, outs, o.NewCollection(stderr).stderr)
	}
	return p.writeFound(s, o, outs, stderr)
}

// loadParts is load for documents that are in parts.
func (c *collection) loadParts(o *Options, fp *neardup.Fingerprinter) error {
	p := o.Parts
	if err := cmp.Or(p.check(fp), p.arrange()); err != nil {
		return err
	}
	if inputs := inputsOf(c.Sources); !slices.EqualFunc(inputs, p.of[0].Inputs, runInput.equal) {
		return errors.New("the inputs have changed since the parts were made, or this is another folder")
	}
	c.exact = &exact{options: o.deduplicator(fp, c.progress.tell), parts: p}
	docs := make([]stored, p.n)
	isHash := make([]bool, p.n)
	hashes := make([]uint64, p.n)
	known := &contents{}
	numbers := p.numbers()
	for i, q := range p.of {
		err := q.eachDocument(func(k int, d *partDocument) error {
			n, at := numbers[i][k], p.places[i][k]
			to := &compared
			switch of := (&content{mark: mark{exact: true, empty: d.empty}, blank: d.blank}); {
			case d.blank:
				to = of
			case d.empty:
				to, _ = known.claim(d.hash, of)
			}
			docs[n] = stored{input.Place{Source: at.Source, Line: at.Line}, d.offset, c.ids.keep(d.id), d.length, to}
			isHash[n], hashes[n] = d.isHash, binary.LittleEndian.Uint64(d.hash[:])
			return nil
		})
		if err != nil {
			return err
		}
		c.bad, c.dropped, c.byPlace, c.bytes = c.bad+q.Bad, c.dropped+q.Dropped, c.byPlace+q.ByPlace, c.bytes+q.Bytes
		for k := range c.Sources {
			c.Sources[k].Decoded = c.Sources[k].Decoded || q.Sources[k].Decoded
			for _, note := range q.Sources[k].Notes {
				c.Sources[k].Note("%s", note)
			}
		}
	}
	defer c.sayNotes()
	ids := newIDs(&c.docs)
	for i := range docs {
		d := &docs[i]
		if err := c.identify(d, ids, o, isHash[i]); err != nil {
			return fmt.Errorf("%s: %w", c.at(d.Place), err)
		}
		if !d.content.blank {
			c.texts = append(c.texts, hashes[i])
		}
		c.docs.Append(*d)
		ids.add(i)
	}
	return nil
}

// findInParts returns what the parts have found, and finds what is missing.
func (c *collection) findInParts(o *Options) (all *found, err error) {
	p := o.Parts
	all = &found{}
	add := func(f *found) {
		all.pairs, all.like, all.families = append(all.pairs, f.pairs...), append(all.like, f.like...), append(all.families, f.families...)
	}
	var missing []Shard
	for s := range p.shards() {
		b, err := p.read(s, foundFile, foundMark)
		if errors.Is(err, os.ErrNotExist) {
			missing = append(missing, s)
			continue
		}
		f := &found{}
		if err == nil {
			if err = f.decode(b, p.n); err != nil {
				err = fmt.Errorf("%s: %w", filepath.Join(p.of[s.Number-1].dir, foundFile), err)
			}
		}
		if err != nil {
			return nil, err
		}
		add(f)
	}
	var roots []int
	if len(missing) > 0 || o.Report != "" {
		if roots, err = p.connected(true); err != nil {
			return nil, err
		}
	}
	if len(missing) > 0 {
		f, err := p.compare(missing, o, c.exact.options, roots)
		if err != nil {
			return nil, err
		}
		add(f)
	}
	sortFamilies(all.families)
	c.exact.found = all.families
	if o.Report != "" { // for which documents are compared once more
		c.exact.d, err = p.deduplicator(c.exact.options, p.shareOf(slices.Collect(p.shards()), roots))
	}
	return all, err
}
