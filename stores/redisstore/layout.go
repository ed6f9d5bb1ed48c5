package redisstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/neardup/neardup"
)

// A layout keeps postings. All that it writes is idempotent.
type layout interface {
	add(ctx context.Context, postings []posting) error
	remove(ctx context.Context, postings []posting) error
	search(ctx context.Context, fps []neardup.Fingerprint64, yield func(query int, id string, distance int)) error
}

// tableKey returns the Redis key of a key in a table.
func (s *Store) tableKey(table int, key uint64) string {
	digits := (s.blocks.KeyBits(table) + 3) / 4
	b := make([]byte, 0, len(s.prefix)+24)
	b = append(b, s.prefix...)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(table+1), 10)
	b = append(b, ':')
	for i := digits - 1; i >= 0; i-- {
		b = append(b, "0123456789abcdef"[key>>(4*i)&15])
	}
	return string(b)
}

// hashes is the layout Hashes.
type hashes struct{ *Store }

func (s hashes) add(ctx context.Context, postings []posting) error {
	return s.byKey(ctx, postings, func(p redis.Pipeliner, key string, fields []string) {
		args := make([]any, 2, 2+2*len(fields))
		args[0], args[1] = "hset", key
		for _, f := range fields {
			args = append(args, f, "")
		}
		p.Do(ctx, args...)
	})
}

func (s hashes) remove(ctx context.Context, postings []posting) error {
	return s.byKey(ctx, postings, func(p redis.Pipeliner, key string, fields []string) { p.HDel(ctx, key, fields...) })
}

// byKey calls add for each key of each table that a posting has, with the fields of those that have it: one command
// for many takes a fraction of the time of many.
func (s hashes) byKey(ctx context.Context, postings []posting, add func(p redis.Pipeliner, key string, fields []string)) error {
	if len(postings) == 0 {
		return nil
	}
	type keyed struct {
		key   uint64
		field string
	}
	fields := make([]string, len(postings))
	for i, p := range postings {
		b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(p.member)), uint64(p.fp))
		fields[i] = string(append(b, p.member...))
	}
	order := make([]keyed, len(postings))
	sorted := make([]string, len(postings))
	for table := range s.blocks.Tables() {
		for i, p := range postings {
			order[i] = keyed{s.blocks.Key(table, p.fp), fields[i]}
		}
		slices.SortFunc(order, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
		var starts []int
		for i, o := range order {
			sorted[i] = o.field
			if i == 0 || o.key != order[i-1].key {
				starts = append(starts, i)
			}
		}
		_, err := s.inPipelines(ctx, len(starts), func(p redis.Pipeliner, i int) {
			end := len(sorted)
			if i+1 < len(starts) {
				end = starts[i+1]
			}
			const most = 5000 // of one command, so that it does not hold up others
			for from := starts[i]; from < end; from += most {
				add(p, s.tableKey(table, order[from].key), sorted[from:min(end, from+most)])
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s hashes) search(ctx context.Context, fps []neardup.Fingerprint64, yield func(query int, id string, distance int)) error {
	tables := s.blocks.Tables()
	answers, err := s.inPipelines(ctx, len(fps)*tables, func(p redis.Pipeliner, i int) {
		p.HKeys(ctx, s.tableKey(i%tables, s.blocks.Key(i%tables, fps[i/tables])))
	})
	if err != nil {
		return err
	}
	i := 0
	for _, chunk := range answers {
		for _, c := range chunk {
			query := i / tables
			for _, field := range c.(*redis.StringSliceCmd).Val() {
				if len(field) < 9 {
					return fmt.Errorf("%w: the field %q of %v", neardup.ErrDamaged, field, c.Args()[1])
				}
				other := neardup.Fingerprint64(binary.BigEndian.Uint64([]byte(field[:8])))
				if d := fps[query].Distance(other); d <= s.blocks.Distance() {
					yield(query, idOf(field[8:]), d)
				}
			}
			i++
		}
	}
	return nil
}

// signatureSets is the layout S002.
type signatureSets struct{ *Store }

func (s signatureSets) idsKey(fp neardup.Fingerprint64) string {
	return fmt.Sprintf("%s:s:%016x", s.prefix, uint64(fp))
}

func (s signatureSets) add(ctx context.Context, postings []posting) error {
	// The ids first: a signature in the sets must not be without them.
	_, err := s.inPipelines(ctx, len(postings), func(p redis.Pipeliner, i int) {
		p.HSet(ctx, s.idsKey(postings[i].fp), postings[i].member, "")
	})
	if err != nil {
		return err
	}
	tables := s.blocks.Tables()
	_, err = s.inPipelines(ctx, len(postings)*tables, func(p redis.Pipeliner, i int) {
		fp := postings[i/tables].fp
		p.SAdd(ctx, s.tableKey(i%tables, s.blocks.Key(i%tables, fp)), int64(fp))
	})
	return err
}

// remove leaves the signature in the sets: somebody else may be adding it under another id.
func (s signatureSets) remove(ctx context.Context, postings []posting) error {
	_, err := s.inPipelines(ctx, len(postings), func(p redis.Pipeliner, i int) {
		p.HDel(ctx, s.idsKey(postings[i].fp), postings[i].member)
	})
	return err
}

func (s signatureSets) search(ctx context.Context, fps []neardup.Fingerprint64, yield func(query int, id string, distance int)) error {
	tables := s.blocks.Tables()
	answers, err := s.inPipelines(ctx, len(fps)*tables, func(p redis.Pipeliner, i int) {
		p.SMembers(ctx, s.tableKey(i%tables, s.blocks.Key(i%tables, fps[i/tables])))
	})
	if err != nil {
		return err
	}
	type found struct {
		query int
		fp    neardup.Fingerprint64
	}
	var near []found
	seen := map[found]bool{}
	i := 0
	for _, chunk := range answers {
		for _, c := range chunk {
			query := i / tables
			for _, signature := range c.(*redis.StringSliceCmd).Val() {
				n, err := strconv.ParseInt(signature, 10, 64)
				if err != nil {
					return fmt.Errorf("%w: the signature %q in %v", neardup.ErrDamaged, signature, c.Args()[1])
				}
				f := found{query, neardup.Fingerprint64(n)}
				if fps[query].Distance(f.fp) <= s.blocks.Distance() && !seen[f] {
					seen[f] = true
					near = append(near, f)
				}
			}
			i++
		}
	}
	if len(near) == 0 {
		return nil
	}
	answers, err = s.inPipelines(ctx, len(near), func(p redis.Pipeliner, i int) { p.HKeys(ctx, s.idsKey(near[i].fp)) })
	if err != nil {
		return err
	}
	i = 0
	for _, chunk := range answers {
		for _, c := range chunk {
			for _, member := range c.(*redis.StringSliceCmd).Val() {
				yield(near[i].query, idOf(member), fps[near[i].query].Distance(near[i].fp))
			}
			i++
		}
	}
	return nil
}
