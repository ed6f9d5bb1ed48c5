package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/neardup/neardup"
)

// Redis changes one key at a time (a cluster has no transactions over several), and a fingerprint is under
// several keys. So there is a record of each id, which says under which fingerprints it may be found,
// and every change goes like this:
//
//  1. The record gets the new state, as its first one. Its answer is all states that the record has.
//  2. The postings of the new state are written.
//  3. Those of the other states are removed.
//  4. The record forgets the other states. If it has forgotten the new one, because somebody wrote the id meanwhile,
//     the postings of step 2 are removed.
//
// Whatever a change is interrupted by, the record still says what the next one has to remove. That two
// changes of an id at the same time cannot remove each other's postings, nor a slow one those of a later one, is
// because no two states are ever the same: each has a tag of its own, which is in its postings, too. (The first
// state of a new id needs none. That is most of them.)
//
// Records lie in 65,536 hashes PREFIX:id:BUCKET, by a hash of the id.

// A state is one in which an id was put or removed: a fingerprint, the length of a tag, and the tag.
//
//	fp 00           the first
//	fp 08 tag       any other
//	00…00 09 tag    removed
type state string

const (
	tagBytes       = 8
	tombstoneBytes = 9
)

func newState(fp neardup.Fingerprint64) state {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 9+tagBytes), uint64(fp))
	return state(appendTag(b, tagBytes))
}

func newTombstone() state { return state(appendTag(make([]byte, 8, 9+tombstoneBytes), tombstoneBytes)) }

func appendTag(b []byte, n int) []byte {
	b = append(b, byte(n))
	b = b[:len(b)+n]
	rand.Read(b[len(b)-n:]) // never fails
	return b
}

// first is the state without a tag.
func (s state) first() state { return s[:8] + "\x00" }

// fingerprint returns the fingerprint, if the state is not that of a removed id.
func (s state) fingerprint() (neardup.Fingerprint64, bool) {
	return neardup.Fingerprint64(binary.BigEndian.Uint64([]byte(s[:8]))), s[8] != tombstoneBytes
}

// member is what the postings of a state call an id: the id, and the tag behind a byte 0.
func (s state) member(id string) string {
	if len(s) == 9 {
		return id
	}
	return id + "\x00" + string(s[9:])
}

// idOf is the inverse of member.
func idOf(member string) string {
	id, _, _ := strings.Cut(member, "\x00")
	return id
}

// readRecord cuts a record into its states, of which there is at least one.
func readRecord(record string) ([]state, error) {
	var states []state
	for rest := record; len(rest) > 0; {
		if len(rest) < 9 || len(rest) < 9+int(rest[8]) {
			return nil, fmt.Errorf("%w: the record %q", neardup.ErrDamaged, record)
		}
		n := 9 + int(rest[8])
		states = append(states, state(rest[:n]))
		rest = rest[n:]
	}
	if len(states) == 0 {
		return nil, fmt.Errorf("%w: an empty record", neardup.ErrDamaged)
	}
	return states, nil
}

// begin is step 1 for some ids of one hash: ARGV has id and state of each. The answers are the records, or 1 if the id
// was new and its state is now the first one without a tag, or 0 if it is not there and to be removed.
var begin = redis.NewScript(`
local answers = {}
for i = 1, #ARGV, 2 do
	local id, new = ARGV[i], ARGV[i + 1]
	local old = redis.call('HGET', KEYS[1], id)
	local removes = string.byte(new, 9) == 9
	if not old then
		if removes then
			answers[#answers + 1] = 0
		else
			redis.call('HSET', KEYS[1], id, string.sub(new, 1, 8) .. '\0')
			answers[#answers + 1] = 1
		end
	elseif not removes and string.sub(old, 1, 8) == string.sub(new, 1, 8) and string.byte(old, 9) ~= 9 then
		answers[#answers + 1] = old
	else
		redis.call('HSET', KEYS[1], id, new .. old)
		answers[#answers + 1] = new .. old
	end
end
return answers`)

// finish is step 4 for some ids of one hash: ARGV has id and state of each. The answers are 1, or 0 if the record does
// not have the state any more.
var finish = redis.NewScript(`
local answers = {}
for i = 1, #ARGV, 2 do
	local id, mine = ARGV[i], ARGV[i + 1]
	local old = redis.call('HGET', KEYS[1], id)
	local answer, at = 0, 1
	while old and at <= #old do
		local after = at + 9 + string.byte(old, at + 8)
		if string.sub(old, at, after - 1) == mine then
			local removes = string.byte(mine, 9) == 9
			local keep = string.sub(old, 1, (removes and at or after) - 1)
			if keep == '' then
				redis.call('HDEL', KEYS[1], id)
			elseif #keep < #old then
				redis.call('HSET', KEYS[1], id, keep)
			end
			answer = 1
			break
		end
		at = after
	end
	answers[#answers + 1] = answer
end
return answers`)

func (s *Store) loadScripts(ctx context.Context) error {
	for _, script := range []*redis.Script{begin, finish} {
		if err := script.Load(ctx, s.client).Err(); err != nil {
			return err
		}
	}
	return nil
}

// A change is one of an id.
type change struct {
	id     string
	state  state
	others []state // whose postings are to be removed
}

// A posting is one of a state of an id.
type posting struct {
	fp     neardup.Fingerprint64
	member string
}

// change makes changes of different ids.
func (s *Store) change(ctx context.Context, changes []change) error {
	err := s.steps(ctx, changes)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") { // the server was started again
		if err = s.loadScripts(ctx); err == nil {
			err = s.steps(ctx, changes)
		}
	}
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	return nil
}

func (s *Store) steps(ctx context.Context, changes []change) error {
	if len(changes) == 0 {
		return ctx.Err()
	}
	buckets := bucketsOf(changes)
	err := s.script(ctx, begin, buckets, func(c *change, answer any) error {
		switch answer := answer.(type) {
		case int64:
			if c.state = c.state.first(); answer == 0 {
				c.id = "" // nothing to do
			}
		case string:
			states, err := readRecord(answer)
			if err != nil {
				return fmt.Errorf("id %q: %w", c.id, err)
			}
			c.state, c.others = states[0], states[1:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	var added, removed []posting
	changed := changes[:0]
	for _, c := range changes {
		if c.id == "" {
			continue
		}
		changed = append(changed, c)
		if fp, ok := c.state.fingerprint(); ok {
			added = append(added, posting{fp, c.state.member(c.id)})
		}
		for _, other := range c.others {
			if fp, ok := other.fingerprint(); ok {
				removed = append(removed, posting{fp, other.member(c.id)})
			}
		}
	}
	if err := s.layout.add(ctx, added); err != nil {
		return err
	}
	if err := s.layout.remove(ctx, removed); err != nil {
		return err
	}
	removed = removed[:0]
	err = s.script(ctx, finish, bucketsOf(changed), func(c *change, answer any) error {
		if fp, ok := c.state.fingerprint(); ok && answer == int64(0) {
			removed = append(removed, posting{fp, c.state.member(c.id)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.layout.remove(ctx, removed)
}

// A bucket is some changes whose records are in the same hash.
type bucket struct {
	number  uint16
	changes []*change
}

func bucketsOf(changes []change) []bucket {
	type numbered struct {
		number uint16
		change *change
	}
	order := make([]numbered, len(changes))
	for i := range changes {
		order[i] = numbered{uint16(crc32.ChecksumIEEE([]byte(changes[i].id))), &changes[i]}
	}
	slices.SortStableFunc(order, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	var buckets []bucket
	for i, o := range order {
		if i == 0 || o.number != order[i-1].number {
			buckets = append(buckets, bucket{number: o.number})
		}
		b := &buckets[len(buckets)-1]
		b.changes = append(b.changes, o.change)
	}
	return buckets
}

// script runs a script for all buckets, and calls do with the answer for each change.
func (s *Store) script(ctx context.Context, script *redis.Script, buckets []bucket, do func(c *change, answer any) error) error {
	answers, err := s.inPipelines(ctx, len(buckets), func(p redis.Pipeliner, i int) {
		b := buckets[i]
		args := make([]any, 0, 2*len(b.changes))
		for _, c := range b.changes {
			args = append(args, c.id, string(c.state))
		}
		p.EvalSha(ctx, script.Hash(), []string{fmt.Sprintf("%s:id:%04x", s.prefix, b.number)}, args...)
	})
	if err != nil {
		return err
	}
	i := 0
	for _, chunk := range answers {
		for _, c := range chunk {
			list, err := c.(*redis.Cmd).Slice()
			if err == nil && len(list) != len(buckets[i].changes) {
				err = fmt.Errorf("%d answers for %d ids", len(list), len(buckets[i].changes))
			}
			if err != nil {
				return err
			}
			for j, answer := range list {
				if err := do(buckets[i].changes[j], answer); err != nil {
					return err
				}
			}
			i++
		}
	}
	return nil
}
