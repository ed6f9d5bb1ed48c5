package mongostore

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/neardup/neardup"
)

// maxInfo is how many fingerprints a document of a block value gets: with the longest ids they are 5 MB.
var maxInfo = 4096

// blockDocuments is the layout S003.
//
// A fingerprint is in several documents, and MongoDB changes one at a time. So a document of its own in the
// collection of ids says which of its states counts, and a change of an id goes like this:
//
//  1. The new state is written to the documents of its block values.
//  2. It becomes the last state of the id: from now on it counts, and no other.
//  3. The states before it are removed from the documents of their block values.
//  4. The id forgets them.
//
// A search compares what it finds with the state that counts. So what an interrupted change has left is not found, and the
// next change of the id removes it. No two states are the same, so that a slow change removes only what it means to:
// each has a tag of its own, but the first of a new id.
type blockDocuments struct {
	*Store
	ids *mongo.Collection
}

// A state is a fingerprint in 16 hexadecimal digits, and a tag.
type state struct {
	Hashcode string `bson:"hashcode"`
	Tag      string `bson:"tag,omitempty"`
}

func newState(fp neardup.Fingerprint64) state {
	return state{Hashcode: fmt.Sprintf("%016x", uint64(fp))}
}

func (s state) fingerprint() (neardup.Fingerprint64, error) {
	fp, err := strconv.ParseUint(s.Hashcode, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: the hashcode %q", neardup.ErrDamaged, s.Hashcode)
	}
	return neardup.Fingerprint64(fp), nil
}

// info is an element of a document of a block value.
type info struct {
	Hashcode string `bson:"hashcode"`
	Textname string `bson:"textname"`
	Tag      string `bson:"tag,omitempty"`
}

// A record is the document of an id.
type record struct {
	ID     string  `bson:"_id"`
	States []state `bson:"states"` // the last one counts
}

func (s blockDocuments) create(ctx context.Context) error {
	return createIndexes(ctx, s.collection, "blockName")
}

// blockName returns the name of a block value as the paper's example has it: the class from 1 on, and the key in hexadecimal digits.
func (s blockDocuments) blockName(table int, fp neardup.Fingerprint64) string {
	return fmt.Sprintf("%d:%0*x", table+1, (s.blocks.KeyBits(table)+3)/4, s.blocks.Key(table, fp))
}

func (s blockDocuments) records(ctx context.Context, ids []string) (map[string][]state, error) {
	records := map[string][]state{}
	err := each(ctx, s.ids, byIDs(ids), "states", func(r record) bool {
		records[r.ID] = r.States
		return true
	})
	return records, err
}

func (s blockDocuments) put(ctx context.Context, entries []neardup.StoreEntry) error {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	records, err := s.records(ctx, ids)
	if err != nil {
		return err
	}
	var changed []string
	states := map[string]state{}
	var adds []mongo.WriteModel
	for _, e := range entries {
		next := newState(e.Fingerprint)
		old, known := records[e.ID]
		if len(old) == 1 && old[0].Hashcode == next.Hashcode {
			continue // wholly there
		}
		if known {
			next.Tag = rand.Text()
		}
		changed = append(changed, e.ID)
		states[e.ID] = next
		for t := range s.blocks.Tables() {
			roomy := bson.D{{Key: "blockName", Value: s.blockName(t, e.Fingerprint)}, {Key: "info." + strconv.Itoa(maxInfo-1), Value: bson.D{{Key: "$exists", Value: false}}}}
			add := bson.D{{Key: "$addToSet", Value: bson.D{{Key: "info", Value: info{next.Hashcode, e.ID, next.Tag}}}}}
			adds = append(adds, mongo.NewUpdateOneModel().SetFilter(roomy).SetUpdate(add).SetUpsert(true))
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := write(ctx, s.collection, adds); err != nil {
		return err
	}
	var counts []mongo.WriteModel
	for _, id := range changed {
		push := bson.D{{Key: "$push", Value: bson.D{{Key: "states", Value: states[id]}}}}
		counts = append(counts, mongo.NewUpdateOneModel().SetFilter(byID(id)).SetUpdate(push).SetUpsert(true))
	}
	if err := write(ctx, s.ids, counts); err != nil {
		return err
	}
	if records, err = s.records(ctx, changed); err != nil {
		return err
	}
	for _, id := range changed { // what comes behind our own is for somebody else to clear up
		before := 0
		for i, state := range records[id] {
			if state == states[id] {
				before = i
			}
		}
		records[id] = records[id][:before]
	}
	return s.forget(ctx, records)
}

// forget removes states from the documents of their block values, and then from those of the ids.
func (s blockDocuments) forget(ctx context.Context, records map[string][]state) error {
	var removes, forgets []mongo.WriteModel
	for id, states := range records {
		if len(states) == 0 {
			continue
		}
		for _, state := range states {
			fp, err := state.fingerprint()
			if err != nil {
				return fmt.Errorf("id %q: %w", id, err)
			}
			for t := range s.blocks.Tables() {
				block := bson.D{{Key: "blockName", Value: s.blockName(t, fp)}}
				remove := bson.D{{Key: "$pullAll", Value: bson.D{{Key: "info", Value: bson.A{info{state.Hashcode, id, state.Tag}}}}}}
				removes = append(removes, mongo.NewUpdateManyModel().SetFilter(block).SetUpdate(remove))
			}
		}
		forget := bson.D{{Key: "$pullAll", Value: bson.D{{Key: "states", Value: states}}}}
		forgets = append(forgets, mongo.NewUpdateOneModel().SetFilter(byID(id)).SetUpdate(forget))
	}
	if len(removes) == 0 {
		return nil
	}
	if err := write(ctx, s.collection, removes); err != nil {
		return err
	}
	return write(ctx, s.ids, forgets)
}

// delete removes all states of an id, and its document if it has got no other meanwhile.
func (s blockDocuments) delete(ctx context.Context, ids []string) error {
	records, err := s.records(ctx, ids)
	if err != nil {
		return err
	}
	if err := s.forget(ctx, records); err != nil {
		return err
	}
	_, err = s.ids.DeleteMany(ctx, append(byIDs(ids), bson.E{Key: "states", Value: bson.A{}}))
	return err
}

func (s blockDocuments) search(ctx context.Context, fps []neardup.Fingerprint64, yield func(query int, id string, distance int)) error {
	var names []string
	seen := map[string]bool{}
	for _, fp := range fps {
		for t := range s.blocks.Tables() {
			if name := s.blockName(t, fp); !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	type block struct {
		Info []info `bson:"info"`
	}
	type match struct {
		query, distance int
		info
	}
	var matches []match
	near := map[string]bool{}
	var damaged error
	filter := bson.D{{Key: "blockName", Value: bson.D{{Key: "$in", Value: names}}}}
	err := each(ctx, s.collection, filter, "info", func(b block) bool {
		for _, in := range b.Info {
			other, err := state{in.Hashcode, in.Tag}.fingerprint()
			if err != nil {
				damaged = fmt.Errorf("id %q: %w", in.Textname, err)
				return false
			}
			for query, fp := range fps {
				if d := fp.Distance(other); d <= s.blocks.Distance() {
					matches = append(matches, match{query, d, in})
					near[in.Textname] = true
				}
			}
		}
		return true
	})
	if err == nil {
		err = damaged
	}
	if err != nil || len(matches) == 0 {
		return err
	}
	ids := make([]string, 0, len(near))
	for id := range near {
		ids = append(ids, id)
	}
	records, err := s.records(ctx, ids)
	if err != nil {
		return err
	}
	for _, m := range matches {
		if states := records[m.Textname]; len(states) > 0 && states[len(states)-1] == (state{m.Hashcode, m.Tag}) {
			yield(m.query, m.Textname, m.distance)
		}
	}
	return nil
}

func (s blockDocuments) all(ctx context.Context, yield func(neardup.StoreEntry) bool) error {
	var damaged error
	err := each(ctx, s.ids, bson.D{}, "states", func(r record) bool {
		if len(r.States) == 0 {
			return true
		}
		fp, err := r.States[len(r.States)-1].fingerprint()
		if err != nil {
			damaged = fmt.Errorf("id %q: %w", r.ID, err)
			return false
		}
		return yield(neardup.StoreEntry{ID: r.ID, Fingerprint: fp})
	})
	if err == nil {
		err = damaged
	}
	return err
}
