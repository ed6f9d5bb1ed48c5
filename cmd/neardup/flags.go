package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/cmd/neardup/options"
	"github.com/neardup/neardup/cmd/neardup/shards"
)

// This file has the flags of dedup and estimate, and checks them.

// inputFlags say what to read.
type inputFlags struct {
	Inputs []string `arg:"" optional:"" name:"input" help:"Files, directories and patterns such as 'pages/**/*.jsonl', or - for standard input."`

	FilesFrom string `group:"input" placeholder:"FILE" help:"A file that lists inputs, one path per line or separated by NUL bytes; - for standard input."`
	Format    string `group:"input" placeholder:"NAME" help:"Format of all inputs, whatever their names: jsonl, json, csv, tsv, xlsx, parquet, arrow, warc, html, txt (a file is a document) or lines (a line is a document). By default the file name determines the format; - is jsonl. Files may be compressed: .gz, .zst, .xz, .bz2."`
	ID        string `group:"input" name:"id" default:"id" placeholder:"NAME" help:"Field or column with the id; a.b is the field b in the field a. Unless this is given, a document without an id is identified by its file and line."`
	WithoutID string `group:"input" name:"without-id" default:"line" placeholder:"NAME" help:"How to identify a document without an id: line, by its file and line, or hash, by a hash of its text, with a number appended if several have the same."`
	SameID    string `group:"input" name:"same-id" default:"error" placeholder:"NAME" help:"What to do with documents that share an id: error; first or last, which keeps only that one; or number, which gives the others ids such as a-2. With last, the inputs are read twice."`
	Encoding  string `group:"input" placeholder:"NAME" help:"Encoding of the inputs, such as gb18030, utf-16 or windows-1252; all WHATWG encodings are supported. By default it is detected, and reported if it is not UTF-8."`
	Separator string `group:"input" placeholder:"CHAR" help:"What separates the columns of .csv files; tab for a tab. By default it is detected, and reported if it is not a comma."`
	Sheet     string `group:"input" placeholder:"NAME" help:"Sheet of a workbook; by default the first one."`
	HeaderRow int    `group:"input" placeholder:"N" help:"Row of a workbook, or line of a .csv or .tsv file, with the column names. By default it is the first row that is not empty, or a row below a title if it has the required columns."`
	NoHeader  bool   `group:"input" help:"The first row of a .csv or .tsv file or a workbook is data. The columns are named A, B, C and so on, as in spreadsheets."`
	MaxLine   int    `group:"input" default:"67108864" placeholder:"BYTES" help:"Length of the longest line or .txt file that is accepted."`
	Empty     string `group:"input" default:"keep" placeholder:"NAME" help:"What to do with documents without text, or with white space only: keep, since they are not duplicates of each other, or drop."`
	SkipBad   bool   `group:"input" help:"Skip lines and files that cannot be read, report and count them, instead of stopping."`
}

// textFlags say what the text of a document is.
type textFlags struct {
	Text  string `group:"input" default:"text" placeholder:"NAMES" help:"Field or column with the text, or several, separated by commas. A path may go into objects and lists: meta.text, messages[role=user].content. Without the flag, chats (messages, conversations) and instructions are recognised."`
	Title string `group:"input" default:"title" placeholder:"NAME" help:"Field or column with the title, which counts as part of the text; it may be missing."`
}

// unitFlags say which rows are one document.
type unitFlags struct {
	Unit string `group:"input" placeholder:"NAME" help:"Make one document of all rows with the same value of this field or column: the files of a repository, the messages of a thread, the pages of a book. Their texts are joined in the order of the rows, and the value is the id. --out and --annotate have the rows."`
}

// outputFlags say what to write.
type outputFlags struct {
	decisionFlags
	Pairs  string `group:"output" placeholder:"FILE" help:"The pairs: two ids, their similarity, distance or score, and with auto and cosine their kind and probability, sorted. A .csv or .jsonl file also has their group and its size; otherwise the file is tab-separated, without header and groups."`
	Report string `group:"output" placeholder:"FILE.html" help:"An HTML page that shows the pairs side by side, with their differences and why they match. See the command review."`
}

// decisionFlags say what to write of what is decided about each document.
type decisionFlags struct {
	Out      string `group:"output" placeholder:"FILE" help:"The cleaned collection: the document that each group keeps, unchanged. The name determines the format: .jsonl, .csv, .tsv, .xlsx, .parquet or .arrow for documents of any format, .txt for lines. This name, and those of the other outputs, may end in .gz or .zst."`
	Annotate string `group:"output" placeholder:"FILE" help:"The whole collection, with added columns: the group of each document and its size, whether the document is kept, and otherwise which one is kept instead and how similar they are. The name must end in .csv or .xlsx, which Excel opens, .parquet, .arrow or .jsonl."`
	Groups   string `group:"output" aliases:"clusters" placeholder:"FILE" help:"The groups: each id, and the id of the document that its group keeps. A .csv or .jsonl file also has the name and size of the group; otherwise the file is tab-separated, without a header."`
	Audit    string `group:"output" placeholder:"FILE" help:"One row for each removed document, as .csv or .jsonl: its place, the document that is kept instead, their similarity, and the settings and inputs of the run. It also has what neardup verify needs: the share of words in common, and the SHA-256 of the texts and inputs."`
	JSON     bool   `group:"output" name:"json" help:"Print the summary as JSON."`
	Quiet    bool   `group:"output" short:"q" help:"Print errors only, and the summary if --json is given."`
	ExitCode bool   `group:"output" help:"Exit with status 3 if there are duplicates."`
}

// groupFlags say what near-duplicates and groups are.
type groupFlags struct {
	thresholdFlags
	Bias      float64 `group:"method" default:"0" placeholder:"X" help:"Number to add to the log odds of every pair; the command calibrate prints it."`
	Normalize string  `group:"method" placeholder:"STEPS" help:"Clean the texts first, by steps separated by commas: ${steps}."`
}

// thresholdFlags say which pairs count, and what becomes of them.
type thresholdFlags struct {
	Similarity  float64 `group:"method" placeholder:"X" help:"The smallest similarity of near-duplicates. With the methods auto and cosine it is the cosine of the two texts, and decides instead of the probability. With minhash it is the Jaccard similarity: the number of features that both documents have, divided by the number that either has; the default is 0.6."`
	Kinds       string  `group:"method" placeholder:"NAMES" help:"The kinds of pairs that count, separated by commas: identical, same-words, same-form (one form filled in differently, or pages of one template), same-except-numbers (numbers, dates, addresses), contained, revised; or all. The default is all but same-form."`
	Linkage     string  `group:"method" default:"centre" placeholder:"NAME" help:"What joins the documents of a group: centre (every member is a near-duplicate of the one that is kept), complete (every two members are) or single (a chain of near-duplicates connects any two)."`
	Keep        string  `group:"method" default:"first" placeholder:"NAME" help:"Which document of a group to keep: first, longest or newest."`
	Copies      string  `group:"method" default:"1" placeholder:"N" help:"How many documents of a group to keep: a number; sqrt or log2 for a number that grows with the size of the group (of 100 documents 10, or 7); or source for one of each source. --keep says which come first. The document that names the group is always among them; the others may be copies of each other."`
	Source      string  `group:"method" placeholder:"NAME" help:"Field or column that says where a document is from: a site, an author, a donor. It may be the one with the id. Of a URL the host counts. The summary then says how much of each source is removed, and in favour of which other one. The inputs are read once more, unless it is the id."`
	MostRemoved float64 `group:"method" default:"1" placeholder:"X" help:"Stop with an error, before anything is written, if more than this share of all documents, or of a source with 20 documents or more, would be removed."`
	Probability float64 `group:"method" default:"0.5" placeholder:"X" help:"The smallest probability that two documents are near-duplicates, with the methods auto and cosine. A higher value finds fewer pairs, with fewer false positives."`
}

// oldFlags say what earlier calls have left.
type oldFlags struct {
	Against string `group:"old" placeholder:"PATH" help:"A file or directory with an old collection, or a FILE.fp that --save wrote. A new document that is a near-duplicate of an old one counts as a duplicate. Old documents are not compared with each other."`
	Save    string `group:"old" placeholder:"FILE.fp" help:"The ids and fingerprints of all documents, old and new. A later run can read them with --against; it must use the same settings, except --distance. A new document replaces an old one with the same id. Texts without letters and digits have no fingerprint to compare, so a later run finds no copies of them."`
	State   string `group:"old" placeholder:"DIR" help:"Keep the documents of all runs in DIR, which is created if it does not exist. A run compares its documents with each other and with those in DIR, and adds them. A document replaces an earlier one with the same id. To resume a run that was killed, repeat it. With --shard, DIR belongs to the shard, and nothing is kept for later runs."`
}

// methodFlags say how documents are compared.
type methodFlags struct {
	Method      string  `group:"method" default:"auto" placeholder:"NAME" help:"How to compare documents. auto: by everything that the two texts share and do not share; the program chooses the features. cosine: the same with your --tokenizer and --weights. minhash: by signatures, which estimate the Jaccard similarity. simhash: by the distance of fingerprints, the fastest; finds copies and light edits."`
	Tokenizer   string  `group:"tuning" default:"words2" placeholder:"NAME" help:"What to cut texts into; not with auto: ${tokenizers}."`
	Weights     string  `group:"tuning" default:"count" placeholder:"NAME" help:"The weight of a feature: ${weights}."`
	Stats       string  `group:"tuning" placeholder:"FILE" help:"Document frequencies. If the file exists, they are read from it; otherwise they are counted and written to it."`
	Boilerplate int     `group:"tuning" placeholder:"N" help:"Ignore lines that occur in at least N different texts, old and new. Choose N larger than any group of near-duplicates. The inputs are read twice."`
	Lines       string  `group:"tuning" placeholder:"FILE" help:"The lines that --boilerplate finds. If the file exists, its lines are ignored, and no others are looked for."`
	Values      int     `group:"tuning" default:"128" placeholder:"N" help:"With minhash, the number of values of a signature. The standard error of a similarity is at most 0.5/√N."`
	Bits        int     `group:"tuning" default:"64" placeholder:"N" help:"With simhash, the width of the fingerprints: 64 or 128 bits."`
	Distance    int     `group:"tuning" default:"3" placeholder:"N" help:"With simhash, the largest Hamming distance of near-duplicates, in bits."`
	Metadata    string  `group:"tuning" placeholder:"NAMES" help:"With simhash, fields or columns with keywords, tags or references, separated by commas. Documents are then compared by fingerprint and metadata together (Wang 2019). A value is a list, or a text with commas or semicolons."`
	Content     float64 `group:"tuning" default:"0.9" placeholder:"X" help:"With --metadata, the weight of the content in the score, above 0 and at most 1."`
	Score       float64 `group:"tuning" default:"0.25" placeholder:"X" help:"With --metadata, the smallest score of near-duplicates: content/(distance+1) + (1−content)·similarity of the metadata."`
	Secret      string  `group:"tuning" placeholder:"FILE" help:"A secret of at least 16 bytes that seeds the hash, so that nobody can forge texts with a chosen fingerprint. Line ends after the secret are ignored."`
}

// defaults returns flags with their defaults, for commands that do not have them.
func defaults[T any]() (f T) {
	if err := kong.ApplyDefaults(&f, kong.Vars(helpVars())); err != nil {
		panic(err) // a default that its own flag does not take
	}
	return f
}

// runFlags say what a call may use.
type runFlags struct {
	Memory  string `group:"running" placeholder:"SIZE" help:"How much memory to use, such as 800M or 8G. What does not fit goes to temporary files, in $$TMPDIR. The default is half of the memory of the machine."`
	Workers int    `group:"running" default:"${workers}" placeholder:"N" help:"Number of texts to work on at the same time; the results do not depend on it."`
}

// flags are those of all commands.
type flags struct {
	inputFlags
	textFlags
	outputFlags
	groupFlags
	oldFlags
	methodFlags
	runFlags
	schema string `kong:"-"` // only of records
	unit   string `kong:"-"` // only of dedup and passages
	shard  string `kong:"-"` // only of dedup
}

// flagGroups are the titles of the groups of flags in the help, in their order.
var flagGroups = [][2]string{
	{"input", "What to read"},
	{"output", "What to write"},
	{"method", "What counts as a near-duplicate"},
	{"old", "Earlier runs"},
	{"tuning", "Your own features and methods"},
	{"running", "Running"},
}

// options checks the flags. given has the values of those that the user set, by name. The error says what is
// wrong.
func (f *flags) options(given map[string]string) (*options.Options, error) {
	o := &options.Options{
		Reading: options.Reading{
			Inputs: options.Inputs{Args: f.Inputs, Against: f.Against, Format: f.Format, FilesFrom: f.FilesFrom}, MaxLine: f.MaxLine, SkipBad: f.SkipBad, Empty: f.Empty, SameID: f.SameID, Unit: f.unit, SchemaFile: f.schema,
			Cols:    input.Columns{ID: f.ID, Text: f.Text, Title: f.Title, Metadata: f.Metadata, WithoutID: f.WithoutID, Encoding: f.Encoding, Layout: input.Layout{Sheet: f.Sheet, HeaderRow: f.HeaderRow, NoHeader: f.NoHeader}},
			Workers: f.Workers,
		},
		Features: options.Features{Tokenizer: f.Tokenizer, Normalize: f.Normalize, Secret: f.Secret, Lines: f.Lines, Weights: f.Weights, Stats: f.Stats, Boilerplate: f.Boilerplate},
		Writing: options.Writing{Out: f.Out, Annotate: f.Annotate, Pairs: f.Pairs, Groups: f.Groups, Audit: f.Audit, Report: f.Report, Save: f.Save,
			JSON: f.JSON, Quiet: f.Quiet, ExitCode: f.ExitCode},
		State: f.State,
	}
	o.Method.Name, o.Method.Least, o.Method.Probability, o.Method.Bias = f.Method, f.Similarity, f.Probability, f.Bias
	o.Method.Joins, o.Method.Keep, o.Method.Copies = f.Linkage, f.Keep, f.Copies
	o.Method.Source, o.Method.MostRemoved = f.Source, f.MostRemoved
	o.Method.Bits, o.Method.Distance, o.Method.MinHash.Values = f.Bits, f.Distance, f.Values
	o.Method.Blend.Content, o.Method.Blend.Threshold = f.Content, f.Score
	isGiven := map[string]bool{}
	for name, value := range given {
		isGiven[name] = true
		if !slices.Contains(options.OwnFlags, name) {
			o.Set = append(o.Set, "--"+name+"="+value)
		}
	}
	slices.Sort(o.Set)
	o.Cols.IDGiven = isGiven["id"]
	if !isGiven["title"] && slices.Contains(o.Cols.Texts(), o.Cols.Title) {
		o.Cols.Title = ""
	}
	var err error
	if o.Cols.Separator, err = separator(f.Separator); err != nil {
		return nil, err
	}
	if f.shard != "" {
		if o.Shard, err = options.ParseShard(f.shard); err != nil {
			return nil, err
		}
		o.PartDir, o.State = o.State, ""
		o.PartFiles = shards.Files(o.PartDir)
	}
	if f.Kinds != "" {
		if err = o.Method.Kinds.UnmarshalText([]byte(f.Kinds)); err != nil {
			return nil, fmt.Errorf("--kinds %q: %w", f.Kinds, err)
		}
		if o.Method.Kinds == 0 {
			return nil, fmt.Errorf("--kinds %q: name at least one of %v", f.Kinds, neardup.AllKinds)
		}
	}
	if f.Memory != "" {
		if o.Memory, err = parseBytes(f.Memory); err != nil {
			return nil, fmt.Errorf("--memory %q: %w", f.Memory, err)
		}
	}
	o.Cols.Room = options.Room(o.Memory)
	if wrong := o.Check(isGiven); wrong != "" {
		return nil, errors.New(wrong)
	}
	return o, nil
}

// separator returns the rune that --separator names, or 0.
func separator(name string) (rune, error) {
	if name == "tab" || name == "\\t" {
		return '\t', nil
	}
	r, n := utf8.DecodeRuneInString(name)
	if name != "" && (n != len(name) || r == utf8.RuneError || strings.ContainsRune("\"\r\n\ufeff", r)) {
		return 0, fmt.Errorf("--separator %q: must be one character, not a quote or a line end", name)
	}
	if name == "" {
		return 0, nil
	}
	return r, nil
}

// parseBytes returns a number of bytes: a number with K, M, G or T behind it, for powers of 1024, or without.
func parseBytes(text string) (int64, error) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	shift := 0
	if n := len(number); n > 0 {
		if i := strings.IndexByte("KMGT", number[n-1]); i >= 0 {
			number, shift = number[:n-1], 10*(i+1)
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if bytes := x * float64(int64(1)<<shift); err == nil && bytes >= 64<<20 && bytes < 1<<60 {
		return int64(bytes), nil
	}
	return 0, errors.New("must be at least 64M, such as 800M or 8G")
}
