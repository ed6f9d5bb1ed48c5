package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/examples/internal/cli"
)

// call runs the program in a directory with files.
func call(t *testing.T, files map[string]string, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	if files != nil {
		dir := t.TempDir()
		t.Chdir(dir)
		for name, content := range files {
			if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out, err bytes.Buffer
	var outs cli.Outputs
	status = run(args, &outs, strings.NewReader(stdin), &out, &err)
	return status, out.String(), err.String()
}

const people = `id,name,born,phone,notes
1,Ann Smith,1956-04-09,020 8765 4321,"The roof leaks, and nobody
comes to repair it."
2,ann smith,9 April 1956,+86 20 8765 4321,The roof leaks and nobody comes to repair it
3,Bob Jones,1970-01-01,12345678,Something else entirely
4,Ann Smyth,1956-04-09,020-87654321,The roof leaks - nobody comes to repair it
5,,,,
6,,,,
`

const schema = `{
  "name": "chars2",
  "born": "date,weight=3",
  "phone": ["phone=86"],
  "notes": "large"
}`

// TestRecords checks pairs and groups from files, standard input and compressed files. They must
// not depend on the number of workers.
func TestRecords(t *testing.T) {
	files := map[string]string{"p.csv": people, "s.json": schema}
	for _, workers := range []string{"1", "3", "50"} {
		status, stdout, stderr := call(t, files, "", "-schema", "s.json", "-workers", workers, "-pairs", "pairs", "-clusters", "groups", "p.csv")
		if status != 0 || stderr != "" {
			t.Fatal(status, stderr)
		}
		if !strings.Contains(stdout, "6 records, 3 matches\n2 duplicates in 1 groups; 4 records are left") || !strings.Contains(stdout, "2 records have no values") {
			t.Error(stdout)
		}
		pairs, _ := os.ReadFile("pairs")
		lines := strings.Split(string(pairs), "\n")
		if len(lines) != 4 || lines[0] != "1\t2\t0\t1.0000" || !strings.HasPrefix(lines[1], "1\t4\t") || !strings.HasPrefix(lines[2], "2\t4\t") {
			t.Errorf("%q", pairs)
		}
		if groups, _ := os.ReadFile("groups"); string(groups) != "1\t1\n2\t1\n3\t3\n4\t1\n5\t5\n6\t6\n" {
			t.Errorf("%q", groups)
		}
	}
	status, stdout, stderr := call(t, nil, people, "-pairs", "-", "-")
	if status != 0 || !strings.Contains(stderr, "6 records") {
		t.Error(status, stdout, stderr)
	}
	status, stdout, stderr = call(t, nil, people, "-schema", "s.json", "-similarity", "0", "-distance", "30", "-pairs", "-", "-")
	if status != 0 || !strings.HasPrefix(stdout, "1\t2\t0\n") || !strings.Contains(stderr, "candidates, compared by their fingerprints only") {
		t.Error(status, stdout, stderr)
	}
	for _, args := range [][]string{{"-idf"}, {"-bits", "64"}, {"-idf", "-bits", "64", "-distance", "30", "-similarity", "0.3"}} {
		if status, stdout, stderr := call(t, nil, "", append(args, "-schema", "s.json", "-pairs", "-", "p.csv")...); status != 0 || !strings.HasPrefix(stdout, "1\t2\t0\t1.0000\n") {
			t.Error(args, status, stdout, stderr)
		}
	}
	// Without a schema, whole values are compared.
	if status, stdout, stderr := call(t, nil, "", "-pairs", "-", "-similarity", "0.9", "p.csv"); status != 0 || stdout != "" || !strings.Contains(stderr, "0 matches") {
		t.Error(status, stdout, stderr)
	}
}

// TestTable reads tables: names with quotes, keywords and spaces, nulls and numbers. The database
// is only read.
func TestTable(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.Join(dir, "my data?#%.sqlite")}).String())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`create table "select ""x"" from; --" ("the id" integer primary key, "group" text, "born ""on""" text, price real, note blob, secret text)`,
		`insert into "select ""x"" from; --" values (1, 'ann smith', '1956-04-09', 1234.5, null, 'a'), (2, 'Ann Smith', '19560409', 1234.50, null, 'b'), (3, 'Bob', null, 7, x'00ff', 'c'), (4, null, null, null, null, null)`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	before, err := os.ReadFile("my data?#%.sqlite")
	if err != nil {
		files, _ := filepath.Glob("*")
		t.Fatal(err, files)
	}
	os.WriteFile("s.json", []byte(`{"group": "words", "born \"on\"": "date", "price": "number", "note": ""}`), 0o644)
	status, stdout, stderr := call(t, nil, "", "-db", "my data?#%.sqlite", "-table", `select "x" from; --`, "-id", "the id", "-schema", "s.json", "-idf", "-pairs", "-")
	if status != 0 || stdout != "1\t2\t0\t1.0000\n" || !strings.Contains(stderr, "4 records, 1 matches") {
		t.Error(status, stdout, stderr)
	}
	if status, stdout, stderr := call(t, nil, "", "-db", "my data?#%.sqlite", "-query", `select "the id" as id, lower("group") from "select ""x"" from; --"`, "-pairs", "-"); status != 0 || stdout != "1\t2\t0\t1.0000\n" {
		t.Error(status, stdout, stderr)
	}
	if after, _ := os.ReadFile("my data?#%.sqlite"); !bytes.Equal(after, before) {
		t.Error("the database was changed")
	}
	for want, args := range map[string][]string{
		"no such table":                  {"-table", "x"},
		`there is no column "id"`:        {"-table", `select "x" from; --`},
		"readonly":                       {"-query", `delete from "select ""x"" from; --"`},
		"missing.sqlite:1:":              {"-db", "missing.sqlite", "-table", "x"},
		"one of mysql, pgx":              {"-driver", "oracle", "-table", "x"},
		"needs either -table or -query":  {"-table", "x", "-query", "y"},
		`two columns have the name "id"`: {"-query", "select 1 as id, 2 as id"},
		`the query:1: there is no id`:    {"-query", "select null as id, 2 as x"},
	} {
		if status, stdout, stderr := call(t, nil, "", append([]string{"-db", "my data?#%.sqlite"}, args...)...); status == 0 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d, %s, %s", want, status, stdout, stderr)
		}
	}
	if _, err := os.Stat("missing.sqlite"); err == nil {
		t.Error("a database was made")
	}
}

// TestErrors checks that errors in lines, files and schemas name their place, and that nothing is
// written.
func TestErrors(t *testing.T) {
	files := map[string]string{
		"p.csv": people, "short.csv": "id,a\n1,x\n2\n3,y\n", "quote.csv": "id,a\n1,\"x\n2,y\n3,z\n", "first.csv": "id,a\n1\"x,2\n3,4\n", "noid.csv": "a,b\n1,2\n", "empty.csv": "", "twice.csv": "id,a,a\n", "same.csv": "id,a\n1,x\n1,y\n", "blank.csv": "id,a\n,x\n",
		"colour.json": "{\n\"name\": \"colour\"}", "syntax.json": "{\n\"name\": }", "list.json": "[]", "cut.json": "{\"name\": \"\"", "more.json": "{} {}", "again.json": "{\"name\": \"\",\n\"name\": \"\"}", "other.json": "{\"nom\": \"\"}", "number.json": "{\"name\": 1}", "out": "old",
	}
	call(t, files, "")
	for want, args := range map[string][]string{
		"short.csv:3: wrong number of fields":                        {"short.csv"},
		"lines 2 to ":                                                {"quote.csv"},
		"first.csv:2: bare":                                          {"first.csv"},
		"short.csv:1: the columns are":                               {"p.csv", "short.csv"},
		"p.csv: the same file is an input and":                       {"-pairs", "p.csv", "p.csv"},
		"./p.csv: the same file is an input and":                     {"-pairs", "./p.csv", "-schema", "other.json", "p.csv"},
		"other.json: the same file is an input and":                  {"-pairs", "other.json", "-schema", "other.json", "p.csv"},
		"./out: two outputs are the same file":                       {"-pairs", "./out", "p.csv"},
		`noid.csv:1: there is no column "id"; the columns are ["a" `: {"noid.csv"},
		"empty.csv:1: the file has no header":                        {"empty.csv"},
		`twice.csv:1: two columns have the name "a"`:                 {"twice.csv"},
		`same.csv:3: the id "1" is used twice`:                       {"same.csv"},
		"blank.csv:2: there is no id":                                {"blank.csv"},
		"none.csv:1: no such file":                                   {"none.csv"},
		`colour.json:2: field "name": "colour" is not`:               {"-schema", "colour.json", "p.csv"},
		"syntax.json:2: invalid character":                           {"-schema", "syntax.json", "p.csv"},
		"list.json:1: not a JSON object":                             {"-schema", "list.json", "p.csv"},
		"cut.json:1: the file ends in the middle":                    {"-schema", "cut.json", "p.csv"},
		"more.json:1: there is something after":                      {"-schema", "more.json", "p.csv"},
		`again.json:2: column "name" occurs twice`:                   {"-schema", "again.json", "p.csv"},
		`other.json: there is no column "nom"`:                       {"-schema", "other.json", "p.csv"},
		"number.json:1: column \"name\": the value must be":          {"-schema", "number.json", "p.csv"},
		"no.json:1: no such file":                                    {"-schema", "no.json", "p.csv"},
		"-bits 32":                                                   {"-bits", "32", "p.csv"},
		"-similarity 2":                                              {"-similarity", "2", "p.csv"},
		"-distance -1":                                               {"-distance", "-1", "p.csv"},
		"no FILE.csv":                                                {},
		"-table and -query need -db":                                 {"-table", "x", "p.csv"},
		"either files or -db":                                        {"-db", "x", "p.csv"},
	} {
		status, stdout, stderr := call(t, nil, people, append([]string{"-clusters", "out"}, args...)...)
		if status == 0 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d, %s, %s", want, status, stdout, stderr)
		}
		if out, _ := os.ReadFile("out"); string(out) != "old" {
			t.Fatalf("%s: %q was written", want, out)
		}
	}
	if left, _ := filepath.Glob(".*"); len(left) > 0 {
		t.Error("left behind:", left)
	}
	if status, stdout, stderr := call(t, nil, "", "-skip-bad", "same.csv"); status != 0 || !strings.Contains(stdout, "1 records") || !strings.Contains(stderr, `skipped: same.csv:3: the id "1" is used twice, first at same.csv:2`) {
		t.Error(status, stdout, stderr)
	}
	status, stdout, stderr := call(t, nil, "", "-skip-bad", "short.csv", "blank.csv")
	if status != 0 || !strings.Contains(stdout, "2 records") || !strings.Contains(stdout, "2 bad rows") || strings.Count(stderr, "skipped") != 2 {
		t.Error(status, stdout, stderr)
	}
}

// FuzzCSV checks that no file makes the program panic.
func FuzzCSV(f *testing.F) {
	f.Add([]byte(people), schema)
	f.Add([]byte("id,\"a\nb\"\n1,2"), `{"a\nb": "-"}`)
	f.Fuzz(func(t *testing.T, data []byte, schema string) {
		fields, _, err := parseSchema([]byte(schema))
		if err != nil {
			fields = nil
		}
		c := &collection{o: &options{bits: 64, distance: 20, similarity: 0.5, workers: 2, id: "id", skipBad: true, idf: true}, stderr: io.Discard}
		c.f.Fields = fields
		path := filepath.Join(t.TempDir(), "x.csv")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		c.rows = &csvFiles{paths: []string{path}, id: "id"}
		matches, groups, err := c.compare()
		if err != nil {
			return
		}
		if err := c.writePairs(io.Discard, matches); err != nil {
			t.Fatal(err)
		}
		if len(groups) != len(c.ids) {
			t.Fatal(fmt.Sprint(len(groups), " groups of ", len(c.ids)))
		}
	})
}
