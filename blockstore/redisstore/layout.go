package redisstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/neardup/neardup"
)

// A layout writes, removes and finds postings. Everything that it writes is idempotent.
type layout interface {
	add(ctx context.Context, postings []posting) error
	remove(ctx context.Context, postings []posting) error
	search(ctx context.Context, values []string, yield func(query int, id, value string)) error

	// postingKeys selects the hashes whose fields are postings. member returns the member of a field
	// of such a hash.
	postingKeys() pattern
	member(field string, key any) (string, error)
}

// hexKey returns a prefix followed by a number with the given number of hexadecimal digits.
func hexKey(prefix string, n uint64, digits int) string {
	b := append(make([]byte, 0, len(prefix)+digits), prefix...)
	for i := digits - 1; i >= 0; i-- {
		b = append(b, "0123456789abcdef"[n>>(4*i)&15])
	}
	return string(b)
}

// hashes is the layout Hashes. A field begins with the fingerprint or, of a signature, with the key.
type hashes struct {
	*backend
	signatures bool
	start      int // bytes at the beginning of a field
	shift      int // bits of a key that are not in the name of its hash
}

// signatureBits is how many bits of the key of a band are in the names of hashes: see [Hashes].
const signatureBits = 18

func newHashes(s *backend) hashes {
	if s.keys.Distance() >= 0 {
		return hashes{backend: s, start: s.keys.Size()}
	}
	return hashes{s, true, 4, s.keys.KeyBits(0) - signatureBits}
}

// tableKey returns the Redis key for a key of a table.
func (s hashes) tableKey(table int, key uint64) string {
	if s.signatures {
		return hexKey(s.prefix+":"+strconv.Itoa(table+1)+":", key>>s.shift, (signatureBits+3)/4)
	}
	return s.prefix + ":" + s.keys.KeyName(table, key)
}

// beginning returns what the fields of a value begin with, at a key of a table.
func (s hashes) beginning(value string, key uint64) string {
	if s.signatures {
		return string(binary.BigEndian.AppendUint32(make([]byte, 0, 4), uint32(key)))
	}
	return value
}

func (s hashes) add(ctx context.Context, postings []posting) error {
	return s.byKey(ctx, "hset", postings, func(args []any, field string) []any { return append(args, field, "") })
}

func (s hashes) remove(ctx context.Context, postings []posting) error {
	return s.byKey(ctx, "hdel", postings, func(args []any, field string) []any { return append(args, field) })
}

// A keyed is a posting at a key of a table.
type keyed struct {
	key     uint64
	posting uint32
	table   uint32
}

// byKey sends a command for each hash of each table that any of the postings is in. The command gets
// the fields of all postings in that hash. One command for many fields takes a fraction of the time
// of one for each.
func (s hashes) byKey(ctx context.Context, command string, postings []posting, add func(args []any, field string) []any) error {
	const most = 5000 // fields of one command; more would hold up other clients
	tables := make([][]keyed, s.keys.Tables())
	for t := range tables {
		tables[t] = make([]keyed, 0, len(postings))
	}
	var keys []uint64
	for i, p := range postings {
		keys = s.keys.AppendKeys(keys[:0], p.value)
		for t, key := range keys {
			tables[t] = append(tables[t], keyed{key, uint32(i), uint32(t)})
		}
	}
	var sorting sync.WaitGroup
	for _, table := range tables {
		sorting.Go(func() { slices.SortFunc(table, func(a, b keyed) int { return cmp.Compare(a.key, b.key) }) })
	}
	sorting.Wait()
	var commands [][]keyed
	for _, table := range tables {
		for from := 0; from < len(table); {
			to := from + 1
			for to < len(table) && to < from+most && table[to].key>>s.shift == table[from].key>>s.shift {
				to++
			}
			commands = append(commands, table[from:to])
			from = to
		}
	}
	return s.inPipelines(ctx, len(commands), func(p redis.Pipeliner, i int) {
		of := commands[i]
		args := append(make([]any, 0, 2+2*len(of)), command, s.tableKey(int(of[0].table), of[0].key))
		for _, o := range of {
			args = add(args, s.beginning(postings[o.posting].value, o.key)+postings[o.posting].member)
		}
		p.Do(ctx, args...)
	}, ignore)
}

// ignore is for commands whose answers do not matter.
func ignore(int, redis.Cmder) error { return nil }

func (s hashes) search(ctx context.Context, values []string, yield func(query int, id, value string)) error {
	if !s.signatures {
		return s.fields(ctx, values, func(query int, _ uint64, beginning, member string) { yield(query, idOf(member), beginning) })
	}
	var ids, members []string
	var of []int // their queries
	err := s.fields(ctx, values, func(query int, key uint64, beginning, member string) {
		if binary.BigEndian.Uint32([]byte(beginning)) == uint32(key) {
			ids, members, of = append(ids, idOf(member)), append(members, member), append(of, query)
		}
	})
	if err != nil {
		return err
	}
	return s.records(ctx, ids, func(i int, states []state, _ uint32) error {
		if len(states) > 0 && !states[0].removed() && states[0].member(ids[i]) == members[i] {
			yield(of[i], ids[i], states[0].value())
		}
		return nil
	})
}

// fields calls yield for the fields of all hashes in which values are, in one round trip.
func (s hashes) fields(ctx context.Context, values []string, yield func(query int, key uint64, beginning, member string)) error {
	tables := s.keys.Tables()
	keys := make([]uint64, 0, len(values)*tables)
	for _, value := range values {
		keys = s.keys.AppendKeys(keys, value)
	}
	return s.inPipelines(ctx, len(keys), func(p redis.Pipeliner, i int) {
		p.HKeys(ctx, s.tableKey(i%tables, keys[i]))
	}, func(i int, c redis.Cmder) error {
		for _, field := range c.(*redis.StringSliceCmd).Val() {
			member, err := s.member(field, c.Args()[1])
			if err != nil {
				return err
			}
			yield(i/tables, keys[i], field[:s.start], member)
		}
		return nil
	})
}

func (s hashes) member(field string, key any) (string, error) {
	if len(field) < s.start+2+tagBytes {
		return "", fmt.Errorf("%w: the field %q of %v", neardup.ErrDamaged, field, key)
	}
	return field[s.start:], nil
}

func (s hashes) postingKeys() pattern {
	return pattern{":[0-9]*:*", regexp.MustCompile(`^:[0-9]+:[0-9a-f]+$`)}
}

// signatureSets is the layout SignatureSets.
type signatureSets struct{ *backend }

// idsKey returns the key of the hash with the ids of a signature.
func (s signatureSets) idsKey(value string) string {
	return hexKey(s.prefix+":s:", binary.BigEndian.Uint64([]byte(value)), 16)
}

// tableKeys returns the Redis keys of the sets that have some values, in all tables.
func (s signatureSets) tableKeys(values []string) (names []string) {
	var keys []uint64
	for _, value := range values {
		keys = s.keys.AppendKeys(keys[:0], value)
		for t, key := range keys {
			names = append(names, s.prefix+":"+s.keys.KeyName(t, key))
		}
	}
	return names
}

// add writes the ids first. So a signature is never in the sets without its ids.
func (s signatureSets) add(ctx context.Context, postings []posting) error {
	values := make([]string, len(postings))
	for i, p := range postings {
		values[i] = p.value
	}
	err := s.inPipelines(ctx, len(postings), func(p redis.Pipeliner, i int) {
		p.HSet(ctx, s.idsKey(values[i]), postings[i].member, "")
	}, ignore)
	if err != nil {
		return err
	}
	tables := s.keys.Tables()
	names := s.tableKeys(values)
	return s.inPipelines(ctx, len(names), func(p redis.Pipeliner, i int) {
		p.SAdd(ctx, names[i], int64(binary.BigEndian.Uint64([]byte(values[i/tables]))))
	}, ignore)
}

// remove leaves the signature in the sets, because another client may be adding it under another
// id.
func (s signatureSets) remove(ctx context.Context, postings []posting) error {
	return s.inPipelines(ctx, len(postings), func(p redis.Pipeliner, i int) {
		p.HDel(ctx, s.idsKey(postings[i].value), postings[i].member)
	}, ignore)
}

// search reads the sets in a first round trip, and then the ids of the near signatures in a second.
func (s signatureSets) search(ctx context.Context, values []string, yield func(query int, id, value string)) error {
	type found struct {
		query int
		value string
	}
	var near []found
	seen := map[found]bool{}
	tables := s.keys.Tables()
	names := s.tableKeys(values)
	err := s.inPipelines(ctx, len(names), func(p redis.Pipeliner, i int) {
		p.SMembers(ctx, names[i])
	}, func(i int, c redis.Cmder) error {
		query := binary.BigEndian.Uint64([]byte(values[i/tables]))
		for _, signature := range c.(*redis.StringSliceCmd).Val() {
			n, err := strconv.ParseInt(signature, 10, 64)
			if err != nil {
				return fmt.Errorf("%w: the signature %q in %v", neardup.ErrDamaged, signature, names[i])
			}
			if bits.OnesCount64(query^uint64(n)) > s.keys.Distance() {
				continue
			}
			f := found{i / tables, string(binary.BigEndian.AppendUint64(nil, uint64(n)))}
			if !seen[f] {
				seen[f] = true
				near = append(near, f)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.inPipelines(ctx, len(near), func(p redis.Pipeliner, i int) { p.HKeys(ctx, s.idsKey(near[i].value)) }, func(i int, c redis.Cmder) error {
		for _, member := range c.(*redis.StringSliceCmd).Val() {
			yield(near[i].query, idOf(member), near[i].value)
		}
		return nil
	})
}

func (s signatureSets) postingKeys() pattern {
	return pattern{":s:????????????????", regexp.MustCompile(`^:s:[0-9a-f]{16}$`)}
}

func (s signatureSets) member(field string, _ any) (string, error) { return field, nil }
