// Command records prints the pairs of rows of a table in a database that are near-duplicates.
//
//	go run -C examples ./records people.sqlite 'select * from people' id 'name=chars3' 'born=date,weight=3' 'notes=large'
//
// The third argument is the column with the id. The others say how to compare the other columns (see
// records.ParseField). Any driver of database/sql will do in place of SQLite.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"strings"

	_ "modernc.org/sqlite"

	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/records"
)

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: records FILE SQL ID COLUMN=OPTIONS...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "records:", err)
		os.Exit(1)
	}
}

func run(file, query, id string, columns []string, w io.Writer) error {
	var options dedup.Options
	for _, c := range columns {
		name, how, _ := strings.Cut(c, "=")
		field, err := records.ParseField(name, how)
		if err != nil {
			return err
		}
		options.Fingerprinter.Fields = append(options.Fingerprinter.Fields, field)
	}
	d, err := dedup.New[string](options)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		rec, err := records.Scan(rows)
		if err != nil {
			return err
		}
		if err := d.Add(rec[id], rec); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for p, err := range d.Pairs(context.Background()) {
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s and %s: similarity %.2f, probability %.2f\n", p.A, p.B, p.Similarity, p.Probability)
	}
	return nil
}
