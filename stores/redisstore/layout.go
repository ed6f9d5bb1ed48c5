package redisstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/neardup/neardup"
)

// A layout writes, removes and finds postings. Everything that it writes is idempotent.
type layout interface {
	add(ctx context.Context, postings []posting) error
	remove(ctx context.Context, postings []posting) error
	search(ctx context.Context, fps []neardup.Fingerprint64, yield func(query int, id string, distance int)) error

	// postingKeys selects the hashes whose fields are postings. postings appends the postings of
	// some fields of such a hash.
	postingKeys() pattern
	postings(to []posting, key string, fields []string) ([]posting, error)
}

// tableKey returns the Redis key of the key that a fingerprint has in a table.
func (s *Store) tableKey(table int, fp neardup.Fingerprint64) string {
	return s.prefix + ":" + s.blocks.KeyName(table, fp)
}

// hexKey returns a prefix followed by a number with the given number of hexadecimal digits.
func hexKey(prefix string, n uint64, digits int) string {
	b := append(make([]byte, 0, len(prefix)+digits), prefix...)
	for i := digits - 1; i >= 0; i-- {
		b = append(b, "0123456789abcdef"[n>>(4*i)&15])
	}
	return string(b)
}

// hashes is the layout Hashes.
type hashes struct{ *Store }

func (s hashes) add(ctx context.Context, postings []posting) error {
	return s.byKey(ctx, "hset", postings, func(args []any, field string) []any { return append(args, field, "") })
}

func (s hashes) remove(ctx context.Context, postings []posting) error {
	return s.byKey(ctx, "hdel", postings, func(args []any, field string) []any { return append(args, field) })
}

// byKey sends a command for each key of each table that any of the postings has. The command gets
// the fields of all postings with that key. One command for many fields takes a fraction of the
// time of one for each.
func (s hashes) byKey(ctx context.Context, command string, postings []posting, add func(args []any, field string) []any) error {
	fields := make([]string, len(postings))
	for i, p := range postings {
		b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(p.member)), uint64(p.fp))
		fields[i] = string(append(b, p.member...))
	}
	type keyed struct {
		key     uint64
		posting uint32
	}
	const most = 5000 // fields of one command; more would hold up other clients
	n := len(postings)
	order := make([]keyed, n*s.blocks.Tables())
	var sorting sync.WaitGroup
	for table := range s.blocks.Tables() {
		sorting.Go(func() {
			of := order[table*n : (table+1)*n]
			for i, p := range postings {
				of[i] = keyed{s.blocks.Key(table, p.fp), uint32(i)}
			}
			slices.SortFunc(of, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
		})
	}
	sorting.Wait()
	var starts []int
	for table := range s.blocks.Tables() {
		of := order[table*n : (table+1)*n]
		for i := range of {
			if i == 0 || of[i].key != of[i-1].key || table*n+i-starts[len(starts)-1] == most {
				starts = append(starts, table*n+i)
			}
		}
	}
	return s.inPipelines(ctx, len(starts), func(p redis.Pipeliner, i int) {
		of := order[starts[i]:]
		if i+1 < len(starts) {
			of = of[:starts[i+1]-starts[i]]
		}
		args := append(make([]any, 0, 2+2*len(of)), command, s.tableKey(starts[i]/n, postings[of[0].posting].fp))
		for _, o := range of {
			args = add(args, fields[o.posting])
		}
		p.Do(ctx, args...)
	}, ignore)
}

// ignore is for commands whose answers do not matter.
func ignore(int, redis.Cmder) error { return nil }

func (s hashes) search(ctx context.Context, fps []neardup.Fingerprint64, yield func(query int, id string, distance int)) error {
	tables := s.blocks.Tables()
	return s.inPipelines(ctx, len(fps)*tables, func(p redis.Pipeliner, i int) {
		p.HKeys(ctx, s.tableKey(i%tables, fps[i/tables]))
	}, func(i int, c redis.Cmder) error {
		fp := fps[i/tables]
		for _, field := range c.(*redis.StringSliceCmd).Val() {
			p, err := readField(field, c.Args()[1])
			if err != nil {
				return err
			}
			if d := fp.Distance(p.fp); d <= s.blocks.Distance() {
				yield(i/tables, idOf(p.member), d)
			}
		}
		return nil
	})
}

// readField takes the field of a hash apart. key is for the error.
func readField(field string, key any) (posting, error) {
	if len(field) < 9 {
		return posting{}, fmt.Errorf("%w: the field %q of %v", neardup.ErrDamaged, field, key)
	}
	return posting{neardup.Fingerprint64(binary.BigEndian.Uint64([]byte(field[:8]))), field[8:]}, nil
}

func (s hashes) postingKeys() pattern {
	return pattern{":[0-9]*:*", regexp.MustCompile(`^:[0-9]+:[0-9a-f]+$`)}
}

func (s hashes) postings(to []posting, key string, fields []string) ([]posting, error) {
	for _, field := range fields {
		p, err := readField(field, key)
		if err != nil {
			return nil, err
		}
		to = append(to, p)
	}
	return to, nil
}

// signatureSets is the layout SignatureSets.
type signatureSets struct{ *Store }

// idsKey returns the key of the hash with the ids of a signature.
func (s signatureSets) idsKey(fp neardup.Fingerprint64) string {
	return hexKey(s.prefix+":s:", uint64(fp), 16)
}

// add writes the ids first. So a signature is never in the sets without its ids.
func (s signatureSets) add(ctx context.Context, postings []posting) error {
	err := s.inPipelines(ctx, len(postings), func(p redis.Pipeliner, i int) {
		p.HSet(ctx, s.idsKey(postings[i].fp), postings[i].member, "")
	}, ignore)
	if err != nil {
		return err
	}
	tables := s.blocks.Tables()
	return s.inPipelines(ctx, len(postings)*tables, func(p redis.Pipeliner, i int) {
		fp := postings[i/tables].fp
		p.SAdd(ctx, s.tableKey(i%tables, fp), int64(fp))
	}, ignore)
}

// remove leaves the signature in the sets, because another client may be adding it under another
// id.
func (s signatureSets) remove(ctx context.Context, postings []posting) error {
	return s.inPipelines(ctx, len(postings), func(p redis.Pipeliner, i int) {
		p.HDel(ctx, s.idsKey(postings[i].fp), postings[i].member)
	}, ignore)
}

// search reads the sets in a first round trip, and then the ids of the near signatures in a second.
func (s signatureSets) search(ctx context.Context, fps []neardup.Fingerprint64, yield func(query int, id string, distance int)) error {
	type found struct {
		query int
		fp    neardup.Fingerprint64
	}
	var near []found
	seen := map[found]bool{}
	tables := s.blocks.Tables()
	err := s.inPipelines(ctx, len(fps)*tables, func(p redis.Pipeliner, i int) {
		p.SMembers(ctx, s.tableKey(i%tables, fps[i/tables]))
	}, func(i int, c redis.Cmder) error {
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
		return nil
	})
	if err != nil || len(near) == 0 {
		return err
	}
	return s.inPipelines(ctx, len(near), func(p redis.Pipeliner, i int) { p.HKeys(ctx, s.idsKey(near[i].fp)) }, func(i int, c redis.Cmder) error {
		for _, member := range c.(*redis.StringSliceCmd).Val() {
			yield(near[i].query, idOf(member), fps[near[i].query].Distance(near[i].fp))
		}
		return nil
	})
}

func (s signatureSets) postingKeys() pattern {
	return pattern{":s:????????????????", regexp.MustCompile(`^:s:[0-9a-f]{16}$`)}
}

func (s signatureSets) postings(to []posting, key string, fields []string) ([]posting, error) {
	fp, err := strconv.ParseUint(key[strings.LastIndexByte(key, ':')+1:], 16, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: the key %q", neardup.ErrDamaged, key)
	}
	for _, member := range fields {
		to = append(to, posting{neardup.Fingerprint64(fp), member})
	}
	return to, nil
}
