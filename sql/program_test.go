package neardupsql

import (
	"database/sql"
	"encoding/json"
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

// TestFromFile: what neardup fingerprint writes becomes a table by the lines that stand above the script of neardup sql, and the script finds the
// groups of the library, in DuckDB and in psql.
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
	docs := collections.Shapes()["mixed"]
	delete(docs, "") // files have no empty ids
	var lines []byte
	for _, id := range slices.Sorted(maps.Keys(docs)) {
		line, err := json.Marshal(map[string]string{"id": id, "text": docs[id]})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	texts := filepath.Join(dir, "texts.jsonl")
	if err := os.WriteFile(texts, lines, 0o666); err != nil {
		t.Fatal(err)
	}
	server := server.ForTest(t, "postgres")
	for with, j := range map[string]Join{"64": {}, "128": {Bits: 128, Fingerprint: "wide", High: "wide_high", Distance: 8}, "minhash": {Signature: "signature", Similarity: 0.6}} {
		flags := map[string][]string{"64": nil, "128": {"--bits", "128"}, "minhash": {"--method", "minhash"}}[with]
		near := map[string][]string{"128": {"--distance", "8"}}
		_, want := inMemory(t, docs, j)
		for d, ext := range map[Dialect]string{DuckDB: ".parquet", PostgreSQL: ".csv"} {
			table := "t" + with
			file := filepath.Join(dir, with+ext)
			run(program, slices.Concat([]string{"fingerprint", "-q", texts, "--out", file}, flags)...)
			script := run(program, slices.Concat([]string{"sql", string(d), "--table", table, "--prefix", table}, flags, near[with])...)
			var load []string
			for line := range strings.Lines(script) {
				if sql, ok := strings.CutPrefix(line, "--   "); ok {
					load = append(load, strings.ReplaceAll(sql, "FILE"+ext, file))
				}
			}
			path := filepath.Join(dir, "near.sql")
			if err := os.WriteFile(path, []byte(strings.Join(load, "")+script), 0o666); err != nil {
				t.Fatal(err)
			}
			query, url := `SELECT id || '  ' || keep FROM `+table+`_groups`, "postgres://postgres@127.0.0.1:"+server.Port+"/postgres"
			var got []string
			if d == PostgreSQL {
				run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", path, url)
				got = strings.Fields(strings.ReplaceAll(run("psql", "-q", "-t", "-A", "-c", query, url), "  ", "\t"))
			} else {
				db, err := sql.Open("duckdb", "")
				if err != nil {
					t.Fatal(err)
				}
				exec(t, db, strings.Join(load, "")+script)
				got = rows(t, db, query)
				db.Close()
			}
			if len(got) == 0 || len(want) == 0 {
				t.Errorf("%s, %s: %d groups of %d", d, with, len(got), len(want))
			}
			if d == DuckDB {
				for i := range got {
					got[i] = strings.ReplaceAll(got[i], "  ", "\t")
				}
				same(t, string(d)+" "+with, got, want)
			} else if len(got) != 2*len(want) { // its order of ids is another one
				t.Errorf("%s, %s: %d documents in groups, not %d", d, with, len(got)/2, len(want))
			}
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
