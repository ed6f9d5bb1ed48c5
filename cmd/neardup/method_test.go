package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/neardup/neardup"
)

const tagged = `{"id":"a","text":"the quick brown fox jumps over the lazy dog","keywords":["Fox","dog"],"tags":"animals, prose"}
{"id":"b","text":"The quick, brown fox jumps over the lazy dog!","keywords":["dog","fox"],"tags":"prose;Animals"}
{"id":"c","text":"the quick brown fox jumps over the lazy dog","keywords":["tax","law"],"tags":""}
{"id":"d","text":"something else altogether, about fish and chips","keywords":[1,2]}
{"id":"e","text":"!!"}
{"id":"f","text":"??"}
`

func TestMinHashMethod(t *testing.T) {
	long := strings.Repeat("one two three four five six seven eight nine ten eleven twelve ", 3)
	files := map[string]string{"x.jsonl": fmt.Sprintf("{\"id\":\"a\",\"text\":%q}\n{\"id\":\"b\",\"text\":%q}\n{\"id\":\"c\",\"text\":%q}\n{\"id\":\"d\",\"text\":\"!\"}\n{\"id\":\"e\",\"text\":\"?\"}\n",
		long, long+"thirteen", "quite another text that has nothing in common with the first")}
	for _, test := range []struct{ args, pairs, clusters string }{
		{"--method minhash", "a\tb\t0.9231\n", "a\ta\nb\ta\nc\tc\nd\td\ne\te\n"}, // 12 of 13 pairs of words; exact, because there are so few
		{"--method minhash --similarity 0.93", "", "a\ta\nb\tb\nc\tc\nd\td\ne\te\n"},
		{"--method minhash --values 1024 --tokenizer words", "a\tb\t0.9231\n", "a\ta\nb\ta\nc\tc\nd\td\ne\te\n"},
	} {
		for _, workers := range []string{"1", "3"} {
			args := append(strings.Fields(test.args), "--workers", workers, "--pairs", "pairs", "--groups", "clusters", "x.jsonl")
			if status, _, stderr := runIn(t, files, "", args...); status != 0 {
				t.Fatalf("%s: %s", test.args, stderr)
			}
			if got := read(t, "pairs"); got != test.pairs {
				t.Errorf("%s: pairs %q, want %q", test.args, got, test.pairs)
			}
			if got := read(t, "clusters"); got != test.clusters {
				t.Errorf("%s: groups %q, want %q", test.args, got, test.clusters)
			}
			// Without --pairs, groups are found in a different way.
			if status, _, stderr := runIn(t, files, "", append(strings.Fields(test.args), "--groups", "clusters", "x.jsonl")...); status != 0 || read(t, "clusters") != test.clusters {
				t.Errorf("%s: groups without pairs %q %s", test.args, read(t, "clusters"), stderr)
			}
		}
	}
	// Equal texts, and new texts against old ones.
	files["old.jsonl"] = files["x.jsonl"]
	files["x.jsonl"] = fmt.Sprintf("{\"id\":\"n\",\"text\":%q}\n{\"id\":\"m\",\"text\":\"new\"}\n", long)
	if status, _, stderr := runIn(t, files, "", "--method", "minhash", "--against", "old.jsonl", "--pairs", "pairs", "--out", "out.txt", "--format", "", "x.jsonl"); status != 1 || !strings.Contains(stderr, "out.txt: this format cannot hold") {
		t.Fatalf("%d %s", status, stderr)
	}
	if status, _, stderr := runIn(t, files, "", "--method", "minhash", "--against", "old.jsonl", "--pairs", "pairs", "--out", "out.jsonl", "x.jsonl"); status != 0 {
		t.Fatal(stderr)
	}
	if got := read(t, "pairs"); got != "n\ta\t1.0000\nn\tb\t0.9231\n" {
		t.Errorf("against old ones: %q", got)
	}
	if got := read(t, "out.jsonl"); got != "{\"id\":\"m\",\"text\":\"new\"}\n" {
		t.Errorf("left are %q", got)
	}
}

func TestMetadata(t *testing.T) {
	csv := "id,text,keywords,tags\na,the quick brown fox jumps over the lazy dog,fox;DOG,\"animals, prose\"\nb,The quick brown fox jumps over the lazy dog,dog、fox,prose|animals\n"
	for _, test := range []struct{ args, pairs string }{
		{"--metadata keywords,tags x.jsonl", "a\tb\t1.0000\na\tc\t0.9000\nb\tc\t0.9000\n"},
		{"--metadata keywords,tags --content 0.6 --score 0.7 x.jsonl", "a\tb\t1.0000\n"}, // the same text, other keywords
		{"--metadata keywords --bits 128 x.jsonl", "a\tb\t1.0000\na\tc\t0.9000\nb\tc\t0.9000\n"},
		{"--metadata keywords,tags x.csv", "a\tb\t1.0000\n"},
		{"--metadata keywords,tags y.jsonl", "m\tn\t0.9000\nm\to\t0.9333\nn\to\t0.9333\n"}, // a tag is not a keyword
		{"--metadata n z.jsonl", "p\tq\t0.9000\nr\ts\t1.0000\n"},                           // numbers keep their spelling
		{"--metadata", ""},
		{"--metadata none x.jsonl", "a\tb\t1.0000\na\tc\t1.0000\nb\tc\t1.0000\n"},
	} {
		files := map[string]string{"x.jsonl": tagged, "x.csv": csv, "y.jsonl": `{"id":"m","text":"the quick brown fox","keywords":["go"]}
{"id":"n","text":"the quick brown fox","tags":["go"]}
{"id":"o","text":"the quick brown fox","tags":"go,go;fox,go","keywords":["go"]}
`, "z.jsonl": `{"id":"p","text":"the quick brown fox","n":[9007199254740993]}
{"id":"q","text":"the quick brown fox","n":[9007199254740992]}
{"id":"r","text":"a lazy dog sleeps","n":["1000000"]}
{"id":"s","text":"a lazy dog sleeps","n":[1000000]}
`}
		args := strings.Fields(test.args)
		if len(args) == 1 {
			args = []string{"--metadata", " keywords , tags", "x.csv"}
			test.pairs = "a\tb\t1.0000\n"
		}
		if status, _, stderr := runIn(t, files, "", append([]string{"--pairs", "pairs", "--groups", "clusters"}, args...)...); status != 0 {
			t.Fatalf("%s: %s", test.args, stderr)
		}
		if got := read(t, "pairs"); got != test.pairs {
			t.Errorf("%s: %q, want %q", test.args, got, test.pairs)
		}
		groups := read(t, "clusters")
		if status, _, stderr := runIn(t, files, "", append([]string{"--groups", "clusters"}, args...)...); status != 0 || read(t, "clusters") != groups {
			t.Errorf("%s: groups %q, with pairs %q %s", test.args, read(t, "clusters"), groups, stderr)
		}
	}
	// Metadata count as a set, and a text cannot look like metadata.
	for _, test := range []struct{ a, b, want string }{
		{`"text":"x y z","k":["a","b","a"]`, `"text":"x y z","k":["B","A"]`, "2 documents, 1 different text (different metadata counts too; 2 documents have metadata)"},
		{`"text":"x y z\u0000k=a","k":["b"]`, `"text":"x y z","k":["a","b"]`, "2 documents, 2 different texts"},
		{`"text":"x y z","k":["a\u0000k=b"]`, `"text":"x y z","k":["a","b"]`, "2 documents, 2 different texts"},
		{`"text":"x y z","k":["a"]`, `"text":"x y z"`, "2 documents, 2 different texts (different metadata counts too; 1 document has metadata)"},
	} {
		files := map[string]string{"x.jsonl": "{\"id\":\"1\"," + test.a + "}\n{\"id\":\"2\"," + test.b + "}\n"}
		if status, stdout, stderr := runIn(t, files, "", "--metadata", "k", "x.jsonl"); status != 0 || !strings.HasPrefix(stdout, test.want) {
			t.Errorf("%s and %s: %d %s%s", test.a, test.b, status, stdout, stderr)
		}
	}
	// Pairs are searched up to the largest distance at which metadata can still decide.
	a := "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
	for _, b := range []string{"nineteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty"} {
		b = strings.Replace(a, "nine", b, 1)
		d := neardup.Sum64(a).Distance(neardup.Sum64(b))
		files := map[string]string{"x.jsonl": fmt.Sprintf("{\"id\":\"1\",\"text\":%q,\"k\":\"x\"}\n{\"id\":\"2\",\"text\":%q,\"k\":\"x\"}\n", a, b)}
		for content, reach := range map[string]int{"0.9": 5, "0.85": 7, "0.8": 15} {
			if status, _, stderr := runIn(t, files, "", "--metadata", "k", "--content", content, "--pairs", "pairs", "x.jsonl"); status != 0 || (read(t, "pairs") != "") != (d <= reach) {
				t.Errorf("distance %d, content %s: %q %s", d, content, read(t, "pairs"), stderr)
			}
		}
	}
	for _, bad := range []string{`{"id":"a","text":"x","keywords":[[1]]}`, `{"id":"a","text":"x","keywords":{"a":1}}`, `{"id":"a","text":"x","keywords":7}`} {
		if status, _, stderr := runIn(t, map[string]string{"x.jsonl": "\n" + bad + "\n"}, "", "--metadata", "keywords", "x.jsonl"); status != 1 || !strings.Contains(stderr, `x.jsonl:2: "keywords"`) {
			t.Errorf("%s: %d %s", bad, status, stderr)
		}
	}
	if status, _, stderr := runIn(t, map[string]string{"x.csv": csv}, "", "--metadata", "keyword", "x.csv"); status != 1 || !strings.Contains(stderr, `x.csv:1: no column "keyword"`) {
		t.Errorf("%d %s", status, stderr)
	}
}

func TestMethodFlags(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--method cos x", `--method "cos"`}, {"--method auto --tokenizer words x", "--tokenizer can only be used with --method cosine, minhash, simhash"}, {"--method auto --linkage x x", `--linkage "x"`}, {"--method cosine --keep x x", `--keep "x"`}, {"--method minhash --probability 0.6 x", "--probability can only be used with --method auto, cosine"}, {"--method auto --probability 0.6 --similarity 0.5 x", "cannot be used together"}, {"--method auto --bias 21 x", "--bias 21"}, {"--method auto --similarity 1.5 x", "--similarity 1.5"}, {"--method minhash --bits 128 x", "--bits can only be used with --method simhash"}, {"--similarity 0.5 x", "--similarity can only be used with --method auto, cosine, minhash"},
		{"--method minhash --similarity 0 x", "--similarity 0"}, {"--method minhash --similarity NaN x", "--similarity NaN"}, {"--method minhash --values 8 x", "--values 8"},
		{"--method minhash --metadata keywords x", "--metadata can only be used with"}, {"--content 0.5 x", "only be used with --metadata"}, {"--metadata k --content 2 x", "--content 2"}, {"--metadata k --score=-1 x", "--score -1"},
		{"--metadata k --distance 3 x", "--distance cannot be used with --metadata"}, {"--metadata text x", "must name different fields"}, {"--metadata a,a x", "must name different fields"}, {"--metadata k --save x.fp x", "saved fingerprints"},
		{"--method minhash --against x.fp x", "saved fingerprints"}, {"--method minhash --save x.fp x", "--save can only be used with"}, {"--bits 65 x", "--bits 65"}, {"--metadata k --against x.fp x", "saved fingerprints"}, {"--metadata k, x", "empty"}, {"--distance 65 x", "--distance 65"},
	} {
		if status, _, stderr := runIn(t, nil, "", strings.Fields(test.args)...); status != 2 || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: %d %s", test.args, status, stderr)
		}
	}
}
