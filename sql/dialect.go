package neardupsql

import (
	"fmt"
	"strings"
)

// This file has what the dialects say differently. Everything else is plain SQL.

// A Dialect is the SQL of an engine.
type Dialect string

// The dialects, with the oldest version that has the functions they use.
const (
	PostgreSQL Dialect = "postgresql" // 14
	DuckDB     Dialect = "duckdb"     // 1.3
	ClickHouse Dialect = "clickhouse" // 23
	Spark      Dialect = "spark"      // Spark SQL 3.0, Databricks
	BigQuery   Dialect = "bigquery"   // GoogleSQL
)

// Dialects are all of them.
var Dialects = []Dialect{PostgreSQL, DuckDB, ClickHouse, Spark, BigQuery}

func (d Dialect) check() error {
	for _, known := range Dialects {
		if d == known {
			return nil
		}
	}
	return fmt.Errorf("dialect %q: must be one of %v", string(d), Dialects)
}

// name quotes the name of a table or a column. Points divide it into parts, but for those between double quotes.
func (d Dialect) name(name string) string {
	quote := `"`
	if d == BigQuery || d == ClickHouse || d == Spark {
		quote = "`"
	}
	parts, _ := parts(name)
	if d == BigQuery { // which knows such names as a whole
		return quote + strings.Join(parts, ".") + quote
	}
	for i, p := range parts {
		parts[i] = quote + strings.ReplaceAll(p, quote, quote+quote) + quote
	}
	return strings.Join(parts, ".")
}

// parts returns the parts of a name, and whether its quotes are closed. Two quotes stand for one.
func parts(name string) (all []string, ok bool) {
	var part strings.Builder
	isQuoted := false
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '"' && isQuoted && strings.HasPrefix(name[i+1:], `"`):
			part.WriteByte(c)
			i++
		case c == '"':
			isQuoted = !isQuoted
		case c == '.' && !isQuoted:
			all = append(all, part.String())
			part.Reset()
		default:
			part.WriteByte(c)
		}
	}
	return append(all, part.String()), !isQuoted
}

// text returns a value as text; NULL stays NULL.
func (d Dialect) text(x string) string {
	if d == ClickHouse {
		return "toString(" + x + ")"
	}
	return "CAST(" + x + " AS " + map[Dialect]string{PostgreSQL: "text", DuckDB: "VARCHAR", Spark: "STRING", BigQuery: "STRING"}[d] + ")"
}

// concat joins the texts of a group with commas.
func (d Dialect) concat(x string) string {
	switch d {
	case ClickHouse:
		return "arrayStringConcat(groupArray(" + x + "), ', ')"
	case Spark:
		return "concat_ws(', ', collect_list(" + x + "))"
	}
	return "string_agg(" + x + ", ', ')"
}

// fail is an expression that ends the statement with an error, whose message has a text.
func (d Dialect) fail(text string) string {
	switch d {
	case DuckDB:
		return "error(" + text + ")"
	case Spark:
		return "raise_error(" + text + ")"
	case BigQuery:
		return "ERROR(" + text + ")"
	case ClickHouse:
		return "toInt64(" + text + ")"
	}
	return "CAST(" + text + " AS integer)" // a text that is no number, which the message shows
}

// load returns lines that make a table of what neardup fingerprint has written, with an id of text, and other columns that are lists of 32-bit integers or
// 64-bit integers.
func (d Dialect) load(table, id string, columns []string, lists bool) []string {
	name := d.name(table)
	switch d {
	case PostgreSQL:
		types := d.name(id) + " text PRIMARY KEY"
		for _, c := range columns {
			types += ", " + d.name(c) + map[bool]string{true: " integer[]", false: " bigint"}[lists]
		}
		return []string{"CREATE TABLE " + name + " (" + types + ");", `\copy ` + name + " FROM 'FILE.csv' WITH (FORMAT csv, HEADER)"}
	case DuckDB:
		return []string{"CREATE TABLE " + name + " AS SELECT * FROM 'FILE.parquet';"}
	case ClickHouse:
		return []string{"CREATE TABLE " + name + " ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM file('FILE.parquet');"}
	case Spark:
		return []string{"CREATE TABLE " + name + " USING parquet AS SELECT * FROM parquet.`FILE.parquet`;"}
	}
	return []string{"bq load --source_format=PARQUET --parquet_enable_list_inference " + strings.Trim(name, "`") + " FILE.parquet"}
}

// transaction returns the statements around a script, so that after an error nothing else is done. The shells of the
// other dialects stop by themselves.
func (d Dialect) transaction() (begin, commit string) {
	switch d {
	case PostgreSQL, DuckDB:
		return "BEGIN", "COMMIT"
	case Spark: // otherwise tables are Hive's text files, whose rows end where an id has a line end
		return "SET spark.sql.legacy.createHiveTableByDefault=false", ""
	}
	return "", ""
}

// create begins a statement that makes a table of a query.
func (d Dialect) create(table string) string {
	if d == ClickHouse {
		return "CREATE TABLE " + table + " ENGINE = MergeTree ORDER BY tuple() AS\n"
	}
	return "CREATE TABLE " + table + " AS\n"
}

// integer writes a 64-bit integer.
func (d Dialect) integer(x int64) string {
	text := fmt.Sprint(x)
	if x == -1<<63 { // its digits alone are too large
		text = "(-9223372036854775807 - 1)"
	} else if x < 0 {
		text = "(" + text + ")"
	}
	if d == ClickHouse {
		return "toInt64(" + text + ")"
	}
	return text
}

func (d Dialect) and(a, b string) string {
	if d == ClickHouse {
		return "bitAnd(" + a + ", " + b + ")"
	}
	return "(" + a + " & " + b + ")"
}

func (d Dialect) xor(a, b string) string {
	switch d {
	case ClickHouse:
		return "bitXor(" + a + ", " + b + ")"
	case DuckDB:
		return "xor(" + a + ", " + b + ")"
	case PostgreSQL:
		return "(" + a + " # " + b + ")"
	}
	return "(" + a + " ^ " + b + ")"
}

// ones counts the ones of a 64-bit integer.
func (d Dialect) ones(x string) string {
	switch d {
	case ClickHouse:
		return "bitCount(" + x + ")"
	case PostgreSQL:
		return "bit_count(" + x + "::bit(64))"
	}
	return "bit_count(" + x + ")"
}

// own returns the signature with the mark of borrowed values removed: bands do not tell them apart.
func (d Dialect) own(signature string) string { return d.masked(signature, 2147483647) }

// masked returns a list of some bits of the values of a list.
func (d Dialect) masked(list string, mask int) string {
	bits := fmt.Sprint(mask)
	switch d {
	case PostgreSQL:
		return "ARRAY(SELECT v & " + bits + " FROM unnest(" + list + ") WITH ORDINALITY AS u(v, o) ORDER BY o)"
	case DuckDB:
		return "list_transform(" + list + ", lambda v: v & " + bits + ")"
	case ClickHouse:
		return "arrayMap(v -> bitAnd(v, " + bits + "), " + list + ")"
	case Spark:
		return "transform(" + list + ", v -> v & " + bits + ")"
	}
	return "ARRAY(SELECT v & " + bits + " FROM UNNEST(" + list + ") AS v WITH OFFSET o ORDER BY o)"
}

// numbers is a table expression with a column that has the numbers from 0 to n−1, to be joined by a comma.
func (d Dialect) numbers(n int, column string) string {
	switch d {
	case PostgreSQL:
		return fmt.Sprintf("generate_series(0, %d) AS n(%s)", n-1, column)
	case DuckDB:
		return fmt.Sprintf("range(%d) AS n(%s)", n, column)
	case ClickHouse:
		return fmt.Sprintf("(SELECT toInt32(number) AS %s FROM numbers(%d)) AS n", column, n)
	case Spark:
		return fmt.Sprintf("(SELECT explode(sequence(0, %d)) AS %s) AS n", n-1, column)
	}
	return fmt.Sprintf("(SELECT %s FROM UNNEST(GENERATE_ARRAY(0, %d)) AS %s) AS n", column, n-1, column)
}

// band returns the rows values of a band of a list, as something that can be compared.
func (d Dialect) band(list, band string, rows int) string {
	switch d {
	case PostgreSQL:
		return fmt.Sprintf("%s[%s * %d + 1 : (%s + 1) * %d]", list, band, rows, band, rows)
	case DuckDB: // 64 bits instead of a list make the join three times as fast
		return fmt.Sprintf("hash(%s[%s * %d + 1 : (%s + 1) * %d])", list, band, rows, band, rows)
	case ClickHouse:
		return fmt.Sprintf("arraySlice(%s, %s * %d + 1, %d)", list, band, rows, rows)
	case Spark:
		return fmt.Sprintf("slice(%s, %s * %d + 1, %d)", list, band, rows, rows)
	}
	return fmt.Sprintf("TO_JSON_STRING(ARRAY(SELECT v FROM UNNEST(%s) AS v WITH OFFSET o WHERE o >= %s * %d AND o < (%s + 1) * %d ORDER BY o))", list, band, rows, band, rows)
}

// jaccard estimates the similarity of two signatures: the values that are equal and not borrowed, divided by the
// places in which one of the two is not borrowed. Borrowed values are negative.
func (d Dialect) jaccard(a, b string) string {
	const same, either = "x = y AND x >= 0", "x >= 0 OR y >= 0"
	switch d {
	case PostgreSQL:
		return fmt.Sprintf("(SELECT count(*) FILTER (WHERE %s)::float8 / count(*) FILTER (WHERE %s) FROM unnest(%s, %s) AS u(x, y))", same, either, a, b)
	case DuckDB:
		zip := fmt.Sprintf("list_zip(%s, %s)", a, b)
		return fmt.Sprintf("len(list_filter(%s, lambda p: p[1] = p[2] AND p[1] >= 0))::DOUBLE / len(list_filter(%s, lambda p: p[1] >= 0 OR p[2] >= 0))", zip, zip)
	case ClickHouse:
		return fmt.Sprintf("arrayCount((x, y) -> %s, %s, %s) / arrayCount((x, y) -> %s, %s, %s)", same, a, b, either, a, b)
	case Spark:
		zip := func(condition string) string {
			return fmt.Sprintf("size(filter(zip_with(%s, %s, (x, y) -> %s), z -> z))", a, b, condition)
		}
		return fmt.Sprintf("CAST(%s AS DOUBLE) / %s", zip(same), zip(either))
	}
	return fmt.Sprintf("(SELECT COUNTIF(%s) / COUNTIF(%s) FROM UNNEST(%s) AS x WITH OFFSET i JOIN UNNEST(%s) AS y WITH OFFSET j ON i = j)", same, either, a, b)
}

// length returns the length of a list.
func (d Dialect) length(list string) string {
	switch d {
	case PostgreSQL:
		return "cardinality(" + list + ")"
	case Spark:
		return "size(" + list + ")"
	case BigQuery:
		return "ARRAY_LENGTH(" + list + ")"
	}
	return "length(" + list + ")"
}

// equal returns what equal lists have in common, for GROUP BY.
func (d Dialect) equal(list string) string {
	if d == BigQuery {
		return "TO_JSON_STRING(" + list + ")"
	}
	return list
}

// anyValue is a value of a group.
func (d Dialect) anyValue(x string) string {
	switch d {
	case PostgreSQL:
		return "(array_agg(" + x + "))[1]" // any_value is of version 16
	case ClickHouse:
		return "any(" + x + ")"
	}
	return "any_value(" + x + ")"
}

// nulls makes an outer join give NULL where there is no row.
func (d Dialect) nulls() string {
	if d == ClickHouse {
		return "\nSETTINGS join_use_nulls = 1"
	}
	return ""
}
