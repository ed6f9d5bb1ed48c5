// Command neardup-beam finds the near-duplicates of a collection that is too large for one machine, on Apache Beam: on
// Flink, Spark or Dataflow, or for a try on Prism, in this process.
//
//	neardup-beam -input 'crawl/*.jsonl.gz' -output cleaned/ -method minhash
//
// It writes kept-*.jsonl (one document of each group, and all that have no near-duplicates), groups-*.jsonl, and
// notes-*.jsonl, and with -pairs also pairs-*.jsonl. docs/beyond.md of the library tells how to run it on a cluster.
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

// The features that -features can name. Workers find these functions by name.
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

func main() {
	o := neardupbeam.Options{}
	var from neardupbeam.ReadOptions
	input := flag.String("input", "", "the files, as patterns with commas between: local, gs:// or s3://")
	output := flag.String("output", "", "what the names of the results begin with, such as cleaned/ or gs://bucket/cleaned-")
	shards := flag.Int("shards", 0, "the number of files of each result; each is in the memory of a worker once (default: one for 100,000 documents, 10 at least)")
	withPairs := flag.Bool("pairs", false, "also write the pairs; m equal documents have m(m-1)/2")
	feature := flag.String("features", "words2", "what texts are compared by: words, words2 or words3 (runs of words), chars3 or chars5 (runs of characters)")
	linkage := flag.String("group", "centres", "what a group is: centres, complete or chains, as in neardup dedup")
	keep := flag.String("keep", "longest", "the document of a group to keep: longest, or first (the smallest id)")
	flag.StringVar(&from.ID, "id-field", "", "the field with the id (default id)")
	flag.StringVar(&from.Text, "text-field", "", "the field with the text (default text)")
	flag.StringVar(&from.Format, "format", "", "jsonl, parquet, lines or text; by default the names tell")
	flag.StringVar((*string)(&o.Method), "method", "auto", "auto, simhash, minhash or cosine, as in neardup dedup")
	flag.Float64Var(&o.Probability, "probability", 0, "auto: the smallest probability of near-duplicates (default 0.5)")
	kinds := flag.String("kinds", "", "auto: the kinds of pairs that count, with commas between, as in neardup dedup")
	flag.Int64Var(&o.Memory, "memory", 0, "auto: how many bytes a worker may use for connected documents (default 1 GB)")
	flag.IntVar(&o.Distance, "distance", 3, "simhash: the largest distance, in bits")
	flag.IntVar(&o.Bits, "bits", 64, "simhash: the width of fingerprints, 64 or 128")
	flag.IntVar(&o.Blocks, "blocks", 0, "simhash: the number of blocks of a fingerprint; 0 lets -documents decide")
	flag.Float64Var(&o.Documents, "documents", 1e6, "about how many documents there are; it affects the cost and the number of files only")
	flag.Float64Var(&o.Similarity, "similarity", 0, "the smallest Jaccard similarity (minhash, default 0.6) or cosine")
	flag.IntVar(&o.Values, "values", 0, "minhash, cosine: the values of a signature (default 128)")
	flag.IntVar(&o.SampleEvery, "sample-every", 0, "cosine: count features in one of so many documents")
	flag.IntVar(&o.HotBucket, "hot-bucket", 0, "so many contents in a bucket are compared on one worker (default 4096)")
	flag.Parse()
	beam.Init()
	o.Fingerprinter, o.KeepFirst = features[*feature], *keep == "first"
	of := map[string]neardup.Linkage{"centres": neardup.Centres, "complete": neardup.CompleteLinks, "chains": neardup.Chains}
	l, known := of[*linkage]
	o.Linkage = l
	var err error
	if *kinds != "" {
		err = o.Kinds.UnmarshalText([]byte(*kinds))
	}
	if o.Method == neardupbeam.Auto && *feature == "words2" {
		o.Fingerprinter = nil // it chooses the features
	}
	err = errors.Join(err, o.Check(), from.Check())
	switch {
	case err != nil:
	case *input == "" || *output == "":
		err = errors.New("-input and -output are needed")
	case flag.NArg() > 0:
		err = fmt.Errorf("%q: what is this? inputs go behind -input", flag.Arg(0))
	case features[*feature] == nil:
		err = fmt.Errorf("-features %q: must be words, words2, words3, chars3 or chars5", *feature)
	case !known:
		err = fmt.Errorf("-group %q: must be centres, complete or chains", *linkage)
	case *keep != "longest" && *keep != "first":
		err = fmt.Errorf("-keep %q: must be longest or first", *keep)
	case *shards < 0 || *shards > 99_999:
		err = fmt.Errorf("-shards %d: must be from 1 to 99999", *shards)
	case o.Distance == 0:
		err = errors.New("-distance 0: must be 1 or more")
	case !(o.Documents > 0):
		err = fmt.Errorf("-documents %g: must be more than 0", o.Documents)
	default:
		if *shards == 0 {
			*shards = int(min(max(10, o.Documents/100_000), 99_999))
		}
		err = run(context.Background(), strings.Split(*input, ","), *output, *shards, *withPairs, from, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "neardup-beam:", err)
		os.Exit(1)
	}
}

// run runs the pipeline.
func run(ctx context.Context, input []string, output string, shards int, withPairs bool, from neardupbeam.ReadOptions, o neardupbeam.Options) error {
	for _, name := range []string{"kept", "groups", "notes", "pairs", "families"} {
		exists, err := neardupbeam.Exists(ctx, output+name)
		if err != nil {
			return err
		}
		if exists {
			return fmt.Errorf("%s%s-*.jsonl are there already; take another -output, or remove them", output, name)
		}
	}
	p, s := beam.NewPipelineWithRoot()
	documents, bad := neardupbeam.Read(s, input, from)
	found := neardupbeam.NearDuplicates(s, documents, o)
	neardupbeam.Write(s, output+"kept", shards, found.Kept)
	neardupbeam.Write(s, output+"groups", shards, found.Groups)
	neardupbeam.Write(s, output+"notes", shards, beam.Flatten(s, found.Notes, bad))
	if o.Method == neardupbeam.Auto {
		neardupbeam.Write(s, output+"families", 1, found.Families)
	}
	if withPairs {
		neardupbeam.Write(s, output+"pairs", shards, found.Pairs(s))
	}
	return beamx.Run(ctx, p)
}
