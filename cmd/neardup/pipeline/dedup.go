package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/corpus"
	"github.com/neardup/neardup/cmd/neardup/cost"
	"github.com/neardup/neardup/cmd/neardup/group"
	"github.com/neardup/neardup/cmd/neardup/learn"
	"github.com/neardup/neardup/cmd/neardup/load"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/shards"
	"github.com/neardup/neardup/cmd/neardup/units"
	"github.com/neardup/neardup/cmd/neardup/write"
)

// This file has the command dedup: the stages of a call, from the inputs to the outputs.

// ErrDuplicates tells the program to end with a status of its own.
var ErrDuplicates = errors.New("there are duplicates")

// Dedup runs the command, and those that have the same stages. parts has the documents that shards have read; nil without.
func Dedup(o *options.Options, parts *shards.Parts, outs *cli.Outputs, stdin io.Reader, stdout, stderr io.Writer) error {
	defer outs.Discard()
	defer options.LimitMemory(o.Memory)()
	switch {
	case o.Shard.Of > 0 || parts != nil:
		defer debug.SetGCPercent(debug.SetGCPercent(shards.RareGC))
	case o.Method.IsExact() || o.Method.Name == "minhash":
		// Most of the memory is texts or signatures, which hold no pointers. So collecting garbage often
		// costs little.
		defer debug.SetGCPercent(debug.SetGCPercent(40))
	}
	fp, err := o.Fingerprinter()
	if err != nil {
		return err
	}
	all, err := corpus.Open(o, stdin, stderr)
	if err != nil {
		return err
	}
	c := &call{Corpus: all, o: o, fp: fp, parts: parts, outs: outs}
	switch {
	case o.Estimate:
		return cost.Estimate(c.Corpus, o, stdout)
	case o.Shard.Of > 0:
		return c.shard()
	}
	return c.dedup(stdout)
}

// A call is what the stages share.
type call struct {
	*corpus.Corpus
	o     *options.Options
	fp    *neardup.Fingerprinter
	parts *shards.Parts
	outs  *cli.Outputs
}

// shard writes the part of a shard. The command merge writes the outputs.
func (c *call) shard() error {
	if err := write.Check(c.Corpus, &c.o.Writing); err != nil {
		return err
	}
	if err := learn.Features(c.Corpus, c.o, c.fp, c.outs); err != nil {
		return err
	}
	return shards.Write(c.Corpus, c.o, c.fp, c.outs)
}

// dedup does the work, from the sources to the outputs.
func (c *call) dedup(stdout io.Writer) (err error) {
	start := time.Now()
	to, err := write.Create(c.Corpus, &c.o.Writing, c.outs, stdout)
	if err != nil {
		return err
	}
	defer c.CloseCopies()
	if err := c.keepNeeded(to); err != nil {
		return err
	}
	if c.Corpus, c.o, err = units.Gather(c.Corpus, c.o, c.fp); err != nil {
		return err
	}
	defer c.CloseCopies() // those of the units
	if err := learn.Features(c.Corpus, c.o, c.fp, c.outs); err != nil {
		return err
	}
	if c.o.State != "" {
		return c.dedupWithState(to, start)
	}
	groups, engine, err := c.group(to.WantPairs())
	if err != nil {
		return err
	}
	if err := c.write(to, groups, engine, start); err != nil {
		return err
	}
	return c.end(groups)
}

// keepNeeded copies the inputs that are read more than once and cannot be.
func (c *call) keepNeeded(to *write.Outputs) error {
	weights, err := c.o.Weighting()
	if err != nil {
		return err
	}
	anew, all := to.ReadAgain()
	anew = anew || c.o.Method.Source != ""
	if learns := c.o.Learns(weights); learns || anew { // learning reads all, before they are loaded
		return c.KeepCopies(learns || all)
	}
	return nil
}

// group loads the documents and groups them. The engine is nil with methods that have none.
func (c *call) group(wantPairs bool) (g *group.Groups, engine group.Engine, err error) {
	o := c.o
	switch {
	case c.parts != nil:
		return c.parts.Group(c.Corpus, o, c.fp, wantPairs)
	case o.Learn:
		e := group.NewLinked(c.Corpus, o)
		if err := cmp.Or(c.load(nil, e.Take), e.Finish()); err != nil {
			return nil, nil, err
		}
		defer c.comparing()()
		g, err = e.Group(wantPairs)
		return g, e, err
	case o.Method.IsExact():
		e, err := group.NewExact(c.Corpus, o, c.fp)
		if err != nil {
			return nil, nil, err
		}
		if err := cmp.Or(c.load(nil, e.Take), e.Finish()); err != nil {
			return nil, nil, err
		}
		defer c.comparing()()
		g, err = e.Group(wantPairs)
		return g, e, err
	}
	var signatures *load.Signatures
	if o.Method.Name == "minhash" {
		signatures = load.NewSignatures(o)
	}
	if err := c.load(signatures, load.Nowhere); err != nil {
		return nil, nil, err
	}
	defer c.comparing()()
	if o.Method.Name == "given" {
		g, err = group.ByGiven(c.Corpus, o)
	} else {
		g, err = group.ByMarks(c.Corpus, o, signatures, wantPairs)
	}
	return g, nil, err
}

// load loads the documents.
func (c *call) load(signatures *load.Signatures, take func([]load.Taken) error) error {
	l := load.Loader{Corpus: c.Corpus, Options: c.o, Marker: load.Marker{Method: &c.o.Method, Fingerprinter: c.fp, Signatures: signatures}, Take: take}
	return l.Run()
}

// comparing shows that documents are compared, until end is called.
func (c *call) comparing() (end func()) {
	c.Log.Progress.Begin(fmt.Sprintf("comparing %s", cli.Count(c.Docs.Len(), "document", "documents")), 0, "")
	return c.Log.Progress.End
}

// write writes the outputs, gives them their names, and prints the summary.
func (c *call) write(to *write.Outputs, g *group.Groups, engine group.Engine, start time.Time) error {
	version, err := c.fp.Version()
	if err != nil {
		version = err.Error()
	}
	r := &write.Results{Corpus: c.Corpus, Options: c.o, Groups: g, Engine: engine, Version: version}
	if err := write.Keep(r); err != nil {
		return err
	}
	if err := r.Write(to); err != nil {
		return err
	}
	if err := c.outs.Commit(); err != nil {
		return err
	}
	return r.Summary(to.Summary, time.Since(start))
}

// end returns the error that says that there are duplicates, if the call is to say so.
func (c *call) end(g *group.Groups) error {
	if c.o.ExitCode && g.Duplicates() > 0 {
		return ErrDuplicates
	}
	return nil
}

// dedupWithState does the work of a call that compares with the documents of earlier ones. After an error it takes back what it has added.
func (c *call) dedupWithState(to *write.Outputs, start time.Time) error {
	st, err := group.OpenState(c.Corpus, c.o, c.fp)
	if err != nil {
		return err
	}
	groups, err := c.addToState(st, to, start)
	if err != nil {
		return errors.Join(err, st.RollBack())
	}
	return c.end(groups)
}

// addToState adds the documents to those of earlier calls, groups them and writes the outputs.
func (c *call) addToState(st *group.State, to *write.Outputs, start time.Time) (*group.Groups, error) {
	if err := cmp.Or(c.load(nil, st.Take), st.Finish()); err != nil {
		return nil, err
	}
	g, err := func() (*group.Groups, error) {
		defer c.comparing()()
		return st.Group(to.WantPairs())
	}()
	if err != nil {
		return nil, err
	}
	if err := c.write(to, g, st, start); err != nil {
		return nil, err
	}
	return g, st.End(g)
}
