package mongostore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/blockstore"
)

// maxInfo is how many fingerprints a document of a block value holds at the most. With the longest
// ids they take 5 MB. Tests make it smaller.
var maxInfo = 4096

// blockDocuments is the layout BlockDocuments.
//
// A fingerprint is in several documents, and MongoDB changes one at a time. So every id has a
// document of its own, in a second collection, with the states of the id. A state is one
// fingerprint that was put, or a removal, and the last state counts. A change of an id takes four
// steps:
//
//  1. The new state is written to the documents of its block values.
//  2. It becomes the last state of the id. From now on it counts, and no other state does.
//  3. The states before it are removed from the documents of their block values.
//  4. The id forgets these states.
//
// A search takes only the ids from the documents of block values. It takes the fingerprints from
// the states that count. So a search never finds what an interrupted change has left. The next
// change of the id removes what is left, unless the change ended in step 1: what that step has
// written alone stays, and costs a little space and time.
//
// Every state has a tag of its own, so no two states are equal. So a slow change removes only what
// it means to remove.
type blockDocuments struct {
	*backend
	ids *mongo.Collection // the documents of the ids
}

// A state is a fingerprint in 16 hexadecimal digits, or "" for an id that is being removed, and a
// tag.
type state struct {
	Hashcode string `bson:"hashcode"`
	Tag      string `bson:"tag"`
}

// newState returns a state with a new tag.
func newState(value string) state { return state{fmt.Sprintf("%x", value), rand.Text()} }

// value returns the fingerprint of a state. ok is false if the id is being removed.
func (s state) value() (value string, ok bool, err error) {
	if s.Hashcode == "" {
		return "", false, nil
	}
	b, err := hex.DecodeString(s.Hashcode)
	if err != nil || len(b) != 8 {
		return "", false, fmt.Errorf("%w: the hashcode %q", neardup.ErrDamaged, s.Hashcode)
	}
	return string(b), true, nil
}

// An info is an element of a document of a block value.
type info struct {
	Hashcode string `bson:"hashcode"`
	Textname string `bson:"textname"`
	Tag      string `bson:"tag"`
}

// A record is the document of an id.
type record struct {
	ID     string  `bson:"_id"`
	States []state `bson:"states"` // the last one counts
}

func (s blockDocuments) create(ctx context.Context) error {
	return createIndexes(ctx, s.collection, "blockName")
}

// records returns the states of some ids. An id that is not stored is not in the map.
func (s blockDocuments) records(ctx context.Context, ids []string) (map[string][]state, error) {
	records := map[string][]state{}
	for some := range slices.Chunk(ids, 1000) {
		err := each(ctx, s.ids, byIDs(some), func(r record) error {
			records[r.ID] = r.States
			return nil
		}, "states")
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}

// put takes all four steps for some entries. It skips an entry that is stored already and has no
// other states.
func (s blockDocuments) put(ctx context.Context, entries []blockstore.Row) error {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	records, err := s.records(ctx, ids)
	if err != nil {
		return err
	}
	states := map[string]state{}
	var adds []mongo.WriteModel
	for _, e := range entries {
		next := newState(e.Value)
		if old := records[e.ID]; len(old) == 1 && old[0].Hashcode == next.Hashcode {
			continue // it is stored, and nothing is left to remove
		}
		states[e.ID] = next
		for _, name := range s.names(e.Value) {
			roomy := bson.D{{Key: "blockName", Value: name}, {Key: "info." + strconv.Itoa(maxInfo-1), Value: bson.D{{Key: "$exists", Value: false}}}}
			add := bson.D{{Key: "$addToSet", Value: bson.D{{Key: "info", Value: info{next.Hashcode, e.ID, next.Tag}}}}}
			adds = append(adds, mongo.NewUpdateOneModel().SetFilter(roomy).SetUpdate(add).SetUpsert(true))
		}
	}
	if err := write(ctx, s.collection, adds); err != nil {
		return err
	}
	records, err = s.become(ctx, states, true)
	if err != nil {
		return err
	}
	for id, all := range records { // states behind our own belong to another change
		records[id] = all[:max(0, slices.Index(all, states[id]))]
	}
	return s.forget(ctx, records)
}

// names returns the names of the block values of a fingerprint.
func (s blockDocuments) names(value string) (names []string) {
	for t, key := range s.keys.AppendKeys(nil, value) {
		names = append(names, s.keys.KeyName(t, key))
	}
	return names
}

// become is step 2: it makes states the last ones of their ids. insert says whether to do so for
// ids that are not stored. become returns all states of the ids.
func (s blockDocuments) become(ctx context.Context, states map[string]state, insert bool) (map[string][]state, error) {
	ids := slices.Sorted(maps.Keys(states))
	var pushes []mongo.WriteModel
	for _, id := range ids {
		push := bson.D{{Key: "$push", Value: bson.D{{Key: "states", Value: states[id]}}}}
		pushes = append(pushes, mongo.NewUpdateOneModel().SetFilter(byID(id)).SetUpdate(push).SetUpsert(insert))
	}
	if err := write(ctx, s.ids, pushes); err != nil {
		return nil, err
	}
	return s.records(ctx, ids)
}

// forget is steps 3 and 4: it removes states from the documents of their block values, and then
// from the documents of the ids.
func (s blockDocuments) forget(ctx context.Context, records map[string][]state) error {
	var removes, forgets []mongo.WriteModel
	for id, states := range records {
		if len(states) == 0 {
			continue
		}
		for _, state := range states {
			value, ok, err := state.value()
			if err != nil {
				return fmt.Errorf("id %q: %w", id, err)
			}
			if !ok {
				continue
			}
			for _, name := range s.names(value) {
				block := bson.D{{Key: "blockName", Value: name}}
				remove := bson.D{{Key: "$pullAll", Value: bson.D{{Key: "info", Value: bson.A{info{state.Hashcode, id, state.Tag}}}}}}
				removes = append(removes, mongo.NewUpdateManyModel().SetFilter(block).SetUpdate(remove))
			}
		}
		forget := bson.D{{Key: "$pullAll", Value: bson.D{{Key: "states", Value: states}}}}
		forgets = append(forgets, mongo.NewUpdateOneModel().SetFilter(byID(id)).SetUpdate(forget))
	}
	if err := write(ctx, s.collection, removes); err != nil {
		return err
	}
	return write(ctx, s.ids, forgets)
}

// delete first appends a state without a fingerprint. From then on the id counts as removed, and no
// other call takes the old state for complete while delete is removing it. Then delete removes all
// states up to its own, and the document of the id if nobody has added a state in the meantime.
func (s blockDocuments) delete(ctx context.Context, ids []string) error {
	removals := map[string]state{}
	for _, id := range ids {
		removals[id] = state{Tag: rand.Text()}
	}
	records, err := s.become(ctx, removals, false)
	if err != nil {
		return err
	}
	for id, all := range records {
		records[id] = all[:slices.Index(all, removals[id])+1]
	}
	if err := s.forget(ctx, records); err != nil {
		return err
	}
	_, err = s.ids.DeleteMany(ctx, append(byIDs(ids), bson.E{Key: "states", Value: bson.A{}}))
	return err
}

func (s blockDocuments) deleteBefore(context.Context, uint32) (int, error) {
	return 0, fmt.Errorf("the layout %q does not store times: %w", BlockDocuments, errors.ErrUnsupported)
}

// search reads the documents of the block values, and then the states of all ids that have a near
// fingerprint there.
func (s blockDocuments) search(ctx context.Context, values []string, yield func(query int, id, value string)) error {
	names := map[string]bool{}
	for _, value := range values {
		for _, name := range s.names(value) {
			names[name] = true
		}
	}
	isNear := func(value, other string) bool {
		return bits.OnesCount64(binary.BigEndian.Uint64([]byte(value))^binary.BigEndian.Uint64([]byte(other))) <= s.keys.Distance()
	}
	type block struct {
		Info []info `bson:"info"`
	}
	near := map[string]bool{}
	filter := bson.D{{Key: "blockName", Value: bson.D{{Key: "$in", Value: slices.Sorted(maps.Keys(names))}}}}
	err := each(ctx, s.collection, filter, func(b block) error {
		for _, in := range b.Info {
			other, ok, err := state{in.Hashcode, in.Tag}.value()
			if err != nil {
				return fmt.Errorf("id %q: %w", in.Textname, err)
			}
			if ok && slices.ContainsFunc(values, func(value string) bool { return isNear(value, other) }) {
				near[in.Textname] = true
			}
		}
		return nil
	}, "info")
	if err != nil {
		return err
	}
	return s.get(ctx, slices.Sorted(maps.Keys(near)), func(r blockstore.Row) {
		for query, value := range values {
			if isNear(value, r.Value) {
				yield(query, r.ID, r.Value)
			}
		}
	})
}

// recordOf returns the record that the states of an id stand for. ok is false if the id is not
// stored.
func recordOf(id string, states []state) (r blockstore.Row, ok bool, err error) {
	if len(states) == 0 {
		return r, false, nil
	}
	r.ID = id
	if r.Value, ok, err = states[len(states)-1].value(); err != nil {
		return r, false, fmt.Errorf("id %q: %w", id, err)
	}
	return r, ok, nil
}

func (s blockDocuments) get(ctx context.Context, ids []string, yield func(r blockstore.Row)) error {
	all, err := s.records(ctx, ids)
	for id, states := range all {
		r, ok, err := recordOf(id, states)
		if err != nil {
			return err
		}
		if ok {
			yield(r)
		}
	}
	return err
}

func (s blockDocuments) page(ctx context.Context, behind string, n int) (records []blockstore.Row, last string, err error) {
	docs, err := page[record](ctx, s.ids, behind, n, "states")
	for _, doc := range docs {
		r, ok, err := recordOf(doc.ID, doc.States)
		if err != nil {
			return nil, "", err
		}
		if ok {
			records = append(records, r)
		}
		last = doc.ID
	}
	return records, last, err
}
