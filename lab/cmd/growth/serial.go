package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// This file finds out which processor time of the program is serial (-serial): what one goroutine does while others have to wait for it,
// however many processors there are. A profile of the processor time has the functions that each sample was in. What a goroutine of a
// pool of workers does is parallel, and all else is serial. It is printed by stage, as seconds for a million documents, with
// the speed-up that it allows on 16 and 64 processors (Amdahl 1967).

// workers are functions of whose goroutines there are as many as processors, or which belong to the Go runtime.
var workers = regexp.MustCompile(`internal/parallel\.(Each|runJobs|Chunks)|together\.Each\.func|reading\.workOn|input\.\(\*plainFile\)\.|textfile\.\(\*File\)\.AppendAll\.func|minhash\.NewTables\.func|klauspost/(pgzip|compress)|runtime\.(gcBgMarkWorker|bgsweep|bgscavenge|mcall|mstart|park_m|schedule)`)

// stages name what is serial: the first one of which a sample has a function counts.
var stages = []struct {
	name string
	in   *regexp.Regexp
}{
	{"read", regexp.MustCompile(`reading\.\(\*Reader\)\.read$`)},
	{"add", regexp.MustCompile(`Deduplicator\[.*\]\)\.(add|enter|AddAll)`)},
	{"ids", regexp.MustCompile(`load\.\(\*(taker\)\.(block|batch)|Loader\)\.findSuperseded)$`)},
	{"pairs", regexp.MustCompile(`write\.\(\*Results\)\.pairs$`)},
	{"out", regexp.MustCompile(`write\.\(\*Results\)\.(out|annotated)$`)},
	{"audit", regexp.MustCompile(`write\.\(\*Results\)\.audit$`)},
	{"other outputs", regexp.MustCompile(`write\.\(\*Results\)\.Write$`)},
	{"compare", regexp.MustCompile(`\.(Group|ByMarks|ByGiven)$`)},
	{"summary", regexp.MustCompile(`\.Summary$`)},
}

// serial runs the program with a profile, and prints which processor time is serial.
func serial(program, work string, documents int, args []string) error {
	path := filepath.Join(work, "profile")
	if err := os.Setenv("NEARDUP_CPU_PROFILE", path); err != nil {
		return err
	}
	defer os.Unsetenv("NEARDUP_CPU_PROFILE")
	if _, err := measure(program, args...); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return err
	}
	of, all := map[string]float64{}, 0.0
	for _, s := range p.Sample {
		seconds := float64(s.Value[len(s.Value)-1]) / 1e9
		all += seconds
		if stage := stageOf(s); stage != "" {
			of[stage] += seconds
		}
	}
	million := 1e6 / float64(documents)
	sum := 0.0
	for _, stage := range slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Compare(of[b], of[a]) }) {
		if sum += of[stage]; of[stage]*million >= 0.01 {
			fmt.Printf("    %6.2f s serial  %s\n", of[stage]*million, stage)
		}
	}
	speedUp := func(n float64) float64 { return all / (sum + (all-sum)/n) }
	fmt.Printf("    %6.2f s serial of %.1f s for a million documents: at most %.1f times as fast on 16 processors, %.1f on 64\n", sum*million, all*million, speedUp(16), speedUp(64))
	return nil
}

// stageOf returns the stage of a sample, or "" if it is parallel.
func stageOf(s *profile.Sample) string {
	var functions []string // the innermost first
	for _, l := range s.Location {
		for _, line := range l.Line {
			functions = append(functions, line.Function.Name)
		}
	}
	isWriter := func(f string) bool { return strings.HasSuffix(f, ").inTurns.func1") } // one goroutine for each output
	if len(functions) == 0 || slices.ContainsFunc(functions, workers.MatchString) && !slices.ContainsFunc(functions, isWriter) {
		return ""
	}
	for _, stage := range stages {
		if slices.ContainsFunc(functions, stage.in.MatchString) {
			return stage.name
		}
	}
	for _, f := range slices.Backward(functions) { // the outermost one of the program
		if strings.Contains(f, "neardup") {
			return f
		}
	}
	return functions[len(functions)-1]
}
