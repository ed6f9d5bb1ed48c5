package main

import (
	"cmp"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file has the peers that cannot be dependencies of this module: the Go module proxy does not
// have semblance, and rensa is in Rust. Whoever has a clone names its folder with a flag. A program in
// drivers/ is built against the clone in a temporary folder, so the clone is not changed. For each row
// it runs as another process, which gets the data of the row in a file and measures itself. The peer
// becomes a contestant like the others, so it takes its turn in every round.

// drivers has the programs that are built against the clones.
//
//go:embed drivers
var drivers embed.FS

// A task is the work of a row for another process.
type task struct {
	kind string // what to do, or "" if no clone does it
	size int    // how much of the data is one piece of work, as the driver says
	data []byte // numbers of 64 bits in little endian, or a text
}

// A clonedPeer is a peer that is built from a clone.
type clonedPeer struct {
	name  string // also the name of the flag
	url   string
	tool  string // the program that builds the driver
	get   string // where to get it
	has   string // a file that every clone has
	build func(dir, tmp, program string) error
	jobs  []job
}

// A job is something that a driver can do.
type job struct {
	kind string // of the tasks
	name string // of the algorithm, or "" if the peer has only one
	note string // what to know about the comparison
}

var clonedPeers = []clonedPeer{
	{"semblance", "github.com/ophymx/semblance", "go", "https://go.dev", "go.mod", buildSemblance, []job{
		{"simhash", "", "it takes features from an iterator"},
		{"weighted", "", "it takes features from an iterator"},
		{"english", "", ""},
		{"chinese", "", "it takes all characters as they are, and features from an iterator"},
		{"minhash", "", "it makes permutations, in a signature that is there before"},
		{"jaccard", "", ""},
		{"lsh", "", "its ids are strings"},
		{"lookup", "", "its ids are strings"},
		{"join", "", "it has no join; each fingerprint is searched for among those before it"},
	}},
	{"rensa", "github.com/beowolx/rensa", "rustc", "https://rustup.rs", "src/rminhash.rs", buildRensa, []job{
		{"minhash", "R-MinHash", "it makes permutations, in a signature that is there before; what computes is called from Rust, without the way through Python"},
		{"minhash", "C-MinHash", "as R-MinHash, with values of 64 bits"},
	}},
}

// variable names the environment variable with the default of the flag.
func (p clonedPeer) variable() string { return "NEARDUP_" + strings.ToUpper(p.name) }

// A clone is a peer whose driver has been built.
type clone struct {
	clonedPeer
	program string
}

// buildClones builds a driver for each peer that has a folder, and says in words what was built and
// what is left out. A folder without a clone, and a driver that does not build, are errors.
func buildClones(peers []clonedPeer, folders map[string]*string, tmp string) (all []clone, words []string, err error) {
	for _, p := range peers {
		dir := *folders[p.name]
		if dir == "" {
			words = append(words, fmt.Sprintf("%s: left out; give -%s DIR with a clone of %s", p.name, p.name, p.url))
			continue
		}
		if _, err := exec.LookPath(p.tool); err != nil {
			words = append(words, fmt.Sprintf("%s: left out; there is no %s on the PATH; get it from %s", p.name, p.tool, p.get))
			continue
		}
		c, err := p.clone(dir, tmp)
		if err != nil {
			return nil, nil, fmt.Errorf("-%s %s: %w", p.name, dir, err)
		}
		all = append(all, c)
		words = append(words, fmt.Sprintf("%s: %s", p.name, commit(dir)))
	}
	return all, words, nil
}

// clone builds the driver of a peer.
func (p clonedPeer) clone(dir, tmp string) (clone, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return clone{}, err
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(p.has))); err != nil {
		return clone{}, fmt.Errorf("%w; give a clone of %s", err, p.url)
	}
	c := clone{p, filepath.Join(tmp, p.name+".exe")} // Windows runs no other names; the others do not care
	return c, p.build(dir, tmp, c.program)
}

// commit says which commit a clone has checked out.
func commit(dir string) string {
	const unknown = "the commit is not known, since the folder is no repository of git"
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		return unknown
	}
	out, err := exec.Command("git", "-C", dir, "log", "-1", "--format=commit %h of %cs").Output()
	if err != nil {
		return "the commit is not known; git log: " + err.Error()
	}
	return strings.TrimSpace(string(out))
}

// buildSemblance builds the driver inside of the clone, whose go.mod says what it depends on.
func buildSemblance(dir, tmp, program string) error {
	source, err := unpack("semblance.go", dir, tmp)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-o", program, source)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=") // the flags and modules of this repository are not meant
	return output(cmd)
}

// buildRensa compiles the driver with the files of the clone that compute, for this processor. The
// settings are those of rensa's own releases.
func buildRensa(dir, tmp, program string) error {
	stub, err := unpack("pyo3.rs", dir, tmp)
	if err != nil {
		return err
	}
	source, err := unpack("rensa.rs", dir, tmp)
	if err != nil {
		return err
	}
	library := filepath.Join(tmp, "libpyo3.rlib")
	if err := output(exec.Command("rustc", "--edition", "2021", "--crate-name", "pyo3", "--crate-type", "rlib", "-o", library, stub)); err != nil {
		return err
	}
	return output(exec.Command("rustc", "--edition", "2021", "-C", "opt-level=3", "-C", "codegen-units=1", "-C", "target-cpu=native",
		"--extern", "pyo3="+library, "-o", program, source))
}

// unpack writes the source of a driver into a folder, with the folder of the clone where it has {DIR}.
func unpack(name, dir, tmp string) (string, error) {
	source, err := drivers.ReadFile("drivers/" + name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(tmp, name)
	return path, os.WriteFile(path, []byte(strings.ReplaceAll(string(source), "{DIR}", filepath.ToSlash(dir))), 0o666)
}

// output runs a command. What it prints is in the error.
func output(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w; the clone may be older or newer than the driver in drivers/\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// measureWithClones measures a row, with the clones that do its task among the peers.
func measureWithClones(r row, all []clone, tmp string, rounds int) error {
	others, stop, err := contestants(all, r.task, filepath.Join(tmp, "data"))
	defer stop()
	if err != nil {
		return err
	}
	r.peers = append(r.peers, others...)
	return measure(r, rounds)
}

// contestants starts the drivers that do a task. The file gets the data of the task. Call stop in the
// end, after an error, too.
func contestants(all []clone, work task, file string) (others []contestant, stop func(), err error) {
	var running []*process
	stop = func() {
		for _, p := range running {
			p.stop()
		}
	}
	if work.kind == "" || len(all) == 0 {
		return nil, stop, nil
	}
	if err := os.WriteFile(file, work.data, 0o666); err != nil {
		return nil, stop, err
	}
	for _, c := range all {
		for _, j := range c.jobs {
			if j.kind != work.kind {
				continue
			}
			p, err := start(exec.Command(c.program, cmp.Or(j.name, j.kind), strconv.Itoa(work.size), file))
			if err != nil {
				return nil, stop, fmt.Errorf("%s: %w", c.name, err)
			}
			running = append(running, p)
			ask := func(n int) (time.Duration, error) { return p.ask(strconv.Itoa(n)) }
			others = append(others, contestant{name: strings.TrimSpace(c.name + " " + j.name), ask: ask})
		}
	}
	return others, stop, nil
}

// cloneNotes returns what to know about the comparisons with clones in rows of some kinds.
func cloneNotes(all []clone, kinds []string) (notes []string) {
	for _, c := range all {
		for _, j := range c.jobs {
			if j.note != "" && slices.Contains(kinds, j.kind) {
				notes = append(notes, fmt.Sprintf("- %s, %s: %s", c.name, cmp.Or(j.name, j.kind), j.note))
			}
		}
	}
	return notes
}
