// Command neardup-beam finds the near-duplicates of a collection that is too large for one machine, on Apache Beam: on
// Flink, Spark or Dataflow, or for trials on Prism, in this process.
//
//	neardup-beam -input 'crawl/*.jsonl.gz' -output cleaned/ -method minhash
//
// It writes kept-*.jsonl (one document of each group, and all that have no near-duplicates), groups-*.jsonl, and
// notes-*.jsonl, and with -pairs also pairs-*.jsonl. https://github.com/neardup/neardup/blob/main/docs/beyond.md tells how to run it on a cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	"github.com/neardup/neardup"
	neardupbeam "github.com/neardup/neardup/beam"
)

// This file reads the flags and builds the pipeline. Workers run the same program: beam.Init makes it one,
// and does not return there.

// The features that -features can name. Workers find these functions by name, so they are at the top level
// and registered in init, which workers run too; function literals have no stable names.
var features = map[string]func() neardup.Fingerprinter{"words": words, "words2": words2, "words3": words3, "chars3": chars3, "chars5": chars5}

func words() neardup.Fingerprinter  { return neardup.Fingerprinter{Tokenizer: neardup.Words{}} }
func words2() neardup.Fingerprinter { return neardup.Fingerprinter{} }
func words3() neardup.Fingerprinter {
	return neardup.Fingerprinter{Tokenizer: neardup.Shingles{N: 3}}
}
func chars3() neardup.Fingerprinter { return neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 3}} }
func chars5() neardup.Fingerprinter { return neardup.Fingerprinter{Tokenizer: neardup.NGrams{N: 5}} }

func init() {
	for _, f := range features {
		beam.RegisterFunction(f)
	}
}

// A job is what the flags say.
type job struct {
	neardupbeam.Options
	from                           neardupbeam.ReadOptions
	input, output                  string
	shards                         int
	withPairs                      bool
	features, linkage, keep, kinds string
}

func main() {
	var j job
	j.define()
	flag.Parse()
	// Flags must be parsed before Init. On a worker it does not return, so what is below runs only where
	// the job is made.
	beam.Init()
	err := j.check()
	if err == nil {
		err = j.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "neardup-beam:", err)
		os.Exit(1)
	}
}

// define defines the flags.
func (j *job) define() {
	flag.StringVar(&j.input, "input", "", "the input files, as patterns separated by commas: local, gs:// or s3://")
	flag.StringVar(&j.output, "output", "", "the prefix of the names of the output files, such as cleaned/ or gs://bucket/cleaned-")
	flag.IntVar(&j.shards, "shards", 0, "the number of files for each output; a worker holds a whole file in memory (default: one per 100,000 documents, at least 10)")
	flag.BoolVar(&j.withPairs, "pairs", false, "also write the pairs; m equal documents have m(m-1)/2")
	flag.StringVar(&j.features, "features", "", "the features that texts are compared by: words, words2 (the default) or words3 (runs of words), chars3 or chars5 (runs of characters); without it, auto chooses")
	flag.StringVar(&j.linkage, "linkage", "centre", "what joins the documents of a group: centre, complete or single, as in neardup dedup")
	flag.StringVar(&j.keep, "keep", "longest", "the document of a group to keep: longest, or first (the smallest id)")
	flag.StringVar(&j.from.ID, "id-field", "", "the field with the id (default id)")
	flag.StringVar(&j.from.Text, "text-field", "", "the field with the text (default text), or several separated by commas, such as title,keywords,text")
	flag.StringVar(&j.from.Format, "format", "", "jsonl, parquet, lines or text; detected from the file names by default")
	flag.StringVar((*string)(&j.Method), "method", "auto", "auto, simhash, minhash or cosine, as in neardup dedup")
	flag.Float64Var(&j.Probability, "probability", 0, "auto: the smallest probability of near-duplicates (default 0.5)")
	flag.StringVar(&j.kinds, "kinds", "", "auto: the kinds of pairs that count, separated by commas, as in neardup dedup")
	flag.Int64Var(&j.Memory, "memory", 0, "auto: how many bytes a worker may use for connected documents (default 1 GB)")
	flag.IntVar(&j.Distance, "distance", 0, "simhash: the largest distance, in bits (default 3)")
	flag.IntVar(&j.Bits, "bits", 0, "simhash: the width of fingerprints, 64 or 128 (default 64)")
	flag.IntVar(&j.Blocks, "blocks", 0, "simhash: the number of blocks of a fingerprint; 0 lets -documents decide")
	flag.Float64Var(&j.Documents, "documents", 1e6, "the approximate number of documents; it only affects the cost and the number of files")
	flag.Float64Var(&j.Similarity, "similarity", 0, "the smallest Jaccard similarity (minhash, default 0.6) or cosine")
	flag.IntVar(&j.Values, "values", 0, "minhash, cosine: the number of values of a signature (default 128)")
	flag.IntVar(&j.SampleEvery, "sample-every", 0, "cosine: count features in only one of every N documents")
	flag.IntVar(&j.HotBucket, "hot-bucket", 0, "the largest number of contents in a bucket that one worker compares (default 4096)")
}

// linkages has what -linkage can name.
var linkages = map[string]neardup.Linkage{"centre": neardup.CentreLinkage, "complete": neardup.CompleteLinkage, "single": neardup.SingleLinkage}

// check checks the flags, and completes them. An error here costs nothing; the same one on a cluster would
// cost the start of the job. So it also checks what the transforms would panic about.
func (j *job) check() (err error) {
	j.KeepFirst = j.keep == "first"
	// With auto, no Fingerprinter means that package dedup chooses the features.
	if j.Fingerprinter = features[j.features]; j.features == "" && j.Method != neardupbeam.Auto {
		j.Fingerprinter = words2
	}
	l, known := linkages[j.linkage]
	j.Linkage = l
	if j.kinds != "" {
		err = j.Kinds.UnmarshalText([]byte(j.kinds))
	}
	// A worker sorts a file in memory, so files must not grow with the collection.
	if j.shards == 0 {
		j.shards = int(min(max(10, j.Documents/100_000), 99_999))
	}
	err = errors.Join(err, j.Check(), j.from.Check())
	switch {
	case err != nil:
		return err
	case j.input == "" || j.output == "":
		return errors.New("-input and -output are required")
	case flag.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; give the inputs with -input", flag.Arg(0))
	case j.features != "" && j.Fingerprinter == nil:
		return fmt.Errorf("-features %q: must be words, words2, words3, chars3 or chars5", j.features)
	case !known:
		return fmt.Errorf("-linkage %q: must be centre, complete or single", j.linkage)
	}
	return j.checkRest()
}

// checkRest is the rest of check.
func (j *job) checkRest() error {
	switch {
	case j.keep != "longest" && j.keep != "first":
		return fmt.Errorf("-keep %q: must be longest or first", j.keep)
	case j.shards < 1 || j.shards > 99_999:
		return fmt.Errorf("-shards %d: must be from 1 to 99999", j.shards)
	case isGiven("distance") && j.Distance == 0: // which would be the default
		return errors.New("-distance 0: must be 1 or more")
	case !(j.Documents > 0):
		return fmt.Errorf("-documents %g: must be more than 0", j.Documents)
	}
	return nil
}

// isGiven reports whether a flag is on the command line. The value alone cannot tell: the zero value of an
// option means its default.
func isGiven(name string) (is bool) {
	flag.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// run runs the pipeline. Write would replace files of these names, which may be the result of another job,
// so it asks first. It asks for all outputs, whether this job writes them or not: what is left of another
// job must not lie beside the new files.
func (j *job) run(ctx context.Context) error {
	for _, name := range []string{"kept", "groups", "notes", "pairs", "families"} {
		exists, err := neardupbeam.Exists(ctx, j.output+name)
		if err != nil {
			return err
		}
		if exists {
			return fmt.Errorf("%s%s-*.jsonl already exist; choose another -output, or remove them", j.output, name)
		}
	}
	p, s := beam.NewPipelineWithRoot()
	documents, bad := neardupbeam.Read(s, strings.Split(j.input, ","), j.from)
	found := neardupbeam.NearDuplicates(s, documents, j.Options)
	neardupbeam.Write(s, j.output+"kept", j.shards, found.Kept)
	neardupbeam.Write(s, j.output+"groups", j.shards, found.Groups)
	neardupbeam.Write(s, j.output+"notes", j.shards, beam.Flatten(s, found.Notes, bad))
	if j.Method == neardupbeam.Auto {
		neardupbeam.Write(s, j.output+"families", 1, found.Families)
	}
	if j.withPairs {
		neardupbeam.Write(s, j.output+"pairs", j.shards, found.Pairs(s))
	}
	return beamx.Run(ctx, p)
}
