// Package redisstore keeps fingerprints in Redis, or in a server with the same protocol, as Wang
// 2019 §1 does. It is the [blockstore.Store] for many programs that share what fits into memory.
// Every command has one key, so Redis Cluster works.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// A Layout is how fingerprints lie in Redis. All keys begin with the prefix. Below, T is the number
// of a table, from 1 on, and KEY is the key of a fingerprint in that table, in hexadecimal digits.
//
// Use the default. SignatureSets is for programs that know the keys of the paper, and for
// collections with very many equal fingerprints.
type Layout string

const (
	// Hashes is the default. PREFIX:T:KEY is a hash with a field for each fingerprint that has the
	// key. A field is the 8 bytes of the fingerprint, big-endian, the id, a byte 0 and a tag of 4
	// bytes. The values are empty: before Redis 7.2 small hashes take less memory than sets, and
	// with the fingerprint in the field nothing is ever overwritten. A search takes one round trip.
	Hashes Layout = ""

	// SignatureSets is the layout of Wang 2019 §1. PREFIX:T:KEY is a set of the signatures that
	// have the key, as signed decimal numbers, which Redis keeps in 8 bytes each. The ids are in
	// hashes PREFIX:s:SIGNATURE, so a search that finds anything takes a second round trip. A
	// signature whose ids are all removed stays in the sets.
	SignatureSets Layout = "S002"
)

// Options are the settings of a store. The zero value means the defaults.
type Options struct {
	// Blocks is the number of blocks, see [blockstore.NewBlocks]. It cannot be changed later. 0
	// means one more than the distance. For the distance 3, 5 or 6 blocks are better from ten
	// million fingerprints on, but take more memory.
	Blocks int

	// Version says how the fingerprints are made ([neardup.Fingerprinter.Version]). A store with
	// another version is not opened.
	Version string

	// Prefix is the beginning of all keys. "" means "neardup". Each store needs its own.
	Prefix string

	// Layout cannot be changed later.
	Layout Layout
}

// A Store is a [blockstore.Store] in Redis.
//
// The server decides how safe the data is. With appendonly yes and appendfsync always, changes are
// on its disk when a call returns; with the default everysec, up to a second later. The server must
// not evict keys (maxmemory-policy noeviction), and the client must read from masters. go-redis
// heeds the deadline of a context only with the option ContextTimeoutEnabled.
type Store struct {
	client redis.UniversalClient
	blocks blockstore.Blocks
	prefix string
	layout layout
}

// New opens the store in a database, or makes one, for Hamming distances up to distance. If the
// store has another distance, other blocks, another layout or another version, the error is a
// [neardup.ErrVersion]. The client stays the caller's, who closes it.
func New(ctx context.Context, client redis.UniversalClient, distance int, o Options) (*Store, error) {
	if o.Prefix == "" {
		o.Prefix = "neardup"
	}
	blocks, err := blockstore.NewBlocks(distance, o.Blocks)
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, blocks: blocks, prefix: o.Prefix}
	switch o.Layout {
	case Hashes:
		s.layout = hashes{s}
	case SignatureSets:
		s.layout = signatureSets{s}
	default:
		return nil, fmt.Errorf("redisstore: no layout %q", o.Layout)
	}
	settings := fmt.Sprintf("neardup store 1; %v; layout %q; version %q", blocks, o.Layout, o.Version)
	if err := client.SetNX(ctx, s.prefix+":settings", settings, 0).Err(); err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	kept, err := client.Get(ctx, s.prefix+":settings").Result()
	if err == nil && kept != settings {
		err = fmt.Errorf("the store %s: %w: %s, not %s", s.prefix, neardup.ErrVersion, kept, settings)
	}
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	return s, nil
}

// Put implements [blockstore.Store]. It takes three round trips, and a fourth if it replaces
// anything.
func (s *Store) Put(ctx context.Context, entries []blockstore.Entry) error {
	entries, err := blockstore.CheckEntries(entries)
	if err != nil {
		return err
	}
	changes := make([]change, len(entries))
	for i, e := range entries {
		changes[i] = change{id: e.ID, fp: e.Fingerprint}
	}
	return s.change(ctx, changes)
}

// Delete implements [blockstore.Store].
func (s *Store) Delete(ctx context.Context, ids []string) error {
	ids, err := blockstore.CheckIDs(ids)
	if err != nil {
		return err
	}
	changes := make([]change, len(ids))
	for i, id := range ids {
		changes[i] = change{id: id, removes: true}
	}
	return s.change(ctx, changes)
}

// Search implements [blockstore.Store].
func (s *Store) Search(ctx context.Context, fps []neardup.Fingerprint64, limit int) ([][]neardup.Match[string], error) {
	found, err := blockstore.NewResults(len(fps), limit)
	if err != nil {
		return nil, err
	}
	if err := s.layout.search(ctx, fps, found.Add); err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	return found.Matches(), nil
}

// Exists implements [blockstore.Store].
func (s *Store) Exists(ctx context.Context, fps []neardup.Fingerprint64) ([]bool, error) {
	found := make([]bool, len(fps))
	err := s.layout.search(ctx, fps, func(query int, _ string, _ int) { found[query] = true })
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	return found, nil
}

// Get implements [blockstore.Store].
func (s *Store) Get(ctx context.Context, ids []string) (map[string]neardup.Fingerprint64, error) {
	ids, err := blockstore.CheckIDs(ids)
	if err != nil {
		return nil, err
	}
	found := map[string]neardup.Fingerprint64{}
	err = s.inPipelines(ctx, len(ids), func(p redis.Pipeliner, i int) { p.HMGet(ctx, s.recordKey(bucketOf(ids[i])), ids[i]) }, func(i int, c redis.Cmder) error {
		record, ok := c.(*redis.SliceCmd).Val()[0].(string)
		if !ok {
			return nil
		}
		states, err := readRecord(record)
		if err != nil {
			return fmt.Errorf("id %q: %w", ids[i], err)
		}
		if fp, ok := states[0].fingerprint(); ok {
			found[ids[i]] = fp
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	return found, nil
}

// All implements [blockstore.Store]. It goes through all keys of the database, and remembers the
// keys of the records, at most 65,536.
func (s *Store) All(ctx context.Context) iter.Seq2[blockstore.Entry, error] {
	return func(yield func(blockstore.Entry, error) bool) {
		err := s.scan(ctx, recordKeys, func(keys []string) error {
			return s.inPipelines(ctx, len(keys), func(p redis.Pipeliner, i int) { p.HGetAll(ctx, keys[i]) }, func(_ int, c redis.Cmder) error {
				for id, record := range c.(*redis.MapStringStringCmd).Val() {
					if id == counterField {
						continue
					}
					states, err := readRecord(record)
					if err != nil {
						return fmt.Errorf("id %q: %w", id, err)
					}
					if fp, ok := states[0].fingerprint(); ok && !yield(blockstore.Entry{ID: id, Fingerprint: fp}, nil) {
						return errStop
					}
				}
				return nil
			})
		})
		if err != nil && err != errStop {
			yield(blockstore.Entry{}, fmt.Errorf("redisstore: %w", err))
		}
	}
}

// errStop ends a scan early. It is not an error of the store.
var errStop = errors.New("stop")

// Sweep removes postings that no record knows (see records.go). They can be left if a client dies
// in the middle of a change while another client changes the same id, or if a command arrives at
// the server long after its client has given up. That is rare. Until Sweep, such an id may be found
// under a fingerprint that it does not have. Sweep goes through all keys, and may run while the
// store is used. It returns how many postings it has removed.
func (s *Store) Sweep(ctx context.Context) (removed int, err error) {
	err = s.scan(ctx, s.layout.postingKeys(), func(keys []string) error {
		var postings []posting
		err := s.inPipelines(ctx, len(keys), func(p redis.Pipeliner, i int) { p.HKeys(ctx, keys[i]) }, func(i int, c redis.Cmder) (err error) {
			postings, err = s.layout.postings(postings, keys[i], c.(*redis.StringSliceCmd).Val())
			return err
		})
		if err != nil {
			return err
		}
		// A record gets a state before any posting of the state is written. So a posting that its
		// record does not know is not one that is just being added.
		var unknown []posting
		err = s.inPipelines(ctx, len(postings), func(p redis.Pipeliner, i int) {
			id := idOf(postings[i].member)
			p.HMGet(ctx, s.recordKey(bucketOf(id)), id)
		}, func(i int, c redis.Cmder) error {
			record, _ := c.(*redis.SliceCmd).Val()[0].(string)
			id := idOf(postings[i].member)
			if record != "" {
				states, err := readRecord(record)
				if err != nil {
					return fmt.Errorf("id %q: %w", id, err)
				}
				for _, s := range states {
					if p, ok := postingOf(id, s); ok && p == postings[i] {
						return nil
					}
				}
			}
			unknown = append(unknown, postings[i])
			return nil
		})
		if err == nil {
			removed += len(unknown)
			err = s.layout.remove(ctx, unknown)
		}
		return err
	})
	if err != nil {
		return removed, fmt.Errorf("redisstore: %w", err)
	}
	return removed, nil
}

// A pattern selects keys of the store by what follows the prefix. glob is what the server can
// match, and exact is the precise form. Both are needed: another store may have a prefix that
// begins with the prefix of this one.
type pattern struct {
	glob  string
	exact *regexp.Regexp
}

// recordKeys selects the hashes of the records.
var recordKeys = pattern{":id:????", regexp.MustCompile(`^:id:[0-9a-f]{4}$`)}

// scan calls do with the keys of a pattern, each key once, some thousands at a time.
func (s *Store) scan(ctx context.Context, pattern pattern, do func(keys []string) error) error {
	var mu sync.Mutex
	seen := map[string]bool{} // SCAN may return a key twice
	scan := func(ctx context.Context, c *redis.Client) error {
		it := c.Scan(ctx, 0, globEscape.Replace(s.prefix)+pattern.glob, 10_000).Iterator()
		for it.Next(ctx) {
			if pattern.exact.MatchString(strings.TrimPrefix(it.Val(), s.prefix)) {
				mu.Lock()
				seen[it.Val()] = true
				mu.Unlock()
			}
		}
		return it.Err()
	}
	var err error
	switch c := s.client.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(ctx, scan)
	case *redis.Ring:
		err = c.ForEachShard(ctx, scan)
	case *redis.Client:
		err = scan(ctx, c)
	default:
		err = fmt.Errorf("a %T cannot list its keys", s.client)
	}
	if err != nil {
		return err
	}
	for keys := range slices.Chunk(slices.Collect(maps.Keys(seen)), pipeline) {
		if err := do(keys); err != nil {
			return err
		}
	}
	return nil
}

// globEscape makes a pattern that matches only the given text.
var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// Distance implements [blockstore.Store].
func (s *Store) Distance() int { return s.blocks.Distance() }

// Close implements [blockstore.Store]. It leaves the client open.
func (s *Store) Close() error { return nil }

var _ blockstore.Store = (*Store)(nil)

// pipeline is how many commands go to the server at once.
const pipeline = 4096

// inPipelines sends n commands, in pipelines, two of which are under way at a time. It calls add
// for each command, which must add exactly one, and read with each answer. The calls of read come
// one at a time, but in no particular order. inPipelines ends at the first error.
func (s *Store) inPipelines(ctx context.Context, n int, add func(p redis.Pipeliner, i int), read func(i int, c redis.Cmder) error) error {
	if err := ctx.Err(); err != nil || n == 0 {
		return err
	}
	one := func(from int) ([]redis.Cmder, error) {
		p := s.client.Pipeline()
		for i := from; i < min(n, from+pipeline); i++ {
			add(p, i)
		}
		return p.Exec(ctx)
	}
	readAll := func(from int, answers []redis.Cmder) error {
		for i, c := range answers {
			if err := read(from+i, c); err != nil {
				return err
			}
		}
		return nil
	}
	if n <= pipeline {
		answers, err := one(0)
		if err != nil {
			return err
		}
		return readAll(0, answers)
	}
	var mu sync.Mutex
	var failed error
	next := 0
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for failed == nil && next < n {
				from := next
				next += pipeline
				mu.Unlock()
				answers, err := one(from)
				mu.Lock()
				if err == nil && failed == nil {
					err = readAll(from, answers)
				}
				if failed == nil {
					failed = err
				}
			}
		})
	}
	wg.Wait()
	return failed
}
