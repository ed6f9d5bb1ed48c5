package neardupsql

import (
	"database/sql"
	"os"
	command "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestProgramTypes: DuckDB reads what the program has written, with the types and values of a file that it wrote itself.
func TestProgramTypes(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "neardup")
	if out, err := command.Command("go", "build", "-C", "../cmd/neardup", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
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
