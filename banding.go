package neardup

import (
	"fmt"
	"strings"

	"github.com/neardup/neardup/internal/exact"
)

// This file tells what signatures that are cut into bands find. internal/minhash chooses the bands.

// A Banding cuts signatures into Bands bands of Rows values each. Two signatures are candidates if
// they agree on all values of at least one band. For sets with the Jaccard similarity s, that has
// the probability 1 − (1 − s^Rows)^Bands: an S-curve that is steep near (1/Bands)^(1/Rows) (Broder
// 1997; Leskovec et al., Mining of Massive Datasets, §3.4). More bands find more, more rows confuse
// less.
type Banding struct{ Bands, Rows int }

// Probability returns how likely two sets with a Jaccard similarity, 0 to 1, are to become candidates. It leaves out that different
// values may be equal by chance. It is the same on every platform.
func (b Banding) Probability(similarity float64) float64 {
	if !(similarity >= 0 && similarity <= 1) {
		panic(fmt.Sprintf("neardup: a similarity of %v is not from 0 to 1", similarity))
	}
	return 1 - exact.Power(1-exact.Power(similarity, b.Rows), b.Bands)
}

// String returns the banding and its S-curve, as similarities and probabilities:
//
//	32 bands of 4 rows: 0.1 0.003, 0.2 0.050, 0.3 0.229, 0.4 0.564, …
func (b Banding) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d bands of %d rows", b.Bands, b.Rows)
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&s, "%s 0.%d %.3f", map[bool]string{true: ":", false: ","}[i == 1], i, b.Probability(float64(i)/10))
	}
	return s.String()
}
