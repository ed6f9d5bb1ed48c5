package group

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/sealed"
	"github.com/neardup/neardup/dedup"
)

// This file keeps the documents of all calls in a directory (--state), so a call compares its documents
// with those of earlier ones without reading these again. The directory has
//
//	documents  and documents.journal, documents.lock: a Deduplicator in files
//	groups     the names of the groups of the documents (names.go)
//	run        which run has begun and not ended: its inputs, and how many documents there were before
//
// A run that fails takes back what it has added. A run that was killed is repeated with the same inputs. Documents that it had added are not added again,
// and count as new ones as they did then. So what it reports is what it would have reported.

// A State compares the documents of a call with each other and with those of earlier calls, which are in a directory. [load.Feed] takes them.
type State struct {
	*load.Feed
	engine[string]
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
	Inputs []corpus.InputFile
}

// syncEvery is after how many documents a killed run need not add them again.
const syncEvery = 50_000

// OpenState opens the directory of a call, which is made if it is not there, and begins a run or goes on with one.
func OpenState(c *corpus.Corpus, o *options.Options, fp *neardup.Fingerprinter) (*State, error) {
	dir, settings := o.State, o.Deduplicator(fp, c.Log.Progress.Tell)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, cli.InFile(dir, err)
	}
	if part := filepath.Join(dir, "part"); cli.Exists(part) {
		return nil, fmt.Errorf("%s already exists, so %s is the directory of a shard (--shard); name another directory", part, dir)
	}
	d, err := dedup.Open[string](filepath.Join(dir, "documents"), settings)
	if errors.Is(err, neardup.ErrVersion) {
		err = fmt.Errorf("%w. If an earlier version of this program made it, convert it with: neardup upgrade %s NEW", err, dir)
	}
	if err != nil {
		return nil, err
	}
	st := &State{engine: engine[string]{d: d, settings: settings, corpus: c, o: o}, dir: dir, path: filepath.Join(dir, "run")}
	if st.groups, err = readNames(dir); err == nil {
		err = st.begin(c.Sources)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if lost := d.Lost(); lost != nil {
		fmt.Fprintf(c.Log.Errors, "%v. To add the documents that are missing, repeat the last run with the same inputs\n", lost)
	}
	st.Feed = load.NewFeed(st.add)
	return st, nil
}

// add adds documents that are not there yet.
func (st *State) add(documents <-chan []load.Taken) error {
	var wrong error
	err := st.d.AddAll(context.Background(), load.Each(documents, func(t load.Taken) (string, bool) {
		there, err := st.isThere(t.ID)
		wrong = cmp.Or(wrong, err)
		return t.ID, !there && wrong == nil
	}, load.Document))
	return cmp.Or(wrong, err)
}

// begin writes the file run, unless a run with the same inputs has begun.
func (st *State) begin(sources []input.Source) error {
	run := begunRun{Old: st.d.NextSequence(), Inputs: corpus.InputFilesOf(sources)}
	b, err := os.ReadFile(st.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		st.run = run
		return st.write()
	case err != nil:
		return cli.InFile(st.path, err)
	}
	if err := json.Unmarshal(b, &st.run); err != nil || st.run.Old < 0 || st.run.Old > run.Old {
		return fmt.Errorf("%s:1: this is not the file of an earlier run, which records which documents are new. If you delete it, all documents in the directory count as old", st.path)
	}
	if !slices.EqualFunc(st.run.Inputs, run.Inputs, corpus.InputFile.Equal) {
		var inputs []string
		for _, in := range st.run.Inputs {
			inputs = append(inputs, in.Path)
		}
		return fmt.Errorf("%s:1: the last run did not finish. Repeat it first, with the same inputs: %q. Or delete this file; then the documents that it added count as old", st.path, inputs)
	}
	return nil
}

// write writes the file run as a whole.
func (st *State) write() error {
	b, err := json.Marshal(st.run)
	if err != nil {
		return err
	}
	return sealed.Write(st.path, append(b, '\n'))
}

// isThere reports whether the run has added a document already, before it was killed.
func (st *State) isThere(id string) (bool, error) {
	if st.new++; st.new%syncEvery == 0 {
		if err := st.d.Sync(); err != nil {
			return false, err
		}
	}
	doc, ok, err := st.d.Get(id)
	return ok && doc.Sequence >= st.run.Old, err
}

// Group groups the documents once all of them have been taken. Those of earlier runs come first. It also finds the pairs if they are wanted.
func (st *State) Group(wantPairs bool) (*Groups, error) {
	if err := st.enterOld(); err != nil {
		return nil, err
	}
	at := st.corpus.Numbers()
	st.old, st.number, st.id = st.run.Old, func(id string) int { return at[id] }, func(i int) string { return st.corpus.Doc(i).ID }
	f, err := st.Find(wantPairs)
	if err != nil {
		return nil, err
	}
	g, err := Put(st.corpus, st.o, f, wantPairs)
	if err == nil {
		g.names = namesOf(st.numbers[:st.corpus.Old], st.groups)
	}
	return g, err
}

// enterOld puts the documents of earlier runs before those of this one.
func (st *State) enterOld() error {
	c := st.corpus
	var docs corpus.Documents
	fresh := 0
	for doc, err := range st.d.All() {
		if err != nil {
			return err
		}
		st.numbers = append(st.numbers, doc.Sequence)
		if fresh++; doc.Sequence < st.run.Old {
			fresh--
			docs.Append(corpus.Doc{Place: input.NoPlace, ID: doc.ID, Length: int32(min(doc.Length, math.MaxInt32)), Content: &corpus.Compared})
		}
	}
	if fresh != c.Docs.Len() {
		return fmt.Errorf("%s: this run has added %d documents, but its inputs have %d; have they changed since it was killed?", st.path, fresh, c.Docs.Len())
	}
	c.Old = docs.Len()
	for i := range c.Docs.Len() {
		docs.Append(*c.Doc(i))
	}
	c.Docs = docs
	return nil
}

// RollBack ends a run that has failed: the documents that it added go, and the next run may have other inputs.
// Documents that it replaced do not come back.
func (st *State) RollBack() error {
	var ids []string
	for doc, err := range st.d.All() {
		if err != nil {
			return errors.Join(err, st.d.Close())
		}
		if doc.Sequence >= st.run.Old {
			ids = append(ids, doc.ID)
		}
	}
	for _, id := range ids {
		if _, err := st.d.Delete(id); err != nil {
			return errors.Join(err, st.d.Close())
		}
	}
	return st.close()
}

// End ends the run, whose outputs are complete. The directory remembers the groups.
func (st *State) End(g *Groups) error {
	if err := writeNames(st.dir, g, st.numbers); err != nil {
		return err
	}
	return st.close()
}

// close ends the run.
func (st *State) close() error {
	if err := st.d.Close(); err != nil {
		return err
	}
	if err := os.Remove(st.path); err != nil {
		return cli.InFile(st.path, err)
	}
	return nil
}
