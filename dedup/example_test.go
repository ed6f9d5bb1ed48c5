package dedup_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup"
)

func ExampleDeduplicator() {
	d, err := dedup.New[string](dedup.Options{})
	if err != nil {
		panic(err) // an option is out of range
	}
	d.Add("mail-1", neardup.Text("我是天河区居民，楼下工地每天夜里两点还在施工，噪音太大，老人孩子无法休息，请尽快处理。"))
	d.Add("mail-2", neardup.Text("请问如何办理居住证？需要准备哪些材料？到哪里去办？"))
	d.Add("mail-3", neardup.Text("我是天河区的居民，楼下工地每天夜里两点还在施工，噪音很大，老人孩子都无法休息，请尽快处理！"))
	groups, err := d.Groups(context.Background(), dedup.GroupOptions[string]{})
	if err != nil {
		panic(err)
	}
	for _, g := range groups {
		fmt.Println("keep", g.Keep, "of", g.Members)
	}
	found, err := d.SearchAndAdd(context.Background(), "mail-4", neardup.Text("请问怎么办理居住证，需要准备哪些材料，到哪里办？"))
	if err != nil {
		panic(err)
	}
	for _, m := range found {
		fmt.Printf("mail-4 is like %s: similarity %.2f, %v; likely: %t\n", m.ID, m.Similarity, m.Kind, m.Probability > 0.5)
	}
	// Output:
	// keep mail-3 of [mail-1 mail-3]
	// mail-4 is like mail-2: similarity 0.78, revised; likely: true
}

// The first code of the README.
func ExampleDeduplicator_Groups() {
	ctx := context.Background()
	d, _ := dedup.New[string](dedup.Options{})
	d.Add("mon", neardup.Text("The lamp in front of our house has been dark for a week. Please repair it soon."))
	d.Add("tue", neardup.Text("The bus to the hospital no longer stops at the market. Where can we get on now?"))
	d.Add("wed", neardup.Text("The lamp in front of our house has been dark for two weeks! Please repair it soon."))
	groups, _ := d.Groups(ctx, dedup.GroupOptions[string]{})
	for _, g := range groups {
		fmt.Println("keep", g.Keep, "of", g.Members)
	}
	// Output: keep wed of [mon wed]
}

// The documents of yesterday are in files. Those of today are compared with them.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "neardup")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for _, texts := range []map[string]neardup.Document{
		{"monday": neardup.Text("the bus stop in front of our house has had no light for three weeks now")},
		{"tuesday": neardup.Text("The bus stop in front of our house has had no light for four weeks now!")},
	} {
		d, err := dedup.Open[string](filepath.Join(dir, "letters"), dedup.Options{})
		if err != nil {
			panic(err)
		}
		mark := d.NextSequence() // documents from here on are new
		if err := d.AddAll(context.Background(), maps.All(texts)); err != nil {
			panic(err)
		}
		for p, err := range d.PairsSince(context.Background(), mark) {
			if err != nil {
				panic(err)
			}
			fmt.Println(p.A, "and", p.B, "are near-duplicates:", p.Kind)
		}
		if err := d.Close(); err != nil { // puts all on the disk
			panic(err)
		}
	}
	// Output: monday and tuesday are near-duplicates: revised
}

func ExampleDeduplicator_Explain() {
	d, _ := dedup.New[int](dedup.Options{})
	d.Add(1, neardup.Text("西游记EP01"))
	d.Add(2, neardup.Text("西游记EP02"))
	why, err := d.Explain(1, 2)
	if err != nil {
		panic(err)
	}
	// fmt.Print(why) shows all of it, with what the probability comes from.
	fmt.Printf("near-duplicates: %t; similarity %.2f, %v\n", why.Duplicate, why.Similarity, why.Kind)
	for _, f := range why.Features {
		fmt.Printf("%.2f %.2f %s\n", f.A, f.B, f.Text)
	}
	// Output:
	// near-duplicates: false; similarity 0.80, same-except-numbers
	// 0.45 0.45 ep0
	// 0.45 0.45 游记
	// 0.45 0.45 西游
	// 0.45 0.45 记ep
	// 0.45 0.00 p01
	// 0.00 0.45 p02
}

// The episodes of a series are alike but for a number, so this leaves that kind out.
func ExampleOptions_kinds() {
	d, err := dedup.New[string](dedup.Options{Kinds: neardup.AllKinds &^ (neardup.SameForm | neardup.SameExceptNumbers)})
	if err != nil {
		panic(err) // an option is out of range
	}
	d.Add("a", neardup.Text("Journey to the West, episode 1"))
	d.Add("b", neardup.Text("Journey to the West, episode 2"))
	d.Add("c", neardup.Text("JOURNEY TO THE WEST – Episode 1"))
	for p, err := range d.Pairs(context.Background()) {
		if err != nil {
			panic(err)
		}
		fmt.Println(p.A, p.B, p.Kind)
	}
	// Output: a c same-words
}

func ExampleDeduplicator_Estimate() {
	d, _ := dedup.New[string](dedup.Options{})
	d.Add("a", neardup.Text("The street lamp in front of our house has been dark for a week."))
	d.Add("b", neardup.Text("The street lamp in front of our house has now been dark for a week!"))
	d.Add("c", neardup.Text("When will the library open on Saturdays?"))
	threshold, err := d.Estimate(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(threshold)
	// Output: near-duplicates at a probability of 0.50 or more; about 0 of 1 pairs are expected to be false positives, likely 0 to 1, and about 0 are expected to be missed
}

func ExampleDeduplicator_Families() {
	d, _ := dedup.New[string](dedup.Options{})
	for id, who := range map[string]string{"a": "Ann Smith of Leeds", "b": "Bob Jones of York", "c": "Cleo Brown of Bath", "d": "Dan Green of Hull", "e": "Eve Black of Ripon"} {
		d.Add(id, neardup.Text("To the council of the town. I, "+who+", ask you to close the road to lorries at night. It is too loud for all of us. Thank you very much for your help."))
	}
	families, err := d.Families(context.Background())
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		fmt.Println(f.Form)
		fmt.Println(len(f.Members), "letters")
	}
	// Output:
	// To the council of the town. I, […], ask you to close the road to lorries at night. It is too loud for all of us. Thank you very much for your help.
	// 5 letters
}

func ExampleDeduplicator_Calibrate() {
	d, _ := dedup.New[string](dedup.Options{})
	var labels []dedup.Label[string]
	for _, article := range []string{"shirt", "jacket", "raincoat", "pullover", "waistcoat", "dressing gown"} {
		small, large := article+" of blue cotton, size 40", article+" of blue cotton, size 42"
		d.Add(small, neardup.Text(small))
		d.Add(large, neardup.Text(large))
		labels = append(labels, dedup.Label[string]{A: small, B: large}) // another size is another article
	}
	c, err := d.Calibrate(context.Background(), labels, dedup.Target{})
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Used, "labels are of pairs that are compared")
	// dedup.New with c.Options makes a Deduplicator that has learned from them.
	fmt.Println("the odds of all pairs fall:", c.Options.Bias < 0)
	// Output:
	// 6 labels are of pairs that are compared
	// the odds of all pairs fall: true
}
