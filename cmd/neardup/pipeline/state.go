package pipeline

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/dedup"
)

// This file keeps the documents of all runs in a directory (--state), so that a run compares its documents
// with those of earlier ones without reading these again. The directory has
//
//	documents  and documents.journal, documents.lock: a Deduplicator in files
//	groups     the groups of the documents (groups.go)
//	run        which run has begun and not ended: its inputs, and how many documents there were before
//
// A run that fails takes back what it has added. A run that was killed is repeated with the same inputs. Documents that it had added are not added again,
// and count as new ones as they did then. So what it reports is what it would have reported.

// A state is the directory of a call.
type state struct {
	d    *dedup.Deduplicator[string]
	dir  string
	path string // of the file run
	run  begunRun

	groups  []uint32 // that the directory remembers
	numbers []int    // of all documents, old and new; valid once these were entered
	new     int      // documents since the last Sync
}

// A begunRun is what the file run says.
type begunRun struct {
	Old    int // how many documents were ever added before the run
	Inputs []runInput
}

// A runInput tells whether an input is still the same.
type runInput struct {
	Path     string
	Size     int64
	Modified time.Time
}

// syncEvery is after how many documents a killed run need not add them again.
const syncEvery = 50_000

// openState opens the directory, which is made if it is not there, and begins a run or goes on with one.
func openState(dir string, s dedup.Options, sources []input.Source) (*state, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, cli.InFile(dir, err)
	}
	if part := filepath.Join(dir, "part"); Exists(part) {
		return nil, fmt.Errorf("%s is there already, and %s is what a shard made (--shard): name another directory", part, dir)
	}
	d, err := dedup.Open[string](filepath.Join(dir, "documents"), s)
	if errors.Is(err, neardup.ErrVersion) {
		err = fmt.Errorf("%w. If an earlier version of this program made it, this one reads it: neardup upgrade %s NEW", err, dir)
	}
	if err != nil {
		return nil, err
	}
	st := &state{d: d, dir: dir, path: filepath.Join(dir, "run")}
	if st.groups, err = readGroups(dir); err == nil {
		err = st.begin(sources)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return st, nil
}

// begin writes the file run, unless a run with the same inputs has begun.
func (st *state) begin(sources []input.Source) error {
	run := begunRun{Old: st.d.NextNumber(), Inputs: inputsOf(sources)}
	b, err := os.ReadFile(st.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		st.run = run
		return st.write()
	case err != nil:
		return cli.InFile(st.path, err)
	}
	if err := json.Unmarshal(b, &st.run); err != nil || st.run.Old < 0 || st.run.Old > run.Old {
		return fmt.Errorf("%s:1: this is no file of an earlier run; it says which documents count as new: without it, all that are there count as old", st.path)
	}
	if !slices.EqualFunc(st.run.Inputs, run.Inputs, runInput.equal) {
		var inputs []string
		for _, in := range st.run.Inputs {
			inputs = append(inputs, in.Path)
		}
		return fmt.Errorf("%s:1: the last run did not end. Repeat it first, with the same inputs: %q. Or delete this file: then the documents that it added count as old", st.path, inputs)
	}
	return nil
}

// inputsOf tells whether inputs are still the same.
func inputsOf(sources []input.Source) (inputs []runInput) {
	for i := range sources {
		in := runInput{Path: sources[i].Path}
		if sources[i].Regular() {
			in.Size, in.Modified = sources[i].Info.Size(), sources[i].Info.ModTime().UTC()
			if path, err := filepath.Abs(in.Path); err == nil {
				in.Path = path
			}
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// equal reports whether an input is the same.
func (in runInput) equal(other runInput) bool {
	return in.Path == other.Path && in.Size == other.Size && in.Modified.Equal(other.Modified)
}

// write writes the file run as a whole.
func (st *state) write() error {
	b, err := json.Marshal(st.run)
	if err != nil {
		return err
	}
	return writeWhole(st.path, append(b, '\n'))
}

// writeWhole writes a file so that it has all of data or what it had before.
func writeWhole(path string, data []byte) error {
	f, err := os.Create(path + ".part")
	if err != nil {
		return cli.InFile(path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(path+".part", path)
	}
	if err != nil {
		os.Remove(path + ".part")
		return cli.InFile(path, err)
	}
	return nil
}

// sealed returns what a file has that begins with a mark, with a checksum behind it.
func sealed(b []byte) []byte { return binary.LittleEndian.AppendUint64(b, xxh3.Hash(b)) }

// unsealed returns what stands between the mark and the checksum of a file, unless it is damaged or has another mark.
func unsealed(b []byte, mark string) (content []byte, ok bool) {
	n := len(b) - 8
	if n < len(mark) || string(b[:len(mark)]) != mark || xxh3.Hash(b[:n]) != binary.LittleEndian.Uint64(b[n:]) {
		return nil, false
	}
	return b[len(mark):n], true
}

// isThere reports whether the run has added a document already, before it was killed.
func (st *state) isThere(id string) (bool, error) {
	if st.new++; st.new%syncEvery == 0 {
		if err := st.d.Sync(); err != nil {
			return false, err
		}
	}
	doc, ok, err := st.d.Get(id)
	return ok && doc.Number >= st.run.Old, err
}

// enterOld puts the documents of earlier runs before those of this one.
func (c *collection) enterOld(st *state) error {
	of := &content{mark: mark{exact: true}}
	var docs documents
	fresh := 0
	for doc, err := range st.d.All() {
		if err != nil {
			return err
		}
		st.numbers = append(st.numbers, doc.Number)
		if fresh++; doc.Number < st.run.Old {
			fresh--
			docs.Append(stored{Place: input.NoPlace, ID: doc.ID, length: int32(min(doc.Length, math.MaxInt32)), content: of})
		}
	}
	if fresh != c.docs.Len() {
		return fmt.Errorf("%s: this call has added %d documents, and its inputs have %d: have they changed since it was killed?", st.path, fresh, c.docs.Len())
	}
	c.old = docs.Len()
	for i := range c.docs.Len() {
		docs.Append(*c.Doc(i))
	}
	c.docs = docs
	c.setOldGroups(st.numbers[:c.old], st.groups)
	return nil
}

// rollBack ends a run that has failed: the documents that it added go, and the next run may have other inputs.
// Documents that it replaced do not come back.
func (st *state) rollBack() error {
	var ids []string
	for doc, err := range st.d.All() {
		if err != nil {
			return errors.Join(err, st.d.Close())
		}
		if doc.Number >= st.run.Old {
			ids = append(ids, doc.ID)
		}
	}
	for _, id := range ids {
		if _, err := st.d.Delete(id); err != nil {
			return errors.Join(err, st.d.Close())
		}
	}
	return st.end()
}

// end ends the run. Its outputs are complete.
func (st *state) end() error {
	if err := st.d.Close(); err != nil {
		return err
	}
	if err := os.Remove(st.path); err != nil {
		return cli.InFile(st.path, err)
	}
	return nil
}
