package neardupsql

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	command "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/internal/collections"
	"github.com/neardup/neardup/internal/server"
)

// program builds neardup.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "neardup")
	if out, err := command.Command("go", "build", "-C", "../cmd/neardup", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// chdb runs statements in ClickHouse, and returns the rows of the last one. It needs Node.js and the folder node_modules of NEARDUP_CHDB, in which npm has put
// chdb (.ci/dialects).
func chdb(t *testing.T, statements []string) ([]string, error) {
	t.Helper()
	dir := t.TempDir()
	script, list := filepath.Join(dir, "run.cjs"), filepath.Join(dir, "statements.json")
	b, err := json.Marshal(statements)
	if err == nil {
		err = os.WriteFile(list, b, 0o666)
	}
	if err == nil {
		err = os.WriteFile(script, []byte(`
			const session = new (require('chdb').Session)()
			let out = ''
			for (const s of JSON.parse(require('fs').readFileSync(process.argv[2], 'utf8'))) out = session.query(s, 'TSV')
			process.stdout.write(out)
		`), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := command.Command("node", script, list)
	c.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(os.Getenv("NEARDUP_CHDB"), "node_modules"))
	out, err := c.Output()
	if e := (*command.ExitError)(nil); errors.As(err, &e) {
		err = fmt.Errorf("%w: %s", err, e.Stderr)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	slices.Sort(lines)
	return lines, err
}

// mixedFile writes a collection as JSON lines.
func mixedFile(t *testing.T, dir string) (docs collections.Texts, path string) {
	t.Helper()
	docs = collections.Shapes()["mixed"]
	delete(docs, "") // files have no empty ids
	var lines []byte
	for _, id := range slices.Sorted(maps.Keys(docs)) {
		line, err := json.Marshal(map[string]string{"id": id, "text": docs[id]})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	path = filepath.Join(dir, "texts.jsonl")
	if err := os.WriteFile(path, lines, 0o666); err != nil {
		t.Fatal(err)
	}
	return docs, path
}

// TestFromFile: what neardup fingerprint writes becomes a table by the lines that stand above the script of neardup sql, and the script finds the
// groups of the library, in DuckDB, in psql, and, if it is there, in ClickHouse.
func TestFromFile(t *testing.T) {
	program, dir := program(t), t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := command.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
		return string(out)
	}
	docs, texts := mixedFile(t, dir)
	url := "postgres://postgres@127.0.0.1:" + server.ForTest(t, "postgres").Port + "/postgres"
	const query = "SELECT id, keep FROM "
	shells := map[Dialect]struct {
		ext    string
		groups func(load, script, table string) []string // as lines
	}{
		DuckDB: {".parquet", func(load, script, table string) []string {
			db, err := sql.Open("duckdb", "")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			exec(t, db, load+script)
			return rows(t, db, query+table+"_groups")
		}},
		PostgreSQL: {".csv", func(load, script, table string) []string {
			path := filepath.Join(dir, "near.sql")
			if err := os.WriteFile(path, []byte(load+script), 0o666); err != nil {
				t.Fatal(err)
			}
			run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", path, url)
			return strings.Split(strings.TrimSuffix(run("psql", "-q", "-t", "-A", "-F", "\t", "-c", query+table+"_groups", url), "\n"), "\n")
		}},
		ClickHouse: {".parquet", func(load, script, table string) []string {
			got, err := chdb(t, append(slices.Collect(statements(load+script)), query+table+"_groups"))
			if err != nil {
				t.Error(err)
			}
			return got
		}},
	}
	if os.Getenv("NEARDUP_CHDB") == "" {
		t.Log("without NEARDUP_CHDB, not in ClickHouse")
		delete(shells, ClickHouse)
	}
	for with, j := range map[string]Join{"64": {}, "128": {Bits: 128, Fingerprint: "wide", High: "wide_high", Distance: 8}, "minhash": {Signature: "signature", Similarity: 0.6}} {
		flags := map[string][]string{"64": nil, "128": {"--bits", "128"}, "minhash": {"--method", "minhash"}}[with]
		near := map[string][]string{"128": {"--distance", "8"}}
		_, want := inMemory(t, docs, j)
		for d, shell := range shells {
			table := "t" + with
			file := filepath.Join(dir, with+shell.ext)
			run(program, slices.Concat([]string{"fingerprint", "-q", texts, "--out", file}, flags)...)
			script := run(program, slices.Concat([]string{"sql", string(d), "--table", table, "--prefix", table}, flags, near[with])...)
			var load strings.Builder
			for line := range strings.Lines(script) {
				if sql, ok := strings.CutPrefix(line, "--   "); ok {
					load.WriteString(strings.ReplaceAll(sql, "FILE"+shell.ext, file))
				}
			}
			got := shell.groups(load.String(), script, table)
			if d == PostgreSQL { // its order of ids is another one, so other documents are kept
				if len(want) == 0 || len(got) != len(want) {
					t.Errorf("%s, %s: %d documents in groups, not %d", d, with, len(got), len(want))
				}
				continue
			}
			same(t, string(d)+" "+with, got, want)
		}
	}
}

// TestClickHouseIDs: ids that are NULL or stand in several rows end the script in ClickHouse too.
func TestClickHouseIDs(t *testing.T) {
	if os.Getenv("NEARDUP_CHDB") == "" {
		t.Skip("NEARDUP_CHDB is not set")
	}
	var b strings.Builder
	if err := (Join{Dialect: ClickHouse, Table: "doc", Rounds: 2}).Script(&b); err != nil {
		t.Fatal(err)
	}
	for values, want := range map[string]string{"('x', 1), ('x', -1), ('y', 7)": "rows: x", "('x', 1), (NULL, 2)": "rows: NULL", "('x', 1), ('y', 1)": ""} {
		all := append([]string{"CREATE TABLE doc (id Nullable(String), fingerprint Int64) ENGINE = Memory", "INSERT INTO doc VALUES " + values}, slices.Collect(statements(b.String()))...)
		_, err := chdb(t, append(all, "SELECT * FROM neardup_groups"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", values, err)
		}
	}
}

// TestProgramTypes: DuckDB reads what the program has written, with the types and values of a file that it wrote itself.
func TestProgramTypes(t *testing.T) {
	program, dir := program(t), t.TempDir()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	from, err := filepath.Abs("../cmd/neardup/testdata/formats/types.parquet")
	if err != nil {
		t.Fatal(err)
	}
	write := func(to string, from ...string) string {
		t.Helper()
		path := filepath.Join(dir, to)
		if out, err := command.Command(program, append([]string{"dedup", "-q", "--annotate", path}, from...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return path
	}
	// A copy is the same, to every bit of every value.
	copied := write("copy.parquet", from)
	for _, q := range []string{"SELECT * EXCLUDE (neardup_group, neardup_size, neardup_kept, neardup_like, neardup_similarity, neardup_kind) FROM '" + copied + "' EXCEPT ALL SELECT * FROM '" + from + "'",
		"SELECT * FROM '" + from + "' EXCEPT ALL SELECT * EXCLUDE (neardup_group, neardup_size, neardup_kept, neardup_like, neardup_similarity, neardup_kind) FROM '" + copied + "'"} {
		if got := rows(t, db, "SELECT count(*) FROM ("+q+")"); !slices.Equal(got, []string{"0"}) {
			t.Errorf("%s rows differ", got)
		}
	}
	if got := rows(t, db, "SELECT id, neardup_group, neardup_size, neardup_kept, coalesce(neardup_like, '') FROM '"+copied+"' ORDER BY id"); !slices.Equal(got, []string{"a\ta\t2\tyes\t", "b\ta\t2\tno\ta", "c\tc\t1\tyes\t"}) {
		t.Errorf("annotated %q", got)
	}
	// A workbook and objects of JSON become Parquet with types.
	objects := filepath.Join(dir, "x.jsonl")
	os.WriteFile(objects, []byte(`{"id":"a","text":"one","n":1,"l":[1,2.5],"o":{"x":[{"y":null},{"y":1,"z":"q"}]},"any":1,"big":18446744073709551615}`+"\n"+
		`{"id":"b","text":"two words","late":true,"any":{"k":[]},"big":0.5}`+"\n"), 0o666)
	for path, want := range map[string][]string{
		write("sheet.parquet", "--sheet", "Letters", "../cmd/neardup/testdata/formats/types.xlsx"): {"id VARCHAR", "text VARCHAR", "price DOUBLE", "when TIMESTAMP", "day DATE", "clock TIME", "open BOOLEAN", "sum DOUBLE", "note VARCHAR"},
		write("json.parquet", objects): {"id VARCHAR", "text VARCHAR", "n BIGINT", "l DOUBLE[]", "o STRUCT(x STRUCT(y BIGINT, z VARCHAR)[])", "any VARCHAR", "big DECIMAL(38,1)", "late BOOLEAN"},
	} {
		var got []string
		for _, row := range rows(t, db, "SELECT column_name, column_type FROM (DESCRIBE SELECT * EXCLUDE (neardup_group, neardup_size, neardup_kept, neardup_like, neardup_similarity, neardup_kind) FROM '"+path+"')") {
			got = append(got, strings.ReplaceAll(row, "\t", " "))
		}
		slices.Sort(want) // as rows does
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s has the columns %q", path, got)
		}
	}
	if got := rows(t, db, "SELECT n, l, o.x[2].z, \"any\", big FROM '"+filepath.Join(dir, "json.parquet")+"' WHERE id = 'a'"); !slices.Equal(got, []string{"1\t[1 2.5]\tq\t1\t18446744073709551615.0"}) && !slices.Equal(got, []string{"1\t[1 2.5]\tq\t1\t18446744073709551615"}) {
		t.Errorf("values %q", got)
	}
}
