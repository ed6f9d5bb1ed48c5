package neardupsql

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/shard/blocks"
)

// A Join says what to join, and how. It makes these tables, whose names begin with Prefix:
//
//	PREFIX_contents  different fingerprints or signatures: content (the smallest id that has it), copies, the value
//	PREFIX_pairs     near-duplicates among them: a < b (of contents), and distance or similarity
//	PREFIX_groups    every document of a group of two or more: id, keep (the smallest id of the group)
//
// and the view PREFIX_document_pairs, with the pairs of all documents; m equal documents have m(m−1)/2 in it.
// Groups are chains, as those of [neardup.Components] and [neardup.SignatureIndex.Groups].
//
// A document without features has NULL instead of a fingerprint or a signature (or an empty list), and is near no other.
// Values must be of one Version of a Fingerprinter. The smallest id is the one that the engine sorts first; in PostgreSQL
// that depends on the collation.
type Join struct {
	Dialect Dialect
	Table   string // with a row for each document; a name such as schema.table, in which a part with a dot is in double quotes
	Prefix  string // of the tables to make; "" means neardup
	ID      string // the column of the id, a text or a number, which differs from row to row and is never NULL, or the join fails; "" means id

	// Fingerprints are in the column Fingerprint ("" means fingerprint), as signed 64-bit integers with the
	// same bits. If Bits is 128, that column has the low half, and High ("" means fingerprint_high) the other.
	Fingerprint, High string
	Bits              int // 64 or 128; 0 means 64
	Distance          int // the largest distance of near-duplicates, 1 or more; 0 means 3

	// Blocks is the number of blocks that a fingerprint is cut into: 5 for distance 3 make 10 joins. 0 lets
	// Documents decide, the number of different fingerprints; 0 means 10 million.
	Blocks    int
	Documents float64

	// If Signature is set, it is the column with MinHash signatures, as lists of signed 32-bit integers
	// with the same bits, and there are no fingerprints.
	Signature  string
	Values     int             // of a signature; 0 means 128
	Similarity float64         // the smallest Jaccard similarity of near-duplicates; 0 means 0.6
	Banding    neardup.Banding // zero means that of a [neardup.SignatureIndex]

	// Rounds is how many rounds of grouping Script has; 0 means 12. Run makes as many as it takes.
	Rounds int
}

// A step is a statement, and what it is for.
type step struct{ comment, sql string }

// normal returns j with its defaults, or an error.
func (j Join) normal() (Join, error) {
	j.Prefix, j.ID = cmp.Or(j.Prefix, "neardup"), cmp.Or(j.ID, "id")
	j.Fingerprint, j.High, j.Bits = cmp.Or(j.Fingerprint, "fingerprint"), cmp.Or(j.High, "fingerprint_high"), cmp.Or(j.Bits, 64)
	j.Distance, j.Values, j.Similarity, j.Rounds = cmp.Or(j.Distance, 3), cmp.Or(j.Values, 128), cmp.Or(j.Similarity, 0.6), cmp.Or(j.Rounds, 12)
	err := j.checkNames()
	switch {
	case err != nil:
	case j.Rounds < 1 || j.Rounds > 100:
		err = fmt.Errorf("Rounds must be 1 to 100, not %d", j.Rounds)
	case j.Signature == "":
		err = j.chooseBlocks()
	default:
		err = j.chooseBanding()
	}
	if err != nil {
		return j, fmt.Errorf("neardupsql: %w", err)
	}
	return j, nil
}

// checkNames checks the dialect and the names of tables and columns. Names are quoted, so nearly all are possible; control characters, line
// ends, and what the engines take for quotes or escapes are not.
func (j *Join) checkNames() error {
	if err := j.Dialect.check(); err != nil {
		return err
	}
	for _, field := range [][2]string{{"Table", j.Table}, {"Prefix", j.Prefix}, {"ID", j.ID}, {"Fingerprint", j.Fingerprint}, {"High", j.High}, {"Signature", j.Signature}} {
		what, name := field[0], field[1]
		_, closed := parts(name)
		if !closed || name == "" && what == "Table" || strings.ContainsFunc(name, isRefused) {
			return fmt.Errorf("%s %q is not a valid name", what, name)
		}
	}
	made, _ := parts(j.Prefix + "_document_pairs")
	if longest := made[len(made)-1]; j.Dialect == PostgreSQL && len(longest) > 63 {
		return fmt.Errorf("Prefix %q is too long: PostgreSQL cuts %s off after 63 bytes", j.Prefix, longest)
	}
	return nil
}

// isRefused reports whether a character cannot be in a name.
func isRefused(r rune) bool {
	return r < ' ' || r == '\\' || r == '`' || r == 0x7f || r == 0x2028 || r == 0x2029 || r == 0x85
}

// chooseBlocks checks what fingerprints are joined by, and sets Blocks if it is 0.
func (j *Join) chooseBlocks() error {
	if j.Distance < 1 {
		return fmt.Errorf("Distance must be 1 or more, not %d", j.Distance)
	}
	if j.Blocks == 0 && j.Distance < j.Bits {
		j.Blocks = blocks.Choose(cmp.Or(j.Documents, 1e7), j.Bits, j.Distance)
	}
	return blocks.Check(j.Bits, j.Blocks, j.Distance)
}

// chooseBanding checks what signatures are joined by, and sets Banding if it is zero.
func (j *Join) chooseBanding() error {
	if j.Values < 16 || j.Values > 4096 {
		return fmt.Errorf("Values must be 16 to 4096, not %d", j.Values)
	}
	if !(j.Similarity > 0 && j.Similarity <= 1) {
		return fmt.Errorf("Similarity must be above 0 and at most 1, not %g", j.Similarity)
	}
	if j.Banding == (neardup.Banding{}) {
		j.Banding = neardup.MinHash{Values: j.Values}.Banding(j.Similarity)
	}
	if b := j.Banding; b.Bands < 1 || b.Rows < 1 || b.Bands > j.Values/b.Rows {
		return fmt.Errorf("Banding of %d bands of %d rows does not fit into %d values", b.Bands, b.Rows, j.Values)
	}
	return nil
}

// table returns the quoted name of a table that the join makes.
func (j *Join) table(name string) string { return j.Dialect.name(j.Prefix + "_" + name) }

// columns returns the columns of the value of a document: the words of a fingerprint, low ones first, or the signature.
func (j *Join) columns() []string {
	switch {
	case j.Signature != "":
		return []string{j.Signature}
	case j.Bits == 128:
		return []string{j.Fingerprint, j.High}
	}
	return []string{j.Fingerprint}
}

// values are the names of the columns in the table of contents.
func (j *Join) values() []string {
	if j.Signature != "" {
		return []string{"signature"}
	}
	return []string{"low", "high"}[:j.Bits/64]
}

// equal says that two values are equal.
func (j *Join) equal(a, b string) string {
	if j.Signature != "" {
		a, b = j.Dialect.equal(a), j.Dialect.equal(b)
	}
	return a + " = " + b
}

// badIDs returns how many of some ids are NULL or stand in several rows, and a text with these: documents with one id would be in one group.
func (j *Join) badIDs() string {
	d, id := j.Dialect, j.Dialect.name(j.ID)
	return fmt.Sprintf("SELECT count(*) AS n, %s AS ids FROM (\n  SELECT coalesce(%s, 'NULL') AS shown FROM %s GROUP BY %s HAVING count(*) > 1 OR %s IS NULL ORDER BY shown LIMIT %d\n) AS bad",
		d.concat("shown"), d.text(id), d.name(j.Table), id, id, mostShown)
}

// mostShown is how many ids an error shows.
const mostShown = 10

// checkIDs ends a script if there are such ids.
func (j *Join) checkIDs() step {
	return step{"Ids that are NULL or occur in several rows are an error: their documents would be treated as one.",
		fmt.Sprintf("SELECT %s AS bad_ids FROM (\n%s\n) AS found WHERE n > 0", j.Dialect.fail("concat('neardup: these ids are NULL or occur in several rows: ', ids)"), j.badIDs())}
}

// contents makes the table of different values.
func (j *Join) contents() step {
	d := j.Dialect
	var selected, by, present []string
	for i, c := range j.columns() {
		name := d.name(c)
		value := name
		present = append(present, name+" IS NOT NULL")
		if j.Signature != "" { // some dialects have no NULL for a list
			present = append(present, d.length(name)+" > 0")
			if e := d.equal(name); e != name {
				value = d.anyValue(name)
				name = e
			}
		}
		selected = append(selected, value+" AS "+j.values()[i])
		by = append(by, name)
	}
	return step{"Documents with the same value are one content. Its name is their smallest id.",
		fmt.Sprintf("%sSELECT min(%s) AS content, count(*) AS copies, %s\nFROM %s\nWHERE %s\nGROUP BY %s",
			d.create(j.table("contents")), d.name(j.ID), strings.Join(selected, ", "), d.name(j.Table), strings.Join(present, " AND "), strings.Join(by, ", "))}
}

// pairs makes the table of pairs.
func (j *Join) pairs() []step {
	if j.Signature != "" {
		return j.signaturePairs()
	}
	d := j.Dialect
	var steps []step
	tables := blocks.Tables(j.Bits, j.Blocks, j.Distance)
	for i, t := range tables {
		agree := func(m blocks.Mask) (equal, differ []string) {
			for w, mask := range []uint64{m.Lo, m.Hi} {
				if mask == 0 {
					continue
				}
				c, bits := j.values()[w], d.integer(int64(mask))
				equal = append(equal, fmt.Sprintf("%s = %s", d.and("a."+c, bits), d.and("b."+c, bits)))
				differ = append(differ, fmt.Sprintf("%s <> 0", d.and(d.xor("a."+c, "b."+c), bits)))
			}
			return equal, differ
		}
		on, _ := agree(t.Key)
		var distance []string
		for _, c := range j.values() {
			distance = append(distance, d.ones(d.xor("a."+c, "b."+c)))
		}
		sum := strings.Join(distance, " + ")
		where := []string{"a.content < b.content", fmt.Sprintf("%s <= %d", sum, j.Distance)}
		for _, s := range t.Skipped {
			_, differ := agree(s)
			where = append(where, "("+strings.Join(differ, " OR ")+")")
		}
		query := fmt.Sprintf("SELECT a.content AS a, b.content AS b, %s AS distance\nFROM %s AS a JOIN %s AS b ON %s\nWHERE %s",
			sum, j.table("contents"), j.table("contents"), strings.Join(on, " AND "), strings.Join(where, "\n  AND "))
		comment := fmt.Sprintf("Pairs that agree on the blocks of table %d of %d, but not on those of an earlier table.", i+1, len(tables))
		if i == 0 {
			steps = append(steps, step{comment, d.create(j.table("pairs")) + query})
		} else {
			steps = append(steps, step{comment, "INSERT INTO " + j.table("pairs") + "\n" + query})
		}
	}
	return steps
}

// signaturePairs is pairs for signatures.
func (j *Join) signaturePairs() []step {
	d := j.Dialect
	contents, bands, candidates := j.table("contents"), j.table("bands"), j.table("candidates")
	return []step{
		{fmt.Sprintf("The values of each of %d bands of %d rows.", j.Banding.Bands, j.Banding.Rows),
			fmt.Sprintf("%sSELECT n.band, %s AS band_values, o.content\nFROM (SELECT content, %s AS own FROM %s) AS o, %s",
				d.create(bands), d.band("o.own", "n.band", j.Banding.Rows), d.own("signature"), contents, d.numbers(j.Banding.Bands, "band"))},
		{"Pairs of contents that agree in a band, each pair once.",
			fmt.Sprintf("%sSELECT DISTINCT a.content AS a, b.content AS b\nFROM %s AS a JOIN %s AS b ON a.band = b.band AND a.band_values = b.band_values\nWHERE a.content < b.content",
				d.create(candidates), bands, bands)},
		{"The candidates that are near-duplicates.",
			fmt.Sprintf("%sSELECT a, b, similarity\nFROM (\n  SELECT c.a AS a, c.b AS b, %s AS similarity\n  FROM %s AS c JOIN %s AS x ON x.content = c.a JOIN %s AS y ON y.content = c.b\n) AS s\nWHERE similarity >= %s",
				d.create(j.table("pairs")), d.jaccard("x.signature", "y.signature"), candidates, contents, contents, number(j.Similarity))},
	}
}

// number writes a floating-point number so that it is read as the same one.
func number(x float64) string {
	text := fmt.Sprint(x)
	if !strings.ContainsAny(text, "e.") {
		text += ".0"
	}
	if !strings.Contains(text, "e") {
		text += "e0" // without it, some dialects read a decimal number
	}
	return text
}

// documentPairs makes the view of the pairs of documents.
func (j *Join) documentPairs() step {
	d := j.Dialect
	value, same := "distance", "0"
	if j.Signature != "" {
		value, same = "similarity", "1.0e0"
	}
	id := d.name(j.ID)
	in := func(documents, content string) string {
		var on []string
		for i, c := range j.columns() {
			on = append(on, j.equal(documents+"."+d.name(c), content+"."+j.values()[i]))
		}
		return strings.Join(on, " AND ")
	}
	least := "CASE WHEN x.%[1]s < y.%[1]s THEN x.%[1]s ELSE y.%[1]s END AS a, CASE WHEN x.%[1]s < y.%[1]s THEN y.%[1]s ELSE x.%[1]s END AS b"
	return step{"The pairs of all documents.", fmt.Sprintf("CREATE VIEW %s AS\nSELECT %s, p.%s AS %s\nFROM %s AS p\n"+
		"JOIN %s AS c ON c.content = p.a JOIN %s AS x ON %s\nJOIN %s AS e ON e.content = p.b JOIN %s AS y ON %s\n"+
		"UNION ALL\nSELECT x.%s AS a, y.%s AS b, %s AS %s\nFROM %s AS c\nJOIN %s AS x ON %s\nJOIN %s AS y ON %s\nWHERE c.copies > 1 AND x.%s < y.%s",
		j.table("document_pairs"), fmt.Sprintf(least, id), value, value, j.table("pairs"),
		j.table("contents"), d.name(j.Table), in("x", "c"), j.table("contents"), d.name(j.Table), in("y", "e"),
		id, id, same, value, j.table("contents"), d.name(j.Table), in("x", "c"), d.name(j.Table), in("y", "c"), id, id)}
}

// edges is the table of edges after some rounds of grouping.
func (j *Join) edges(round int) string { return j.table(fmt.Sprintf("edges%d", round)) }

// firstEdges makes the edges of the pairs.
func (j *Join) firstEdges() step {
	return step{"Groups are connected components. Each edge has its larger end first.",
		j.Dialect.create(j.edges(0)) + "SELECT b AS larger, a AS smaller FROM " + j.table("pairs")}
}

// round makes the edges after a round of the ones before it: a large star and a small star (Kiveris et al., Connected
// components in MapReduce and beyond, 2014).
func (j *Join) round(n int) step {
	return step{fmt.Sprintf("Round %d: links the larger neighbours of each content to its smallest one, then the smaller ones.", n),
		fmt.Sprintf(`%sWITH ways AS (
  SELECT larger AS u, smaller AS v FROM %[2]s UNION ALL SELECT smaller AS u, larger AS v FROM %[2]s
), smallest AS (
  SELECT u, CASE WHEN min(v) < u THEN min(v) ELSE u END AS m FROM ways GROUP BY u
), star AS (
  SELECT DISTINCT ways.v AS larger, smallest.m AS smaller FROM ways JOIN smallest ON ways.u = smallest.u WHERE ways.v > ways.u
), roots AS (
  SELECT larger AS u, min(smaller) AS m FROM star GROUP BY larger
)
SELECT star.smaller AS larger, roots.m AS smaller FROM star JOIN roots ON star.larger = roots.u WHERE star.smaller <> roots.m
UNION DISTINCT
SELECT u AS larger, m AS smaller FROM roots`, j.Dialect.create(j.edges(n)), j.edges(n-1))}
}

// unfinished counts the edges that are not yet of a star around the smallest content of a group.
func (j *Join) unfinished(round int) step {
	e := j.edges(round)
	return step{"The groups are complete if this is 0. If it is not, use more rounds.",
		fmt.Sprintf("SELECT (SELECT count(*) FROM %s WHERE smaller IN (SELECT larger FROM %s)) + (SELECT count(*) - count(DISTINCT larger) FROM %s) AS unfinished", e, e, e)}
}

// groups makes the table of groups.
func (j *Join) groups(round int) step {
	d := j.Dialect
	var on []string
	for i, c := range j.columns() {
		on = append(on, j.equal("t."+d.name(c), "c."+j.values()[i]))
	}
	return step{"Every document of a group of two or more, and the one to keep.",
		fmt.Sprintf("%sWITH labels AS (\n  SELECT larger AS content, smaller AS root FROM %[2]s UNION DISTINCT SELECT smaller AS content, smaller AS root FROM %[2]s\n)\n"+
			"SELECT t.%s AS id, CASE WHEN l.root IS NULL THEN c.content ELSE l.root END AS keep\nFROM %s AS t\nJOIN %s AS c ON %s\nLEFT JOIN labels AS l ON l.content = c.content\nWHERE l.root IS NOT NULL OR c.copies > 1%s",
			d.create(j.table("groups")), j.edges(round), d.name(j.ID), d.name(j.Table), j.table("contents"), strings.Join(on, " AND "), d.nulls())}
}

// drops removes the tables that are only needed on the way.
func (j *Join) drops(rounds int) (steps []step) {
	names := []string{}
	if j.Signature != "" {
		names = append(names, j.table("bands"), j.table("candidates"))
	}
	for n := range rounds + 1 {
		names = append(names, j.edges(n))
	}
	for i, name := range names {
		comment := ""
		if i == 0 {
			comment = "Drop the tables that are no longer needed."
		}
		steps = append(steps, step{comment, "DROP TABLE " + name})
	}
	return steps
}

// Script writes the statements, with comments, for a file that is run in the engine's own shell. It has a fixed number of
// rounds of grouping, and then a query that must print 0; see Rounds.
func (j Join) Script(w io.Writer) error {
	j, err := j.normal()
	if err != nil {
		return err
	}
	steps := append([]step{j.checkIDs(), j.contents()}, j.pairs()...)
	steps = append(steps, j.documentPairs(), j.firstEdges())
	for n := range j.Rounds {
		steps = append(steps, j.round(n+1))
	}
	steps = append(steps, j.unfinished(j.Rounds), j.groups(j.Rounds))
	steps = append(steps, j.drops(j.Rounds)...)
	return writeScript(w, j.Dialect, []string{"Near-duplicates of " + j.Table}, j.Dialect.load(j.Table, j.ID, j.columns(), j.Signature != ""), steps)
}
