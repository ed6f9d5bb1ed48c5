package main

import (
	"fmt"
	"strings"
	"testing"
)

// chain returns a collection: a chain of texts, where each is near the next but the first is not
// near the last; three texts without features, two of them equal; and two copies.
func chain() string {
	var b strings.Builder
	for i := range 6 {
		text := ""
		for w := range 100 + i {
			n := i*30 + w
			text += fmt.Sprintf("%c%c%ca ", 'a'+n/100, 'a'+n/10%10, 'a'+n%10) // letters, since digits would be figures
		}
		fmt.Fprintf(&b, "{\"id\":\"c%d\",\"text\":%q}\n", i, text)
	}
	b.WriteString("{\"id\":\"e1\",\"text\":\"!\"}\n{\"id\":\"e2\",\"text\":\"?\"}\n{\"id\":\"e3\",\"text\":\"!\"}\n")
	b.WriteString("{\"id\":\"x1\",\"text\":\"投诉：楼下施工噪音太大，影响休息\"}\n{\"id\":\"x2\",\"text\":\"投诉：楼下施工噪音太大，影响休息\"}\n")
	return b.String()
}

func groupsIn(clusters string) string {
	of := map[string]string{}
	var order []string
	for line := range strings.Lines(clusters) {
		id, root, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if of[root] == "" {
			order = append(order, root)
		}
		of[root] += " " + id
	}
	out := ""
	for _, root := range order {
		out += root + ":" + of[root] + "\n"
	}
	return out
}

func TestAuto(t *testing.T) {
	files := map[string]string{"x.jsonl": chain()}
	for _, test := range []struct{ args, groups string }{
		{"--method auto", "c1: c0 c1 c2\nc3: c3\nc5: c4 c5\ne1: e1 e3\ne2: e2\nx1: x1 x2\n"},
		{"--method auto --keep newest", "c1: c0 c1 c2\nc3: c3\nc5: c4 c5\ne3: e1 e3\ne2: e2\nx2: x1 x2\n"},
		{"--method auto --linkage single", "c0: c0 c1 c2 c3 c4 c5\ne1: e1 e3\ne2: e2\nx1: x1 x2\n"},
		{"--method auto --linkage single --keep longest", "c5: c0 c1 c2 c3 c4 c5\ne1: e1 e3\ne2: e2\nx1: x1 x2\n"},
		{"--method auto --similarity 1", "c0: c0\nc1: c1\nc2: c2\nc3: c3\nc4: c4\nc5: c5\ne1: e1 e3\ne2: e2\nx1: x1 x2\n"},
		{"--method cosine --tokenizer words --similarity 0.5 --linkage complete", "c0: c0 c1\nc2: c2 c3\nc4: c4 c5\ne1: e1 e3\ne2: e2\nx1: x1 x2\n"},
		{"--method cosine --weights count --similarity 0.6", "c0: c0 c1\nc2: c2 c3\nc4: c4 c5\ne1: e1 e3\ne2: e2\nx1: x1 x2\n"},
		{"--method cosine --weights tfidf --similarity 0.1 --linkage single", "c0: c0 c1 c2 c3 c4 c5\ne1: e1 e3\ne2: e2\nx1: x1 x2\n"},
	} {
		for _, workers := range []string{"1", "3"} {
			for _, pairs := range [][]string{nil, {"--pairs", "pairs"}} {
				args := append(append(strings.Fields(test.args), "--workers", workers, "--groups", "clusters", "x.jsonl"), nil...)
				args = append(pairs, args...)
				if status, _, stderr := runIn(t, files, "", args...); status != 0 {
					t.Fatalf("%s: %s", test.args, stderr)
				}
				if got := groupsIn(read(t, "clusters")); got != test.groups {
					t.Errorf("%s %v: groups\n%swant\n%s", test.args, pairs, got, test.groups)
				}
			}
		}
	}
	if status, stdout, stderr := runIn(t, files, "", "--method", "auto", "--pairs", "pairs", "--out", "out.jsonl", "x.jsonl"); status != 0 ||
		!strings.Contains(stdout, "2 texts have no letters") && !strings.Contains(stdout, "3 texts have no letters") {
		t.Fatalf("%d %s %s", status, stdout, stderr)
	}
	if got := read(t, "pairs"); !strings.Contains(got, "e1\te3\t1.0000\tidentical\t1.0000\nx1\tx2\t1.0000\tidentical\t1.0000\n") || !strings.HasPrefix(got, "c0\tc1\t0.") || strings.Count(got, "\n") != 7 {
		t.Errorf("pairs %q", got)
	}
	if got := read(t, "out.jsonl"); strings.Count(got, "\n") != 6 {
		t.Errorf("left are %q", got)
	}
	// Without the kind of the chain, only equal texts are left.
	if status, stdout, stderr := runIn(t, files, "", "--method", "auto", "--kinds", "identical,contained", "--pairs", "pairs", "x.jsonl"); status != 0 || read(t, "pairs") != "e1\te3\t1.0000\tidentical\t1.0000\nx1\tx2\t1.0000\tidentical\t1.0000\n" || !strings.Contains(stdout, "duplicates are expected to be false positives, likely ") {
		t.Errorf("%d %s %s %s", status, stdout, stderr, read(t, "pairs"))
	}
	if status, _, stderr := runIn(t, files, "", "--method", "auto", "--kinds", "similar", "x.jsonl"); status != 2 || !strings.Contains(stderr, "--kinds") {
		t.Errorf("%d %s", status, stderr)
	}
}

// TestAutoAgainst compares new documents with old ones. Old ones are not compared with each other.
func TestAutoAgainst(t *testing.T) {
	lines := strings.SplitAfter(chain(), "\n")
	old := strings.Join(lines[:3], "") + lines[6] + lines[9]
	fresh := strings.Join(lines[3:6], "") + strings.ReplaceAll(lines[6]+lines[9]+lines[9], `"id":"`, `"id":"n`)
	fresh = strings.Replace(fresh, "nx1", "nx2", 1)
	for _, pairs := range [][]string{nil, {"--pairs", "pairs"}} {
		files := map[string]string{"old.jsonl": old, "x.jsonl": fresh}
		status, stdout, stderr := runIn(t, files, "", append(pairs, "--method", "auto", "--against", "old.jsonl", "--groups", "clusters", "x.jsonl")...)
		if status != 0 {
			t.Fatal(stderr)
		}
		if got, want := groupsIn(read(t, "clusters")), "c2: c3\nc4: c4 c5\ne1: ne1\nx1: nx2 nx1\n"; got != want {
			t.Errorf("%v: groups\n%swant\n%s%s", pairs, got, want, stdout)
		}
		if pairs != nil {
			if got := read(t, "pairs"); strings.Count(got, "\n") != 7 || !strings.Contains(got, "c3\tc2\t0.") || !strings.Contains(got, "ne1\te1\t1.0000\tidentical\t1.0000\nnx1\tnx2\t1.0000\tidentical\t1.0000\nnx1\tx1\t1.0000\tidentical\t1.0000\nnx2\tx1\t1.0000\tidentical\t1.0000\n") {
				t.Errorf("pairs %q", got)
			}
		}
	}
}

// TestFeatureless: equal texts without letters are one group, whatever is kept and however groups are made.
func TestFeatureless(t *testing.T) {
	docs := `{"id":"1","text":"???"}` + "\n" + `{"id":"2","text":"!"}` + "\n" + `{"id":"3","text":"???"}` + "\n" + `{"id":"4","text":"???"}` + "\n"
	for _, flags := range []string{"", "--keep newest", "--keep longest", "--linkage complete", "--linkage single --keep newest"} {
		kept := "1"
		if strings.Contains(flags, "newest") {
			kept = "4"
		}
		status, _, errs := runIn(t, map[string]string{"x.jsonl": docs}, "", append(strings.Fields(flags), "--method", "auto", "--groups", "c", "x.jsonl")...)
		if got, want := read(t, "c"), "1\t"+kept+"\n2\t2\n3\t"+kept+"\n4\t"+kept+"\n"; status != 0 || got != want {
			t.Errorf("%s: %q, %s", flags, got, errs)
		}
	}
}
