package dedup

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup"
)

// TestSearch: Search and SearchAndAdd say of each text of a collection what Pairs says of it after it was added, to the last
// bit. The text is new, or equals one that is there; its id is new, or that of a document whose content then goes or stays.
func TestSearch(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 21)
	for _, l := range []language{englishA, chineseA} {
		for _, o := range []Options{{}, {Similarity: 0.25, Kinds: neardup.AllKinds}, {Kinds: neardup.AllKinds &^ neardup.Identical}} {
			texts := l.collection(rnd, 50)
			stored := texts[:40]
			d := made[string](t, o)
			for i, text := range stored {
				d.Add(fmt.Sprint(i), neardup.Text(text))
			}
			found := 0
			for n, text := range texts {
				if n%3 > 0 && !*full {
					continue
				}
				want := searched(d, text)
				found += len(want)
				if got := listed(d.Search(bg, neardup.Text(text))); !slices.Equal(got, want) {
					t.Errorf("Search(%.50q) yields %v, not %v", text, got, want)
				}
				for most := range len(want) + 2 {
					if got := must(d.SearchTop(bg, neardup.Text(text), most)); !slices.Equal(got, want[:min(most, len(want))]) {
						t.Errorf("Nearest(%.50q, %d) returns %v, and Search yields %v", text, most, got, want)
					}
				}
				if exists, err := d.Exists(bg, neardup.Text(text)); err != nil || exists != (len(want) > 0) {
					t.Errorf("Exists(%.50q) is %t, %v", text, exists, err)
				}
				// With the id of a document that is there: some document, or one that is found.
				id := n % 40
				if len(want) > 0 && rnd.IntN(3) > 0 {
					id = number(want[rnd.IntN(len(want))].ID)
				}
				rest, same := made[string](t, o), made[string](t, o)
				for i, text := range stored {
					if same.Add(fmt.Sprint(i), neardup.Text(text)); i != id {
						rest.Add(fmt.Sprint(i), neardup.Text(text))
					}
				}
				want = searched(rest, text)
				if got := must(same.SearchAndAdd(bg, fmt.Sprint(id), neardup.Text(text))); !slices.Equal(got, want) {
					t.Errorf("SearchAndAdd(%d, %.50q) returns %v, not %v", id, text, got, want)
				}
				rest.Add(fmt.Sprint(id), neardup.Text(text))
				sameFacts(t, "after SearchAndAdd", factsOf(same.Pairs(bg)), factsOf(rest.Pairs(bg)))
			}
			if found < 30 {
				t.Errorf("only %d found", found)
			}
		}
	}
}

// TestSearchReplaced: a document that is replaced is not found, and shows no form any more.
func TestSearchReplaced(t *testing.T) {
	t.Parallel()
	d := made[int](t, Options{})
	d.Add(1, neardup.Text(complaint+"the mayor"+complained))
	for range 3 { // by the same text
		if got := must(d.SearchAndAdd(bg, 1, neardup.Text(complaint+"the mayor"+complained))); len(got) != 0 {
			t.Errorf("%v", got)
		}
	}
	d.Add(2, neardup.Text(complaint+"the mayor"+complained))
	want := []neardup.Match[int]{{ID: 2, Similarity: 1, Probability: 1, Kind: neardup.Identical}}
	if got := must(d.SearchAndAdd(bg, 1, neardup.Text(complaint+"the mayor"+complained))); !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	if d.Len() != 2 || d.NextSequence() != 6 {
		t.Errorf("%d documents of %d", d.Len(), d.NextSequence())
	}
	// Five letters are of one form. When three have gone, the other two are revised.
	e := made[int](t, Options{})
	fills := []string{"the mayor in person", "your own counsellor soon", "Bob Miller at home", "newspaper editors", "some other guy"}
	for i, fill := range fills {
		e.Add(i, neardup.Text(complaint+fill+complained))
	}
	if found := listed(e.Search(bg, neardup.Text(complaint+fills[0]+complained))); len(found) != 1 {
		t.Errorf("of five letters it finds %v", found)
	}
	if found := must(made5(t, fills[:4]).SearchAndAdd(bg, 9, neardup.Text(complaint+fills[4]+complained))); len(found) != 0 {
		t.Errorf("the fifth letter finds %v", found)
	}
	for i := 2; i < 5; i++ {
		e.Delete(i)
	}
	if found := listed(e.Search(bg, neardup.Text(complaint+fills[0]+complained))); len(found) != 2 || found[1].Kind != neardup.Revised {
		t.Errorf("of the two that are left it finds %v", found)
	}
}

// made5 returns a Deduplicator with some letters.
func made5(t *testing.T, fills []string) *Deduplicator[int] {
	d := made[int](t, Options{})
	for i, fill := range fills {
		d.Add(i, neardup.Text(complaint+fill+complained))
	}
	return d
}

// TestSearchRecords: records are found like texts, and a misspelt column is an error.
func TestSearchRecords(t *testing.T) {
	t.Parallel()
	o := Options{Similarity: 0.2, Kinds: neardup.AllKinds, Fingerprinter: neardup.Fingerprinter{Fields: []neardup.Field{{Name: "name", Split: neardup.Words{}}, {Name: "city", Named: true}}}}
	d := made[int](t, o)
	record := func(name, city string) neardup.Record { return neardup.Record{"name": name, "city": city} }
	for i, r := range []neardup.Record{record("Anna Maria", "Bonn"), record("Anna", "Bonn"), record("", ""), record("Carl", "Trier")} {
		if err := d.Add(i+1, r); err != nil {
			t.Fatal(err)
		}
	}
	got := listed(d.Search(bg, record("Anna", "Bonn")))
	if len(got) != 2 || got[0] != (neardup.Match[int]{ID: 2, Similarity: 1, Probability: 1, Kind: neardup.Identical}) {
		t.Errorf("%v", got)
	}
	if got := must(d.SearchAndAdd(bg, 9, record("anna", "Bonn"))); len(got) != 2 || d.Len() != 5 || got[0].Kind != neardup.SameWords {
		t.Errorf("%v", got)
	}
	wrong := neardup.Record{"nmae": "Anna"}
	_, err := d.SearchAndAdd(bg, 10, wrong)
	for _, found := range d.Search(bg, wrong) {
		if found == nil {
			t.Error("a search for a misspelt column has no error")
		}
	}
	batch := d.AddAll(bg, func(yield func(int, neardup.Document) bool) { yield(11, wrong) })
	if err == nil || d.Add(10, wrong) == nil || batch == nil || d.Len() != 5 {
		t.Errorf("a misspelt column: %v, %v", err, batch)
	}
	if made[int](t, Options{}).Add(1, wrong) == nil {
		t.Error("a record without Fields")
	}
}

// TestContexts: searches return the error of their context, and store nothing then.
func TestContexts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := made[int](t, Options{})
	text := neardup.Text("the bus stop in front of our house has had no light for three weeks now")
	if err := d.Add(1, text); err != nil {
		t.Fatal(err)
	}
	errs := map[string]error{"Compact": d.Compact(ctx)}
	for _, errs["Search"] = range d.Search(ctx, text) {
	}
	_, errs["Nearest"] = d.SearchTop(ctx, text, 1)
	_, errs["SearchMany"] = d.SearchMany(ctx, []neardup.Document{text, text})
	_, errs["Exists"] = d.Exists(ctx, text)
	_, errs["ExistsAndAdd"] = d.ExistsAndAdd(ctx, 2, text)
	_, errs["SearchAndAdd"] = d.SearchAndAdd(ctx, 2, text)
	_, _, errs["AddIfNew"] = d.AddIfNew(ctx, 2, neardup.Text("another text"), 1)
	for name, err := range errs {
		if err != context.Canceled {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d.Len() != 1 {
		t.Errorf("%d documents", d.Len())
	}
	if err := d.Add(3, nil); err == nil {
		t.Error("no document, and no error")
	}
	found, err := d.SearchMany(t.Context(), []neardup.Document{neardup.Text("something else"), text})
	if err != nil || len(found[0]) != 0 || len(found[1]) != 1 || found[1][0].ID != 1 {
		t.Errorf("%v, %v", found, err)
	}
	if n, err := d.DeleteFunc(func(e Entry[int]) bool { return e.ID == 1 && e.Length > 10 }); n != 1 || err != nil || d.Len() != 0 {
		t.Errorf("%d deleted, %v", n, err)
	}
}

// TestSearchInCrowd: in a crowd of more than a thousand, a search compares with the nearest ones only, and finds as many as it is asked for.
func TestSearchInCrowd(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(8, 8))
	word := func() string {
		return fmt.Sprintf("w%c%c%c%c", 'a'+rnd.IntN(26), 'a'+rnd.IntN(26), 'a'+rnd.IntN(26), 'a'+rnd.IntN(26))
	}
	page := make([]string, 120)
	for i := range page {
		page[i] = word()
	}
	letter := func() neardup.Text {
		own := slices.Clone(page)
		own[rnd.IntN(len(own))], own[rnd.IntN(len(own))] = word(), word()
		return neardup.Text(strings.Join(own, " "))
	}
	d, err := New[int](Options{})
	if err != nil {
		t.Fatal(err)
	}
	letters := map[int]neardup.Text{}
	for i := range 1500 {
		letters[i] = letter()
		if err := d.Add(i, letters[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, most := range []int{1, 10, mostFound, math.MaxInt} {
		found, err := d.SearchTop(t.Context(), letter(), most)
		if err != nil || len(found) != min(most, mostFound) {
			t.Errorf("%d found, of at most %d: %v", len(found), most, err)
		}
		for i, m := range found {
			if m.Probability < 0.5 || i > 0 && m.Probability > found[i-1].Probability {
				t.Errorf("match %d has the probability %g", i, m.Probability)
			}
		}
	}
	if found, added, err := d.AddIfNew(t.Context(), 5000, letter(), 3); err != nil || added || len(found) != 3 {
		t.Errorf("a letter was added: %t, %d found, %v", added, len(found), err)
	}
	if found, added, err := d.AddIfNew(t.Context(), 5001, neardup.Text("this is another letter, which nobody else has signed so far, and it has words of its own"), 3); err != nil || !added || len(found) > 0 {
		t.Errorf("another letter was added: %t, %d found, %v", added, len(found), err)
	}
	// One that is in the crowd finds itself first.
	for m, err := range d.Search(t.Context(), letters[700]) {
		if err != nil || m.ID != 700 || m.Kind != neardup.Identical {
			t.Errorf("the first match of letter 700 is %v, %v", m, err)
		}
		break
	}
	// One that is put again with the same text stays where it is, so it finds what a search does.
	for id := 0; id < len(letters); id += 100 {
		want := listed(d.Search(t.Context(), letters[id]))[1:] // after itself
		found := must(d.SearchAndAdd(t.Context(), id, letters[id]))
		for _, m := range want {
			if !slices.Contains(found, m) {
				t.Errorf("letter %d finds %v in a search, but not when it is put again", id, m)
			}
		}
	}
}

// TestTakenSlot: what a search remembers of a document that was deleted does not hold for the one that takes its place.
func TestTakenSlot(t *testing.T) {
	base := "The street lamp in front of our house has been dark for a week, and nobody from the town has come to look at it, although we have called three times and written twice."
	later := base + " We would also like to know when the road will be mended, as the holes at the corner by the mill are deep enough to break an axle, and the school bus goes there every morning."
	d := made[string](t, Options{})
	d.Add("x", neardup.Text(base))
	d.Add("y", neardup.Text(base+" Please help us."))
	listed(d.Search(bg, neardup.Text(base)))
	d.Delete("y")
	d.Add("z", neardup.Text(later))
	fresh := made[string](t, Options{})
	fresh.Add("x", neardup.Text(base))
	fresh.Add("z", neardup.Text(later))
	if got, want := listed(d.Search(bg, neardup.Text(base))), listed(fresh.Search(bg, neardup.Text(base))); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestPreferOther: a member that is preferred is kept, also if its text is another one.
func TestPreferOther(t *testing.T) {
	const text = "The committee met on Thursday to discuss the repairs of the old bridge over the river, and agreed that the work should begin in spring before the floods arrive."
	d := made[int](t, Options{})
	d.Add(0, neardup.Text(text))
	d.Add(1, neardup.Text(text+" Nobody spoke against it."))
	groups := must(d.Groups(bg, GroupOptions[int]{Prefer: func(a, b Entry[int]) bool { return a.Sequence < b.Sequence }}))
	if len(groups) != 1 || groups[0].Keep != 0 {
		t.Errorf("%+v", groups)
	}
}

// TestTwoWords: a text of two words has no run of three, and so all of its words are compared as they stand.
func TestTwoWords(t *testing.T) {
	d := made[string](t, Options{})
	d.Add("a", neardup.Text("annual report"))
	d.Add("b", neardup.Text("annual report 2020"))
	for _, q := range must(d.Explain("a", "b")).Evidence {
		if h := 1.0 / 6; q.Name == "changed words at the beginning" && math.Abs(q.Value-h/(h+0.05)) > 1e-9 { // one word of three, in one of the texts
			t.Errorf("%+v", q)
		}
	}
}

// TestAddIfFewer: of near-duplicates that come from several goroutines, the first n stay.
func TestAddIfFewer(t *testing.T) {
	texts := []string{"The harbour office answers within five working days, whoever asks, and in the language of the letter.", "Bread rises slowly in a cold kitchen, so the dough is made the evening before and left under a cloth."}
	for n := range 4 {
		d, err := New[int](Options{})
		if err != nil {
			t.Fatal(err)
		}
		var added [2]atomic.Int64
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				found, isAdded, err := d.AddIfFewer(t.Context(), i, neardup.Text(texts[i%2]), n)
				if err != nil || !isAdded && len(found) != n && n > 0 || isAdded && len(found) >= n {
					t.Error(found, isAdded, err)
				}
				if isAdded {
					added[i%2].Add(1)
				}
			})
		}
		wg.Wait()
		if added[0].Load() != int64(n) || added[1].Load() != int64(n) || d.Len() != 2*n {
			t.Errorf("%d: %d and %d are added, and %d are there", n, added[0].Load(), added[1].Load(), d.Len())
		}
		if _, isAdded, err := d.AddIfFewer(t.Context(), 99, neardup.Text("Nobody has written anything like this about the northern lighthouse and its three keepers."), n); err != nil || isAdded != (n > 0) {
			t.Error(isAdded, err)
		}
	}
}
