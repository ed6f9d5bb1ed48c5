package redisstore

import (
	"cmp"
	"context"
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
//  1. The record gets a new state, as its first one, and answers all states that it has.
//  2. The postings of the new state are written.
//  3. Those of the other states are removed.
//  4. If the new state is still the first one, the record forgets the others. If not, somebody has written the id
//     meanwhile, and perhaps looked for the postings of step 2 before they were there: they are removed.
//
// So of all that a change may leave when it is interrupted the record knows, and the next change of the id removes it.
// That two changes of an id at the same time cannot remove each other's postings, nor a slow one those of a later
// one, is because no two states are ever the same: each has a tag of its own, counted by the server, which is in its
// postings, too. (If somebody writes the id between steps 1 and 2 of a change that ends there, or a command arrives
// when its client has given up and done everything again, postings can stay that no record knows: see [Store.Sweep].)
//
// Records lie in 65,536 hashes PREFIX:id:BUCKET, by a hash of the id. Their field of the byte 0 is the counter.

// A state is one in which an id was put or removed: 8 bytes of the fingerprint, big-endian, and 4 of the tag, the first of
// them 128 or more if the id was removed.
type state string

const stateBytes = 12

// fingerprint returns the fingerprint, if the state is not that of a removed id.
func (s state) fingerprint() (neardup.Fingerprint64, bool) {
	return neardup.Fingerprint64(binary.BigEndian.Uint64([]byte(s[:8]))), s[8] < 128
}

// member is what the postings of a state call an id: the id, a byte 0 and the tag.
func (s state) member(id string) string { return id + "\x00" + string(s[8:]) }

// idOf is the inverse of member.
func idOf(member string) string {
	id, _, _ := strings.Cut(member, "\x00")
	return id
}

const counterField = "\x00"

// readRecord cuts a record into its states, of which there is at least one.
func readRecord(record string) ([]state, error) {
	if len(record) == 0 || len(record)%stateBytes != 0 {
		return nil, fmt.Errorf("%w: the record %q", neardup.ErrDamaged, record)
	}
	states := make([]state, 0, len(record)/stateBytes)
	for at := 0; at < len(record); at += stateBytes {
		states = append(states, state(record[at:at+stateBytes]))
	}
	return states, nil
}

// begin is step 1 for some ids of one hash: ARGV has each id, and its fingerprint or "" if it is to be removed. The answers
// are the records, or "" if there is nothing to remove. If the first state has the fingerprint already, it stays.
var begin = redis.NewScript(`
local ids, answers, set = {}, {}, {}
for i = 1, #ARGV, 2 do
	ids[#ids + 1] = ARGV[i]
end
local records = redis.call('HMGET', KEYS[1], unpack(ids))
local tag = redis.call('HINCRBY', KEYS[1], '\0', #ids) % 2147483648
for i, id in ipairs(ids) do
	local old, fp = records[i] or '', ARGV[2 * i]
	local answer = old
	if fp == '' and old ~= '' then
		answer = '\0\0\0\0\0\0\0\0' .. struct.pack('>I4', tag - i + 2147483648) .. old
	elseif fp ~= '' and (string.sub(old, 1, 8) ~= fp or string.byte(old, 9) >= 128) then
		answer = fp .. struct.pack('>I4', (tag - i) % 2147483648) .. old
	end
	if answer ~= old then
		set[#set + 1] = id
		set[#set + 1] = answer
	end
	answers[i] = answer
end
if #set > 0 then
	redis.call('HSET', KEYS[1], unpack(set))
end
return answers`)

// finish is step 4 for some ids of one hash: ARGV has id and state of each. The answers are 1, or 0 if another state is the
// first one, or -1 if there is no record.
var finish = redis.NewScript(`
local ids, answers = {}, {}
for i = 1, #ARGV, 2 do
	ids[#ids + 1] = ARGV[i]
end
local records = redis.call('HMGET', KEYS[1], unpack(ids))
for i, id in ipairs(ids) do
	local old, mine = records[i], ARGV[2 * i]
	answers[i] = old and 0 or -1
	if old and string.sub(old, 1, 12) == mine then
		answers[i] = 1
		if string.byte(mine, 9) >= 128 then
			redis.call('HDEL', KEYS[1], id)
		elseif old ~= mine then
			redis.call('HSET', KEYS[1], id, mine)
		end
	end
end
return answers`)

// mostIDs is how many ids a script gets: Lua can pass on some thousand arguments.
const mostIDs = 1000

// A change is one of an id: it puts a fingerprint, or removes it.
type change struct {
	id      string
	fp      neardup.Fingerprint64
	removes bool

	state  state   // what begin has made of it
	others []state // whose postings are to be removed
}

// A posting is one of a state of an id.
type posting struct {
	fp     neardup.Fingerprint64
	member string
}

// postingOf returns the posting of a state, if it is not that of a removed id.
func postingOf(id string, s state) (posting, bool) {
	fp, ok := s.fingerprint()
	return posting{fp, s.member(id)}, ok
}

// change makes changes of different ids.
func (s *Store) change(ctx context.Context, changes []change) error {
	for attempt := 1; len(changes) > 0; attempt++ {
		lost, err := s.steps(ctx, changes)
		switch {
		case err != nil:
			return fmt.Errorf("redisstore: %w", err)
		case len(lost) > 0 && attempt == 10:
			return fmt.Errorf("redisstore: the server loses what it is given: %d of %d records are gone", len(lost), len(changes))
		}
		changes = lost
	}
	return ctx.Err()
}

// steps takes the steps of some changes. It returns those of ids that are to be stored and whose records are gone when it
// has taken them: somebody has removed the id meanwhile, or the server has forgotten it and is another one now.
func (s *Store) steps(ctx context.Context, changes []change) (lost []change, err error) {
	buckets := bucketsOf(changes)
	err = s.script(ctx, begin, buckets, func(c *change) any {
		if c.removes {
			return ""
		}
		return binary.BigEndian.AppendUint64(nil, uint64(c.fp))
	}, func(c *change, answer any) error {
		c.state, c.others = "", nil
		record, ok := answer.(string)
		if ok && record == "" {
			return nil
		}
		states, err := readRecord(record)
		if err != nil {
			return fmt.Errorf("id %q: %w", c.id, err)
		}
		c.state, c.others = states[0], states[1:]
		return nil
	})
	if err != nil {
		return nil, err
	}
	var changed []change
	var added, removed []posting
	for _, c := range changes {
		if c.state == "" {
			continue // there is nothing to remove
		}
		changed = append(changed, c)
		if p, ok := postingOf(c.id, c.state); ok {
			added = append(added, p)
		}
		for _, other := range c.others {
			if p, ok := postingOf(c.id, other); ok {
				removed = append(removed, p)
			}
		}
	}
	if err := s.layout.add(ctx, added); err != nil {
		return nil, err
	}
	if err := s.layout.remove(ctx, removed); err != nil {
		return nil, err
	}
	removed = removed[:0]
	err = s.script(ctx, finish, bucketsOf(changed), func(c *change) any { return string(c.state) }, func(c *change, answer any) error {
		p, ok := postingOf(c.id, c.state)
		if ok && answer != int64(1) {
			removed = append(removed, p)
			if answer == int64(-1) {
				lost = append(lost, *c)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return lost, s.layout.remove(ctx, removed)
}

// A bucket is some changes whose records are in the same hash.
type bucket struct {
	number  uint16
	changes []*change
}

func bucketOf(id string) uint16 { return uint16(crc32.ChecksumIEEE([]byte(id))) }

func bucketsOf(changes []change) []bucket {
	type numbered struct {
		number uint16
		change *change
	}
	order := make([]numbered, len(changes))
	for i := range changes {
		order[i] = numbered{bucketOf(changes[i].id), &changes[i]}
	}
	slices.SortStableFunc(order, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	var buckets []bucket
	for i, o := range order {
		if i == 0 || o.number != order[i-1].number || len(buckets[len(buckets)-1].changes) == mostIDs {
			buckets = append(buckets, bucket{number: o.number})
		}
		b := &buckets[len(buckets)-1]
		b.changes = append(b.changes, o.change)
	}
	return buckets
}

// script runs a script for all buckets, with id and argument of each change, and calls do with the answers.
func (s *Store) script(ctx context.Context, script *redis.Script, buckets []bucket, argument func(*change) any, do func(c *change, answer any) error) error {
	run := func(eval func(p redis.Pipeliner, key string, args []any)) error {
		return s.inPipelines(ctx, len(buckets), func(p redis.Pipeliner, i int) {
			b := buckets[i]
			args := make([]any, 0, 2*len(b.changes))
			for _, c := range b.changes {
				args = append(args, c.id, argument(c))
			}
			eval(p, s.recordKey(b.number), args)
		}, func(i int, c redis.Cmder) error {
			list, err := c.(*redis.Cmd).Slice()
			if err == nil && len(list) != len(buckets[i].changes) {
				err = fmt.Errorf("%d answers for %d ids", len(list), len(buckets[i].changes))
			}
			for j := 0; err == nil && j < len(list); j++ {
				err = do(buckets[i].changes[j], list[j])
			}
			return err
		})
	}
	err := run(func(p redis.Pipeliner, key string, args []any) { p.EvalSha(ctx, script.Hash(), []string{key}, args...) })
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") { // a server that has not seen it yet; what others have done is done again
		err = run(func(p redis.Pipeliner, key string, args []any) { script.Eval(ctx, p, []string{key}, args...) })
	}
	return err
}

func (s *Store) recordKey(bucket uint16) string { return hexKey(s.prefix+":id:", uint64(bucket), 4) }
