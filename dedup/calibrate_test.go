package dedup

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/internal/content"
)

// comparisons returns the texts of a collection in a Deduplicator, and what is said of all its pairs.
func comparisons(t *testing.T, o Options, texts []string) (*Deduplicator[string], []Comparison[string]) {
	d := of(t, o, named("", texts))
	return d, listed(d.Comparisons(bg))
}

// TestComparisons: they have the numbers of Pairs and of Explain, and the quantities add up to the probability.
func TestComparisons(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Bias: 1.3}, {Bias: -2}} {
		o.Kinds = neardup.AllKinds
		d, all := comparisons(t, o, englishA.collection(seeded(t, 61), 80))
		said := map[[2]string]Comparison[string]{}
		for _, c := range all {
			said[[2]string{min(c.A, c.B), max(c.A, c.B)}] = c
		}
		if len(said) != len(all) {
			t.Errorf("%d of %d comparisons are of different pairs", len(said), len(all))
		}
		n, wrong := 0, 0
		for i, p := range factsOf(d.Pairs(bg)) {
			if i%5 > 0 && !*full {
				continue
			}
			e := must(d.Explain(p.A, p.B))
			back := must(d.Explain(p.B, p.A))
			if e.Similarity != p.Similarity || e.Probability != p.Probability || e.Kind != p.Kind || !e.Duplicate || !e.Compared || back.Similarity != e.Similarity || back.Probability != e.Probability || back.Kind != e.Kind || back.Duplicate != e.Duplicate {
				t.Fatalf("%v is explained as %v, and %v", p, e, back)
			}
			if c, ok := said[[2]string{p.A, p.B}]; ok {
				if n++; c.Similarity != p.Similarity || c.Probability != p.Probability || !slices.Equal(c.Evidence, e.Evidence) {
					t.Fatalf("%v is compared as %+v", p, c)
				}
				sum := e.Constant
				for _, q := range e.Evidence {
					sum += q.Adds
				}
				isCopy := sum < 0 && p.Probability >= 0.5 // one of many, which is judged by its text alone
				if !c.IsTemplate && !isCopy && math.Abs(1/(1+math.Exp(-sum))-p.Probability) > 1e-9 {
					if wrong++; wrong == 1 {
						t.Errorf("bias %g: the log odds of %v add up to %g, which is a probability of %g", o.Bias, p, sum, 1/(1+math.Exp(-sum)))
					}
				}
			}
		}
		if n < 10 {
			t.Errorf("only %d pairs are compared", n)
		}
	}
}

// TestExplain: features add up to the similarity, and are those of the texts.
func TestExplain(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 62)
	texts := append(englishA.collection(rnd, 60), chineseA.collection(rnd, 40)...)
	d := of(t, Options{}, named("", texts))
	for i := range texts {
		a, b := fmt.Sprintf("%04d", i), fmt.Sprintf("%04d", (i+1)%len(texts))
		e := must(d.Explain(a, b))
		sum, left := 0.0, [2]float64{}
		for n, f := range e.Features {
			sum += f.A * f.B
			left[0] += f.A * f.A
			left[1] += f.B * f.B
			if f.Text == "" || f.A == 0 && f.B == 0 || n > 0 && f.A*f.B > e.Features[n-1].A*e.Features[n-1].B {
				t.Fatalf("feature %d is %+v", n, f)
			}
		}
		has := contentOf(d, a).HasFeatures() && contentOf(d, b).HasFeatures()
		if has && (math.Abs(sum-e.Similarity) > 1e-6 || math.Abs(left[0]-1) > 1e-6 || math.Abs(left[1]-1) > 1e-6) {
			t.Fatalf("%d: the features add up to %g, not %g; norms %v", i, sum, e.Similarity, left)
		}
		if !e.Compared && e.Duplicate || strings.HasPrefix(e.String(), "near-duplicates") != e.Duplicate {
			t.Fatalf("%v", e)
		}
		// What is not compared is in no pair.
		if self := must(d.Explain(a, a)); self.Duplicate != contentOf(d, a).HasFeatures() {
			t.Errorf("%.30q and itself: %.80v", texts[i], self)
		}
	}
	if _, err := d.Explain("0001", "nobody"); err == nil {
		t.Error("an unknown id")
	}
	d.Add("one", neardup.Text("西游记EP01"))
	d.Add("two", neardup.Text("西游记EP02"))
	if s := must(d.Explain("one", "two")).String(); !strings.Contains(s, `"西游"`) || !strings.Contains(s, "only the second has") {
		t.Errorf("%v", s)
	}
}

// TestThreshold: what is expected is what the pairs add up to.
func TestThreshold(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 63)
	texts := englishA.collection(rnd, 200)
	for _, o := range []Options{{}, {Probability: 0.8}, {Similarity: 0.5}, {Kinds: neardup.AllKinds}, {Bias: 2}, {Kinds: neardup.Revised}} {
		d := of(t, o, named("", texts))
		same := map[string]uint32{}
		for slot, doc := range d.living() {
			same[d.names.at(slot)] = doc.content
		}
		seen := map[[2]uint32]bool{}
		th := must(d.Estimate(bg))
		wrong, pairs := 0.0, 0
		for p := range d.Pairs(bg) { // once for each pair of contents
			a, b := same[p.A], same[p.B]
			if key := [2]uint32{min(a, b), max(a, b)}; a != b && !seen[key] {
				seen[key] = true
				pairs++
				wrong += 1 - th.InCollection(p.Probability)
			}
		}
		if th.Pairs != pairs || math.Abs(th.Wrong-wrong) > 0.05*wrong+0.1 { // bins
			t.Errorf("%+v: %d pairs, %g wrong, not %d and %g", o, th.Pairs, th.Wrong, pairs, wrong)
		}
		sum := 0
		for _, n := range th.Histogram {
			sum += n
		}
		if sum < th.Pairs || th.Missed < 0 || th.String() == "" {
			t.Errorf("%+v: %v has %d pairs in the curve", o, th, sum)
		}
		if o.Similarity > 0 != (th.Similarity > 0) || o.Similarity > 0 != (th.Probability == 0) {
			t.Errorf("%+v: %+v", o, th)
		}
		d.Add("new", neardup.Text(texts[0]+" and more"))
		d.Delete("new")
		if again := must(d.Estimate(bg)); again != th {
			t.Errorf("%+v, and again %+v", th, again)
		}
	}
	if th := must(made[int](t, Options{}).Estimate(bg)); th.Pairs != 0 || th.Wrong != 0 || th.Missed != 0 || th.Probability != 0.5 {
		t.Errorf("of nothing: %+v", th)
	}
}

// TestCalibrate: goals are reached, labels move the threshold to where they are, and what is promised is what then is found.
func TestCalibrate(t *testing.T) {
	t.Parallel()
	rnd := seeded(t, 64)
	var texts []string
	for range larger(150, 500) {
		words := englishA.some(rnd, 60+rnd.IntN(200))
		texts = append(texts, englishA.join(words), englishA.join(englishA.revised(rnd, words, rnd.Float64()*0.4)))
	}
	d, all := comparisons(t, Options{}, texts)
	none := must(d.Calibrate(bg, nil, Target{}))
	if none.Options.Bias != 0 || none.Options.Probability != 0.5 || none.Used != 0 || none.Point.Found != must(d.Estimate(bg)).Pairs || len(none.Curve) != 99 {
		t.Errorf("without labels: %+v, %+v", none.Options, none.Point)
	}
	for i, p := range none.Curve {
		if math.Abs(p.Probability-float64(i+1)/100) > 1e-9 || i > 0 && (p.Found > none.Curve[i-1].Found || p.Recall > none.Curve[i-1].Recall+1e-12 || p.Precision < none.Curve[i-1].Precision-1e-12) || p.F1 > 1 || p.Precision > 1 {
			t.Fatalf("the curve goes on with %+v", p)
		}
	}
	seen := map[string]bool{}
	for _, p := range none.Ask {
		if seen[p.A] || seen[p.B] || p.A >= p.B || p.Kind == 0 {
			t.Errorf("it asks about %v", p)
		}
		seen[p.A], seen[p.B] = true, true
	}
	if len(none.Ask) != mostAsk || strings.Count(none.String(), "<") != 1 {
		t.Errorf("it asks about %d pairs; %v", len(none.Ask), none)
	}
	// The truth is what another bias would say.
	for _, shift := range []float64{-3, -1, 1, 3} {
		var labels []Label[string]
		for _, c := range all {
			if !c.IsTemplate && c.Probability > 0.001 {
				odds := math.Log(c.Probability / (1 - c.Probability))
				labels = append(labels, Label[string]{c.B, c.A, rnd.Float64() < 1/(1+math.Exp(-odds-shift))})
			}
		}
		for _, n := range []int{20, len(labels)} {
			rnd.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
			cal := must(d.Calibrate(bg, labels[:n], Target{}))
			t.Logf("bias %g: of %d labels, %d are used; found %.2f", shift, n, cal.Used, cal.Options.Bias)
			if cal.Used > n || cal.Options.Bias*shift < 0 && n > 20 || math.Abs(cal.Options.Bias) > math.Abs(shift)+2 {
				t.Errorf("bias %g: of %d labels %d are used, and the bias is %g", shift, n, cal.Used, cal.Options.Bias)
			}
			for _, p := range cal.Ask {
				if slices.ContainsFunc(labels[:n], func(l Label[string]) bool { return min(l.A, l.B) == p.A && max(l.A, l.B) == p.B }) {
					t.Errorf("it asks about %v again", p)
				}
			}
			e := of(t, cal.Options, named("", texts))
			if found := must(e.Estimate(bg)); max(found.Pairs-cal.Point.Found, cal.Point.Found-found.Pairs) > 1+found.Pairs/20 {
				t.Errorf("bias %g, %d labels: %d pairs are promised, and %d are found", shift, n, cal.Point.Found, found.Pairs)
			} else if found.Pairs != cal.Point.Found { // whether a pair is of a template depends on the bias too
				t.Logf("bias %g, %d labels: %d pairs are promised, and %d are found", shift, n, cal.Point.Found, found.Pairs)
			}
		}
		if shift == 1 || shift == -1 { // a hundred times the same opinion
			cal := must(d.Calibrate(bg, append(slices.Clone(labels), labels...), Target{}))
			if once := must(d.Calibrate(bg, labels, Target{})); cal.Options.Bias != once.Options.Bias {
				t.Errorf("labels that come twice move the bias to %g, not %g", cal.Options.Bias, once.Options.Bias)
			}
		}
	}
	// Twenty labels at random never make it much worse, by what the fitted decision expects.
	expected := func(bias float64) (right float64) { // of the decisions
		for _, c := range all {
			odds := math.Log(c.Probability / (1 - c.Probability))
			if odds+bias >= 0 {
				right += c.Probability
			} else {
				right += 1 - c.Probability
			}
		}
		return right / float64(len(all))
	}
	for range 20 {
		var labels []Label[string]
		for range 20 {
			c := all[rnd.IntN(len(all))]
			labels = append(labels, Label[string]{c.A, c.B, rnd.IntN(2) == 0})
		}
		cal, err := d.Calibrate(bg, labels, Target{})
		if err != nil && strings.Contains(err.Error(), "contradict") {
			continue
		}
		if was, is := expected(0), expected(cal.Options.Bias); is < was-0.1 || math.Abs(cal.Options.Bias) > 2 {
			t.Errorf("twenty labels at random make a bias of %g: %.3f of the decisions are right, and were %.3f", cal.Options.Bias, is, was)
		}
	}
	for _, goal := range []Target{{Precision: 0.9}, {Precision: 0.99}, {Recall: 0.9}, {Recall: 0.99}, {Recall: 0.5}} {
		cal, err := d.Calibrate(bg, nil, goal)
		if err != nil {
			t.Errorf("%+v: %v", goal, err)
			continue
		}
		for _, p := range cal.Curve {
			switch {
			case goal.Precision > 0 && p.Precision >= goal.Precision && p.Probability < cal.Point.Probability, goal.Recall > 0 && p.Recall >= goal.Recall && p.Probability > cal.Point.Probability:
				t.Errorf("%+v: %+v is better than %+v", goal, p, cal.Point)
			}
		}
		if cal.Point.Precision < goal.Precision || cal.Point.Recall < goal.Recall || cal.Options.Probability != cal.Point.Probability {
			t.Errorf("%+v: %+v", goal, cal.Point)
		}
		if found := must(of(t, cal.Options, named("", texts)).Estimate(bg)); found.Pairs != cal.Point.Found {
			t.Errorf("%+v: %d pairs are promised, and %d are found", goal, cal.Point.Found, found.Pairs)
		}
	}
	a, b := all[0].A, all[0].B
	for name, test := range map[string]struct {
		labels []Label[string]
		goal   Target
	}{
		"an unknown id":          {[]Label[string]{{a, b, true}, {a, "nobody", false}}, Target{}},
		"a document with itself": {[]Label[string]{{a, a, true}}, Target{}},
		"a contradiction":        {[]Label[string]{{a, b, true}, {b, a, false}}, Target{}},
		"two goals":              {nil, Target{Precision: 0.5, Recall: 0.5}},
		"no share":               {nil, Target{Precision: 1.5}},
		"less than no share":     {nil, Target{Recall: -0.1}},
		"no number":              {nil, Target{Recall: math.NaN()}},
	} {
		if cal, err := d.Calibrate(bg, test.labels, test.goal); err == nil {
			t.Errorf("%s: %+v", name, cal.Point)
		}
	}
	for _, p := range all { // a threshold at which nothing is found reaches no precision
		if p.Probability < 0.98 {
			two := of(t, Options{}, named("", []string{texts[number(p.A)], texts[number(p.B)]}))
			if cal, err := two.Calibrate(bg, nil, Target{Precision: 0.999}); err == nil {
				t.Errorf("of one pair with the probability %g: %+v", p.Probability, cal.Point)
			}
			break
		}
	}
	// Labels of one content contradict each other by any of its documents.
	d.Add("copy of a", neardup.Text(texts[number(a)]))
	if _, err := d.Calibrate(bg, []Label[string]{{a, b, true}, {"copy of a", b, false}}, Target{}); err == nil {
		t.Errorf("labels of equal documents that contradict each other are no error")
	}
	complete := must(d.Calibrate(bg, nil, Target{Complete: true}))
	if complete.Options.Bias >= 0 {
		t.Errorf("nothing is a duplicate, and the bias is %g", complete.Options.Bias)
	}
}

// TestOptions: options out of range are errors.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Similarity: -1}, {Similarity: 1.1}, {Similarity: math.NaN()}, {Probability: 1.1}, {Probability: -0.1}, {Probability: math.NaN()}, {Bias: 21}, {Bias: math.NaN()}, {Bias: math.Inf(-1)},
		{Memory: -1}, {Kinds: neardup.AllKinds + 1}, {Fingerprinter: neardup.Fingerprinter{Weight: neardup.Product{nil}}}} {
		if d, err := New[int](o); err == nil || d != nil {
			t.Errorf("%+v is accepted", o)
		}
		if d, err := Open[int](t.TempDir()+"/x", o); err == nil || d != nil {
			t.Errorf("%+v is accepted by Open", o)
		}
	}
	for _, bias := range []float64{-20, 20} {
		d := of(t, Options{Bias: bias, Kinds: neardup.AllKinds}, named("", englishA.collection(seeded(t, 65), 80)))
		for _, p := range listed(d.Pairs(bg)) {
			if !(p.Probability >= 0.5 && p.Probability <= 1) {
				t.Errorf("bias %g: %v", bias, p)
			}
		}
		must(d.Calibrate(bg, nil, Target{}))
	}
}

// contentOf returns the content of a document that is there.
func contentOf[ID comparable](d *Deduplicator[ID], id ID) *content.Content {
	slot, ok := d.slotOf(id)
	if !ok {
		panic(fmt.Sprint("no document ", id))
	}
	c := d.contents.At(d.docs.At(slot).content)
	return &c
}

// TestInCollection: where hardly any pair is in doubt, those that are found are right; where most pairs are none, fewer of those that
// look like copies are.
func TestInCollection(t *testing.T) {
	count := func(pairs map[float64]int) (c Estimate, plain float64) {
		for odds, n := range pairs {
			p := 1 / (1 + math.Exp(-odds))
			found := &edge{verdict: verdict{probability: p}}
			if p >= 0.5 {
				found.kind = neardup.Revised
				plain += float64(n) * (1 - p)
			}
			for range n {
				c.count(found, false, neardup.AllKinds, 0)
			}
		}
		c.settle(&Options{Probability: 0.5})
		return c, plain
	}
	copies, plain := count(map[float64]int{5: 500, 1: 400, -0.5: 20})
	if copies.Pairs != 900 || plain < 100 || copies.Wrong > plain/3 || copies.InCollection(0.7) < 0.85 {
		t.Errorf("copies: %v; %.0f by the probabilities; 0.7 is %.2f", copies, plain, copies.InCollection(0.7))
	}
	rare, plain := count(map[float64]int{5: 5, 1: 40, -1: 300, -3: 3000})
	if rare.Pairs != 45 || rare.Wrong < 1.5*plain || rare.InCollection(0.7) > 0.5 {
		t.Errorf("rare: %v; %.0f by the probabilities; 0.7 is %.2f", rare, plain, rare.InCollection(0.7))
	}
	for _, e := range []Estimate{copies, rare} {
		for p := 0.0; p < 1; p += 0.05 {
			if e.InCollection(p) > e.InCollection(p+0.05) {
				t.Errorf("%v: %.2f is likelier than %.2f", e, p, p+0.05)
			}
		}
	}
	if least, most := copies.Likely(100, 120); least != 45 || most != 120 {
		t.Errorf("likely %d to %d", least, most)
	}
}

// TestEstimateLeavesTemplatesOut: the estimate leaves out pages of one template.
func TestEstimateLeavesTemplatesOut(t *testing.T) {
	var e Estimate
	e.count(&edge{verdict: verdict{probability: 0.3}}, true, neardup.AllKinds, 0)
	if e != (Estimate{}) {
		t.Errorf("a pair of a template is counted: %+v", e)
	}
}
