package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// This file prints the tables. "Left out" means that a function is measured on a set that is not in its fit, and neither are
// the collections made from it. These are the numbers to believe: what a function gives for a collection that nobody has
// labelled. The difference to "in the fit" says how much of it was learnt by heart. The texts of the planted families
// are from two silver sets, which therefore are not quite left out.

// A report prints what a fit is worth, in Markdown.
type report struct {
	lab    *laboratory
	fitted functions
	w      io.Writer
	out    map[string]model // by set, the function of everything without it
}

// all prints all tables, and draws the figure if it has a path.
func (r *report) all(figure string) error {
	r.out = r.lab.leaveOut(setting{from: r.fitted.all}, slices.Concat(setsByPeople, setsSilver))
	r.numbers()
	r.sets()
	r.wrong()
	r.tables()
	r.planted()
	r.alike()
	r.withoutQuantities()
	r.withoutGroups()
	r.labels()
	return r.reliability(figure)
}

// leaveOut returns for each set what is fitted without it.
func (lab *laboratory) leaveOut(s setting, sets []string) map[string]model {
	models := make([]model, len(sets))
	each(len(sets), func(i int) {
		t := s
		t.without = func(e *evidence) bool { return e.set == sets[i] }
		models[i] = lab.solve(t)
	})
	out := map[string]model{}
	for i, set := range sets {
		out[set] = models[i]
	}
	return out
}

func (r *report) printf(format string, values ...any) { fmt.Fprintf(r.w, format, values...) }

// head begins a table.
func (r *report) head(title string, columns ...string) {
	r.printf("\n%s\n\n| %s |\n|%s\n", title, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

// numbers prints the functions.
func (r *report) numbers() {
	r.head("The three functions", "quantity", "texts", "all", "records")
	r.printf("| (constant) | %.4f | %.4f | %.4f |\n", r.fitted.texts.intercept, r.fitted.all.intercept, r.fitted.records.intercept)
	for k, q := range quantities {
		r.printf("| %s | %.4f | %.4f | %.4f |\n", q.name, r.fitted.texts.of[k], r.fitted.all.of[k], r.fitted.records.of[k])
	}
}

// A row is what is measured of a set.
type row struct {
	in, out, best float64 // F1 in the fit, left out, and left out with the best threshold
	false         float64 // pairs for 1,000 documents where there are none, left out
	few           float64 // precision where they are few, left out
}

// row measures a set.
func (r *report) row(set string) (x row) {
	e, left := r.lab.byName[set], r.out[set]
	x.in, x.out, x.best = e.count(r.fitted.all, 0).f1(), e.count(left, 0).f1(), e.best(left)
	if e.kind == byPeople {
		single := r.lab.byName[set+":one"]
		c := single.count(left, 0)
		x.false = 1000 * float64(c.found-c.hits) / float64(len(single.texts))
		x.few = r.lab.byName[set+":few"].count(left, 0).precision()
	}
	return x
}

// sets prints F1 of the sets. The best threshold for each set is what a better constant could reach there; what lacks beyond it
// is for better quantities. Where there is one document of each cluster, every pair that is found is false (or the
// truth is wrong), and 1 % copies are what most collections look like.
func (r *report) sets() {
	r.head("F1 of the sets", "set", "in the fit", "left out", "left out, best threshold", "one of each: false pairs for 1,000 documents", "1 % copies: precision")
	for k, names := range [][]string{byPeople: setsByPeople, silver: setsSilver} {
		var sum row
		var each []float64 // false pairs
		for _, set := range names {
			x := r.row(set)
			r.printRow(set, x, kind(k))
			n := float64(len(names))
			sum = row{sum.in + x.in/n, sum.out + x.out/n, sum.best + x.best/n, sum.false + x.false/n, sum.few + x.few/n}
			each = append(each, x.false)
		}
		slices.Sort(each)
		r.printRow("**mean**", sum, kind(k))
		if kind(k) == byPeople {
			r.printf("| (median) | | | | %.1f | |\n", (each[(len(each)-1)/2]+each[len(each)/2])/2)
		}
	}
}

// tables prints F1 of the tables, by the function for records.
func (r *report) tables() {
	names := namesOfTables()
	out := r.lab.leaveOut(setting{function: inRecords, from: r.fitted.records}, names)
	r.head("F1 of records by columns", "set", "in the fit", "left out", "left out, best threshold")
	var sum row
	for _, name := range names {
		e := r.lab.byName[name]
		x := row{in: e.count(r.fitted.records, 0).f1(), out: e.count(out[name], 0).f1(), best: e.best(out[name])}
		r.printf("| %s | %.4f | %.4f | %.4f |\n", name, x.in, x.out, x.best)
		n := float64(len(names))
		sum = row{in: sum.in + x.in/n, out: sum.out + x.out/n, best: sum.best + x.best/n}
	}
	r.printf("| **mean** | %.4f | %.4f | %.4f |\n", sum.in, sum.out, sum.best)
}

// printRow prints a row. Silver sets have no collections in which copies are rare.
func (r *report) printRow(name string, x row, k kind) {
	r.printf("| %s | %.4f | %.4f | %.4f |", name, x.in, x.out, x.best)
	if k == byPeople {
		r.printf(" %.1f | %.2f |\n", x.false, x.few)
	} else {
		r.printf(" | |\n")
	}
}

// planted prints what is found of planted families. byAll is meant to leave out large ones: the more copies there are, the more
// they look like pages of a template. byTexts, which is asked if all kinds count, must find them.
func (r *report) planted() {
	r.head("Planted families: recall, in pairs", "collection", "families of", "changed", "pairs", "compared", "texts", "all")
	for _, e := range r.lab.collections {
		if len(e.plans) == 0 {
			continue
		}
		for _, part := range []struct {
			sizes, rates string
			in           func(p plan) bool
		}{
			{"two", "up to 10 %", func(p plan) bool { return p.size == 2 && p.rate <= 0.1 }},
			{"two", "more", func(p plan) bool { return p.size == 2 && p.rate > 0.1 }},
			{"three and five", "up to 10 %", func(p plan) bool { return (p.size == 3 || p.size == 5) && p.rate <= 0.1 }},
			{"three and five", "more", func(p plan) bool { return (p.size == 3 || p.size == 5) && p.rate > 0.1 }},
			{"twenty", "up to 10 %", func(p plan) bool { return p.size > 5 }},
			{"any size", "up to 10 %", func(p plan) bool { return p.size > 0 && p.rate <= 0.1 }},
		} {
			texts, compared := e.recalls(r.fitted.texts, part.in)
			all, _ := e.recalls(r.fitted.all, part.in)
			if texts.truths > 0 {
				r.printf("| %s | %s | %s | %d | %.4f | %.4f | %.4f |\n", e.name, part.sizes, part.rates, texts.truths, float64(compared)/float64(texts.truths), texts.recall(), all.recall())
			}
		}
	}
}

// alike prints what byTexts gains and loses with the weight of the large families.
func (r *report) alike() {
	r.head("Whether two texts are alike (byTexts), by the weight of the large families", "weight", "recall of large-en:check", "of large-zh:check", "mean precision of the sets without templates", "one of each: false pairs for 1,000 documents")
	for _, weight := range []float64{1, 4, 8, 16, 32} {
		recipe := chosen
		recipe.weights = maps.Clone(chosen.weights)
		recipe.weights[large] = [3]float64{inTexts: weight}
		m := r.lab.solve(setting{function: inTexts, recipe: &recipe, from: r.fitted.texts})
		var precisions, wrong []float64
		for _, set := range setsByPeople {
			if !templates[set] {
				precisions = append(precisions, r.lab.byName[set].count(m, 0).precision())
				single := r.lab.byName[set+":one"]
				wrong = append(wrong, 1000*float64(single.count(m, 0).found)/float64(len(single.texts)))
			}
		}
		inFamily := func(p plan) bool { return p.size > 0 }
		english, _ := r.lab.byName["large-en:check"].recalls(m, inFamily)
		chinese, _ := r.lab.byName["large-zh:check"].recalls(m, inFamily)
		r.printf("| %g | %.4f | %.4f | %.4f | %.1f |\n", weight, english.recall(), chinese.recall(), mean(precisions), mean(wrong))
	}
}

// f1 returns the F1 of sets, each with the function for it.
func (r *report) f1(sets []string, of func(set string) model) (values []float64) {
	for _, set := range sets {
		values = append(values, r.lab.byName[set].count(of(set), 0).f1())
	}
	return values
}

// withoutQuantities prints what every quantity is worth: those in byAll by leaving them out, the others by taking them in. The
// mean hides that zh-manuals, the only set of templates, hangs on few of them; so it has a column of its own.
func (r *report) withoutQuantities() {
	r.head("F1 without a quantity, or with one that is not used: what changes in the mean of the sets with truth by people, and of the silver ones", "quantity", "in the fit", "left out", "zh-manuals, left out", "silver, in the fit")
	left := func(set string) model { return r.out[set] }
	fitted := func(string) model { return r.fitted.all }
	in, out := mean(r.f1(setsByPeople, fitted)), r.f1(setsByPeople, left)
	at := slices.Index(setsByPeople, "zh-manuals")
	machine := mean(r.f1(setsSilver, fitted))
	r.printf("| (nothing) | %.4f | %.4f | %.4f | %.4f |\n", in, mean(out), out[at], machine)
	for _, q := range quantities {
		s := setting{from: r.fitted.all, use: func(p quantity) bool { return p.in[inAll] != (p.name == q.name) }}
		m := r.lab.solve(s)
		s.from = m
		models := r.lab.leaveOut(s, setsByPeople)
		fewer := r.f1(setsByPeople, func(set string) model { return models[set] })
		only := func(string) model { return m }
		word := "without"
		if !q.in[inAll] {
			word = "with"
		}
		r.printf("| %s %s | %+.4f | %+.4f | %+.4f | %+.4f |\n", word, q.name, mean(r.f1(setsByPeople, only))-in, mean(fewer)-mean(out), fewer[at]-out[at], mean(r.f1(setsSilver, only))-machine)
	}
}

// withoutGroups prints what is left for a kind of text that is in no set: other records may well have taught a function what
// the records of a set are like, although the set was left out.
func (r *report) withoutGroups() {
	r.head("F1 of groups of sets", "group", "sets", "in the fit", "each left out", "all left out together")
	for _, group := range []struct{ name, part string }{{"records", "-records-"}, {"manuals", "-manuals"}, {"Chinese", "zh-"}} {
		var sets []string
		for _, set := range setsByPeople {
			if strings.Contains(set, group.part) {
				sets = append(sets, set)
			}
		}
		m := r.lab.solve(setting{from: r.fitted.all, without: func(e *evidence) bool {
			return strings.Contains(e.set, group.part) || group.part == "zh-" && strings.Contains(e.set, "-zh")
		}})
		r.printf("| %s | %d | %.4f | %.4f | %.4f |\n", group.name, len(sets),
			mean(r.f1(sets, func(string) model { return r.fitted.all })), mean(r.f1(sets, func(set string) model { return r.out[set] })), mean(r.f1(sets, func(string) model { return m })))
	}
}

// labels prints what twenty labels change.
func (r *report) labels() {
	columns := []string{"set", "F1, left out"}
	for _, d := range deviations {
		columns = append(columns, fmt.Sprintf("deviation %g", d))
	}
	r.head("F1 with 20 labels: mean change (and the worst) in 50 draws, by the standard deviation of the bias", columns...)
	of := make([]labelling, len(setsByPeople))
	each(len(of), func(i int) { of[i] = r.lab.byName[setsByPeople[i]].label(r.out[setsByPeople[i]]) })
	means, least := make([]float64, len(deviations)), make([]float64, len(deviations))
	for i, set := range setsByPeople {
		r.printf("| %s | %.4f |", set, of[i].without)
		for k := range deviations {
			r.printf(" %+.4f (%+.4f) |", of[i].change[k], of[i].worst[k])
			means[k] += of[i].change[k] / float64(len(of))
			least[k] = min(least[k], of[i].change[k])
		}
		r.printf("\n")
	}
	r.printf("| **mean** | |")
	for k := range deviations {
		r.printf(" %+.4f |", means[k])
	}
	r.printf("\n| **worst set** | |")
	for k := range deviations {
		r.printf(" %+.4f |", least[k])
	}
	r.printf("\n")
}

// reliability prints how often left-out probabilities are right, without and with a second step, and draws it.
func (r *report) reliability(path string) error {
	var people, rare, machine outcomes
	for _, set := range setsByPeople {
		people.add(r.lab.byName[set].outcomes(r.out[set]))
		rare.add(r.lab.byName[set+":few"].outcomes(r.out[set]))
	}
	for _, set := range setsSilver {
		machine.add(r.lab.byName[set].outcomes(r.out[set]))
	}
	second := people.step()
	before, after := people.bins(none), people.bins(second)
	r.head("Probabilities of left-out sets (truth by people; sets weigh the same)", "probability", "pairs", "said", "are", "pairs, second step", "said", "are")
	for k := range before {
		r.printf("| %.1f to %.1f | %.2f %% | %.3f | %.3f | %.2f %% | %.3f | %.3f |\n", float64(k)/10, float64(k+1)/10,
			100*before[k].weight/float64(len(setsByPeople)), before[k].said, before[k].are, 100*after[k].weight/float64(len(setsByPeople)), after[k].said, after[k].are)
	}
	r.head("The second step: log odds times "+fmt.Sprintf("%.3f plus %.3f", second.slope, second.intercept), "sets", "expected calibration error", "log loss", "with the step: error", "log loss")
	for _, g := range []struct {
		name string
		o    *outcomes
	}{{"truth by people", &people}, {"the same, 1 % copies", &rare}, {"silver", &machine}} {
		r.printf("| %s | %.4f | %.4f | %.4f | %.4f |\n", g.name, expectedError(g.o.bins(none)), g.o.logLoss(none), expectedError(g.o.bins(second)), g.o.logLoss(second))
	}
	r.secondStep()
	if path == "" {
		return nil
	}
	return draw(path, []string{"truth by people", "the same, 1 % copies", "silver truth"}, [][10]bin{before, rare.bins(none), machine.bins(none)})
}

// secondStep prints the F1 of left-out sets with a second step that has not seen the set either. It moves the threshold, so better
// probabilities can cost F1.
func (r *report) secondStep() {
	r.head("F1 of left-out sets with the second step, which is fitted without the set too", "set", "without", "with", "error without", "error with")
	var plain, moved []float64
	for _, set := range setsByPeople {
		var others outcomes
		for _, other := range setsByPeople {
			if other != set {
				others.add(r.lab.byName[other].outcomes(r.out[other]))
			}
		}
		s, e := others.step(), r.lab.byName[set]
		own := e.outcomes(r.out[set])
		x, y := e.count(r.out[set], 0).f1(), e.count(r.out[set], s.threshold()).f1()
		plain, moved = append(plain, x), append(moved, y)
		r.printf("| %s | %.4f | %.4f | %.4f | %.4f |\n", set, x, y, expectedError(own.bins(none)), expectedError(own.bins(s)))
	}
	r.printf("| **mean** | %.4f | %.4f | | |\n", mean(plain), mean(moved))
}

// brief prints the fit and its F1.
func (r *report) brief() {
	r.numbers()
	r.head("F1 in the fit", "set", "F1")
	for _, names := range [][]string{setsByPeople, setsSilver} {
		values := r.f1(names, func(string) model { return r.fitted.all })
		for i, set := range names {
			r.printf("| %s | %.4f |\n", set, values[i])
		}
		r.printf("| **mean** | %.4f |\n", mean(values))
	}
	r.tables()
	r.planted()
}
