package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "people.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`create table people (id, name, born);
insert into people values (1, 'Zhang San', '1956-04-09'), (2, 'Li Si', '1970-01-02'), (3, 'Zhang Sam', '9 April 1956')`)
	db.Close()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = run(path, "select * from people", "id", []string{"name=chars3", "born=date,weight=3"}, &out)
	if err != nil || !strings.HasPrefix(out.String(), "1 and 3: ") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("error %v, output %q", err, out.String())
	}
}
