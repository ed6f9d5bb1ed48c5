package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
	"github.com/neardup/neardup/blockstore/sqlstore"
	"github.com/neardup/neardup/internal/server"
	"github.com/neardup/neardup/lab/buckets"
	"github.com/neardup/neardup/lab/planted"
)

// This file is the part of E003 that asks of each new row whether any near-duplicate is stored
// (exists), and which ones are (list): in memory, and in a database.

// arriving returns n uniform fingerprints, of which one in twenty is near an earlier one.
func arriving(n int) []neardup.Fingerprint64 {
	s := planted.Stream(9)
	fps := make([]neardup.Fingerprint64, n)
	for i := range fps {
		fps[i] = neardup.Fingerprint64(s.Next())
		if i%20 == 19 {
			fps[i] = fps[i-10] ^ 1<<(s.Next()%64) ^ 1<<(s.Next()%64)
		}
	}
	return fps
}

// A place keeps fingerprints. exists and list return how many near ones they found; exists stops at
// the first.
type place struct {
	name         string
	load         func(fps []neardup.Fingerprint64) error
	add          func(i int, fp neardup.Fingerprint64) error
	exists, list func(fp neardup.Fingerprint64) (int, error)
}

// incremental measures the two questions of Li 2015, and the addition of a row.
func (l *lab) incremental() error {
	l.section(3, "E003-3: one by one (table 5 of Li 2015)")
	var db *sql.DB
	mariadb, err := server.Start("mariadb")
	if err == nil {
		defer mariadb.Stop()
		if db, err = sql.Open("mysql", "root@tcp(127.0.0.1:"+mariadb.Port+")/neardup"); err != nil {
			return err
		}
		defer db.Close()
	} else if !errors.Is(err, server.ErrMissing) {
		return err
	}
	var rows [][]string
	for _, n := range []int{l.size(10_000), l.size(100_000), l.size(1_000_000)} {
		places := []place{fourBlocks(), libraryIndex()}
		if db != nil && n <= l.size(100_000) {
			for _, layout := range []sqlstore.Layout{sqlstore.BlockRows, sqlstore.Rows} {
				p, err := inDatabase(db, layout, fmt.Sprint("n", n))
				if err != nil {
					return err
				}
				places = append(places, p)
			}
		}
		asked := l.size(2000)
		fps := arriving(n + asked)
		for i, fp := range fps[:asked] { // every other new row is near an old one
			if i%2 == 0 {
				fps[n+i] = fp ^ 1<<(i%64) ^ 1<<(i*5%61)
			}
		}
		for _, p := range places {
			l.step("one by one: %s, %d", p.name, n)
			row, err := p.measure(fps, n)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
	}
	l.table([]string{"stored", "where ", "exists, µs", "list, µs", "add, µs", "rows with a near one", "listed"}, rows)
	l.text("Li 2015 asks of each new row whether any is near (exists), which may stop at the first, or which ones are (list), in MySQL and in MongoDB, and finds MongoDB faster; its numbers are lost. Here both are asked about %d new rows, every other of which is near an old one, on the uniform fingerprints of the batch task; then the new rows are added one by one. Exists is asked first, so it pays for cold caches, and each was measured once: small differences between exists and list, or between the two tables, mean nothing.", l.size(2000))
	if db == nil {
		l.text("MariaDB is not installed here, so the rows about a database are missing.")
		return nil
	}
	l.text("`BlockRows` of `blockstore/sqlstore` is how we read the table of Li 2015, which is lost: four rows for each fingerprint, with the block and its value as the index. `Rows` is the default there: one row with a column for each block. Both are in MariaDB on this machine, over a local connection; a write waits for the disk. A million took too long to load. " +
		"No server of MongoDB could be had here. FerretDB, which speaks its language, was not measured here; its times say nothing about MongoDB. So whether MongoDB is the faster one stays open. [docs/stores.md](../../docs/stores.md) has all stores side by side.")
	return nil
}

// measure loads the first n fingerprints, and then asks about the others and adds them. It returns the row of the table.
func (p *place) measure(fps []neardup.Fingerprint64, n int) (row []string, err error) {
	if err := p.load(fps[:n]); err != nil {
		return nil, err
	}
	row = []string{fmt.Sprint(n), p.name}
	var found [2]int
	for i, ask := range []func(neardup.Fingerprint64) (int, error){p.exists, p.list} {
		start := time.Now()
		for _, fp := range fps[n:] {
			k, err := ask(fp)
			if err != nil {
				return nil, err
			}
			found[i] += k
		}
		row = append(row, perCall(start, len(fps)-n))
	}
	start := time.Now()
	for i, fp := range fps[n:] {
		if err := p.add(n+i, fp); err != nil {
			return nil, err
		}
	}
	return append(row, perCall(start, len(fps)-n), fmt.Sprint(found[0]), fmt.Sprint(found[1])), nil
}

// perCall returns the mean time of n calls since start, in microseconds.
func perCall(start time.Time, n int) string {
	return fmt.Sprintf("%.2f", 1e6*time.Since(start).Seconds()/float64(n))
}

// fourBlocks is the index of the papers in memory.
func fourBlocks() place {
	ix := &buckets.Index{}
	ask := func(more bool) func(neardup.Fingerprint64) (int, error) {
		return func(fp neardup.Fingerprint64) (n int, err error) {
			ix.Search(fp, func(int, int) bool { n++; return more })
			return n, nil
		}
	}
	return place{"memory, four blocks", func(fps []neardup.Fingerprint64) error {
		for _, fp := range fps {
			ix.Add(fp)
		}
		return nil
	}, func(_ int, fp neardup.Fingerprint64) error { ix.Add(fp); return nil }, ask(false), ask(true)}
}

// libraryIndex is the index of the library.
func libraryIndex() place {
	ix, err := neardup.NewIndex[int, neardup.Fingerprint64](3, neardup.IndexOptions{})
	if err != nil {
		panic(err)
	}
	ask := func(more bool) func(neardup.Fingerprint64) (int, error) {
		return func(fp neardup.Fingerprint64) (n int, err error) {
			for range ix.Search(context.Background(), fp) {
				if n++; !more {
					break
				}
			}
			return n, nil
		}
	}
	return place{"memory, library", func(fps []neardup.Fingerprint64) error {
		for i, fp := range fps {
			ix.Add(i, fp)
		}
		return nil
	}, func(i int, fp neardup.Fingerprint64) error { ix.Add(i, fp); return nil }, ask(false), ask(true)}
}

// inDatabase is a table of MariaDB.
func inDatabase(db *sql.DB, layout sqlstore.Layout, table string) (place, error) {
	ctx := context.Background()
	name := "MariaDB, `Rows`"
	if layout == sqlstore.BlockRows {
		name, table = "MariaDB, table of Li 2015", table+"_blocks"
	}
	scheme, err := blockstore.Hamming[neardup.Fingerprint64](3, 0)
	if err != nil {
		return place{}, err
	}
	s, err := sqlstore.New(ctx, db, sqlstore.MySQL, scheme, sqlstore.Options{Table: table, Layout: layout})
	if err != nil {
		return place{}, err
	}
	return place{name, func(fps []neardup.Fingerprint64) error {
		return blockstore.PutAll(ctx, s, func(yield func(string, neardup.Fingerprint64) bool) {
			for i, fp := range fps {
				if !yield(fmt.Sprint(i), fp) {
					return
				}
			}
		})
	}, func(i int, fp neardup.Fingerprint64) error {
		return s.Put(ctx, []blockstore.Entry[neardup.Fingerprint64]{{ID: fmt.Sprint(i), Value: fp}})
	}, func(fp neardup.Fingerprint64) (int, error) {
		is, err := s.Exists(ctx, []neardup.Fingerprint64{fp})
		if err == nil && is[0] {
			return 1, nil
		}
		return 0, err
	}, func(fp neardup.Fingerprint64) (int, error) {
		found, err := s.Search(ctx, []neardup.Fingerprint64{fp}, 1<<20)
		if err != nil {
			return 0, err
		}
		return len(found[0]), nil
	}}, nil
}
