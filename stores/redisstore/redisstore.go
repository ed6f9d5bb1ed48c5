// Package redisstore keeps fingerprints in Redis, or what speaks its protocol, as S002 (§1) does: the
// [neardup.BlockStore] for many programs that share what fits into memory. Every command has one key, so Redis
// Cluster works.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/neardup/neardup"
)

// A Layout is how fingerprints lie in Redis. All keys begin with the prefix; T is the number of a table, from 1 on,
// and KEY the key of a fingerprint in it, in hexadecimal digits.
type Layout string

const (
	// Hashes, the default: PREFIX:T:KEY is a hash with a field for each fingerprint that has the key: its 8 bytes,
	// big-endian, and the id. (The values are empty. Small hashes take less memory than sets before Redis 7.2, and
	// with the fingerprint in the field nothing is ever overwritten.) One round trip answers a search.
	Hashes Layout = ""

	// S002 is the layout of the paper: PREFIX:T:KEY is a set of the signatures that have the key, as signed decimal
	// numbers, which Redis keeps in 8 bytes each. The ids are in hashes PREFIX:s:SIGNATURE, so that a
	// search that finds anything needs a second round trip. Signatures without ids stay in the sets.
	S002 Layout = "S002"
)

// Options are the settings of a store. The zero value, or nil, is right for most.
type Options struct {
	// Blocks is the number of blocks, see [neardup.NewBlocks]. It cannot be changed later. 0 means one more
	// than the distance; 5 or 6 are better from ten million fingerprints on, but take more memory.
	Blocks int

	// Version says how the fingerprints are made ([neardup.Fingerprinter.Version]); a store with another one is
	// not opened.
	Version string

	// Prefix is what all keys begin with; "" means "neardup". Each store needs its own.
	Prefix string

	Layout Layout
}

// A Store is a [neardup.BlockStore] in Redis.
//
// What is stored is as safe as the server makes it: with appendonly yes and appendfsync always, when a call returns;
// with the default everysec, up to a second later. Puts and Deletes of different ids never disturb each other. Of one
// id they may overlap, too, but one that puts it again must not overlap with one that has deleted it.
type Store struct {
	client redis.UniversalClient
	blocks neardup.Blocks
	prefix string
	layout layout
}

// New opens the store in a database, or makes one, for Hamming distances up to distance. A store with another
// distance, other blocks, another layout or another version gives a [neardup.ErrVersion]. The client stays the
// caller's.
func New(ctx context.Context, client redis.UniversalClient, distance int, options *Options) (*Store, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if o.Prefix == "" {
		o.Prefix = "neardup"
	}
	blocks, err := neardup.NewBlocks(distance, o.Blocks)
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, blocks: blocks, prefix: o.Prefix}
	switch o.Layout {
	case Hashes:
		s.layout = hashes{s}
	case S002:
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
		err = fmt.Errorf("the store %s was %w: %s, not %s", s.prefix, neardup.ErrVersion, kept, settings)
	}
	if err == nil {
		err = s.loadScripts(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	return s, nil
}

// Put implements [neardup.BlockStore]: see records.go. It takes three round trips, and a fourth if anything is replaced.
func (s *Store) Put(ctx context.Context, entries []neardup.StoreEntry) error {
	entries, err := neardup.CheckEntries(entries)
	if err != nil {
		return err
	}
	changes := make([]change, len(entries))
	for i, e := range entries {
		changes[i] = change{id: e.ID, state: newState(e.Fingerprint)}
	}
	return s.change(ctx, changes)
}

// Delete implements [neardup.BlockStore].
func (s *Store) Delete(ctx context.Context, ids []string) error {
	ids, err := neardup.CheckIDs(ids)
	if err != nil {
		return err
	}
	changes := make([]change, len(ids))
	for i, id := range ids {
		changes[i] = change{id: id, state: newTombstone()}
	}
	return s.change(ctx, changes)
}

// Search implements [neardup.BlockStore].
func (s *Store) Search(ctx context.Context, fps []neardup.Fingerprint64) ([][]neardup.Match[string], error) {
	found := make([][]neardup.Match[string], len(fps))
	err := s.layout.search(ctx, fps, func(query int, id string, distance int) {
		found[query] = append(found[query], neardup.Match[string]{ID: id, Distance: distance})
	})
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	for i := range found {
		found[i] = neardup.MergeMatches(found[i])
	}
	return found, nil
}

// Exists implements [neardup.BlockStore].
func (s *Store) Exists(ctx context.Context, fps []neardup.Fingerprint64) ([]bool, error) {
	found := make([]bool, len(fps))
	err := s.layout.search(ctx, fps, func(query int, _ string, _ int) { found[query] = true })
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	return found, nil
}

// All implements [neardup.BlockStore]. It goes through all keys of the database.
func (s *Store) All(ctx context.Context) iter.Seq2[neardup.StoreEntry, error] {
	return func(yield func(neardup.StoreEntry, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		buckets, err := s.recordKeys(ctx)
		if err != nil {
			yield(neardup.StoreEntry{}, fmt.Errorf("redisstore: %w", err))
			return
		}
		const batch = 256
		for ; len(buckets) > 0; buckets = buckets[min(batch, len(buckets)):] {
			p := s.client.Pipeline()
			for _, key := range buckets[:min(batch, len(buckets))] {
				p.HGetAll(ctx, key)
			}
			commands, err := p.Exec(ctx)
			if err != nil {
				yield(neardup.StoreEntry{}, fmt.Errorf("redisstore: %w", err))
				return
			}
			for _, c := range commands {
				for id, record := range c.(*redis.MapStringStringCmd).Val() {
					states, err := readRecord(record)
					if err != nil {
						yield(neardup.StoreEntry{}, fmt.Errorf("redisstore: id %q: %w", id, err))
						return
					}
					if fp, ok := states[0].fingerprint(); ok && !yield(neardup.StoreEntry{ID: id, Fingerprint: fp}, nil) {
						return
					}
				}
			}
		}
	}
}

// recordKeys returns the keys of all records, see records.go.
func (s *Store) recordKeys(ctx context.Context) ([]string, error) {
	var mu sync.Mutex
	seen := map[string]bool{} // SCAN may return a key twice
	scan := func(ctx context.Context, c *redis.Client) error {
		it := c.Scan(ctx, 0, globEscape.Replace(s.prefix)+":id:*", 10_000).Iterator()
		for it.Next(ctx) {
			mu.Lock()
			seen[it.Val()] = true
			mu.Unlock()
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
		err = fmt.Errorf("All cannot list the keys of a %T", s.client)
	}
	keys := make([]string, 0, len(seen))
	for key := range seen {
		keys = append(keys, key)
	}
	return keys, err
}

var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// Distance implements [neardup.BlockStore].
func (s *Store) Distance() int { return s.blocks.Distance() }

// Close implements [neardup.BlockStore]. It leaves the client open.
func (s *Store) Close() error { return nil }

var _ neardup.BlockStore = (*Store)(nil)

// inPipelines calls add for each of n things, in pipelines of some thousands, a few at once, and collects what was answered.
// Of an empty database an answer may be redis.Nil.
func (s *Store) inPipelines(ctx context.Context, n int, add func(p redis.Pipeliner, i int)) ([][]redis.Cmder, error) {
	const chunk = 4096
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answers := make([][]redis.Cmder, (n+chunk-1)/chunk)
	errs := make([]error, len(answers))
	next := make(chan int, len(answers))
	for i := range answers {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range min(2, len(answers)) {
		wg.Go(func() {
			for i := range next {
				p := s.client.Pipeline()
				for j := i * chunk; j < min(n, (i+1)*chunk); j++ {
					add(p, j)
				}
				answers[i], errs[i] = p.Exec(ctx)
				if errors.Is(errs[i], redis.Nil) {
					errs[i] = nil
				}
			}
		})
	}
	wg.Wait()
	return answers, errors.Join(errs...)
}
