// Benchmark measures the stores and prints a table in Markdown. It starts the servers itself:
//
//	go run -C lab ./cmd/stores [-n 1000000] [-values 64] [-blocks 5] [-stores pebble,redis,…]
//
// Half of what it searches for is random. The other half is stored fingerprints with two bits changed,
// or signatures with a tenth of the values changed. One goroutine asks, for one fingerprint at a time unless the table says otherwise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/blockstore"
)

// A system is a store to be measured.
type system[V any] struct {
	name, layout string
	waits        string // what a write waits for
	n            int    // number of values
	loadOnly     bool   // do not measure searches: they are as in the row before
	start        func() (*running[V], error)
}

// A running is a system that has been started. What the system does not have is nil.
type running[V any] struct {
	open    func(ctx context.Context, name string) (blockstore.Store[V], error)              // name is a table, prefix or directory
	compact func(ctx context.Context, store blockstore.Store[V], name string) error          // brings the store into the form that is searched fastest
	bytes   func(ctx context.Context, store blockstore.Store[V], name string) (int64, error) // how much the data takes
	trip    func(ctx context.Context) error                                                  // the shortest round trip to the server
	stop    func() error
}

// options are the flags.
type options struct {
	n, ferret, blocks int
	limit             time.Duration
	only              []string
}

func main() {
	log.SetFlags(log.Ltime)
	var o options
	flag.IntVar(&o.n, "n", 1_000_000, "fingerprints")
	flag.IntVar(&o.ferret, "ferret", 500, "fingerprints in FerretDB, which is slow")
	flag.IntVar(&o.blocks, "blocks", 4, "blocks: 4, 5 or 6")
	flag.DurationVar(&o.limit, "limit", 20*time.Second, "time for loading little by little, and at most for each of the searches")
	values := flag.String("values", "64", "what is stored: fingerprints of 64 or 128 bits, or minhash")
	only := flag.String("stores", "", "only those whose names begin with one of these, separated by commas")
	flag.Parse()
	o.only = strings.Split(*only, ",")
	if flag.NArg() > 0 || o.n < 2000 || o.ferret < 200 || o.limit <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch *values {
	case "64":
		w, wrong := fingerprints64(o.blocks)
		err = errors.Join(wrong, run(ctx, o, w))
	case "128":
		w, wrong := fingerprints128(o.blocks)
		err = errors.Join(wrong, run(ctx, o, w))
	case "minhash":
		w, wrong := signatures()
		err = errors.Join(wrong, run(ctx, o, w))
	default:
		err = fmt.Errorf("-values %q", *values)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run prints the table.
func run[V any](ctx context.Context, o options, w workload[V]) error {
	fmt.Printf("%d values: %v. Times in µs, p50 / p99.\n\n", o.n, w.scheme)
	fmt.Println(header)
	b := bench[V]{o, w}
	for _, s := range b.systems() {
		if !slices.ContainsFunc(o.only, func(prefix string) bool { return strings.HasPrefix(s.name, prefix) }) {
			continue
		}
		m, err := b.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.name, s.layout, err)
		}
		fmt.Println(m.row(s.name, s.layout, s.waits, s.loadOnly))
	}
	return nil
}

// header is the head of the table.
const header = `| store | layout | a write waits for | load all, /s | by 1,000, /s | put one | search, fresh | search, compacted | exists | round trip | of 1,000 at once, each | bytes each |
|---|---|---|---|---|---|---|---|---|---|---|---|`

// A measured is a row of the table.
type measured struct {
	bulk, thousands                     float64       // values per second
	one, fresh, compacted, exists, trip latency       // of one call
	batch                               time.Duration // of one value of many
	bytes                               float64       // of one value
}

// row returns the row in Markdown.
func (m measured) row(name, layout, waits string, loadOnly bool) string {
	cells := []string{name, layout, waits, thousands(m.bulk), thousands(m.thousands), m.one.String()}
	if loadOnly {
		cells = append(cells, "", "", "", "", "", "")
	} else {
		bytes := "–"
		if m.bytes > 0 {
			bytes = fmt.Sprintf("%.0f", m.bytes)
		}
		cells = append(cells, m.fresh.String(), m.compacted.String(), m.exists.String(), m.trip.String(), micro(m.batch), bytes)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// A latency is the median and the 99th percentile of some times.
type latency struct{ p50, p99 time.Duration }

func (l latency) String() string {
	if l.p50 == 0 {
		return "–"
	}
	return micro(l.p50) + " / " + micro(l.p99)
}

// micro returns a time in microseconds.
func micro(d time.Duration) string {
	us := float64(d) / float64(time.Microsecond)
	if us < 10 {
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.0f", us)
}

// thousands returns a number with commas.
func thousands(perSecond float64) string {
	s := fmt.Sprintf("%.0f", perSecond)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// timed calls do n times, or fewer if the time limit is over before, and measures each call.
func timed(n int, limit time.Duration, do func(i int) error) (latency, error) {
	var times []time.Duration
	for start := time.Now(); len(times) < n && time.Since(start) < limit; {
		before := time.Now()
		if err := do(len(times)); err != nil {
			return latency{}, err
		}
		times = append(times, time.Since(before))
	}
	slices.Sort(times)
	return latency{times[len(times)/2], times[len(times)*99/100]}, nil
}

// measure starts a system, and measures loading, searching and small writes.
func (o bench[V]) measure(ctx context.Context, s system[V]) (m measured, err error) {
	log.Printf("%s %s, %s", s.name, s.layout, s.waits)
	r, err := s.start()
	if err != nil {
		return m, err
	}
	defer func() {
		if stopErr := r.stop(); err == nil {
			err = stopErr
		}
	}()
	all := o.entries(s.n)
	if err := o.load(ctx, &m, r, s, all); err != nil {
		return m, err
	}
	store, err := r.open(ctx, "incremental")
	if err != nil {
		return m, err
	}
	few := max(10, min(1000, s.n/10))
	start, done := time.Now(), 0
	for done < len(all)/2 && time.Since(start) < o.limit {
		if err := store.Put(ctx, all[done:done+few]); err != nil {
			return m, err
		}
		done += few
	}
	m.thousands = float64(done) / time.Since(start).Seconds()
	m.one, err = timed(min(5000, s.n/4), o.limit/4, func(i int) error { return store.Put(ctx, all[len(all)-1-i:][:1]) })
	log.Printf("  by 1,000: %s/s, one: %v", thousands(m.thousands), m.one)
	if err != nil {
		return m, err
	}
	return m, store.Close()
}

// load loads all entries into a store, and measures searches in it.
func (o bench[V]) load(ctx context.Context, m *measured, r *running[V], s system[V], all []blockstore.Entry[V]) error {
	store, err := r.open(ctx, "bulk")
	if err != nil {
		return err
	}
	defer store.Close()
	before := int64(0)
	if r.bytes != nil {
		if before, err = r.bytes(ctx, store, "bulk"); err != nil {
			return err
		}
	}
	start := time.Now()
	err = blockstore.PutAll(ctx, store, func(yield func(string, V) bool) {
		for _, e := range all {
			if !yield(e.ID, e.Value) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	m.bulk = float64(len(all)) / time.Since(start).Seconds()
	log.Printf("  all: %s/s", thousands(m.bulk))
	if s.loadOnly {
		return nil
	}

	if err := o.search(ctx, m, r, store, o.queries(all), 20*len(all)); err != nil {
		return err
	}
	if r.bytes != nil {
		bytes, err := r.bytes(ctx, store, "bulk")
		if err != nil {
			return err
		}
		m.bytes = float64(bytes-before) / float64(len(all))
	}
	return nil
}

// search measures searches in a store: before and after it is compacted, one at a time and many.
func (o bench[V]) search(ctx context.Context, m *measured, r *running[V], store blockstore.Store[V], queries []V, most int) (err error) {
	found := 0
	search := func(i int) error {
		matches, err := store.Search(ctx, queries[i:i+1], 1<<20)
		if err == nil {
			found += len(matches[0])
		}
		return err
	}
	enough := min(5*time.Second, o.limit)
	n := min(len(queries), most)
	if m.fresh, err = timed(n, enough, search); err != nil {
		return err
	}
	if r.compact != nil {
		if err := r.compact(ctx, store, "bulk"); err != nil {
			return err
		}
		if _, err := timed(n, enough, search); err != nil { // to fill the caches
			return err
		}
		if m.compacted, err = timed(n, enough, search); err != nil {
			return err
		}
	}
	if found == 0 {
		return fmt.Errorf("no search has found anything")
	}
	m.exists, err = timed(n, enough, func(i int) error { _, err := store.Exists(ctx, queries[i:i+1]); return err })
	if err == nil && r.trip != nil {
		m.trip, err = timed(n, enough, func(int) error { return r.trip(ctx) })
	}
	if err != nil {
		return err
	}
	const batch = 1000
	batches, err := timed(len(queries)/batch, enough, func(i int) error { _, err := store.Search(ctx, queries[i*batch:][:batch], 1<<20); return err })
	if err != nil {
		return err
	}
	m.batch = batches.p50 / batch
	log.Printf("  search: %v fresh, %v compacted, exists %v, round trip %v", m.fresh, m.compacted, m.exists, m.trip)
	return nil
}
