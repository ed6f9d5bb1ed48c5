package sqlstore

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/neardup/neardup/blockstore"
)

// A layout says what the columns are, and writes the statements that depend on them. The arguments of
// upsert are in the order in which appendRows appends them.
type layout interface {
	schema() (table string, indexes []index)       // the statement that makes the table, and its indexes
	rowArgs() int                                  // how many arguments a record has in upsert
	upsert(n int) string                           // of n records
	appendRows(args []any, r blockstore.Row) []any // the arguments of a record for upsert
	records(where string) string                   // the records for which a condition holds; the columns are id, time, and those of the value
	id() string                                    // the column with the ids
	added() string                                 // the column with the times, or "" if there is none
	key(table int) string                          // the column with the keys of a table
	keyArg(table int, key uint64) any              // a key as an argument for that column
}

// fields says how the bytes of values lie in columns: fingerprints as one or two signed numbers, in
// which the database can count bits, and signatures as bytes.
type fields struct {
	columns []string
	words   bool // the columns are numbers
}

// fieldsOf returns the columns of values, which are named after the first.
func fieldsOf(keys blockstore.Keys, first string) fields {
	switch {
	case keys.Distance() < 0:
		return fields{[]string{"signature"}, false}
	case keys.Size() == 8:
		return fields{[]string{first}, true}
	}
	return fields{[]string{first, first + "2"}, true}
}

// schema returns the definitions of the columns.
func (f fields) schema(d Dialect) (columns []string) {
	for _, c := range f.columns {
		if f.words {
			columns = append(columns, c+" BIGINT NOT NULL")
		} else {
			columns = append(columns, c+" "+d.valueType()+" NOT NULL")
		}
	}
	return columns
}

// append appends the arguments for the columns.
func (f fields) append(args []any, value string) []any {
	if !f.words {
		return append(args, []byte(value))
	}
	for i := range f.columns {
		args = append(args, int64(binary.BigEndian.Uint64([]byte(value[8*i:8*i+8]))))
	}
	return args
}

// A row is a place for what a statement returns.
type row struct {
	query int
	id    string
	added int64
	words [2]int64
	bytes []byte
}

// into returns where the columns of a value go.
func (f fields) into(r *row) []any {
	if !f.words {
		return []any{&r.bytes}
	}
	return []any{&r.words[0], &r.words[1]}[:len(f.columns)]
}

// value returns the bytes of the value of a row.
func (f fields) value(r *row) string {
	if !f.words {
		return string(r.bytes)
	}
	var b []byte
	for i := range f.columns {
		b = binary.BigEndian.AppendUint64(b, uint64(r.words[i]))
	}
	return string(b)
}

// verifies reports whether the database computes the distance itself.
func (s *backend) verifies() bool { return s.fields.words && s.dialect != SQLite }

// delete returns a statement that deletes n ids.
func (s *backend) delete(n int) string {
	return fmt.Sprintf("DELETE FROM %s WHERE %s IN (%s)", s.table, s.layout.id(), s.dialect.in(1, n))
}

// search returns a statement with what may be near n values: number of the value, id, and columns of the
// value found. If one is true and the database verifies, it has at most one row for each table of a value.
// It asks for one key after the other: if several are in one condition, PostgreSQL may read the whole table.
func (s *backend) search(n int, one bool) string {
	var parts []string
	for i := range n {
		for t := range s.keys.Tables() {
			arg := 1 + len(parts)*s.searchArgs()
			part := fmt.Sprintf("SELECT %d, %s, %s FROM %s WHERE %s = %s", i, s.layout.id(), strings.Join(s.fields.columns, ", "), s.table, s.layout.key(t), s.dialect.placeholder(arg))
			if s.verifies() {
				part += fmt.Sprintf(" AND %s <= %d", s.dialect.distance(s.fields.columns, arg+1), s.keys.Distance())
			}
			if s.verifies() && one {
				part = "(" + part + " LIMIT 1)"
			}
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " UNION ALL ")
}

// searchArgs returns how many arguments search has for a key: the key, and the fingerprint if the database
// computes the distance.
func (s *backend) searchArgs() int {
	if s.verifies() {
		return 1 + len(s.fields.columns)
	}
	return 1
}

// appendSearch appends the arguments of a value for search.
func (s *backend) appendSearch(args []any, value string) []any {
	for t, key := range s.keys.AppendKeys(nil, value) {
		if args = append(args, s.layout.keyArg(t, key)); s.verifies() {
			args = s.fields.append(args, value)
		}
	}
	return args
}

// rows is the layout Rows.
type rows struct{ *backend }

// keyType returns the type of the column for the keys of a table.
func (s rows) keyType(table int) string {
	if s.keys.KeyBits(table) <= 31 {
		return "INT"
	}
	return "BIGINT"
}

// keyColumns returns the columns of the keys.
func (s rows) keyColumns() (columns []string) {
	for t := range s.keys.Tables() {
		columns = append(columns, s.key(t))
	}
	return columns
}

// schema makes an index for each table. If fingerprints are in it, too, it answers a search without
// the row. The keys of an empty set are NULL.
func (s rows) schema() (table string, indexes []index) {
	columns := append([]string{"id " + s.dialect.idType() + " PRIMARY KEY", "added BIGINT NOT NULL"}, s.fields.schema(s.dialect)...)
	for t, column := range s.keyColumns() {
		columns = append(columns, column+" "+s.keyType(t))
		ix := index{fmt.Sprintf("%s_ix%d", s.table, t+1), column, ""}
		if s.fields.words {
			ix.columns, ix.more = strings.Join(append([]string{column}, s.fields.columns...), ", "), "id"
		}
		indexes = append(indexes, ix)
	}
	return s.dialect.createTable(s.table, columns, indexes), indexes
}

func (s rows) rowArgs() int { return 2 + len(s.fields.columns) + s.keys.Tables() }

func (s rows) upsert(n int) string {
	return s.dialect.upsert(s.table, []string{"id"}, append([]string{"added"}, s.fields.columns...), s.keyColumns(), n)
}

func (s rows) appendRows(args []any, r blockstore.Row) []any {
	args = s.fields.append(append(args, s.dialect.bytes(r.ID), int64(r.Added)), r.Value)
	keys := s.keys.AppendKeys(nil, r.Value)
	for _, key := range keys {
		args = append(args, int64(key))
	}
	if len(keys) == 0 {
		args = append(args, make([]any, s.keys.Tables())...)
	}
	return args
}

func (s rows) records(where string) string {
	return fmt.Sprintf("SELECT id, added, %s FROM %s WHERE %s", strings.Join(s.fields.columns, ", "), s.table, where)
}

func (s rows) id() string                   { return "id" }
func (s rows) added() string                { return "added" }
func (s rows) key(table int) string         { return fmt.Sprintf("t%d", table+1) }
func (s rows) keyArg(_ int, key uint64) any { return int64(key) }

// blockRows is the layout BlockRows.
type blockRows struct{ *backend }

func (s blockRows) schema() (table string, indexes []index) {
	name := "VARCHAR(24)"
	if s.dialect == MySQL {
		name = "VARBINARY(24)"
	}
	columns := []string{"textname " + s.dialect.idType(), "class SMALLINT", "block_name " + name + " NOT NULL", "hashcode BIGINT NOT NULL", "PRIMARY KEY (textname, class)"}
	indexes = []index{{s.table + "_ix", "block_name, hashcode", "textname"}}
	return s.dialect.createTable(s.table, columns, indexes), indexes
}

func (s blockRows) rowArgs() int { return 4 * s.keys.Tables() }

func (s blockRows) upsert(n int) string {
	return s.dialect.upsert(s.table, []string{"textname", "class"}, s.fields.columns, []string{"block_name"}, n*s.keys.Tables())
}

func (s blockRows) appendRows(args []any, r blockstore.Row) []any {
	for t, key := range s.keys.AppendKeys(nil, r.Value) {
		args = append(args, s.dialect.bytes(r.ID), int64(t+1))
		args = append(s.fields.append(args, r.Value), s.keyArg(t, key))
	}
	return args
}

func (s blockRows) records(where string) string {
	return fmt.Sprintf("SELECT textname, 0, hashcode FROM %s WHERE class = 1 AND %s", s.table, where)
}

func (s blockRows) id() string     { return "textname" }
func (s blockRows) added() string  { return "" }
func (s blockRows) key(int) string { return "block_name" }
func (s blockRows) keyArg(table int, key uint64) any {
	return s.dialect.bytes(s.keys.KeyName(table, key))
}
