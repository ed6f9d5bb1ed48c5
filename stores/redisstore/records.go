package redisstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
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

// begin is step 1 for some ids of one hash: ARGV has each id, and its fingerprint or "" if it is to be removed. The answer is
// a list: the tag of the first of them, and the number (from 0 on) and record of each that was there, or the number and "" of each
// that is not there and to be removed. The others are new, with the tag of the first plus their number. If the first state of
// a record has the fingerprint already, it stays.
var begin = redis.NewScript(`
local n = #ARGV / 2
local count = redis.call('HINCRBY', KEYS[1], '\0', n)
local tag = (count - n) % 1073741824
local records = {}
if count > n then -- else nothing has ever been here
	local ids = {}
	for i = 1, n do
		ids[i] = ARGV[2 * i - 1]
	end
	records = redis.call('HMGET', KEYS[1], unpack(ids))
end
local answers, set, sets = {tag}, {}, 0
for i = 1, n do
	local old, fp = records[i], ARGV[2 * i]
	local new
	if not old then
		if fp ~= '' then
			new = fp .. struct.pack('>I4', tag + i - 1)
		end
	elseif fp == '' then
		new = '\0\0\0\0\0\0\0\0' .. struct.pack('>I4', tag + i - 1 + 2147483648) .. old
	elseif string.sub(old, 1, 8) ~= fp or string.byte(old, 9) >= 128 then
		new = fp .. struct.pack('>I4', tag + i - 1) .. old
	end
	if new then
		set[sets + 1] = ARGV[2 * i - 1]
		set[sets + 2] = new
		sets = sets + 2
	end
	if old or fp == '' then
		answers[#answers + 1] = i - 1
		answers[#answers + 1] = new or old or ''
	end
end
if sets > 0 then
	redis.call('HSET', KEYS[1], unpack(set))
end
return answers`)

// finish is step 4 for some ids of one hash: ARGV has id and state of each. The answer is a list of the number (from 0 on) of each
// whose state is not the first one any more, and 0, or -1 if there is no record.
var finish = redis.NewScript(`
local ids, answers = {}, {}
for i = 1, #ARGV, 2 do
	ids[#ids + 1] = ARGV[i]
end
local records = redis.call('HMGET', KEYS[1], unpack(ids))
for i, id in ipairs(ids) do
	local old, mine = records[i], ARGV[2 * i]
	if not old or string.sub(old, 1, 12) ~= mine then
		answers[#answers + 1] = i - 1
		answers[#answers + 1] = old and 0 or -1
	elseif string.byte(mine, 9) >= 128 then
		redis.call('HDEL', KEYS[1], id)
	elseif old ~= mine then
		redis.call('HSET', KEYS[1], id, mine)
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
	count  int64   // of the record's hash, after begin
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
	err = s.script(ctx, begin, bucketsOf(changes), func(c *change) any {
		if c.removes {
			return ""
		}
		return binary.BigEndian.AppendUint64(nil, uint64(c.fp))
	}, func(of []*change, answers []any) error {
		if len(answers)%2 != 1 {
			return fmt.Errorf("%d answers", len(answers))
		}
		tag, _ := answers[0].(int64)
		for i, c := range of {
			c.count = (tag + int64(len(of))) % tags
			b := binary.BigEndian.AppendUint64(make([]byte, 0, stateBytes), uint64(c.fp))
			c.state, c.others = state(binary.BigEndian.AppendUint32(b, uint32(tag)+uint32(i))), nil
		}
		return eachAnswer(of, answers[1:], func(c *change, answer any) error {
			record, _ := answer.(string)
			if record == "" && c.removes {
				c.state = ""
				return nil
			}
			states, err := readRecord(record)
			if err != nil {
				return fmt.Errorf("id %q: %w", c.id, err)
			}
			c.state, c.others = states[0], states[1:]
			return nil
		})
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
	buckets, err := s.unquiet(ctx, bucketsOf(changed))
	if err != nil {
		return nil, err
	}
	err = s.script(ctx, finish, buckets, func(c *change) any { return string(c.state) }, func(of []*change, answers []any) error {
		return eachAnswer(of, answers, func(c *change, answer any) error {
			if p, ok := postingOf(c.id, c.state); ok {
				removed = append(removed, p)
				if answer == int64(-1) {
					lost = append(lost, *c)
				}
			}
			return nil
		})
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
	order := make([]uint64, len(changes)) // bucket, and number of the change
	for i := range changes {
		order[i] = uint64(bucketOf(changes[i].id))<<48 | uint64(i)
	}
	slices.Sort(order)
	all := make([]*change, len(changes))
	var buckets []bucket
	for i, o := range order {
		all[i] = &changes[o&(1<<48-1)]
		last := len(buckets) - 1
		if i == 0 || buckets[last].number != uint16(o>>48) || len(buckets[last].changes) == mostIDs {
			buckets = append(buckets, bucket{uint16(o >> 48), all[i:i:len(all)]})
			last++
		}
		buckets[last].changes = buckets[last].changes[:len(buckets[last].changes)+1]
	}
	return buckets
}

// eachAnswer calls do with the change and the answer of each pair in a list of numbers and answers.
func eachAnswer(of []*change, list []any, do func(c *change, answer any) error) error {
	for i := 0; i+1 < len(list); i += 2 {
		n, ok := list[i].(int64)
		if !ok || n < 0 || n >= int64(len(of)) {
			return fmt.Errorf("an answer for number %v of %d", list[i], len(of))
		}
		if err := do(of[n], list[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// script runs a script for all buckets, with id and argument of each change, and calls do with the answers for each bucket.
func (s *Store) script(ctx context.Context, script *redis.Script, buckets []bucket, argument func(*change) any, do func(of []*change, answers []any) error) error {
	run := func(eval func(p redis.Pipeliner, key string, args []any)) error {
		return s.inPipelines(ctx, len(buckets), func(p redis.Pipeliner, i int) {
			b := buckets[i]
			args := make([]any, 0, 2*len(b.changes))
			for _, c := range b.changes {
				args = append(args, c.id, argument(c))
			}
			eval(p, s.recordKey(b.number), args)
		}, func(i int, c redis.Cmder) error {
			answers, err := c.(*redis.Cmd).Slice()
			if err == nil {
				err = do(buckets[i].changes, answers)
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

// unquiet leaves of the buckets those that need step 4: it has nothing to do where no state has others, and the counter
// is as step 1 has left it, so that nobody has begun anything since.
func (s *Store) unquiet(ctx context.Context, buckets []bucket) ([]bucket, error) {
	var unquiet []bucket
	err := s.inPipelines(ctx, len(buckets), func(p redis.Pipeliner, i int) {
		p.HMGet(ctx, s.recordKey(buckets[i].number), counterField)
	}, func(i int, c redis.Cmder) error {
		text, _ := c.(*redis.SliceCmd).Val()[0].(string)
		count, err := strconv.ParseInt(text, 10, 64)
		if err != nil || slices.ContainsFunc(buckets[i].changes, func(c *change) bool { return len(c.others) > 0 || c.removes || c.count != count%tags }) {
			unquiet = append(unquiet, buckets[i])
		}
		return nil
	})
	return unquiet, err
}

// tags is how many there are; then they begin again.
const tags = 1 << 30

func (s *Store) recordKey(bucket uint16) string { return hexKey(s.prefix+":id:", uint64(bucket), 4) }
