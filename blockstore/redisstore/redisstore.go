// Package redisstore keeps fingerprints or signatures in Redis, or in a server with the same
// protocol, as Wang 2019 §1 does. It is the [blockstore.Store] for many programs that share what fits into memory.
// Every command has one key, so Redis Cluster works.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// A Layout says how values are stored in Redis. All keys begin with the prefix. Below, T is the number
// of a table, from 1 on, and KEY is the key of a value in that table, in hexadecimal digits.
//
// Use the default. SignatureSets is for programs that use the keys of the paper, and for
// collections with very many equal fingerprints.
type Layout string

const (
	// Hashes is the default. PREFIX:T:KEY is a hash with a field for each fingerprint that has the
	// key. A field is the bytes of the fingerprint, big-endian, the id, a byte 0 and a tag of 4
	// bytes. The values are empty: before Redis 7.2 small hashes take less memory than sets, and
	// with the fingerprint in the field nothing is ever overwritten. A search takes one round trip.
	//
	// Signatures are too large for that. KEY is the highest 18 bits of the key, so that up to thirty
	// million signatures share hashes small enough for Redis to pack (hash-max-listpack-entries).
	// A field has the whole key, 4 bytes, in place of the fingerprint. A search that finds a key takes
	// a second round trip, for the signatures in the records.
	Hashes Layout = ""

	// SignatureSets is the layout of Wang 2019 §1. PREFIX:T:KEY is a set of the signatures that
	// have the key, as signed decimal numbers, which Redis keeps in 8 bytes each. The ids are in
	// hashes PREFIX:s:SIGNATURE, so a search that finds anything takes a second round trip. A
	// signature whose ids are all removed stays in the sets. It is for fingerprints of 64 bits only.
	SignatureSets Layout = "S002"
)

// Options are the settings of a store. The zero value means the defaults.
type Options struct {
	// Version says how the values are made ([neardup.Fingerprinter.Version], or that of
	// [neardup.MinHash]). A store with another version is not opened.
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
type Store[V any] struct {
	blockstore.Store[V]
	backend *backend
}

// A backend is the [blockstore.Backend] of a store.
type backend struct {
	client redis.UniversalClient
	keys   blockstore.Keys
	prefix string
	layout layout
}

// New opens the store in a database, or makes one. If the store has another scheme, another layout
// or another version, the error is a [neardup.ErrVersion]. The client stays with the caller, who must close it.
func New[V any](ctx context.Context, client redis.UniversalClient, scheme blockstore.Scheme[V], o Options) (*Store[V], error) {
	if o.Prefix == "" {
		o.Prefix = "neardup"
	}
	s := &backend{client: client, keys: scheme.Keys, prefix: o.Prefix}
	switch {
	case o.Layout == Hashes:
		s.layout = newHashes(s)
	case o.Layout == SignatureSets && s.keys.Size() == 8 && s.keys.Distance() >= 0:
		s.layout = signatureSets{s}
	case o.Layout == SignatureSets:
		return nil, fmt.Errorf("redisstore: the layout %q is for fingerprints of 64 bits, not for %v", o.Layout, s.keys)
	default:
		return nil, fmt.Errorf("redisstore: unknown layout %q", o.Layout)
	}
	settings := fmt.Sprintf("neardup store 2; %v; layout %q; version %q", s.keys, o.Layout, o.Version)
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
	return &Store[V]{blockstore.New(scheme, s), s}, nil
}

// Put implements [blockstore.Backend]. It takes three round trips, and a fourth if it replaces
// anything.
func (s *backend) Put(ctx context.Context, records []blockstore.Row) error {
	changes := make([]change, len(records))
	for i, r := range records {
		changes[i] = change{kind: puts, id: r.ID, value: r.Value, time: r.Added}
	}
	return s.change(ctx, changes)
}

// Delete implements [blockstore.Backend].
func (s *backend) Delete(ctx context.Context, ids []string) error {
	changes := make([]change, len(ids))
	for i, id := range ids {
		changes[i] = change{kind: removes, id: id}
	}
	return s.change(ctx, changes)
}

// DeleteBefore implements [blockstore.Backend]. It goes through all records. The server looks at
// the time again when it removes one.
func (s *backend) DeleteBefore(ctx context.Context, added uint32) (n int, err error) {
	var old []change
	flush := func() error {
		err := s.change(ctx, old)
		for _, c := range old {
			if c.state != "" && err == nil {
				n++
			}
		}
		old = old[:0]
		return err
	}
	err = s.eachRecord(ctx, true, func(r blockstore.Row) error {
		if r.Added >= added && r.Value != "" {
			return nil
		}
		old = append(old, change{kind: expires, id: r.ID, time: added})
		if len(old) < 100_000 {
			return nil
		}
		return flush()
	})
	return n, errors.Join(err, flush())
}

// Find implements [blockstore.Backend].
func (s *backend) Find(ctx context.Context, values []string, _ bool, found func(i int, id, value string) bool) error {
	err := s.layout.search(ctx, values, func(i int, id, value string) { found(i, id, value) })
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	return nil
}

// Get implements [blockstore.Backend].
func (s *backend) Get(ctx context.Context, ids []string, yield func(blockstore.Row)) error {
	err := s.records(ctx, ids, func(i int, states []state, time uint32) error {
		if len(states) > 0 && !states[0].removed() {
			yield(blockstore.Row{ID: ids[i], Value: states[0].value(), Added: time})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	return nil
}

// records calls do for each of ids, with the states of its record. There are none if it has no
// record.
func (s *backend) records(ctx context.Context, ids []string, do func(i int, states []state, time uint32) error) error {
	return s.inPipelines(ctx, len(ids), func(p redis.Pipeliner, i int) { p.HMGet(ctx, s.recordKey(bucketOf(ids[i])), ids[i]) }, func(i int, c redis.Cmder) error {
		record, ok := c.(*redis.SliceCmd).Val()[0].(string)
		if !ok {
			return do(i, nil, 0)
		}
		states, time, err := s.readRecord(record)
		if err != nil {
			return fmt.Errorf("id %q: %w", ids[i], err)
		}
		return do(i, states, time)
	})
}

// All implements [blockstore.Backend]. It goes through all keys of the database, and remembers the
// keys of the records, at most 65,536.
func (s *backend) All(ctx context.Context, yield func(blockstore.Row) bool) error {
	err := s.eachRecord(ctx, false, func(r blockstore.Row) error {
		if !yield(r) {
			return errStop
		}
		return nil
	})
	if err == errStop {
		return nil
	}
	return err
}

// errStop ends a scan early. It is not an error of the store.
var errStop = errors.New("stop")

// eachRecord calls do for all that is stored, until do returns an error, and if removed is set, without a value, for ids whose removal was cut off.
func (s *backend) eachRecord(ctx context.Context, removed bool, do func(blockstore.Row) error) error {
	err := s.scan(ctx, recordKeys, func(keys []string) error {
		return s.inPipelines(ctx, len(keys), func(p redis.Pipeliner, i int) { p.HGetAll(ctx, keys[i]) }, func(_ int, c redis.Cmder) error {
			for id, record := range c.(*redis.MapStringStringCmd).Val() {
				if id == counterField {
					continue
				}
				states, time, err := s.readRecord(record)
				if err != nil {
					return fmt.Errorf("id %q: %w", id, err)
				}
				r := blockstore.Row{ID: id, Added: time}
				if !states[0].removed() {
					r.Value = states[0].value()
				} else if !removed {
					continue
				}
				if err := do(r); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil && err != errStop {
		err = fmt.Errorf("redisstore: %w", err)
	}
	return err
}

// Sweep removes postings that belong to no record (see records.go). They can be left if a client dies
// in the middle of a change while another client changes the same id, or if a command arrives at
// the server long after its client has given up. That is rare. Until Sweep, such an id may be found
// under a fingerprint that it does not have. Sweep goes through all keys, and may run while the
// store is used. It returns how many postings it has removed.
func (s *Store[V]) Sweep(ctx context.Context) (removed int, err error) {
	err = s.backend.scan(ctx, s.backend.layout.postingKeys(), func(keys []string) error {
		n, err := s.backend.sweep(ctx, keys)
		removed += n
		return err
	})
	if err != nil {
		return removed, fmt.Errorf("redisstore: %w", err)
	}
	return removed, nil
}

// sweep is Sweep for the fields of some hashes of postings.
func (s *backend) sweep(ctx context.Context, keys []string) (removed int, err error) {
	type found struct{ key, field, member string }
	var all []found
	var ids []string
	err = s.inPipelines(ctx, len(keys), func(p redis.Pipeliner, i int) { p.HKeys(ctx, keys[i]) }, func(i int, c redis.Cmder) error {
		for _, field := range c.(*redis.StringSliceCmd).Val() {
			member, err := s.layout.member(field, keys[i])
			if err != nil {
				return err
			}
			all, ids = append(all, found{keys[i], field, member}), append(ids, idOf(member))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	// A record gets a state before any posting of the state is written. So a posting that its
	// record does not know is not one that is just being added.
	var unknown []found
	err = s.records(ctx, ids, func(i int, states []state, _ uint32) error {
		if !slices.ContainsFunc(states, func(s state) bool { return !s.removed() && s.member(ids[i]) == all[i].member }) {
			unknown = append(unknown, all[i])
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	err = s.inPipelines(ctx, len(unknown), func(p redis.Pipeliner, i int) { p.HDel(ctx, unknown[i].key, unknown[i].field) }, ignore)
	return len(unknown), err
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
func (s *backend) scan(ctx context.Context, pattern pattern, do func(keys []string) error) error {
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
		err = fmt.Errorf("a client of type %T cannot list the keys", s.client)
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

// Close implements [blockstore.Backend]. It leaves the client open.
func (s *backend) Close() error { return nil }

// pipeline is how many commands go to the server at once.
const pipeline = 4096

// inPipelines sends n commands, in pipelines, two of which are under way at a time. It calls add
// for each command, which must add exactly one, and read with each answer. The calls of read come
// one at a time, but in no particular order. inPipelines ends at the first error.
func (s *backend) inPipelines(ctx context.Context, n int, add func(p redis.Pipeliner, i int), read func(i int, c redis.Cmder) error) error {
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
