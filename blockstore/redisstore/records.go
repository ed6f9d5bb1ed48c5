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

// Redis changes one key at a time, because a cluster has no transactions over several keys. But a
// value is under several keys. So every id has a record, which says under which values the id may be
// found. A record is the time when the id was added, in seconds, 4 bytes big-endian, and states. A
// state of an id is one value that was put, or a removal, and the first state of a record is the one
// that counts. Every change takes four steps:
//
//  1. The record gets the new state as its first one. The answer is all states of the record.
//  2. The postings of the new state are written.
//  3. The postings of the other states are removed.
//  4. If the new state is still the first one, the record forgets the other states. If not,
//     somebody else has written the id in the meantime, and may have tried to remove the postings
//     of step 2 before they were there. So this change removes them itself.
//
// So the record knows of everything that an interrupted change may leave, and the next change of
// the id removes it.
//
// Two changes of an id at the same time cannot remove each other's postings, and a slow change
// cannot remove the postings of a later one. The reason is that no two states are ever equal: each
// state has a tag of its own, which the server counts, and the tag is also in the postings.
//
// Postings that no record knows can stay in two cases. Either somebody else writes the id between
// steps 1 and 2 of a change that then ends after step 2, or a command arrives after its client has
// given up and has done everything again. [Store.Sweep] removes such postings.
//
// Records lie in 65,536 hashes PREFIX:id:BUCKET, where the bucket is a hash of the id. The field
// that is a single byte 0 is the counter of the tags.

// A state says that an id was put or removed. It is the bytes of the value and 4 bytes of the tag.
// The first byte of the tag is 128 or more if the id was removed; the value is 0 then.
type state string

const tagBytes = 4

// value returns the value of a state.
func (s state) value() string { return string(s[:len(s)-tagBytes]) }

// removed reports whether the state is a removal.
func (s state) removed() bool { return s[len(s)-tagBytes] >= 128 }

// member returns the name that an id has in the postings of a state: the id, a byte 0 and the tag.
func (s state) member(id string) string { return id + "\x00" + string(s[len(s)-tagBytes:]) }

// idOf is the inverse of member.
func idOf(member string) string {
	id, _, _ := strings.Cut(member, "\x00")
	return id
}

// counterField is the field of the counter. No id is equal to it, because ids have no byte 0.
const counterField = "\x00"

// readRecord returns the states of a record, of which there is at least one, and its time.
func (s *backend) readRecord(record string) ([]state, uint32, error) {
	size := s.keys.Size() + tagBytes
	if len(record) < 4+size || (len(record)-4)%size != 0 {
		return nil, 0, fmt.Errorf("%w: the record %q", neardup.ErrDamaged, record)
	}
	states := make([]state, 0, len(record)/size)
	for at := 4; at < len(record); at += size {
		states = append(states, state(record[at:at+size]))
	}
	return states, binary.BigEndian.Uint32([]byte(record[:4])), nil
}

// begin is step 1 for some ids of one hash. The first of ARGV is the number of bytes of a value. Then
// ARGV has two arguments for each id: the id, and what to do:
//
//	p time value    put the value
//	d               remove the id
//	x time          remove the id if it was added before the time
//
// If the first state of a record has the value already, only the time of the record changes.
//
// The answer is a list. It begins with the tag of the first id; the tags of the others count on
// from it. Then come two elements for each id that had a record or is to be removed: its number,
// from 0 on, and its record after this step, or "" if there is nothing to remove. An id that is not
// in the list is new and got its tag.
var begin = redis.NewScript(`
local size, n = tonumber(ARGV[1]), (#ARGV - 1) / 2
local count = redis.call('HINCRBY', KEYS[1], '\0', n)
local tag = (count - n) % 1073741824
local records = {}
if count > n then -- else nothing has ever been here
	local ids = {}
	for i = 1, n do
		ids[i] = ARGV[2 * i]
	end
	records = redis.call('HMGET', KEYS[1], unpack(ids))
end
local answers, set, sets = {tag}, {}, 0
for i = 1, n do
	local old, what = records[i], ARGV[2 * i + 1]
	local kind, new = string.sub(what, 1, 1)
	if kind == 'p' then
		local time, value = string.sub(what, 2, 5), string.sub(what, 6)
		if not old then
			new = time .. value .. struct.pack('>I4', tag + i - 1)
		elseif string.sub(old, 5, 4 + size) ~= value or string.byte(old, 5 + size) >= 128 then
			new = time .. value .. struct.pack('>I4', tag + i - 1) .. string.sub(old, 5)
		elseif string.sub(old, 1, 4) ~= time then
			new = time .. string.sub(old, 5)
		end
	elseif old and (kind == 'd' or string.byte(old, 5 + size) < 128 and struct.unpack('>I4', old) < struct.unpack('>I4', what, 2)) then
		new = string.sub(old, 1, 4) .. string.rep('\0', size) .. struct.pack('>I4', tag + i - 1 + 2147483648) .. string.sub(old, 5)
	elseif kind == 'x' and not (old and string.byte(old, 5 + size) >= 128) then
		old = false -- else a removal that was cut off goes on
	end
	if new then
		set[sets + 1] = ARGV[2 * i]
		set[sets + 2] = new
		sets = sets + 2
	end
	if old or kind ~= 'p' then
		answers[#answers + 1] = i - 1
		answers[#answers + 1] = new or old or ''
	end
end
if sets > 0 then
	redis.call('HSET', KEYS[1], unpack(set))
end
return answers`)

// finish is step 4 for some ids of one hash. After the size, ARGV has two arguments for each id: the
// id and its new state. The answer is a list of two elements for each id whose state is not the first
// one any more: its number, from 0 on, and 0, or -1 if there is no record.
var finish = redis.NewScript(`
local size, ids, answers = tonumber(ARGV[1]), {}, {}
for i = 2, #ARGV, 2 do
	ids[#ids + 1] = ARGV[i]
end
local records = redis.call('HMGET', KEYS[1], unpack(ids))
for i, id in ipairs(ids) do
	local old, mine = records[i], ARGV[2 * i + 1]
	if not old or string.sub(old, 5, 8 + size) ~= mine then
		answers[#answers + 1] = i - 1
		answers[#answers + 1] = old and 0 or -1
	elseif string.byte(mine, size + 1) >= 128 then
		redis.call('HDEL', KEYS[1], id)
	elseif #old > 8 + size then
		redis.call('HSET', KEYS[1], id, string.sub(old, 1, 8 + size))
	end
end
return answers`)

// mostIDs is how many ids a script gets at once, because Lua can pass on only some thousand
// arguments.
const mostIDs = 1000

// A change puts the value of an id, or removes the id.
type change struct {
	kind  kind
	id    string
	value string // to put
	time  uint32 // of what is put, or before which it must have been added to be removed

	state  state   // the new state, after begin; "" if there is nothing to remove
	others []state // the other states, whose postings are to be removed
	count  int64   // of the counter in the record's hash, after begin
}

// A kind says what a change does. It is the first byte of what begin gets.
type kind byte

const (
	puts    kind = 'p'
	removes kind = 'd'
	expires kind = 'x'
)

// text returns what begin gets.
func (c *change) text() string {
	if c.kind == removes {
		return string(removes)
	}
	b := make([]byte, 0, 5+len(c.value))
	return string(append(binary.BigEndian.AppendUint32(append(b, byte(c.kind)), c.time), c.value...))
}

// A posting is the entry of a state of an id in the tables.
type posting struct{ value, member string }

// postingOf returns the posting of a state, or false if the state is a removal, which has none.
func postingOf(id string, s state) (posting, bool) {
	return posting{s.value(), s.member(id)}, !s.removed()
}

// change makes changes of different ids. If records are lost in the meantime, it makes these
// changes again, up to ten times.
func (s *backend) change(ctx context.Context, changes []change) error {
	for attempt := 1; len(changes) > 0; attempt++ {
		lost, err := s.steps(ctx, changes)
		switch {
		case err != nil:
			return fmt.Errorf("redisstore: %w", err)
		case len(lost) > 0 && attempt == 10:
			return fmt.Errorf("redisstore: the server has lost data: %d of %d records are missing", len(lost), len(changes))
		}
		changes = lost
	}
	return ctx.Err()
}

// steps takes the four steps for some changes. It returns the changes that put an id whose record
// is gone afterwards. Either somebody else has removed the id in the meantime, or the server has
// lost its data, or another server has taken its place.
func (s *backend) steps(ctx context.Context, changes []change) (lost []change, err error) {
	if err := s.begin(ctx, changes); err != nil {
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
	lost, removed, err = s.finish(ctx, changed)
	if err != nil {
		return nil, err
	}
	return lost, s.layout.remove(ctx, removed)
}

// begin writes the new state of each change into the record of its id, beside the ones that are
// there. It sets state and others of the changes; state is empty if there is nothing to remove.
func (s *backend) begin(ctx context.Context, changes []change) error {
	return s.script(ctx, begin, bucketsOf(changes), (*change).text, func(of []*change, answers []any) error {
		if len(answers)%2 != 1 {
			return fmt.Errorf("%d answers", len(answers))
		}
		tag, _ := answers[0].(int64)
		for i, c := range of {
			c.count = (tag + int64(len(of))) % tags
			b := append(make([]byte, 0, len(c.value)+tagBytes), c.value...)
			c.state, c.others = state(binary.BigEndian.AppendUint32(b, uint32(tag)+uint32(i))), nil
		}
		return eachAnswer(of, answers[1:], func(c *change, answer any) error {
			record, _ := answer.(string)
			if record == "" && c.kind != puts {
				c.state = ""
				return nil
			}
			states, _, err := s.readRecord(record)
			if err != nil {
				return fmt.Errorf("id %q: %w", c.id, err)
			}
			c.state, c.others = states[0], states[1:]
			return nil
		})
	})
}

// finish makes the new states the only ones of their records. It returns the changes whose record
// is gone, and the postings of states that are no longer in a record.
func (s *backend) finish(ctx context.Context, changed []change) (lost []change, removed []posting, err error) {
	buckets, err := s.unquiet(ctx, bucketsOf(changed))
	if err != nil {
		return nil, nil, err
	}
	err = s.script(ctx, finish, buckets, func(c *change) string { return string(c.state) }, func(of []*change, answers []any) error {
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
	return lost, removed, err
}

// A bucket is some changes whose records are in the same hash.
type bucket struct {
	number  uint16
	changes []*change
}

// bucketOf returns the number of the hash that has the record of an id.
func bucketOf(id string) uint16 { return uint16(crc32.ChecksumIEEE([]byte(id))) }

// bucketsOf sorts changes into buckets. A bucket has at most mostIDs changes, so several buckets
// may have the same number.
func bucketsOf(changes []change) []bucket {
	order := make([]uint64, len(changes)) // number of the bucket, 16 bits, and index of the change
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

// script runs a script for all buckets. The script gets the id and the argument of each change.
// script calls do with the answers for each bucket.
func (s *backend) script(ctx context.Context, script *redis.Script, buckets []bucket, argument func(*change) string, do func(of []*change, answers []any) error) error {
	run := func(eval func(p redis.Pipeliner, key string, args []any)) error {
		return s.inPipelines(ctx, len(buckets), func(p redis.Pipeliner, i int) {
			b := buckets[i]
			args := append(make([]any, 0, 1+2*len(b.changes)), s.keys.Size())
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
	// A server has not seen the script yet. Run it again for all buckets; a step that is done twice
	// does no harm.
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		err = run(func(p redis.Pipeliner, key string, args []any) { script.Eval(ctx, p, []string{key}, args...) })
	}
	return err
}

// unquiet returns the buckets that need step 4. A bucket needs none if all of its changes put ids
// that had no other states, and if the counter is as step 1 has left it: then nobody has begun
// another change since.
func (s *backend) unquiet(ctx context.Context, buckets []bucket) ([]bucket, error) {
	var unquiet []bucket
	err := s.inPipelines(ctx, len(buckets), func(p redis.Pipeliner, i int) {
		p.HMGet(ctx, s.recordKey(buckets[i].number), counterField)
	}, func(i int, c redis.Cmder) error {
		text, _ := c.(*redis.SliceCmd).Val()[0].(string)
		count, err := strconv.ParseInt(text, 10, 64)
		if err != nil || slices.ContainsFunc(buckets[i].changes, func(c *change) bool { return len(c.others) > 0 || c.kind != puts || c.count != count%tags }) {
			unquiet = append(unquiet, buckets[i])
		}
		return nil
	})
	return unquiet, err
}

// tags is the number of tags. After that many, they begin again.
const tags = 1 << 30

// recordKey returns the key of the hash with the records of a bucket.
func (s *backend) recordKey(bucket uint16) string { return hexKey(s.prefix+":id:", uint64(bucket), 4) }
