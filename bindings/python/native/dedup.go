package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
)

// This file has the methods of a Deduplicator, and what they and those of the indexes have in common.

// each calls f for the numbers below n on all processors, until the context ends. A panic of f is one of the caller's. It is a copy of
// internal/parallel as far as it is needed here: modules that users import have nothing of the root's internal packages.
func each(ctx context.Context, n int, f func(i int)) error {
	var next atomic.Int64
	var panicked atomic.Value
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					panicked.Store(fmt.Sprint(r))
				}
			}()
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
	if r := panicked.Load(); r != nil {
		panic(r)
	}
	return ctx.Err()
}

// An idType says how ids of a type are passed to and from Python. In a call, ids come before everything else: integers as one
// item, which is an array of 64-bit numbers, and strings as an item each.
type idType[ID comparable] interface {
	read(c *call, n int) (ids []ID, rest *call, err error)
	write(t *table, name string, ids []ID)
}

type ints struct{}

func (ints) read(c *call, n int) ([]int64, *call, error) {
	if c.part != nil {
		return idsOf[int64](c.part, c)
	}
	if c.len() < 1 || len(c.item(0)) != 8*n {
		return nil, nil, fmt.Errorf("neardup: a call without %d ids", n)
	}
	ids := unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(c.item(0)))), n)
	return ids, c.from(1), nil
}

func (ints) write(t *table, name string, ids []int64) { add(t, name, ids) }

type strs struct{}

func (strs) read(c *call, n int) ([]string, *call, error) {
	if c.part != nil {
		return idsOf[string](c.part, c)
	}
	if c.len() < n {
		return nil, nil, fmt.Errorf("neardup: a call without %d ids", n)
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = string(c.item(i)) // a copy, which outlives the call
	}
	return ids, c.from(n), nil
}

// idsOf returns the ids of a part of a column.
func idsOf[ID int64 | string](p *part, c *call) ([]ID, *call, error) {
	ids, ok := p.ids.([]ID)
	if !ok {
		if _, isInt := any(ids).([]int64); isInt {
			return nil, nil, errors.New("neardup: ids are int here, and those of the table are texts; use ids=str")
		}
		return nil, nil, errors.New("neardup: ids are str here, and those of the table are integers; use ids=int")
	}
	return ids, c, nil
}

func (strs) write(t *table, name string, ids []string) { t.addTexts(name, ids) }

// A deduplicator is a Deduplicator of Python's.
type deduplicator[ID comparable] struct {
	*dedup.Deduplicator[ID]
	ids idType[ID]
}

// makeDeduplicator makes a Deduplicator. The item is a path, or there is none.
func makeDeduplicator(c *call) (object, error) {
	var args struct {
		IDs         string
		Probability float64
		Similarity  float64
		Bias        float64
		Kinds       uint8
		Memory      int64
	}
	if err := c.into(&args); err != nil {
		return nil, err
	}
	o := dedup.Options{Probability: args.Probability, Similarity: args.Similarity, Bias: args.Bias, Kinds: neardup.Kind(args.Kinds), Memory: args.Memory}
	if args.IDs == "str" {
		return newDeduplicator(c.path(), o, strs{})
	}
	return newDeduplicator(c.path(), o, ints{})
}

func newDeduplicator[ID comparable](path string, o dedup.Options, ids idType[ID]) (object, error) {
	var d *dedup.Deduplicator[ID]
	var err error
	if path == "" {
		d, err = dedup.New[ID](o)
	} else {
		d, err = dedup.Open[ID](path, o)
	}
	if err != nil {
		return nil, err
	}
	return &deduplicator[ID]{d, ids}, nil
}

// method implements object.
func (d *deduplicator[ID]) method(name string) (function, error) {
	f, ok := map[string]function{
		"len":        d.length,
		"add":        d.add,
		"add_many":   d.addMany,
		"add_if_new": d.addIfNew,
		"delete":     deletes(d.ids, d),
		"contains":   d.contains,
		"text":       d.text,
		"ids":        d.all,
		"search":     d.search,
		"pairs":      d.pairs,
		"groups":     d.groups,
		"families":   d.families,
		"explain":    d.explain,
		"estimate":   d.estimate,
		"next":       d.next,
		"sync":       func(context.Context, *call, func(*table) error) error { return d.Sync() },
		"compact":    func(ctx context.Context, _ *call, _ func(*table) error) error { return d.Compact(ctx) },
		"close":      func(context.Context, *call, func(*table) error) error { return d.Close() },
	}[name]
	if !ok {
		return nil, fmt.Errorf("neardup: a Deduplicator has no method %q", name)
	}
	return f, nil
}

func (d *deduplicator[ID]) length(_ context.Context, _ *call, emit func(*table) error) error {
	return emit(&table{values: d.Len()})
}

func (d *deduplicator[ID]) next(_ context.Context, _ *call, emit func(*table) error) error {
	return emit(&table{values: d.NextSequence()})
}

func (d *deduplicator[ID]) add(_ context.Context, c *call, _ func(*table) error) error {
	ids, texts, err := d.ids.read(c, 1)
	if err != nil {
		return err
	}
	return d.Add(ids[0], neardup.Text(texts.text(0)))
}

// addMany adds documents. args has how many, or for a part of a column without ids the first one.
func (d *deduplicator[ID]) addMany(ctx context.Context, c *call, _ func(*table) error) error {
	var args struct {
		Count int
		First int64
	}
	if err := c.into(&args); err != nil {
		return err
	}
	if c.part != nil && c.part.ids == nil {
		c.part.number(args.First)
	}
	ids, texts, err := d.ids.read(c, args.Count)
	if err != nil {
		return err
	}
	return d.AddAll(ctx, func(yield func(ID, neardup.Document) bool) {
		for i, id := range ids {
			if !yield(id, neardup.Text(texts.text(i))) {
				return
			}
		}
	})
}

func (d *deduplicator[ID]) addIfNew(ctx context.Context, c *call, emit func(*table) error) error {
	var args struct{ N int }
	if err := c.into(&args); err != nil {
		return err
	}
	ids, texts, err := d.ids.read(c, 1)
	if err != nil {
		return err
	}
	found, added, err := d.AddIfNew(ctx, ids[0], neardup.Text(texts.text(0)), args.N)
	if err != nil {
		return err
	}
	t := matchTable(d.ids, found)
	t.values = added
	return emit(t)
}

func (d *deduplicator[ID]) contains(_ context.Context, c *call, emit func(*table) error) error {
	ids, _, err := d.ids.read(c, 1)
	if err != nil {
		return err
	}
	_, ok, err := d.Get(ids[0])
	if err != nil {
		return err
	}
	return emit(&table{values: ok})
}

func (d *deduplicator[ID]) text(_ context.Context, c *call, emit func(*table) error) error {
	ids, _, err := d.ids.read(c, 1)
	if err != nil {
		return err
	}
	text, ok, err := d.Text(ids[0])
	if err != nil {
		return err
	}
	t := &table{values: ok}
	add(t, "text", []byte(text))
	return emit(t)
}

// perPart is how many results a part has: enough that Python is rarely called, and few enough that the first ones come soon.
const perPart = 4096

// inParts emits tables of up to perPart values of a sequence.
func inParts[E any](seq iter.Seq2[E, error], emit func(*table) error, of func([]E) *table) error {
	var some []E
	for e, err := range seq {
		if err != nil {
			return err
		}
		if some = append(some, e); len(some) == perPart {
			if err := emit(of(some)); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	if len(some) == 0 {
		return nil
	}
	return emit(of(some))
}

func (d *deduplicator[ID]) all(_ context.Context, _ *call, emit func(*table) error) error {
	return inParts(d.All(), emit, func(entries []dedup.Entry[ID]) *table {
		t := new(table)
		d.ids.write(t, "id", column1(entries, func(e dedup.Entry[ID]) ID { return e.ID }))
		return t
	})
}

// column1 returns one value of each of several things.
func column1[E, V any](of []E, value func(E) V) []V {
	values := make([]V, len(of))
	for i, e := range of {
		values[i] = value(e)
	}
	return values
}

// flat returns several lists as one, and where each of them ends.
func flat[E any](lists [][]E) (all []E, ends []int64) {
	ends = make([]int64, len(lists))
	for i, list := range lists {
		all = append(all, list...)
		ends[i] = int64(len(all))
	}
	return all, ends
}

// matchTable returns lists of matches as one table, with where each of them ends.
func matchTable[ID comparable](ids idType[ID], lists ...[]neardup.Match[ID]) *table {
	all, ends := flat(lists)
	t := new(table)
	ids.write(t, "id", column1(all, func(m neardup.Match[ID]) ID { return m.ID }))
	add(t, "distance", column1(all, func(m neardup.Match[ID]) uint32 { return uint32(m.Distance) }))
	add(t, "similarity", column1(all, func(m neardup.Match[ID]) float64 { return m.Similarity }))
	add(t, "probability", column1(all, func(m neardup.Match[ID]) float64 { return m.Probability }))
	add(t, "kind", column1(all, func(m neardup.Match[ID]) uint8 { return uint8(m.Kind) }))
	add(t, "ends", ends)
	return t
}

// emitPairs emits pairs, in parts.
func emitPairs[ID comparable](ids idType[ID], pairs iter.Seq2[neardup.Pair[ID], error], emit func(*table) error) error {
	return inParts(pairs, emit, func(some []neardup.Pair[ID]) *table {
		t := new(table)
		ids.write(t, "a", column1(some, func(p neardup.Pair[ID]) ID { return p.A }))
		ids.write(t, "b", column1(some, func(p neardup.Pair[ID]) ID { return p.B }))
		add(t, "distance", column1(some, func(p neardup.Pair[ID]) uint32 { return uint32(p.Distance) }))
		add(t, "similarity", column1(some, func(p neardup.Pair[ID]) float64 { return p.Similarity }))
		add(t, "probability", column1(some, func(p neardup.Pair[ID]) float64 { return p.Probability }))
		add(t, "kind", column1(some, func(p neardup.Pair[ID]) uint8 { return uint8(p.Kind) }))
		return t
	})
}

// emitGroups emits the members of groups, and which of them are kept.
func emitGroups[ID comparable](ids idType[ID], groups []neardup.Group[ID], emit func(*table) error) error {
	t := matchTable(ids, column1(groups, func(g neardup.Group[ID]) []neardup.Match[ID] { return g.Matches })...)
	ids.write(t, "keep", column1(groups, func(g neardup.Group[ID]) ID { return g.Keep }))
	return emit(t)
}

// deletes returns the function that deletes what an id has, and tells whether there was something.
func deletes[ID comparable](ids idType[ID], of interface{ Delete(ID) (bool, error) }) function {
	return func(_ context.Context, c *call, emit func(*table) error) error {
		which, _, err := ids.read(c, 1)
		if err != nil {
			return err
		}
		deleted, err := of.Delete(which[0])
		if err != nil {
			return err
		}
		return emit(&table{values: deleted})
	}
}

// search finds the near-duplicates of each text. ends says where those of each end.
func (d *deduplicator[ID]) search(ctx context.Context, c *call, emit func(*table) error) error {
	docs := make([]neardup.Document, c.len())
	for i := range docs {
		docs[i] = neardup.Text(c.text(i))
	}
	found, err := d.SearchMany(ctx, docs)
	if err != nil {
		return err
	}
	return emit(matchTable(d.ids, found...))
}

// pairs emits the pairs of which one document was added after the first args.Since.
func (d *deduplicator[ID]) pairs(ctx context.Context, c *call, emit func(*table) error) error {
	var args struct{ Since int }
	if err := c.into(&args); err != nil {
		return err
	}
	return emitPairs(d.ids, d.PairsSince(ctx, args.Since), emit)
}

// groups emits the groups: the members of all, where those of each end, and which are kept.
func (d *deduplicator[ID]) groups(ctx context.Context, c *call, emit func(*table) error) error {
	var args struct {
		Linkage string
		Old     int
		First   bool // the document that was added first is kept
	}
	if err := c.into(&args); err != nil {
		return err
	}
	by, err := linkageOf(args.Linkage)
	if err != nil {
		return err
	}
	o := dedup.GroupOptions[ID]{Linkage: by, Old: args.Old}
	if args.First {
		o.Prefer = func(a, b dedup.Entry[ID]) bool { return a.Sequence < b.Sequence }
	}
	groups, err := d.Groups(ctx, o)
	if err != nil {
		return err
	}
	return emitGroups(d.ids, groups, emit)
}

func (d *deduplicator[ID]) families(ctx context.Context, _ *call, emit func(*table) error) error {
	families, err := d.Families(ctx)
	if err != nil {
		return err
	}
	members, ends := flat(column1(families, func(f dedup.Family[ID]) []ID { return f.Members }))
	filled, _ := flat(column1(families, func(f dedup.Family[ID]) []string {
		if f.Filled == nil {
			return make([]string, len(f.Members))
		}
		return f.Filled
	}))
	t := new(table)
	d.ids.write(t, "id", members)
	t.addTexts("filled", filled)
	t.addTexts("form", column1(families, func(f dedup.Family[ID]) string { return f.Form }))
	add(t, "ends", ends)
	return emit(t)
}

func (d *deduplicator[ID]) explain(_ context.Context, c *call, emit func(*table) error) error {
	ids, _, err := d.ids.read(c, 2)
	if err != nil {
		return err
	}
	e, err := d.Explain(ids[0], ids[1])
	if err != nil {
		return err
	}
	return emit(&table{values: map[string]any{
		"similarity": e.Similarity, "probability": e.Probability, "kind": uint8(e.Kind), "duplicate": e.Duplicate, "compared": e.Compared,
		"evidence": column1(e.Evidence, func(q dedup.Quantity) [3]any { return [3]any{q.Name, q.Value, finite(q.Adds)} }),
		"constant": e.Constant,
		"features": column1(e.Features, func(f dedup.ExplainedFeature) [3]any { return [3]any{f.Text, f.A, f.B} }),
		"text":     e.String(),
	}})
}

// finite returns a number that JSON has.
func finite(x float64) any {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return x
}

func (d *deduplicator[ID]) estimate(ctx context.Context, _ *call, emit func(*table) error) error {
	e, err := d.Estimate(ctx)
	if err != nil {
		return err
	}
	least, most := e.Likely(e.Wrong, e.Pairs)
	return emit(&table{values: map[string]any{
		"probability": e.Probability, "similarity": e.Similarity, "pairs": e.Pairs, "wrong": e.Wrong, "missed": e.Missed,
		"wrong_least": least, "wrong_most": most, "histogram": e.Histogram, "text": e.String(),
	}})
}
