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

// maxInfo is how many fingerprints a document of a block value gets: with the longest ids they are 5 MB.
var maxInfo = 4096

// blockDocuments is the layout BlockDocuments.
//
// A fingerprint is in several documents, and MongoDB changes one at a time. So a document of its own in the
// collection of ids says which of its states counts, and a change of an id goes like this:
//
//  1. The new state is written to the documents of its block values.
//  2. It becomes the last state of the id: from now on it counts, and no other.
//  3. The states before it are removed from the documents of their block values.
//  4. The id forgets them.
//
// A search takes from the documents of block values only the ids, and their fingerprints from the states that count. So
// what an interrupted change has left is not found as such, and the next change of the id removes it, but for what
// is left by step 1 alone: that stays, and costs a little. No two states are the same, so that a slow change removes only
// what it means to: each has a tag of its own.
type blockDocuments struct {
	*Store
	ids *mongo.Collection
}

// A state is a fingerprint in 16 hexadecimal digits, or "" for an id that is being removed, and a tag.
type state struct {
	Hashcode string `bson:"hashcode"`
	Tag      string `bson:"tag"`
}

func newState(fp neardup.Fingerprint64) state {
	return state{fmt.Sprintf("%016x", uint64(fp)), rand.Text()}
}

// fingerprint returns the fingerprint, if it is not the state of an id that is being removed.
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

// info is an element of a document of a block value.
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

// records returns the states of ids.
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
			continue // wholly there
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
	for id, all := range records { // what comes behind our own is for somebody else to clear up
		records[id] = all[:max(0, slices.Index(all, states[id]))]
	}
	return s.forget(ctx, records)
}

// become makes states the last ones of their ids, also of those that are not stored if it is to insert them, and returns all
// states of the ids.
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

// forget removes states from the documents of their block values, and then from those of the ids.
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

// delete first lets a state without a fingerprint count, so that nobody takes a state for whole that is being removed. Then it
// removes all, and the document of the id if it has got no other state meanwhile.
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

// entryOf returns the entry of the state of an id that counts, if there is one.
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
