package neardupsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// This file runs a join in an engine.

// A Runner runs statements: a [sql.DB], a [sql.Conn] or a [sql.Tx]. With a database in memory, all statements must see
// the same one.
type Runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Result says what [Join.Run] has made.
type Result struct {
	Contents, Pairs, Grouped int64 // rows of the tables
	Rounds                   int   // of grouping
}

// mostRounds is far more than any collection needs: the distances in a group halve in each round.
const mostRounds = 100

// checkNow returns an error if there are ids that are NULL or stand in several rows.
func (j *Join) checkNow(ctx context.Context, db Runner) error {
	var bad int
	var ids sql.NullString
	if err := db.QueryRowContext(ctx, j.badIDs()).Scan(&bad, &ids); err != nil {
		return fmt.Errorf("neardupsql: %w", err)
	}
	if bad > 0 {
		return fmt.Errorf("neardupsql: ids of %s that are NULL or occur in several rows: %s", j.Table, ids.String)
	}
	return nil
}

// Run makes the tables of the join. Ids that are NULL or occur in several rows are an error. It does not replace tables: if
// one of them is there already, the error is that of the engine. After any error, Run removes the tables that it has made.
func (j Join) Run(ctx context.Context, db Runner) (r Result, err error) {
	if j, err = j.normal(); err != nil {
		return r, err
	}
	if err := j.checkNow(ctx, db); err != nil {
		return r, err
	}
	w := work{ctx: ctx, db: db}
	drop := func(table string) string { return "DROP TABLE " + table }
	w.run(j.contents(), drop(j.table("contents")))
	tables := []string{"pairs"}
	if j.Signature != "" {
		tables = []string{"bands", "candidates", "pairs"}
	}
	for i, s := range j.pairs() {
		undo := ""
		if i < len(tables) {
			undo = drop(j.table(tables[i]))
		}
		w.run(s, undo)
	}
	w.run(j.documentPairs(), "DROP VIEW "+j.table("document_pairs"))
	if w.run(j.firstEdges(), drop(j.edges(0))) {
		for {
			if left := w.count(j.unfinished(r.Rounds).sql); left == 0 || w.err != nil {
				break
			}
			if r.Rounds == mostRounds {
				w.err = errors.New("neardupsql: the groups are still not complete after the last round")
				break
			}
			r.Rounds++
			w.run(j.round(r.Rounds), drop(j.edges(r.Rounds)))
		}
	}
	w.run(j.groups(r.Rounds), drop(j.table("groups")))
	for _, s := range j.drops(r.Rounds) {
		w.run(s, "")
	}
	r.Contents = w.count("SELECT count(*) FROM " + j.table("contents"))
	r.Pairs = w.count("SELECT count(*) FROM " + j.table("pairs"))
	r.Grouped = w.count("SELECT count(*) FROM " + j.table("groups"))
	if w.err != nil {
		return Result{}, w.undo()
	}
	return r, nil
}

// work is statements that are run one after the other, until one of them fails.
type work struct {
	ctx  context.Context
	db   Runner
	made []string // statements that undo what was done
	err  error    // the first one
}

// run runs a step, and reports whether all have worked so far. undo undoes it, if it is not empty.
func (w *work) run(s step, undo string) bool {
	if w.err != nil {
		return false
	}
	if _, err := w.db.ExecContext(w.ctx, s.sql); err != nil {
		w.err = fmt.Errorf("neardupsql: %w, at: %s", err, s.comment)
	} else if undo != "" {
		w.made = append(w.made, undo)
	}
	return w.err == nil
}

// count returns the number that a query returns.
func (w *work) count(query string) (n int64) {
	if w.err != nil {
		return 0
	}
	if err := w.db.QueryRowContext(w.ctx, query).Scan(&n); err != nil {
		w.err = fmt.Errorf("neardupsql: %w", err)
	}
	return n
}

// undo undoes what was done, in the reverse order, and returns the error for which it is undone.
func (w *work) undo() error {
	for _, statement := range slices.Backward(w.made) {
		w.db.ExecContext(context.WithoutCancel(w.ctx), statement) // one that is gone already stays gone
	}
	return w.err
}
