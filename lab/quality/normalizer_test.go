package quality

import (
	"context"
	"fmt"
	"testing"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/lab/dataset"
)

// score fingerprints texts and returns precision and recall by pairs.
func score[F neardup.Fingerprint](sum func(neardup.Document) F, texts []string, truth dataset.Truth, k int) (precision, recall float64) {
	fps := make([]F, len(texts))
	for i, text := range texts {
		fps[i] = sum(neardup.Text(text))
	}
	found, good := 0, 0
	for p := range neardup.Pairs(context.Background(), fps, k) {
		found++
		if truth.Has(p.A, p.B) {
			good++
		}
	}
	return float64(good) / float64(max(found, 1)), float64(good) / float64(max(len(truth), 1))
}

// TestNormalizerQuality prints what each step does to precision and recall on real
// versions, and to the recall of copies that were changed in the way the step is
// for:
//
//	NEARDUP_DATA=… go test -C lab ./quality -run NormalizerQuality -v
func TestNormalizerQuality(t *testing.T) {
	t.Parallel()
	steps := []neardup.Normalizer{{}, {Form: neardup.FormNFC}, {Form: neardup.FormWidth}, {Form: neardup.FormNFKC}, {Fold: true}, {Space: true}, {HTML: true},
		{URLs: neardup.TreatmentMask}, {URLs: neardup.TreatmentRemove}, {Emails: neardup.TreatmentMask}, {Dates: neardup.TreatmentMask}, {Dates: neardup.TreatmentRemove}, {Numbers: neardup.TreatmentMask}, {Numbers: neardup.TreatmentRemove},
		{URLs: neardup.TreatmentRemove, Emails: neardup.TreatmentRemove, Dates: neardup.TreatmentRemove, Numbers: neardup.TreatmentRemove}, {URLs: neardup.TreatmentMask, Emails: neardup.TreatmentMask, Dates: neardup.TreatmentMask, Numbers: neardup.TreatmentMask}, {Boilerplate: &neardup.Boilerplate{}}}
	for _, set := range []string{"en-versions", "zh-revisions"} {
		docs, truth := labelled(t, set)
		texts := texts(docs)
		plain := ""
		for _, n := range steps {
			name := stepsOf(n)
			if n.Boilerplate != nil {
				var b neardup.BoilerplateBuilder
				for _, text := range texts {
					b.Add(text)
				}
				n.Boilerplate = b.Build(len(texts) / 50)
				name = fmt.Sprintf("boilerplate (%d lines in 2%% of the texts)", n.Boilerplate.Len())
			}
			f := neardup.Fingerprinter{Normalizer: n}
			p64, r64 := score(f.Sum64, texts, truth, 3)
			p128, r128 := score(f.Sum128, texts, truth, 12)
			figures := fmt.Sprintf("%.3f %.3f   %.3f %.3f", p64, r64, p128, r128)
			t.Logf("%-12s %-48s %s", set, name, figures)
			if n == (neardup.Normalizer{}) {
				plain = figures
			}
			if n == (neardup.Normalizer{Fold: n.Fold, Space: n.Space}) && figures != plain {
				t.Errorf("%s changes what the tokenizer sees", name)
			}
		}
	}
}
