package dedup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
)

// This file tests families: many copies of a text, each with a few words of its own, and forms that are filled in.

// A copied says how the copies of a family differ: replaced words are unique, or ordinary ones.
type copied struct {
	l      language
	unique bool
	n      int
	rate   float64
}

// texts returns n copies of a text of 220 words.
func (c copied) texts(rnd *rand.Rand) []string {
	const words = 220
	base := c.l.some(rnd, words)
	texts := make([]string, c.n)
	next := 1_000_000
	for i := range texts {
		own := slices.Clone(base)
		for _, at := range rnd.Perm(words)[:max(int(words*c.rate+0.5), 1)] {
			if own[at] = c.l.word(rnd.IntN(20_000)); c.unique {
				next++
				if own[at] = c.l.word(next); c.l.separator == "" { // characters are few, so a word nobody has
					own[at] = fmt.Sprintf("%c%c", 0x7000+next%1499, 0x9000+next*31%1999)
				}
			}
		}
		texts[i] = c.l.join(own)
	}
	return texts
}

// TestFamilies: of the pairs of a family in which up to 3 of 100 words differ from the original, at least 99 of 100 are found
// if all kinds count, whatever its size, alone and among a thousand others. How many are found if more words differ is only
// logged; of two copies, twice as many words differ.
func TestFamilies(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 41)
	sizes, rates := []int{2, 5, 20, 100}, []float64{0.01, 0.03, 0.1}
	if *full {
		sizes, rates = append(sizes, 450, 2000, 5000), []float64{0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1}
	}
	for name, l := range map[string]language{"english": englishA, "chinese": chineseA} {
		others := l.others(rnd, larger(300, 1000))
		for _, n := range sizes {
			for _, rate := range rates {
				for _, unique := range []bool{true, false} {
					for _, among := range []int{0, len(others)} {
						if n >= 450 && (!unique || rate != 0.03 && rate != 0.05 && rate != 0.1) || n >= 100 && among > 0 && !*full || n >= 2000 && (among > 0 || rate != 0.03) {
							continue
						}
						c := copied{l, unique, n, rate}
						repeats := 1
						if n < 20 && among == 0 {
							repeats = 20 / n
						}
						found, byDefault, forms, pairs := 0, 0, 0, 0
						for range repeats {
							texts := c.texts(rnd)
							if texts = slices.Compact(texts); len(texts) != n {
								t.Fatalf("%d copies are equal", n-len(texts))
							}
							d := of(t, Options{Kinds: neardup.AllKinds}, named("f", texts), named("o", others[:among]))
							pairs += n * (n - 1) / 2
							for p := range d.Pairs(bg) {
								if p.A[0] != 'f' || p.B[0] != 'f' {
									continue
								}
								if found++; p.Kind == neardup.SameForm {
									forms++
								} else {
									byDefault++
								}
							}
						}
						share := float64(found) / float64(pairs)
						t.Logf("%s, %4d copies, %2.0f %% of the words, unique %-5v among %4d others: %.4f found, %.4f by default", name, n, 100*rate, unique, among, share, float64(byDefault)/float64(pairs))
						if share < 0.99 && rate <= 0.03 {
							t.Errorf("%s, %d copies, %.0f %% of the words, unique %v, among %d others: only %.4f of the pairs are found", name, n, 100*rate, unique, among, share)
						}
					}
				}
			}
		}
	}
}

// others returns n texts that have nothing to do with each other.
func (l language) others(rnd *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = l.text(rnd, 100+rnd.IntN(250))
	}
	return out
}

// invoiceText is an invoice of 100 words with eight runs of figures.
func invoiceText(name, street string, number int) string {
	return fmt.Sprintf("Invoice %d for %s of %s. Dear customer, thank you for your order. We have packed the paper with the usual care and have handed it over to the carrier, "+
		"who will ring before he comes. For the delivery of %d boxes we charge %d.50 without tax, which is %d.75 with it. Please pay the amount within %d days to our account at the savings bank, "+
		"and quote the number %d so that we can tell who has paid. If something is missing or broken, write to us before you open the other boxes, and we will send what you need free of charge. "+
		"We look forward to your next order and remain with kind regards, your friends at the paper mill.", 7000+number, name, street, 10+number, 400+number*37, 500+number*41, 10+number, 7000+number)
}

func invoiceChinese(name string, i int) string {
	return fmt.Sprintf("发票号码%d，客户%s，您好。感谢您订购本公司的办公用纸，货物已经按照惯例妥善包装并交给承运人，送货之前司机会先给您打电话。本次共交付%d箱，不含税金额%d元，含税金额%d元。"+
		"请在%d天之内将款项汇入我公司在建设银行的账户，并注明上述号码以便核对。如有缺少或者损坏，请在打开其余箱子之前与我们联系，我们将免费补发您所需要的货物。谢谢您的惠顾，期待您再次光临。", 7000+i, name, 10+i, 400+37*i, 500+41*i, 10+i)
}

// TestInvoices: eight invoices that differ in their figures alone, or in names and figures, are one form, and are not
// near-duplicates by default. Families reports them, with what is common and what is filled in.
func TestInvoices(t *testing.T) {
	t.Parallel()
	names := strings.Fields("Anderson Bergmann Castello Dimitrov Eriksen Ferreira Grigorescu Haapala")
	streets := []string{"Mill Street", "Old Harbour Road", "Rose Garden", "Station Square", "Kings Lane", "Church Hill", "Bridge End", "West Quay"}
	for _, c := range []struct {
		what string
		text func(i int) string
		form string // a part of it
	}{
		{"figures", func(i int) string { return invoiceText("Anderson", "Mill Street", i) }, "Please pay the amount within"},
		{"names and figures", func(i int) string { return invoiceText(names[i], streets[i], i) }, "Please pay the amount within"},
		{"chinese figures", func(i int) string { return invoiceChinese("张伟", i) }, "我们将免费补发您所需要的货物"},
		{"chinese names and figures", func(i int) string {
			return invoiceChinese([]string{"张伟", "王芳", "李娜", "刘洋", "陈静", "杨勇", "赵敏", "周杰"}[i], i)
		}, "我们将免费补发您所需要的货物"},
	} {
		d := made[string](t, Options{})
		all := made[string](t, Options{Kinds: neardup.AllKinds})
		for i := range 8 {
			d.Add(fmt.Sprint(i), neardup.Text(c.text(i)))
			all.Add(fmt.Sprint(i), neardup.Text(c.text(i)))
		}
		if pairs := factsOf(d.Pairs(bg)); len(pairs) > 0 {
			t.Errorf("%s: %d pairs by default, such as %v", c.what, len(pairs), pairs[0])
		}
		forms := 0
		for p := range all.Pairs(bg) {
			if p.Kind == neardup.SameForm {
				forms++
			} else {
				t.Errorf("%s: %v", c.what, p)
			}
		}
		if forms != 28 {
			t.Errorf("%s: %d of 28 pairs are of one form", c.what, forms)
		}
		for _, d := range []*Deduplicator[string]{d, all} {
			families := must(d.Families(bg))
			if len(families) != 1 || len(families[0].Members) != 8 || len(families[0].Filled) != 8 {
				t.Errorf("%s: families %+v", c.what, families)
				continue
			}
			f := families[0]
			if !strings.Contains(f.Form, "[…]") || !strings.Contains(f.Form, c.form) {
				t.Errorf("%s: the form is %q", c.what, f.Form)
			}
			for i, id := range f.Members {
				if id != fmt.Sprint(i) {
					t.Errorf("%s: members %v", c.what, f.Members)
				}
				if number := fmt.Sprint(400 + 37*i); !strings.Contains(f.Filled[i], number) {
					t.Errorf("%s: into %s is filled in %q, without %s", c.what, id, f.Filled[i], number)
				}
			}
		}
	}
}

// TestFamiliesGrow: a family does not vanish because it grows. Of the pairs that twenty copies have, if all kinds count, 99 of
// 100 are still found when there are more copies.
func TestFamiliesGrow(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 44)
	for name, l := range map[string]language{"english": englishA, "chinese": chineseA} {
		for _, rate := range []float64{0.02, 0.05, 0.08} {
			for _, unique := range []bool{true, false} {
				texts := copied{l, unique, larger(60, 1000), rate}.texts(rnd)
				was := 0
				for _, n := range []int{20, 60, 200, 450, 1000} {
					if n > len(texts) {
						continue
					}
					found := 0
					for p := range of(t, Options{Kinds: neardup.AllKinds}, named("", texts[:n])).Pairs(bg) {
						if p.A < "0020" && p.B < "0020" {
							found++
						}
					}
					if n == 20 {
						was = found
					}
					t.Logf("%s, %.0f %% of the words, unique %v: of 190 pairs of twenty, %d are found among %d copies", name, rate*100, unique, found, n)
					if found*100 < was*99 {
						t.Errorf("%s, %.0f %% of the words, unique %v: %d pairs are found among %d copies, and %d among 20", name, rate*100, unique, found, n, was)
					}
				}
			}
		}
	}
}

// TestCampaigns: letters on one form, equal but for name, place and date, are no near-duplicates, however many they are; and
// if forms count, all of them are.
func TestCampaigns(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 42)
	petition := func(name, place, date string) string {
		return "We ask the council to keep the library open on Saturdays. Signed by " + name + " who lives in " + place + " and has read this on " + date + " before the vote of the council."
	}
	letter := func(name, place, date string) string { return formLetter(name+" of "+place, date, "7") }
	for name, form := range map[string]func(name, place, date string) string{"petition": petition, "letter": letter} {
		for _, n := range []int{5, 50, 500, 5000} {
			if n > shorter(100, 50) && !*full {
				continue
			}
			all, usual := made[int](t, Options{Kinds: neardup.AllKinds}), made[int](t, Options{})
			for i := range n {
				text := form(englishA.word(2*i+50_000)+" "+englishA.word(2*i+50_001), englishA.text(rnd, 1), fmt.Sprint(i%28+1, " May"))
				all.Add(i, neardup.Text(text))
				usual.Add(i, neardup.Text(text))
			}
			for i := range 40 {
				text := englishA.text(rnd, 60)
				all.Add(n+i, neardup.Text(text))
				usual.Add(n+i, neardup.Text(text))
			}
			pairs, forms, reported := 0, 0, 0
			for p := range all.Pairs(bg) {
				if pairs++; p.Kind == neardup.SameForm {
					forms++
				}
			}
			for range usual.Pairs(bg) {
				reported++
			}
			groups := must(all.Groups(bg, GroupOptions[int]{}))
			families := must(usual.Families(bg))
			t.Logf("%s, %d of them: %d pairs, %d of one form, %d reported by default, %d groups, %d families", name, n, pairs, forms, reported, len(groups), len(families))
			total := n * (n - 1) / 2
			if reported > 0 {
				t.Errorf("%s, %d of them: %d pairs are near-duplicates by default", name, n, reported)
			}
			if pairs < total*99/100 || forms < total*9/10 || len(groups) != 1 || len(groups[0].Members) != n {
				t.Errorf("%s, %d of them, forms count: %d pairs of %d, %d of one form, %d groups", name, n, pairs, total, forms, len(groups))
			}
			if len(families) != 1 || len(families[0].Members) != n || len(families[0].Filled) != n || !strings.Contains(families[0].Form, "[…]") {
				t.Errorf("%s, %d of them: families %.300v", name, n, families)
			}
		}
	}
}

// TestFamiliesOrder: the largest family comes first; three documents show no form; records have no text to show.
func TestFamiliesOrder(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 43)
	for range 3 {
		d := made[int](t, Options{})
		id := 0
		for _, n := range rnd.Perm(9) { // families of 0 to 8
			form := englishA.some(rnd, 40)
			for range n {
				d.Add(id, neardup.Text(englishA.join(slices.Concat(form[:20], englishA.some(rnd, 3), form[20:]))))
				id++
			}
		}
		var sizes []int
		for _, f := range must(d.Families(bg)) {
			sizes = append(sizes, len(f.Members))
			if !slices.IsSorted(f.Members) {
				t.Errorf("the members are %v", f.Members)
			}
		}
		if !slices.Equal(sizes, []int{8, 7, 6, 5, 4}) {
			t.Errorf("families of %v", sizes)
		}
	}
}
