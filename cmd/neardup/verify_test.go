package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerify: an audit holds for the inputs that it was made of, in any format, and for no others.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	text := func(n int) string {
		return fmt.Sprintf("The council of Oakham will repair the bridge across the river in week %d of the year, as İstanbul did; 请市政府尽快修复中山路的路面！ ประเทศไทย \xff", n)
	}
	write := func(name, s string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	must := func(args ...string) string {
		t.Helper()
		status, out, errs := inDirectory(t, dir, args...)
		if status != 0 {
			t.Fatalf("%q: status %d: %s", args, status, errs)
		}
		return out
	}
	write("old.csv", "id,text\n-1,\""+text(1)+"\"\n=q,\"Something else altogether, about fish\"\n")
	write("new.jsonl", `{"id":"a","text":"Fish and chips, and vinegar, for the two of us"}`+"\n"+`{"id":"b","text":`+fmt.Sprintf("%q", strings.ToValidUTF8(text(2), ""))+"}\n"+`{"id":"c","title":"Fish and","text":"chips; and vinegar, for the two of us"}`+"\n")
	for _, audit := range []string{"audit.csv", "audit.jsonl", "audit.csv.gz"} {
		must("dedup", "-q", "--against", "old.csv", "--audit", audit, "new.jsonl")
		if out := must("verify", audit, "new.jsonl", "old.csv"); !strings.HasPrefix(out, "2 documents were removed.") || !strings.Contains(out, "    0.9") {
			t.Errorf("%s: %s", audit, out)
		}
	}
	write("copy.csv", read(t, "old.csv"))
	must("records", "-q", "--audit", "records.csv", "--same-id", "number", "old.csv", "copy.csv")
	must("verify", "--records", "records.csv", "old.csv", "copy.csv")
	audit := read(t, "audit.csv")
	moved := t.TempDir() + "/moved.jsonl"
	os.WriteFile(moved, []byte(read(t, "new.jsonl")), 0o666)
	must("verify", "audit.csv", moved, "old.csv")
	os.WriteFile(filepath.Join(dir, "twins.jsonl"), []byte(`[{"id":"p","text":"Some words that stand here twice, in one line"},{"id":"q","text":"Some words that stand here twice, in one line."},{"id":"r","text":"else"}]`), 0o666)
	os.Rename("twins.jsonl", "twins.json")
	must("dedup", "-q", "--out", "left.jsonl", "--audit", "twins.csv", "twins.json") // objects of one line have places of their own
	must("verify", "twins.csv", "twins.json")
	if got := read(t, "left.jsonl"); !strings.Contains(got, `"p"`) || !strings.Contains(got, `"r"`) || strings.Contains(got, `"q"`) {
		t.Errorf("left are %s", got)
	}
	for _, at := range []string{"a", "b"} { // equal files that have other names now
		os.MkdirAll(filepath.Join(dir, at), 0o777)
		for _, name := range []string{"1.txt", "2.txt", "3.txt", "4.txt"} {
			os.WriteFile(filepath.Join(dir, at, name), []byte("the same text in four files"), 0o666)
		}
	}
	must("dedup", "-q", "--method", "simhash", "--save", "old.fp", "old.csv")
	must("dedup", "-q", "--method", "simhash", "--against", "old.fp", "--audit", "fp.csv", "--distance", "20", "new.jsonl")
	must("verify", "fp.csv", "new.jsonl")
	must("dedup", "-q", "--audit", "files.csv", "a")
	os.RemoveAll(filepath.Join(dir, "a"))
	must("verify", "files.csv", "b")
	rows := strings.SplitAfter(audit, "\n")
	cells := strings.Split(rows[2], ",")
	shared := cells[9]
	cells[9] = "0.9999"
	changed := strings.Join(cells, ",")
	cells[9] = shared
	cells[0], cells[1], cells[2], cells[3], cells[10], cells[11] = cells[2], cells[3], cells[0], cells[1], cells[11], cells[10]
	swapped := strings.Join(cells, ",")
	one := func(audit string) string { return strings.ReplaceAll(audit, " removed=2", "") } // without the number of rows
	for name, test := range map[string]struct{ audit, input, flags, want string }{
		"number":        {audit: one(rows[0] + changed), want: "1.0000 of the words in common with a, but the audit says 0.9999"},
		"other id":      {audit: one(rows[0] + strings.Replace(rows[2], "c,", "d,", 1)), want: "the document there has the id c"},
		"other kept id": {audit: one(rows[0] + strings.Replace(rows[2], ",a,", ",b,", 1)), want: "the document at new.jsonl:1 has the id a"},
		"no place":      {audit: one(rows[0] + strings.Replace(rows[2], "a,new.jsonl:1", "a,", 1)), want: "does not say where"},
		"other suffix":  {audit: one(rows[0] + strings.Replace(rows[2], "c,", "c-x,", 1)), want: "the document there has the id c"},
		"two hashes":    {audit: one(rows[0] + strings.Replace(rows[2], cells[12]+","+cells[12], cells[12]+",0", 1)), want: "two hashes for new.jsonl"},
		"cut off":       {audit: rows[0] + rows[1], want: "the audit has only 1 of 2 rows"},
		"twice":         {audit: one(audit + rows[1]), want: "removed twice"},
		"kept":          {audit: strings.Replace(audit, "new.jsonl:3", "new.jsonl:1", 1), want: "has changed"},
		"both removed":  {audit: one(rows[0] + rows[2] + swapped), want: "is removed too"},
		"little shared": {audit: audit, flags: "--shared 0.99", want: "only 0.9"},
		"changed":       {audit: audit, input: strings.Replace(read(t, "new.jsonl"), "vinegar", "Vinegar", 1), want: "SHA-256 is different"},
		"shifted":       {audit: audit, input: "\n" + read(t, "new.jsonl"), want: "b new.jsonl:2: its text has changed"},
		"no audit":      {audit: "a,b\n1,2\n", want: "audit.csv:1: no column \"removed\""},
		"other table":   {audit: "removed,b\n1,2\n", want: "audit.csv:2: not a row that --audit wrote"},
	} {
		t.Run(name, func(t *testing.T) {
			write("audit.csv", test.audit)
			if test.input != "" {
				defer write("new.jsonl", read(t, "new.jsonl"))
				write("new.jsonl", test.input)
			}
			args := append([]string{"verify", "audit.csv", "new.jsonl", "old.csv"}, strings.Fields(test.flags)...)
			if status, _, errs := inDirectory(t, dir, args...); status != 1 || !strings.Contains(errs, test.want) {
				t.Errorf("status %d: %s", status, errs)
			}
		})
	}
}

// TestVerifySharesNothing: what checks an audit knows of this module only how inputs are read, and has at most 200 lines.
func TestVerifySharesNothing(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{join .Imports \"\\n\"}}", "./verify").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		if strings.Contains(path, ".") && path != "github.com/neardup/neardup/cmd/neardup/input" {
			t.Errorf("it imports %s", path)
		}
	}
	b, err := os.ReadFile("verify/verify.go")
	if n := strings.Count(string(b), "\n"); err != nil || n > 200 {
		t.Errorf("%d lines, %v", n, err)
	}
}

// TestLastingGroups: with --state a group keeps its name, also if a document joins it that is only like a member that came later.
func TestLastingGroups(t *testing.T) {
	dir := t.TempDir()
	words := strings.Fields("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty")
	var said strings.Builder
	for day, changed := range []int{0, 3, 6, 9} { // each is like that of the day before
		text := strings.Join(append([]string{"council", "road", "bridge", "school", "garden", "river", "harbour", "station", "market", "castle", "meadow", "chapel", "forest", "orchard", "cottage"}[:changed], words[changed:]...), " ")
		name := fmt.Sprintf("day%d", day)
		os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(fmt.Sprintf(`{"id":%q,"text":%q}`+"\n"+`{"id":"other%d","text":"Something else, number %d of its kind %s"}`+"\n", name, text, day, day, strings.Repeat(fmt.Sprint("w", day, " "), 9))), 0o666)
		status, out, errs := inDirectory(t, dir, "dedup", "-q", "--similarity", "0.6", "--state", "s", "--groups", name+".csv", "--annotate", name+".jsonl.out.jsonl", "--audit", "audit.jsonl", name+".jsonl")
		if status != 0 {
			t.Fatal(out, errs)
		}
		said.WriteString(strings.SplitAfter(read(t, name+".csv"), "\n")[1])
	}
	if want := "day0,day0,day0,1\nday1,day0,day0,2\nday2,day1,day0,3\nday3,day2,day0,4\n"; said.String() != want {
		t.Errorf("groups:\n%s\nwant\n%s", said.String(), want)
	}
	if got := read(t, "day3.jsonl.out.jsonl"); !strings.Contains(got, `"neardup_group":"day0","neardup_size":"4","neardup_kept":"no","neardup_like":"day2"`) {
		t.Errorf("annotated: %s", got)
	}
	// The document that names the group comes again: the next one names it.
	os.WriteFile(filepath.Join(dir, "again.jsonl"), []byte(`{"id":"day0","text":"`+strings.Join(words, " ")+`"}`), 0o666)
	if status, _, errs := inDirectory(t, dir, "dedup", "-q", "--similarity", "0.6", "--state", "s", "--groups", "again.csv", "again.jsonl"); status != 0 || !strings.HasSuffix(read(t, "again.csv"), "day0,day1,day1,4\n") {
		t.Errorf("again: %s%s", read(t, "again.csv"), errs)
	}
	b := []byte(read(t, "s/groups"))
	b[20] ^= 1
	os.WriteFile(filepath.Join(dir, "s/groups"), b, 0o666)
	if status, _, errs := inDirectory(t, dir, "dedup", "-q", "--state", "s", "day3.jsonl"); status != 1 || !strings.Contains(errs, "s/groups:1:") {
		t.Errorf("status %d: %s", status, errs)
	}
}
