// Package sqlstore keeps fingerprints in a table of MariaDB, MySQL, PostgreSQL or SQLite. It is the
// [blockstore.Store] for programs that have a database anyway, and want fingerprints beside their
// documents. It works with any driver of database/sql and imports none.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// A Layout is how fingerprints lie in the table. Below, N is the number of tables of
// [blockstore.Blocks].
//
// The default takes less space. docs/stores.md says which layout is faster where.
type Layout string

const (
	// Rows is the default. A fingerprint has one row: its id, the fingerprint as a signed number,
	// and its keys t1 to tN. Each key is in an index of its own, which answers a search without the
	// row.
	Rows Layout = ""

	// BlockRows is the layout of Li 2015 §2.3. A fingerprint has N rows. Each of them has the id,
	// the fingerprint and the name of a block, which is indexed. The names are those of the paper's
	// MongoDB documents, such as "1:800d".
	BlockRows Layout = "S003"
)

// Options are the settings of a store. The zero value means the defaults.
type Options struct {
	// Blocks is the number of blocks, see [blockstore.NewBlocks]. It cannot be changed later. 0
	// means one more than the distance. For the distance 3, 5 or 6 blocks are better from ten
	// million fingerprints on, but need 10 or 20 indexes.
	Blocks int

	// Version says how the fingerprints are made ([neardup.Fingerprinter.Version]). A store with
	// another version is not opened.
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
type Store struct {
	db      *sql.DB
	dialect Dialect
	blocks  blockstore.Blocks
	table   string
	layout  layout

	mu       sync.Mutex
	prepared map[statement]*sql.Stmt // guarded by mu
}

// A statement says what a prepared statement does, and for how many ids or fingerprints.
type statement struct {
	what string
	n    int
}

// New opens the store in a database, or makes one, for Hamming distances up to distance. If the
// store has another distance, other blocks, another layout or another version, the error is a
// [neardup.ErrVersion]. The database stays the caller's, who closes it.
func New(ctx context.Context, db *sql.DB, dialect Dialect, distance int, o Options) (*Store, error) {
	if o.Table == "" {
		o.Table = "neardup"
	}
	blocks, err := blockstore.NewBlocks(distance, o.Blocks)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, dialect: dialect, blocks: blocks, table: o.Table, prepared: map[statement]*sql.Stmt{}}
	switch {
	case dialect < MySQL || dialect > SQLite:
		return nil, fmt.Errorf("sqlstore: no dialect %d", dialect)
	case !tableName.MatchString(o.Table):
		return nil, fmt.Errorf("sqlstore: the name of a table cannot be %q", o.Table)
	case o.Layout == Rows:
		s.layout = rows{s}
	case o.Layout == BlockRows:
		s.layout = blockRows{s}
	default:
		return nil, fmt.Errorf("sqlstore: no layout %q", o.Layout)
	}
	settings := fmt.Sprintf("neardup store 1; %v; layout %q; version %q", blocks, o.Layout, o.Version)
	if err := s.again(ctx, func() error { return s.create(ctx, settings) }); err != nil {
		return nil, err
	}
	return s, nil
}

var tableName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

// create makes the tables if they do not exist, and compares the settings with the stored ones.
func (s *Store) create(ctx context.Context, settings string) error {
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

// Put implements [blockstore.Store]. It writes in the order of the ids, so that two calls do not
// wait for each other in a ring.
func (s *Store) Put(ctx context.Context, entries []blockstore.Entry) error {
	entries, err := blockstore.CheckEntries(entries)
	if err != nil {
		return err
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b blockstore.Entry) int { return strings.Compare(a.ID, b.ID) })
	return s.write(ctx, "put", len(entries), s.layout.rowArgs(), s.layout.upsert, func(args []any, i int) []any {
		return s.layout.appendRows(args, entries[i])
	})
}

// Delete implements [blockstore.Store].
func (s *Store) Delete(ctx context.Context, ids []string) error {
	ids, err := blockstore.CheckIDs(ids)
	if err != nil {
		return err
	}
	return s.write(ctx, "delete", len(ids), 1, s.layout.delete, func(args []any, i int) []any { return append(args, s.dialect.bytes(ids[i])) })
}

// write executes statements for n things that have args arguments each, up to 10,000 things in one
// transaction. text returns the statement for some things, and appendArgs appends the arguments of
// thing i.
func (s *Store) write(ctx context.Context, what string, n, args int, text func(n int) string, appendArgs func(args []any, i int) []any) error {
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
				if _, err := inTx[k].ExecContext(ctx, list...); err != nil {
					return err
				}
			}
			return tx.Commit()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// again calls do, which may collide with other transactions, until it succeeds: up to ten times. It
// waits a random time in between. An error of the context comes back as such, even if the driver
// has an error of its own for it.
func (s *Store) again(ctx context.Context, do func() error) error {
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
func (s *Store) prepare(ctx context.Context, what statement, text func(n int) string) (*sql.Stmt, error) {
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

// Search implements [blockstore.Store].
func (s *Store) Search(ctx context.Context, fps []neardup.Fingerprint64, limit int) ([][]neardup.Match[string], error) {
	found, err := blockstore.NewResults(len(fps), limit)
	if err != nil {
		return nil, err
	}
	atOnce := max(1, min(16, 100/s.blocks.Tables())) // or one at a time, if fewer are left; SQLite allows 500 parts of a statement
	for from := 0; from < len(fps); {
		n := 1
		if len(fps)-from >= atOnce {
			n = atOnce
		}
		err := s.again(ctx, func() error {
			found.Reset(from, from+n)
			return s.search(ctx, fps[from:from+n], func(query int, id string, distance int) { found.Add(from+query, id, distance) })
		})
		if err != nil {
			return nil, err
		}
		from += n
	}
	return found.Matches(), nil
}

// search searches for some fingerprints with one statement. It checks all distances itself, because
// SQLite cannot.
func (s *Store) search(ctx context.Context, fps []neardup.Fingerprint64, found func(query int, id string, distance int)) error {
	search, err := s.prepare(ctx, statement{"search", len(fps)}, s.layout.search)
	if err != nil {
		return err
	}
	var args []any
	for _, fp := range fps {
		args = s.layout.appendSearch(args, fp)
	}
	rows, err := search.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var query int
		var id string
		var fp int64
		if err := rows.Scan(&query, &id, &fp); err != nil {
			return err
		}
		if d := fps[query].Distance(neardup.Fingerprint64(fp)); d <= s.blocks.Distance() {
			found(query, id, d)
		}
	}
	return rows.Err()
}

// Exists implements [blockstore.Store]. Except in SQLite, the database stops at the first
// fingerprint that it finds.
func (s *Store) Exists(ctx context.Context, fps []neardup.Fingerprint64) ([]bool, error) {
	found := make([]bool, len(fps))
	if s.dialect == SQLite {
		all, err := s.Search(ctx, fps, 1)
		for i := range all {
			found[i] = len(all[i]) > 0
		}
		return found, err
	}
	for i, fp := range fps {
		err := s.again(ctx, func() error {
			exists, err := s.prepare(ctx, statement{"exists", 1}, func(int) string { return s.layout.exists() })
			if err != nil {
				return err
			}
			return exists.QueryRowContext(ctx, s.layout.appendExists(nil, fp)...).Scan(&found[i])
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Get implements [blockstore.Store]. It reads up to 100 ids with a statement.
func (s *Store) Get(ctx context.Context, ids []string) (map[string]neardup.Fingerprint64, error) {
	ids, err := blockstore.CheckIDs(ids)
	if err != nil {
		return nil, err
	}
	found := map[string]neardup.Fingerprint64{}
	for len(ids) > 0 {
		n := 1 // so two statements are prepared, and not one for each number
		if len(ids) >= 100 {
			n = 100
		}
		err := s.again(ctx, func() error {
			get, err := s.prepare(ctx, statement{"get", n}, s.layout.get)
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
			entries, err := entriesOf(rows)
			for _, e := range entries {
				found[e.ID] = e.Fingerprint
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		ids = ids[n:]
	}
	return found, ctx.Err()
}

// All implements [blockstore.Store]. It yields the ids in ascending order of their bytes. It reads
// some thousands at a time, and holds no connection in between.
func (s *Store) All(ctx context.Context) iter.Seq2[blockstore.Entry, error] {
	return func(yield func(blockstore.Entry, error) bool) {
		const page = 10_000
		last := ""
		for {
			var entries []blockstore.Entry
			err := s.again(ctx, func() (err error) {
				entries, err = s.page(ctx, last, page)
				return err
			})
			if err != nil {
				yield(blockstore.Entry{}, err)
				return
			}
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
			if len(entries) < page {
				return
			}
			last = entries[len(entries)-1].ID
		}
	}
}

// page returns the first n entries whose ids come after the given one.
func (s *Store) page(ctx context.Context, behind string, n int) ([]blockstore.Entry, error) {
	rows, err := s.db.QueryContext(ctx, s.layout.page(n), s.dialect.bytes(behind))
	if err != nil {
		return nil, err
	}
	return entriesOf(rows)
}

// entriesOf reads ids and fingerprints.
func entriesOf(rows *sql.Rows) (entries []blockstore.Entry, err error) {
	defer rows.Close()
	for rows.Next() {
		var e blockstore.Entry
		var fp int64
		if err := rows.Scan(&e.ID, &fp); err != nil {
			return nil, err
		}
		e.Fingerprint = neardup.Fingerprint64(fp)
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// Distance implements [blockstore.Store].
func (s *Store) Distance() int { return s.blocks.Distance() }

// Close implements [blockstore.Store]. It leaves the database open.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.prepared {
		errs = append(errs, p.Close())
	}
	s.prepared = nil
	return errors.Join(errs...)
}

var _ blockstore.Store = (*Store)(nil)
