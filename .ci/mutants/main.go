// Command mutants shows what tests do not see. It changes a package in one place, runs tests, and tells whether they fail; then in another place:
//
//	go run ./.ci/mutants [-n 20] [-seed 1] [-timeout 2m] [-tests "./dedup/internal/family ./dedup:TestPinned ./dedup"] ./dedup/internal/family
//
// Tests run in the order of -tests until some fail, so name the fast ones first; PACKAGE:REGEXP runs only some tests of a package.
// The working tree stays as it is (go test -overlay). Places are drawn at random, the same for the same seed and sources. A change is a comparison that
// includes or leaves out equality, == for !=, one side of && or || alone, + for −, a number that is one larger, a nil error, a call whose result
// nobody uses left out, or break for continue. Not every mutant that lives is a fault of the tests: some are equivalent, or only cost time.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A mutant is a change of the bytes from..to of a file.
type mutant struct {
	file     string
	line     int
	from, to int
	with     string
}

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 20, "how many mutants to try")
	seed := flag.Uint64("seed", 1, "draws other places")
	limit := flag.Duration("timeout", 2*time.Minute, "how long the tests may take; a mutant that takes longer is killed")
	tests := flag.String("tests", "", "`PACKAGES` to test, one after the other; by default the package itself")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("mutants: name one package")
	}
	all, err := mutants(flag.Arg(0))
	if err != nil {
		log.Fatal("mutants: ", err)
	}
	rnd := rand.New(rand.NewPCG(*seed, 1))
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	packages := strings.Fields(cmp.Or(*tests, flag.Arg(0)))
	tried, lived := 0, 0
	for _, m := range all {
		if tried == *n {
			break
		}
		said := lives
		for _, tests := range packages {
			if said, err = m.try(tests, *limit); err != nil {
				log.Fatal("mutants: ", err)
			}
			if said != lives {
				break
			}
		}
		if said == "" { // it does not compile
			continue
		}
		if tried++; said == lives {
			lived++
		}
		fmt.Printf("%-40s %s:%d  %s\n", said, m.file, m.line, m)
	}
	fmt.Printf("%d of %d mutants live\n", lived, tried)
}

// mutants returns all mutants of the files of a package, without its tests.
func mutants(folder string) (all []mutant, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return nil, err
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		at := func(p token.Pos) int { return set.Position(p).Offset }
		ast.Inspect(file, func(n ast.Node) bool {
			change := func(from, to token.Pos, with string) {
				all = append(all, mutant{name, set.Position(from).Line, at(from), at(to), with})
			}
			changes(n, func(from, to token.Pos) string { return string(source[at(from):at(to)]) }, change)
			return true
		})
	}
	return all, err
}

// others are the operators that take the place of others.
var others = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==", token.ADD: "-", token.SUB: "+",
}

// changes calls change for all changes of a node itself. text returns the source between two places.
func changes(n ast.Node, text func(from, to token.Pos) string, change func(from, to token.Pos, with string)) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if with, ok := others[n.Op]; ok {
			change(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), with)
		}
		if n.Op == token.LAND || n.Op == token.LOR {
			change(n.Pos(), n.End(), text(n.X.Pos(), n.X.End()))
			change(n.Pos(), n.End(), text(n.Y.Pos(), n.Y.End()))
		}
	case *ast.BasicLit:
		if n.Kind == token.INT {
			change(n.Pos(), n.End(), "("+n.Value+"+1)")
		}
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			if id, ok := result.(*ast.Ident); ok && id.Name == "err" {
				change(id.Pos(), id.End(), "nil")
			}
		}
	case *ast.ExprStmt:
		change(n.Pos(), n.End(), "")
	case *ast.BranchStmt:
		if n.Label == nil && n.Tok == token.BREAK {
			change(n.Pos(), n.End(), "continue")
		}
		if n.Label == nil && n.Tok == token.CONTINUE {
			change(n.Pos(), n.End(), "break")
		}
	}
}

const lives = "LIVES"

// try runs tests with the mutant. It returns what killed it, [lives], or "" if it does not compile.
func (m mutant) try(tests string, limit time.Duration) (said string, err error) {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	changed := slices.Concat(source[:m.from], []byte(m.with), source[m.to:])
	path, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: filepath.Join(dir, "mutant.go")}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "mutant.go"), changed, 0o666), os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o666)); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	name, names, _ := strings.Cut(tests, ":")
	test := exec.CommandContext(ctx, "go", "test", "-failfast", "-short", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "-timeout", limit.String(), "-run", names, name)
	test.WaitDelay = time.Second
	out, err := test.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return lives, nil
	case ctx.Err() != nil:
		return "killed: it takes too long", nil
	case !errors.As(err, &exit):
		return "", fmt.Errorf("go test: %w", err)
	case strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]"):
		return "", nil
	}
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			return "killed: " + name, nil
		}
	}
	return "killed", nil
}

// String returns what the mutant has in the place of what.
func (m mutant) String() string {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return err.Error()
	}
	short := func(s string) string {
		s = strings.Join(strings.Fields(s), " ")
		if len(s) > 60 {
			s = s[:60] + "…"
		}
		return s
	}
	return fmt.Sprintf("%q is %q", short(string(source[m.from:m.to])), short(m.with))
}
