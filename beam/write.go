package neardupbeam

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/zeebo/xxh3"
)

// This file writes collections as JSON lines, in shards: PREFIX-00000-of-00010.jsonl and so on. A line goes to the shard
// of its hash, and lines are sorted in a shard. So the files are the same, byte by byte, whatever workers
// wrote them. A file gets its name when it is complete, where the file system can rename; the object stores
// show a file only then anyway. A worker that repeats a shard writes the same file again.
//
// A worker has all lines of a shard in memory, since it sorts them. So the number of shards bounds the
// memory, and has to grow with the collection.

// Write writes a PCollection of Documents, Members, Pairs, Families or Notes to as many files as shards says, as JSON lines.
// A Document is written as its Raw line. It panics for other elements, if shards is not from 1 to 99,999, and if the prefix
// has pattern characters (see [Exists]).
//
// Files that have these names are replaced, so that a job can be repeated. Call [Exists] first if they may belong to
// somebody else.
func Write(s beam.Scope, prefix string, shards int, elements beam.PCollection) {
	if shards < 1 || shards > 99_999 {
		panic(fmt.Sprintf("neardupbeam: Write: %d shards; must be from 1 to 99999", shards))
	}
	// It panics if no driver for the prefix is registered: better now than at the end of a job.
	filesystem.ValidateScheme(prefix)
	if err := checkPrefix(prefix); err != nil {
		panic(err)
	}
	s = s.Scope("neardup.Write")
	var line any
	switch elements.Type().Type() {
	case reflect.TypeFor[Document]():
		line = documentLine
	case reflect.TypeFor[Member]():
		line = memberLine
	case reflect.TypeFor[Pair]():
		line = pairLine
	case reflect.TypeFor[Family]():
		line = familyLine
	case reflect.TypeFor[Note]():
		line = noteLine
	default:
		panic(fmt.Sprintf("neardupbeam: Write: cannot write a collection of %v", elements.Type()))
	}
	numbers := make([]int, shards)
	for i := range numbers {
		numbers[i] = i
	}
	lines := beam.ParDo(s, &shardFn{shards}, beam.ParDo(s, line, elements))
	// A key that nothing is emitted for is not in a group, and its file would be missing.
	all := beam.CoGroupByKey(s, beam.ParDo(s, emptyShard, beam.CreateList(s, numbers)), lines)
	beam.ParDo0(s, &writeFn{prefix, shards}, all)
}

// checkPrefix returns an error if a prefix would be taken for a pattern. List of a file system knows
// patterns only, so Exists could not look for such a prefix.
func checkPrefix(prefix string) error {
	if strings.ContainsAny(prefix, `*?[]{}\`) {
		return fmt.Errorf(`neardupbeam: the prefix %q has one of the characters *?[]{}\, which have a special meaning in patterns`, prefix)
	}
	return nil
}

// Exists reports whether there are files with a prefix that [Write] would write or has written. The error
// is that of the file system, or says that the prefix has one of the characters *?[]{}\ of patterns. The
// number of shards does not matter: files of another number would lie beside the new ones, and a reader of
// the prefix would take them for one result.
func Exists(ctx context.Context, prefix string) (bool, error) {
	if err := checkPrefix(prefix); err != nil {
		return false, err
	}
	fs, err := filesystem.New(ctx, prefix)
	if err != nil {
		return false, err
	}
	defer fs.Close()
	files, err := fs.List(ctx, prefix+"-*-of-*.jsonl")
	return len(files) > 0, err
}

// jsonLine returns a value as JSON. Characters such as < stay as they are.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// documentLine writes Raw as it is, so fields that this package does not know are kept.
func documentLine(d Document) ([]byte, error) {
	if d.Raw != "" {
		return []byte(d.Raw), nil
	}
	return jsonLine(struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}{d.ID, d.Text})
}

func memberLine(m Member) ([]byte, error) {
	return jsonLine(struct {
		ID   string `json:"id"`
		Keep string `json:"keep"`
	}{m.ID, m.Keep})
}

// pairLine has a form for each method, without the fields that the method does not set. Only Auto sets
// Kind, and only SimHash leaves Similarity at 0, since the other methods take pairs above a threshold above
// 0.
func pairLine(p Pair) ([]byte, error) {
	if p.Kind != 0 {
		return jsonLine(struct {
			A           string  `json:"a"`
			B           string  `json:"b"`
			Similarity  float64 `json:"similarity"`
			Kind        string  `json:"kind"`
			Probability float64 `json:"probability"`
		}{p.A, p.B, p.Similarity, p.Kind.String(), p.Probability})
	}
	if p.Similarity == 0 {
		return jsonLine(struct {
			A        string `json:"a"`
			B        string `json:"b"`
			Distance int    `json:"distance"`
		}{p.A, p.B, p.Distance})
	}
	return jsonLine(struct {
		A          string  `json:"a"`
		B          string  `json:"b"`
		Similarity float64 `json:"similarity"`
	}{p.A, p.B, p.Similarity})
}

func familyLine(f Family) ([]byte, error) {
	return jsonLine(struct {
		Members []string `json:"members"`
		Form    string   `json:"form"`
		Filled  []string `json:"filled,omitempty"`
	}{f.Members, f.Form, f.Filled})
}

func noteLine(n Note) ([]byte, error) {
	return jsonLine(struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
		Text string `json:"text"`
	}{n.Kind, n.ID, n.Text})
}

// shardFn keys lines by shard. The hash depends on nothing but the line.
type shardFn struct{ Shards int }

func (fn *shardFn) ProcessElement(line []byte) (int, []byte) {
	return int(xxh3.Hash(line) % uint64(fn.Shards)), line
}

// emptyShard makes sure that every shard is written, also one without lines.
func emptyShard(shard int) (int, int) { return shard, 0 }

// writeFn writes a shard. A runner may repeat it, or run it twice at a time: both write the same bytes, and
// the last one to rename wins.
type writeFn struct {
	Prefix string
	Shards int
}

func (fn *writeFn) ProcessElement(ctx context.Context, shard int, _ func(*int) bool, lines func(*[]byte) bool) (err error) {
	var all [][]byte
	for b := []byte(nil); lines(&b); {
		all = append(all, b)
	}
	// Beam gives the values of a key in any order.
	slices.SortFunc(all, bytes.Compare)
	name := fmt.Sprintf("%s-%05d-of-%05d.jsonl", fn.Prefix, shard, fn.Shards)
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return err
	}
	defer fs.Close()
	to := name
	renamer, canRename := fs.(filesystem.Renamer)
	if canRename {
		to = fmt.Sprintf("%s.%016x.part", name, rand.Uint64()) // two workers may be at it
	}
	f, err := fs.OpenWrite(ctx, to)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for _, line := range all {
		w.Write(line) // Flush has the error
		w.WriteByte('\n')
	}
	// Object stores report a failed upload at Close, so a file is complete only when Close has returned
	// nil.
	err = errors.Join(w.Flush(), f.Close())
	if err == nil && canRename {
		err = renamer.Rename(ctx, to, name)
	}
	if err != nil {
		if remover, ok := fs.(filesystem.Remover); ok && canRename {
			remover.Remove(ctx, to) // what is left has no name that anybody reads
		}
		return fmt.Errorf("%s: %w", to, err)
	}
	return nil
}

func init() {
	register.Function1x2(documentLine)
	register.Function1x2(memberLine)
	register.Function1x2(pairLine)
	register.Function1x2(familyLine)
	register.Function1x2(noteLine)
	register.Function1x2(emptyShard)
	register1x2((*shardFn).ProcessElement)
	register4x1((*writeFn).ProcessElement)
	register.Iter1[int]()
}
