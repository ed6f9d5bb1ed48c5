package neardupsql

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/neardup/neardup/dedup/shard"
)

// This file finds which documents the default of neardup dedup has to look at. What it says of a document depends on nothing
// but those that it is linked with (package dedup/shard). So all others have no near-duplicates, and what neardup dedup finds among the
// linked ones is what it would find among all.

// Links are a table of documents with the two signatures that neardup fingerprint --method auto writes. [Links.Script] and [Links.Run]
// make the table
//
//	PREFIX_linked  the documents that may have near-duplicates: id
//
// Copy the texts of these to a file, and give it to neardup dedup: it finds the pairs, groups and families of the whole collection.
type Links struct {
	Dialect     Dialect
	Table       string // as in [Join]
	Prefix      string // of the tables to make; "" means neardup
	ID          string // as in [Join]; "" means id
	Long, Short string // the columns with the signatures, lists of integers; "" means long and short
}

// The bands of a signature (package dedup/internal/signature).
const (
	linkBands  = 42
	linkRows   = 3
	linkValues = 128
	sketchMask = 15 // the bits of a value by which neighbours are known
)

// normal returns l with its defaults, and a join that has its names, or an error.
func (l Links) normal() (Links, *Join, error) {
	l.Long, l.Short = cmp.Or(l.Long, "long"), cmp.Or(l.Short, "short")
	j, err := Join{Dialect: l.Dialect, Table: l.Table, Prefix: l.Prefix, ID: l.ID, Signature: l.Long, Fingerprint: l.Short, Values: linkValues,
		Similarity: 0.5}.normal() // which checks the names
	l.Prefix, l.ID = j.Prefix, j.ID
	return l, &j, err
}

// steps returns the statements, and the tables that each of them makes.
func (l *Links) steps(j *Join) (steps []step, made []string) {
	d := l.Dialect
	id, long, short := d.name(l.ID), d.name(l.Long), d.name(l.Short)
	contents, bands, buckets, near, linked := j.table("contents"), j.table("bands"), j.table("buckets"), j.table("near"), j.table("linked")
	in := func(column string, level int, first string) string {
		return fmt.Sprintf("%sSELECT %d AS level, n.band, %s AS band_values, o.content\nFROM (SELECT content, %s AS own FROM %s WHERE %s > 0) AS o, %s",
			first, level, d.band("o.own", "n.band", linkRows), column, contents, d.length(column), d.numbers(linkBands, "band"))
	}
	leastLong, leastShort := shard.LeastSame()
	alike := func(column string, level, least int) string {
		return fmt.Sprintf("c.level = %d AND %s >= %s", level, d.jaccard(d.masked("x."+column, sketchMask), d.masked("y."+column, sketchMask)), number(float64(least)/linkValues))
	}
	add := func(comment, table, sql string) {
		steps, made = append(steps, step{comment, sql}), append(made, table)
	}
	add("Documents with the same signatures are one content. Its name is their smallest id.", contents,
		fmt.Sprintf("%sSELECT min(%s) AS content, count(*) AS copies, %s AS own_long, %s AS own_short\nFROM %s\nWHERE (%s IS NOT NULL AND %s > 0) OR (%s IS NOT NULL AND %s > 0)\nGROUP BY %s, %s",
			d.create(contents), id, l.one(long), l.one(short), d.name(l.Table), long, d.length(long), short, d.length(short), d.equal(long), d.equal(short)))
	add(fmt.Sprintf("The values of each of %d bands of %d rows, of both signatures.", linkBands, linkRows), bands, in("own_long", 0, d.create(bands)))
	add("", "", in("own_short", 1, "INSERT INTO "+bands+"\n"))
	add("The number of contents in each bucket.", buckets,
		fmt.Sprintf("%sSELECT level, band, band_values, content, count(*) OVER (PARTITION BY level, band, band_values) AS n FROM %s", d.create(buckets), bands))
	add(fmt.Sprintf("Pairs that agree in a band, and in enough values by four bits of each. In a bucket of more than %d contents, a crowd, all belong together.", shard.MostEntries), near,
		fmt.Sprintf("%sSELECT c.a AS a, c.b AS b\nFROM (\n  SELECT DISTINCT a.level AS level, a.content AS a, b.content AS b\n  FROM %s AS a JOIN %s AS b ON a.level = b.level AND a.band = b.band AND a.band_values = b.band_values\n"+
			"  WHERE a.n > 1 AND a.n <= %d AND a.content < b.content\n) AS c JOIN %s AS x ON x.content = c.a JOIN %s AS y ON y.content = c.b\nWHERE (%s)\n   OR (%s)",
			d.create(near), buckets, buckets, shard.MostEntries, contents, contents, alike("own_long", 0, leastLong), alike("own_short", 1, leastShort)))
	add("All documents that may have near-duplicates.", linked,
		fmt.Sprintf("%sWITH together AS (\n  SELECT a AS content FROM %s UNION DISTINCT SELECT b AS content FROM %s\n  UNION DISTINCT SELECT content FROM %s WHERE n > %d\n  UNION DISTINCT SELECT content FROM %s WHERE copies > 1\n)\n"+
			"SELECT t.%s AS id\nFROM %s AS t JOIN %s AS c ON %s AND %s JOIN together ON together.content = c.content",
			d.create(linked), near, near, buckets, shard.MostEntries, contents, id, d.name(l.Table), contents, l.same(long, "own_long"), l.same(short, "own_short")))
	return steps, made
}

// one is the list of a group of equal ones.
func (l *Links) one(list string) string {
	if l.Dialect.equal(list) == list { // which is grouped by
		return list
	}
	return l.Dialect.anyValue(list)
}

// same says that a list of a document is that of its content; either may be NULL.
func (l *Links) same(column, own string) string {
	d := l.Dialect
	a, b := "t."+column, "c."+own
	return fmt.Sprintf("(%s = %s OR (%s IS NULL AND %s IS NULL))", d.equal(a), d.equal(b), a, b)
}

// drops removes what is only needed on the way.
func (l *Links) drops(j *Join) (steps []step) {
	for i, name := range []string{"contents", "bands", "buckets", "near"} {
		steps = append(steps, step{map[bool]string{true: "Drop the tables that are no longer needed."}[i == 0], "DROP TABLE " + j.table(name)})
	}
	return steps
}

// Script writes the statements, with comments, for a file that is run in the engine's own shell.
func (l Links) Script(w io.Writer) error {
	l, j, err := l.normal()
	if err != nil {
		return err
	}
	steps, _ := l.steps(j)
	steps = append(append([]step{j.checkIDs()}, steps...), l.drops(j)...)
	how := []string{"Documents of " + l.Table + " that may have near-duplicates"}
	how = append(how, fmt.Sprintf("Copy the texts of the documents in %s to a file: neardup dedup finds the same there as among all documents.", j.table("linked")))
	return writeScript(w, l.Dialect, how, l.Dialect.load(l.Table, l.ID, []string{l.Long, l.Short}, true), steps)
}

// Run makes the table of linked documents, and returns how many there are. Ids that are NULL or occur in several rows are an
// error. It does not replace tables: if one of them is there already, the error is that of the engine. After any error, Run
// removes the tables that it has made.
func (l Links) Run(ctx context.Context, db Runner) (n int64, err error) {
	l, j, err := l.normal()
	if err != nil {
		return 0, err
	}
	if err := j.checkNow(ctx, db); err != nil {
		return 0, err
	}
	steps, made := l.steps(j)
	w := work{ctx: ctx, db: db}
	for i, s := range steps {
		undo := ""
		if made[i] != "" {
			undo = "DROP TABLE " + made[i]
		}
		w.run(s, undo)
	}
	for _, s := range l.drops(j) {
		w.run(s, "")
	}
	if n = w.count("SELECT count(*) FROM " + j.table("linked")); w.err != nil {
		return 0, w.undo()
	}
	return n, nil
}

// writeScript writes a script: what it is for, how its table is made, and the statements.
func writeScript(w io.Writer, d Dialect, what, load []string, steps []step) error {
	if begin, commit := d.transaction(); begin != "" {
		steps = append([]step{{"", begin}}, steps...)
		if commit != "" {
			steps = append(steps, step{"", commit})
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s, for %s. Made by neardup.\n", what[0], d)
	for _, line := range what[1:] {
		fmt.Fprintf(&b, "-- %s\n", line)
	}
	b.WriteString("--\n-- To make the table from the file that neardup fingerprint wrote:\n--\n")
	for _, line := range load {
		b.WriteString("--   " + line + "\n")
	}
	for _, s := range steps {
		if s.comment != "" {
			b.WriteString("\n-- " + s.comment + "\n")
		}
		b.WriteString(s.sql + ";\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
