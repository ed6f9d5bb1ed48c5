package shards

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/dedup/shard"
	"github.com/zeebo/xxh3"
)

// This file is the first step of a call that is divided among processes (--shard): each reads all inputs but takes only its
// share of the documents, makes their signatures, and writes all that later steps need into a directory, the part. A part has these files, of which the first one is given its name last:
//
//	part             what was read, with which flags, and checksums of the other files, as JSON
//	part.places      of each document, where it stands, and how long its text is: four numbers of 32 bits
//	part.ids         its id, and what else the outputs need
//	part.signatures  what tells which other documents can matter to it (package shard)
//	part.texts       its text
//
// Later steps add part.links and part.found.

// A part is what the file part says.
type part struct {
	Version  int                `json:"neardup_part"` // partVersion
	Program  string             `json:"program"`
	Shard    options.Shard      `json:"shard"`
	Command  json.RawMessage    `json:"command"`  // the flags of the call
	Features string             `json:"features"` // [neardup.Fingerprinter.Version]
	Inputs   []corpus.InputFile `json:"inputs"`
	Sources  []partSource       `json:"sources"`

	Documents, Bad, Dropped, ByPlace int
	Bytes                            int64
	Files                            map[string]partFile `json:"files"`
	Sum                              uint64              `json:"sum"` // the xxh3 of all of this with a sum of 0

	dir string
}

const partVersion = 2

// A partSource is what a source says once it was read.
type partSource struct {
	Notes    []string        `json:",omitempty"`
	Encoding *input.Encoding `json:",omitempty"`
}

// A partFile is how long a file is, and its xxh3.
type partFile struct {
	Bytes int64
	Sum   uint64
}

// A partDocument is what part.ids has of a document.
type partDocument struct {
	id           string
	offset       int64
	length       int32
	hash         [16]byte // of the text
	blank, empty bool     // see content
	isHash       bool     // the id is a hash of the text
}

// The bits of a document.
const (
	bitBlank = 1 << iota
	bitEmpty
	bitHash
)

// append appends the document.
func (d *partDocument) append(b []byte) []byte {
	flags := byte(0)
	for bit, is := range [3]bool{d.blank, d.empty, d.isHash} {
		if is {
			flags |= 1 << bit
		}
	}
	b = append(b, flags)
	b = append(b, d.hash[:]...)
	b = binary.AppendVarint(b, d.offset)
	b = binary.AppendVarint(b, int64(d.length))
	b = binary.AppendUvarint(b, uint64(len(d.id)))
	return append(b, d.id...)
}

// errPart is the error of bytes that are no part.
var errPart = errors.New("this was not written by a run with --shard, or it is damaged")

// decode reads what append appended, and returns the rest.
func (d *partDocument) decode(b []byte) (rest []byte, err error) {
	if len(b) < 17 || b[0] >= 1<<3 {
		return nil, errPart
	}
	flags := b[0]
	*d = partDocument{blank: flags&bitBlank > 0, empty: flags&bitEmpty > 0, isHash: flags&bitHash > 0, hash: [16]byte(b[1:17])}
	b = b[17:]
	var n int
	if d.offset, n = binary.Varint(b); n <= 0 {
		return nil, errPart
	}
	b = b[n:]
	length, n := binary.Varint(b)
	if n <= 0 || length < 0 || length > math.MaxInt32 {
		return nil, errPart
	}
	d.length, b = int32(length), b[n:]
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, errPart
	}
	d.id = string(b[n : n+int(size)])
	return b[n+int(size):], nil
}

// A partPlace is what part.places has of a document.
type partPlace struct {
	Source, Line int32
	Size         uint32 // of the text, in bytes
	Sum          uint32 // the lower half of the xxh3 of the text
}

// The files of a part besides the one that describes it.
const (
	placesFile     = "part.places"
	idsFile        = "part.ids"
	signaturesFile = "part.signatures"
	textsFile      = "part.texts"
	linksFile      = "part.links"
	foundFile      = "part.found"
)

// Files returns the paths of the files of a part.
func Files(dir string) (paths []string) {
	for _, name := range []string{"part", placesFile, idsFile, signaturesFile, textsFile, linksFile, foundFile} {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// A partWriter writes a part.
type partWriter struct {
	part
	outs  *cli.Outputs
	files map[string]*summed
	buf   []byte
}

// A summed is a file that is being written, and its checksum so far.
type summed struct {
	to  *cli.Output
	sum *xxh3.Hasher
	n   int64
}

func (s *summed) Write(b []byte) (int, error) {
	s.sum.Write(b)
	s.n += int64(len(b))
	return s.to.Write(b)
}

// checkShared returns an error if a source is none that each process can read.
func checkShared(sources []input.Source) error {
	for i := range sources {
		switch s := &sources[i]; {
		case s.Err == nil && !s.Regular():
			return fmt.Errorf("%s: with --shard an input must be a regular file, so that each process can read it", s.Path)
		case !utf8.ValidString(s.Path):
			return fmt.Errorf("%q: with --shard the path of an input must be UTF-8", s.Path)
		}
	}
	return nil
}

// newPartWriter begins the part in the directory of a call.
func newPartWriter(o *options.Options, version string, sources []input.Source, outs *cli.Outputs) (*partWriter, error) {
	w := &partWriter{outs: outs, files: map[string]*summed{}}
	w.part = part{Version: partVersion, Program: options.ProgramVersion(), Shard: o.Shard, Command: o.Command, Features: version, Inputs: corpus.InputFilesOf(sources), dir: o.PartDir}
	if err := checkShared(sources); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		return nil, cli.InFile(w.dir, err)
	}
	if err := w.checkDir(); err != nil {
		return nil, err
	}
	for _, name := range []string{placesFile, idsFile, signaturesFile, textsFile} {
		to, err := outs.Create(filepath.Join(w.dir, name), nil)
		if err != nil {
			return nil, err
		}
		w.files[name] = &summed{to: to, sum: xxh3.New()}
	}
	return w, nil
}

// checkDir returns an error unless the directory of a part that begins is empty, or has the same part.
func (p *part) checkDir() error {
	was, err := readPart(p.dir)
	switch {
	case err == nil && (was.Shard != p.Shard || !was.isOfOneCall(p)):
		return fmt.Errorf("%s has shard %s of another run; name another directory, or remove this one", p.dir, was.Shard)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	for _, path := range Files(p.dir) {
		if cli.Exists(path) {
			return fmt.Errorf("%s already exists, but %s is not a complete shard; name another directory, or remove this file", path, p.dir)
		}
	}
	return nil
}

// add writes documents.
func (w *partWriter) add(some []load.Taken) error {
	for i := range some {
		if err := w.addOne(&some[i]); err != nil {
			return err
		}
	}
	return nil
}

// addOne writes a document.
func (w *partWriter) addOne(d *load.Taken) error {
	t := d.Text
	if uint64(len(t)) > math.MaxUint32 {
		return fmt.Errorf("the text has %d bytes, which is too long", len(t))
	}
	p := partPlace{d.Source, d.Line, uint32(len(t)), uint32(xxh3.HashString(t))}
	w.buf = binary.LittleEndian.AppendUint32(w.buf[:0], uint32(p.Source))
	for _, x := range []uint32{uint32(p.Line), p.Size, p.Sum} {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, x)
	}
	_, err := w.files[placesFile].Write(w.buf)
	doc := partDocument{id: d.ID, offset: d.Offset, length: d.Length, hash: d.Hash, blank: d.Content.Blank, empty: d.Content.Empty, isHash: d.IsByHash}
	w.buf = doc.append(w.buf[:0])
	_, err2 := w.files[idsFile].Write(w.buf)
	w.buf, _ = d.Content.More.Levels.AppendBinary(w.buf[:0])
	_, err3 := w.files[signaturesFile].Write(w.buf)
	_, err4 := io.WriteString(w.files[textsFile], t)
	w.Documents++
	return errors.Join(err, err2, err3, err4)
}

// end writes the file part, and gives all files their names.
func (w *partWriter) end(c *corpus.Corpus) error {
	w.Bad, w.Dropped, w.ByPlace, w.Bytes = c.Read.Bad, c.Read.Dropped, c.Read.ByPlace, c.Read.Bytes
	for i := range c.Sources {
		s := &c.Sources[i]
		w.Sources = append(w.Sources, partSource{s.Notes, s.Encoding})
	}
	w.Files = map[string]partFile{}
	for name, f := range w.files {
		w.Files[name] = partFile{f.n, f.sum.Sum64()}
	}
	w.Sum = w.sum()
	b, err := json.MarshalIndent(&w.part, "", "  ")
	if err != nil {
		return err
	}
	to, err := w.outs.Create(filepath.Join(w.dir, "part"), nil)
	if err != nil {
		return err
	}
	to.Write(append(b, '\n')) // Commit has the error
	return w.outs.Commit()
}

// sum returns the checksum of what the file part says.
func (p *part) sum() uint64 {
	q := *p
	q.Sum = 0
	b, err := json.Marshal(&q)
	if err != nil {
		return 0 // Command is no JSON
	}
	return xxh3.Hash(b)
}

// readPart reads the file part of a directory.
func readPart(dir string) (*part, error) {
	path := filepath.Join(dir, "part")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.InFile(path, err)
	}
	p := &part{dir: dir}
	if err := json.Unmarshal(b, p); err != nil || p.Version == 0 || p.Sum != p.sum() || p.Documents < 0 || p.Shard.Number < 1 || p.Shard.Number > p.Shard.Of || p.Shard.Of > options.MostShards ||
		len(p.Inputs) != len(p.Sources) || p.Documents > math.MaxInt32 || p.Files[placesFile].Bytes != placeBytes*int64(p.Documents) {
		return nil, fmt.Errorf("%s:1: %w", path, errPart)
	}
	if p.Version != partVersion {
		return nil, fmt.Errorf("%s:1: %w: format %d; this program reads format %d", path, neardup.ErrVersion, p.Version, partVersion)
	}
	return p, nil
}

// placeBytes is how long a partPlace is.
const placeBytes = 16

// isOfOneCall reports whether two parts have the same flags, inputs and number of shards.
func (p *part) isOfOneCall(q *part) bool {
	var a, b bytes.Buffer
	err := errors.Join(json.Compact(&a, p.Command), json.Compact(&b, q.Command))
	return err == nil && p.Program == q.Program && p.Features == q.Features && p.Shard.Of == q.Shard.Of && bytes.Equal(a.Bytes(), b.Bytes()) && slices.EqualFunc(p.Inputs, q.Inputs, corpus.InputFile.Equal)
}

// read reads a file of the part as a whole, and checks it.
func (p *part) read(name string) ([]byte, error) {
	path := filepath.Join(p.dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.InFile(path, err)
	}
	if is := (partFile{int64(len(b)), xxh3.Hash(b)}); is != p.Files[name] {
		return nil, fmt.Errorf("%s: %w", path, errPart)
	}
	return b, nil
}

// places returns the places of all documents.
func (p *part) places() ([]partPlace, error) {
	b, err := p.read(placesFile)
	if err != nil {
		return nil, err
	}
	all, size := make([]partPlace, p.Documents), int64(0)
	for i := range all {
		at := func(k int) uint32 { return binary.LittleEndian.Uint32(b[placeBytes*i+4*k:]) }
		all[i] = partPlace{int32(at(0)), int32(at(1)), at(2), at(3)}
		if s := all[i].Source; s < 0 || int(s) >= len(p.Inputs) {
			return nil, fmt.Errorf("%s: document %d: %w", filepath.Join(p.dir, placesFile), i+1, errPart)
		}
		size += int64(all[i].Size)
	}
	if size != p.Files[textsFile].Bytes {
		return nil, fmt.Errorf("%s: %w", filepath.Join(p.dir, placesFile), errPart)
	}
	return all, nil
}

// eachDocument calls use with what part.ids has of all documents.
func (p *part) eachDocument(use func(i int, d *partDocument) error) error {
	b, err := p.read(idsFile)
	for i := 0; i < p.Documents && err == nil; i++ {
		var d partDocument
		if b, err = d.decode(b); err != nil {
			return fmt.Errorf("%s: document %d: %w", filepath.Join(p.dir, idsFile), i+1, err)
		}
		err = use(i, &d)
	}
	if err == nil && len(b) > 0 {
		err = fmt.Errorf("%s: %w", filepath.Join(p.dir, idsFile), errPart)
	}
	return err
}

// eachSignature calls use with the signatures of all documents.
func (p *part) eachSignature(use func(i int, s *shard.Signature)) error {
	path := filepath.Join(p.dir, signaturesFile)
	f, err := os.Open(path)
	if err != nil {
		return cli.InFile(path, err)
	}
	defer f.Close()
	sum := xxh3.New()
	r := bufio.NewReaderSize(io.TeeReader(f, sum), 1<<20)
	var s shard.Signature
	for i := range p.Documents {
		b, failed := r.Peek(shard.MostBytes) // at the end of the file it is shorter
		if failed != nil && failed != io.EOF {
			return cli.InFile(path, failed)
		}
		rest, err := s.Decode(b)
		if err != nil {
			return fmt.Errorf("%s: document %d: %w", path, i+1, errPart)
		}
		r.Discard(len(b) - len(rest))
		use(i, &s)
	}
	if _, err := r.ReadByte(); err != io.EOF || sum.Sum64() != p.Files[signaturesFile].Sum {
		return fmt.Errorf("%s: %w", path, errPart)
	}
	return nil
}

// Write does the work of a call with --shard: it writes the part of the documents of the call.
func Write(c *corpus.Corpus, o *options.Options, fp *neardup.Fingerprinter, outs *cli.Outputs) error {
	signer, err := shard.NewSigner(o.Deduplicator(fp, nil))
	if err != nil {
		return err
	}
	version, err := fp.Version()
	if err != nil {
		return err
	}
	w, err := newPartWriter(o, version, c.Sources, outs)
	if err != nil {
		return err
	}
	l := load.Loader{Corpus: c, Options: o, Marker: load.Marker{Method: &o.Method, Fingerprinter: fp, Signer: signer}, Take: w.add, Drops: true}
	if err := l.Run(); err != nil {
		return err
	}
	if err := w.end(c); err != nil {
		return err
	}
	fmt.Fprintf(c.Log.Notes, "neardup: shard %s has %s, in %s\n", o.Shard, cli.Count(w.Documents, "document", "documents"), o.PartDir)
	return nil
}
