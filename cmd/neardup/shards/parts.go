// Package shards divides a call among processes (--shard).
//
//	part.go   what each process makes: a part, with a share of the documents
//	parts.go  all parts together: in which order their documents come, and their texts
//	merge.go  the later steps: which documents can matter to each other, which are near-duplicates, and the groups
package shards

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/sealed"
	"github.com/neardup/neardup/dedup"
	"github.com/zeebo/xxh3"
)

// This file has all parts of a call that was divided among processes: whether they belong together, in which order their
// documents come, their texts, and the files that later steps write into them. Documents are known by their numbers in the order of
// the inputs, as they are in a call that is not divided.

// Parts are all parts of a call, by the numbers of their shards.
type Parts struct {
	of     []*part
	places [][]partPlace
	runs   []partRun // in the order of the documents
	n      int       // documents
	key    uint64    // tells these parts from all others
}

// A partRun is the documents of a part that stand in one turn of lines of a source, which no other part has.
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
			return nil, fmt.Errorf("%s is one of %d shards, but another directory is one of %d", dir, q.Shard.Of, len(p.of))
		case p.of[at] != nil:
			return nil, fmt.Errorf("%s and %s both have shard %s", p.of[at].dir, dir, q.Shard)
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
			return nil, fmt.Errorf("%s and %s were made with different flags, from different inputs, or by different versions of the program", p.of[0].dir, q.dir)
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

// Files returns the files of all parts.
func (p *Parts) Files() (paths []string) {
	for _, q := range p.of {
		paths = append(paths, Files(q.dir)...)
	}
	return paths
}

// Command returns the flags of the call, as Command of [options.Options] had them.
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
		for k := range p.places[i] {
			switch {
			case k > 0 && comparePlaces(at(i, k-1), at(i, k)) > 0:
				return fmt.Errorf("%s: document %d: %w", filepath.Join(q.dir, placesFile), k+1, errPart)
			case k > 0 && options.TurnOf(at(i, k-1)) == options.TurnOf(at(i, k)):
				p.runs[len(p.runs)-1].to++
			default:
				p.runs = append(p.runs, partRun{part: i, from: k, to: k + 1})
			}
		}
	}
	slices.SortFunc(p.runs, func(r, q partRun) int { return comparePlaces(at(r.part, r.from), at(q.part, q.from)) })
	for n := range p.runs {
		r := &p.runs[n]
		if n > 0 && comparePlaces(at(p.runs[n-1].part, p.runs[n-1].to-1), at(r.part, r.from)) > 0 {
			return fmt.Errorf("%s: document %d: %w", filepath.Join(p.of[r.part].dir, placesFile), r.from+1, errPart)
		}
		r.number = p.n
		p.n += r.to - r.from
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

// write writes a file with a checksum into the directory of a shard.
func (p *Parts) write(s options.Shard, name string, b []byte, outs *cli.Outputs) error {
	to, err := outs.Create(filepath.Join(p.of[s.Number-1].dir, name), nil)
	if err != nil {
		return err
	}
	to.Write(sealed.Seal(b)) // Commit has the error
	return outs.Commit()
}

// read reads what write has written, behind the mark and the key. The error is [os.ErrNotExist] if it is not there, or is of other parts.
func (p *Parts) read(s options.Shard, name, mark string) ([]byte, error) {
	path := filepath.Join(p.of[s.Number-1].dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.InFile(path, err)
	}
	content, ok := sealed.Open(b, mark)
	if !ok || len(content) < 8 {
		return nil, fmt.Errorf("%s: %w; delete the file, so that it is made again", path, errPart)
	}
	if binary.LittleEndian.Uint64(content) != p.key {
		return nil, fmt.Errorf("%s: %w: it belongs to other shards", path, os.ErrNotExist)
	}
	return content[8:], nil
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
func (p *Parts) shards() iter.Seq[options.Shard] {
	return func(yield func(options.Shard) bool) {
		for i := range p.of {
			if !yield(options.Shard{Number: i + 1, Of: len(p.of)}) {
				return
			}
		}
	}
}

// texts yields the texts of some documents, in their order. The error is set if one cannot be read, and then no more come.
func (p *Parts) texts(wanted []bool, failed *error) iter.Seq2[int, neardup.Document] {
	return func(yield func(int, neardup.Document) bool) {
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
				text := make([]byte, d.Size)
				if _, err := files[r.part].ReadAt(text, begin); err != nil || uint32(xxh3.Hash(text)) != d.Sum {
					*failed = fmt.Errorf("%s: document %d: %w", filepath.Join(p.of[r.part].dir, textsFile), i+1, cmp.Or(err, errPart))
					return
				}
				if !yield(number, neardup.Text(text)) {
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
