package cost

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// This file says at the end of estimate where a collection should be deduplicated: on this machine, on a cluster
// with Apache Beam, or in a database or a warehouse with SQL.

// A cost is what a method would cost on this machine.
type cost struct {
	method        string
	seconds, peak float64 // bytes
	recall        string
}

const (
	longest    = 24 * 3600 // seconds that somebody may wait on one machine
	memoryPart = 0.8       // of the memory of the machine, for the program
	leastBytes = 300       // of a document, with --method auto: 18 million were read and sorted in 4.8 GB
)

// fits reports whether a method can do its work on a machine with so much memory; 0 bytes are not known.
func (c *cost) fits(documents, machine float64) bool {
	need := c.peak
	if c.method == "auto" || c.method == "cosine" {
		need = min(need, leastBytes*documents)
	}
	return c.seconds <= longest && (machine == 0 || need <= memoryPart*machine)
}

// advise says which of the three ways a collection wants, and the command for it, which writes out.
func advise(w io.Writer, costs []cost, documents, machine float64, inputs []string, out string) {
	var args []string
	for _, a := range inputs {
		if strings.ContainsAny(a, " *?[]'\"$&;|<>()\\") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		args = append(args, a)
	}
	input := strings.Join(args, " ")
	wide := "-documents " + fmt.Sprintf("%.0g", documents)
	best := -1
	for i := range costs {
		if costs[i].fits(documents, machine) {
			best = i
			break
		}
	}
	took := func(c *cost) string {
		return time.Duration(c.seconds * float64(time.Second)).Round(time.Second).String()
	}
	fmt.Fprintln(w)
	switch {
	case best == 0:
		fmt.Fprintf(w, "This machine is enough, and needs about %s:\n  neardup dedup %s --out %s\n", took(&costs[0]), input, out)
		return
	case best > 0:
		c := &costs[best]
		fmt.Fprintf(w, "This machine is enough for --method %s, which needs about %s and finds %s of what %s finds:\n  neardup dedup --method %s %s --out %s\n",
			c.method, took(c), c.recall, costs[0].method, c.method, input, out)
		fmt.Fprintln(w, "To find more, use more machines.")
	default:
		fmt.Fprintln(w, "This machine is too small, or would need more than a day.")
	}
	fmt.Fprintf(w, "On a cluster, with Apache Beam (all workers must be able to read the files; docs/beyond.md lists the runners):\n  neardup-beam -input %s -output cleaned/ -method minhash %s\n", strings.Join(args, ","), wide)
	fmt.Fprintf(w, "In a database or a warehouse:\n  neardup fingerprint %s --out fingerprints.parquet\n  neardup sql bigquery --table fingerprints --documents %.0f   # or postgresql, duckdb, clickhouse, spark\n", input, documents)
}
