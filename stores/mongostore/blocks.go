package mongostore

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
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
	*Store
	ids *mongo.Collection // the documents of the ids
}

// A state is a fingerprint in 16 hexadecimal digits, or "" for an id that is being removed, and a
// tag.
type state struct {
	Hashcode string `bson:"hashcode"`
	Tag      string `bson:"tag"`
}

// newState returns a state with a new tag.
func newState(fp neardup.Fingerprint64) state {
	return state{fmt.Sprintf("%016x", uint64(fp)), rand.Text()}
}

// fingerprint returns the fingerprint of a state. ok is false if the id is being removed.
func (s state) fingerprint() (fp neardup.Fingerprint64, ok bool, err error) {
	if s.Hashcode == "" {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(s.Hashcode, 16, 64)
	if err != nil {
		return 0, false, fmt.Errorf("%w: the hashcode %q", neardup.ErrDamaged, s.Hashcode)
	}
	return neardup.Fingerprint64(n), true, nil
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
		err := each(ctx, s.ids, byIDs(some), "states", func(r record) bool {
			records[r.ID] = r.States
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}

// put takes all four steps for some entries. It skips an entry that is stored already and has no
// other states.
func (s blockDocuments) put(ctx context.Context, entries []blockstore.Entry) error {
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
		next := newState(e.Fingerprint)
		if old := records[e.ID]; len(old) == 1 && old[0].Hashcode == next.Hashcode {
			continue // it is stored, and nothing is left to remove
		}
		states[e.ID] = next
		for t := range s.blocks.Tables() {
			roomy := bson.D{{Key: "blockName", Value: s.blocks.KeyName(t, e.Fingerprint)}, {Key: "info." + strconv.Itoa(maxInfo-1), Value: bson.D{{Key: "$exists", Value: false}}}}
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
			fp, ok, err := state.fingerprint()
			if err != nil {
				return fmt.Errorf("id %q: %w", id, err)
			}
			if !ok {
				continue
			}
			for t := range s.blocks.Tables() {
				block := bson.D{{Key: "blockName", Value: s.blocks.KeyName(t, fp)}}
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

// search reads the documents of the block values, and then the states of all ids that have a near
// fingerprint there.
func (s blockDocuments) search(ctx context.Context, fps []neardup.Fingerprint64, yield func(query int, id string, distance int)) error {
	names := map[string]bool{}
	for _, fp := range fps {
		for t := range s.blocks.Tables() {
			names[s.blocks.KeyName(t, fp)] = true
		}
	}
	type block struct {
		Info []info `bson:"info"`
	}
	near := map[string]bool{}
	var damaged error
	filter := bson.D{{Key: "blockName", Value: bson.D{{Key: "$in", Value: slices.Sorted(maps.Keys(names))}}}}
	err := each(ctx, s.collection, filter, "info", func(b block) bool {
		for _, in := range b.Info {
			other, _, err := state{in.Hashcode, in.Tag}.fingerprint()
			if err != nil {
				damaged = fmt.Errorf("id %q: %w", in.Textname, err)
				return false
			}
			if slices.ContainsFunc(fps, func(fp neardup.Fingerprint64) bool { return fp.Distance(other) <= s.blocks.Distance() }) {
				near[in.Textname] = true
			}
		}
		return true
	})
	if err == nil {
		err = damaged
	}
	if err != nil {
		return err
	}
	records, err := s.records(ctx, slices.Sorted(maps.Keys(near)))
	if err != nil {
		return err
	}
	for id, states := range records {
		e, ok, err := entryOf(id, states)
		if err != nil {
			return err
		}
		for query, fp := range fps {
			if d := fp.Distance(e.Fingerprint); ok && d <= s.blocks.Distance() {
				yield(query, id, d)
			}
		}
	}
	return nil
}

// entryOf returns the entry that the states of an id stand for. ok is false if the id is not
// stored.
func entryOf(id string, states []state) (e blockstore.Entry, ok bool, err error) {
	if len(states) == 0 {
		return e, false, nil
	}
	e.ID = id
	if e.Fingerprint, ok, err = states[len(states)-1].fingerprint(); err != nil {
		return e, false, fmt.Errorf("id %q: %w", id, err)
	}
	return e, ok, nil
}

func (s blockDocuments) get(ctx context.Context, ids []string, yield func(e blockstore.Entry)) error {
	records, err := s.records(ctx, ids)
	for id, states := range records {
		e, ok, err := entryOf(id, states)
		if err != nil {
			return err
		}
		if ok {
			yield(e)
		}
	}
	return err
}

func (s blockDocuments) page(ctx context.Context, behind string, n int) (entries []blockstore.Entry, last string, err error) {
	records, err := page[record](ctx, s.ids, behind, n, "states")
	for _, r := range records {
		e, ok, err := entryOf(r.ID, r.States)
		if err != nil {
			return nil, "", err
		}
		if ok {
			entries = append(entries, e)
		}
		last = r.ID
	}
	return entries, last, err
}
