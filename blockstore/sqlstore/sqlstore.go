// Package sqlstore keeps fingerprints or signatures in a table of MariaDB, MySQL, PostgreSQL or SQLite. It is the
// [blockstore.Store] for programs that have a database anyway, and want fingerprints next to their documents. It works
// with any driver of database/sql and imports none.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// A Layout says how values are stored in the table. Below, N is the number of tables of the
// scheme.
//
// The default takes less space. https://github.com/neardup/neardup/blob/main/docs/stores.md says which layout is faster where.
type Layout string

const (
	// Rows is the default. A value has one row: its id, when it was added (seconds since 1970), the
	// value, and its keys t1 to tN. Each key is in an index of its own. A fingerprint is a signed
	// number, fp, or two of them, fp and fp2, and the index answers a search without the row. A
	// signature is bytes.
	Rows Layout = ""

	// BlockRows is the layout of Li 2015 §2.3. A fingerprint has N rows. Each of them has the id,
	// the fingerprint and the name of a block, which is indexed. The names are those of the paper's
	// MongoDB documents, such as "1:800d". It is for fingerprints of 64 bits only, and keeps no
	// times: DeleteBefore is an errors.ErrUnsupported.
	BlockRows Layout = "S003"
)

// Options are the settings of a store. The zero value means the defaults.
type Options struct {
	// Version says how the values are made ([neardup.Fingerprinter.Version], or that of
	// [neardup.MinHash]). A store with another version is not opened.
	Version string

	// Table is the name of the table. "" means "neardup". It may have up to 40 lower-case letters,
	// digits and underscores, and does not begin with a digit. A second table, with _settings after
	// the name, says what the first one holds.
	Table string

	// Layout cannot be changed later.
	Layout Layout
}

// A Store is a [blockstore.Store] in a table.
//
// Up to 10,000 ids are written in one transaction. So they are stored as a whole or not at all, and
// as safely as the database stores transactions. A transaction or search that collides with another
// transaction is tried again, up to ten times in all.
type Store[V any] struct{ blockstore.Store[V] }

// A backend is the [blockstore.Backend] of a store.
type backend struct {
	db      *sql.DB
	dialect Dialect
	keys    blockstore.Keys
	fields  fields
	table   string
	layout  layout

	mu       sync.Mutex
	prepared map[statement]*sql.Stmt // guarded by mu
}

// A statement says what a prepared statement does, and for how many ids or values.
type statement struct {
	what string
	n    int
}

// maxTables is how many tables a scheme may have, because MySQL allows 64 indexes.
const maxTables = 60

// New opens the store in a database, or makes one. If the store has another scheme, another layout
// or another version, the error is a [neardup.ErrVersion]. The database stays with the caller, who must close it. A scheme
// may have up to 60 tables.
func New[V any](ctx context.Context, db *sql.DB, dialect Dialect, scheme blockstore.Scheme[V], o Options) (*Store[V], error) {
	if o.Table == "" {
		o.Table = "neardup"
	}
	s := &backend{db: db, dialect: dialect, keys: scheme.Keys, table: o.Table, prepared: map[statement]*sql.Stmt{}}
	switch {
	case dialect < MySQL || dialect > SQLite:
		return nil, fmt.Errorf("sqlstore: unknown dialect %d", dialect)
	case !tableName.MatchString(o.Table):
		return nil, fmt.Errorf("sqlstore: %q is not a valid name for a table", o.Table)
	case s.keys.Tables() > maxTables:
		return nil, fmt.Errorf("sqlstore: %v: %d indexes, more than %d", s.keys, s.keys.Tables(), maxTables)
	case o.Layout == Rows:
		s.fields, s.layout = fieldsOf(s.keys, "fp"), rows{s}
	case o.Layout == BlockRows && s.keys.Size() == 8 && s.keys.Distance() >= 0:
		s.fields, s.layout = fieldsOf(s.keys, "hashcode"), blockRows{s}
	case o.Layout == BlockRows:
		return nil, fmt.Errorf("sqlstore: the layout %q is for fingerprints of 64 bits, not for %v", o.Layout, s.keys)
	default:
		return nil, fmt.Errorf("sqlstore: unknown layout %q", o.Layout)
	}
	settings := fmt.Sprintf("neardup store 2; %v; layout %q; version %q", s.keys, o.Layout, o.Version)
	if err := s.again(ctx, func() error { return s.create(ctx, settings) }); err != nil {
		return nil, err
	}
	return &Store[V]{blockstore.New(scheme, s)}, nil
}

var tableName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

// create makes the tables if they do not exist, and compares the settings with the stored ones.
func (s *backend) create(ctx context.Context, settings string) error {
	_, err := s.db.ExecContext(ctx, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s_settings (id INT PRIMARY KEY, settings %s NOT NULL)", s.table, s.dialect.textType()))
	if err != nil {
		return err
	}
	if _, err := s.db.ExecContext(ctx, s.dialect.insertSettings(s.table+"_settings"), s.dialect.bytes(settings)); err != nil {
		return err
	}
	var kept string
	if err := s.db.QueryRowContext(ctx, fmt.Sprintf("SELECT settings FROM %s_settings WHERE id = 1", s.table)).Scan(&kept); err != nil {
		return err
	}
	if kept != settings {
		return fmt.Errorf("the store %s: %w: %s, not %s", s.table, neardup.ErrVersion, kept, settings)
	}
	table, indexes := s.layout.schema()
	if _, err := s.db.ExecContext(ctx, table); err != nil {
		return err
	}
	for _, ix := range indexes {
		// Ask first: CREATE INDEX IF NOT EXISTS would wait for all writers even if the index
		// exists.
		there, err := s.dialect.hasIndex(ctx, s.db, s.table, ix.name)
		if err == nil && !there {
			_, err = s.db.ExecContext(ctx, s.dialect.createIndex(s.table, ix))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Put implements [blockstore.Backend]. It writes in the order of the ids, so that two calls do not
// deadlock.
func (s *backend) Put(ctx context.Context, records []blockstore.Row) error {
	records = slices.Clone(records)
	slices.SortFunc(records, func(a, b blockstore.Row) int { return strings.Compare(a.ID, b.ID) })
	_, err := s.write(ctx, "put", len(records), s.layout.rowArgs(), s.layout.upsert, func(args []any, i int) []any {
		return s.layout.appendRows(args, records[i])
	})
	return err
}

// Delete implements [blockstore.Backend].
func (s *backend) Delete(ctx context.Context, ids []string) error {
	_, err := s.write(ctx, "delete", len(ids), 1, s.delete, func(args []any, i int) []any { return append(args, s.dialect.bytes(ids[i])) })
	return err
}

// DeleteBefore implements [blockstore.Backend]. It reads the ids in ascending order, a few thousand at a
// time. The database looks at the time again when it removes a row.
func (s *backend) DeleteBefore(ctx context.Context, added uint32) (n int, err error) {
	if s.layout.added() == "" {
		return 0, fmt.Errorf("sqlstore: the layout %q does not store times: %w", BlockRows, errors.ErrUnsupported)
	}
	older := " AND " + s.layout.added() + " < "
	for last := ""; ; {
		old, err := s.page(ctx, last, older+fmt.Sprint(added))
		if err != nil || len(old) == 0 {
			return n, err
		}
		last = old[len(old)-1].ID
		removed, err := s.write(ctx, "delete before", len(old), 1, func(n int) string { return s.delete(n) + older + s.dialect.placeholder(n+1) },
			func(args []any, i int) []any { return append(args, s.dialect.bytes(old[i].ID)) }, int64(added))
		n += removed
		if err != nil {
			return n, err
		}
	}
}

// write executes statements for n things that have args arguments each, up to 10,000 things in one
// transaction. text returns the statement for some things, and appendArgs appends the arguments of
// thing i. Every statement has more arguments behind these. write returns how many rows the database counted.
func (s *backend) write(ctx context.Context, what string, n, args int, text func(n int) string, appendArgs func(args []any, i int) []any, more ...any) (affected int, err error) {
	// Use only a few sizes of statements. Databases and drivers keep every statement that is
	// prepared.
	most := max(1, min(256, s.dialect.maxArgs()/args, 2048/max(1, args/6)))
	sizes := []int{most, 32, 4, 1}
	size := func(left int) int {
		return sizes[slices.IndexFunc(sizes, func(size int) bool { return size <= most && size <= left })]
	}
	for from := 0; from < n; from += 10_000 {
		to := min(n, from+10_000)
		err := s.again(ctx, func() error {
			for i := from; i < to; i += size(to - i) { // prepare before the transaction, which may hold the only connection
				if _, err := s.prepare(ctx, statement{what, size(to - i)}, text); err != nil {
					return err
				}
			}
			tx, err := s.db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			inTx := map[int]*sql.Stmt{}
			var list []any
			rows := int64(0)
			for i := from; i < to; {
				k := size(to - i)
				if inTx[k] == nil {
					p, err := s.prepare(ctx, statement{what, k}, text)
					if err != nil {
						return err
					}
					inTx[k] = tx.StmtContext(ctx, p)
				}
				list = list[:0]
				for range k {
					list = appendArgs(list, i)
					i++
				}
				done, err := inTx[k].ExecContext(ctx, append(list, more...)...)
				if err != nil {
					return err
				}
				some, err := done.RowsAffected()
				if err != nil {
					return err
				}
				rows += some
			}
			if err := tx.Commit(); err != nil {
				return err
			}
			affected += int(rows)
			return nil
		})
		if err != nil {
			return affected, err
		}
	}
	return affected, nil
}

// again calls do, which may collide with other transactions, until it succeeds: up to ten times. It
// waits a random time in between. An error of the context comes back as such, even if the driver
// has an error of its own for it.
func (s *backend) again(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
			return fmt.Errorf("sqlstore: %w: %w", ctx.Err(), err)
		case ctx.Err() != nil || attempt == 10 || !collides(err):
			return fmt.Errorf("sqlstore: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rand.IntN(attempt*10)) * time.Millisecond):
		}
	}
}

// prepare returns a prepared statement. Each statement is written and prepared only once.
func (s *backend) prepare(ctx context.Context, what statement, text func(n int) string) (*sql.Stmt, error) {
	s.mu.Lock()
	p := s.prepared[what]
	s.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := s.db.PrepareContext(ctx, text(what.n))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.prepared[what]; other != nil {
		p.Close()
		return other, nil
	}
	s.prepared[what] = p
	return p, nil
}

// Find implements [blockstore.Backend].
func (s *backend) Find(ctx context.Context, values []string, one bool, found func(i int, id, value string) bool) error {
	atOnce := max(1, min(16, 100/s.keys.Tables())) // or one at a time, if fewer are left; SQLite allows 500 parts of a statement
	for from := 0; from < len(values); {
		n := 1
		if len(values)-from >= atOnce {
			n = atOnce
		}
		err := s.again(ctx, func() error {
			return s.found(ctx, values[from:from+n], one, func(r *row) { found(from+r.query, r.id, s.fields.value(r)) })
		})
		if err != nil {
			return err
		}
		from += n
	}
	return nil
}

// found calls use with what may be near some values, by one statement.
func (s *backend) found(ctx context.Context, values []string, one bool, use func(r *row)) error {
	search, err := s.prepare(ctx, statement{fmt.Sprint("search", one), len(values)}, func(n int) string { return s.search(n, one) })
	if err != nil {
		return err
	}
	args := make([]any, 0, len(values)*s.keys.Tables()*s.searchArgs())
	for _, value := range values {
		args = s.appendSearch(args, value)
	}
	rows, err := search.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		if err := rows.Scan(append([]any{&r.query, &r.id}, s.fields.into(&r)...)...); err != nil {
			return err
		}
		use(&r)
	}
	return rows.Err()
}

// Get implements [blockstore.Backend]. It reads up to 100 ids with a statement.
func (s *backend) Get(ctx context.Context, ids []string, yield func(blockstore.Row)) error {
	for len(ids) > 0 {
		n := 1 // so two statements are prepared, and not one for each number
		if len(ids) >= 100 {
			n = 100
		}
		var records []blockstore.Row
		err := s.again(ctx, func() error {
			get, err := s.prepare(ctx, statement{"get", n}, func(n int) string {
				return s.layout.records(s.layout.id() + " IN (" + s.dialect.in(1, n) + ")")
			})
			if err != nil {
				return err
			}
			args := make([]any, n)
			for i := range args {
				args[i] = s.dialect.bytes(ids[i])
			}
			rows, err := get.QueryContext(ctx, args...)
			if err != nil {
				return err
			}
			records, err = s.recordsOf(rows)
			return err
		})
		if err != nil {
			return err
		}
		for _, r := range records {
			yield(r)
		}
		ids = ids[n:]
	}
	return nil
}

// All implements [blockstore.Backend]. It yields the ids in ascending order of their bytes. It reads a
// few thousand at a time, and holds no connection in between.
func (s *backend) All(ctx context.Context, yield func(blockstore.Row) bool) error {
	for last := ""; ; {
		records, err := s.page(ctx, last, "")
		if err != nil {
			return err
		}
		for _, r := range records {
			if !yield(r) {
				return nil
			}
		}
		if len(records) < pageSize {
			return nil
		}
		last = records[len(records)-1].ID
	}
}

// pageSize is how many records are read at once.
const pageSize = 10_000

// page returns the first records whose ids come after the given one, and for which a condition holds,
// which begins with AND.
func (s *backend) page(ctx context.Context, behind, condition string) (records []blockstore.Row, err error) {
	id := s.layout.id()
	text := s.layout.records(fmt.Sprintf("%s > %s%s ORDER BY %s LIMIT %d", id, s.dialect.placeholder(1), condition, id, pageSize))
	err = s.again(ctx, func() error {
		rows, err := s.db.QueryContext(ctx, text, s.dialect.bytes(behind))
		if err == nil {
			records, err = s.recordsOf(rows)
		}
		return err
	})
	return records, err
}

// recordsOf reads and closes rows of the columns that layout.records selects.
func (s *backend) recordsOf(rows *sql.Rows) (records []blockstore.Row, err error) {
	defer rows.Close()
	for rows.Next() {
		var r row
		if err := rows.Scan(append([]any{&r.id, &r.added}, s.fields.into(&r)...)...); err != nil {
			return nil, err
		}
		records = append(records, blockstore.Row{ID: r.id, Value: s.fields.value(&r), Added: uint32(r.added)})
	}
	return records, rows.Err()
}

// Close implements [blockstore.Backend]. It leaves the database open.
func (s *backend) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.prepared {
		errs = append(errs, p.Close())
	}
	s.prepared = nil
	return errors.Join(errs...)
}
