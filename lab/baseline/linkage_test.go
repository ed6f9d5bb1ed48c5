package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/neardup/neardup"
)

// TestLink: EM finds people who occur twice, with a typing error or another address, and nobody else.
func TestLink(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'a' + byte(r.IntN(26))
		}
		return string(b)
	}
	var rows []neardup.Record
	want := map[int]int{}
	for i := range 400 {
		row := neardup.Record{"first": word(2) + "a", "last": word(7), "town": fmt.Sprint("town", r.IntN(30)), "born": fmt.Sprintf("19%02d-%02d", r.IntN(90), 1+r.IntN(12))}
		rows = append(rows, row)
		if i%4 == 0 {
			other := neardup.Record{"first": row["first"], "last": row["last"][:6] + "q", "town": "town0", "born": row["born"]}
			want[len(rows)-1] = len(rows)
			rows = append(rows, other)
		}
	}
	groups := Link(rows)
	right := 0
	for _, g := range groups {
		if len(g) == 2 && want[g[0]] == g[1] {
			right++
		}
	}
	if right < 95 || len(groups)-right > 3 {
		t.Errorf("%d of 100 people are found, and %d groups are wrong", right, len(groups)-right)
	}
}

// TestJaroWinkler has the examples of Winkler (1990).
func TestJaroWinkler(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want float64
	}{{"martha", "marhta", 0.9611}, {"dwayne", "duane", 0.84}, {"dixon", "dicksonx", 0.8133}, {"abc", "xyz", 0}, {"a", "a", 1}} {
		if got := jaroWinkler(test.a, test.b); math.Abs(got-test.want) > 0.0001 {
			t.Errorf("%s, %s: %.4f, not %.4f", test.a, test.b, got, test.want)
		}
	}
}
