// Command rooms measures how much a reader has to hold in mind at once, for .ci/house: go run ./.ci/rooms FILE…
//
// It prints a name, a tab and a number in each line:
//
//   - the largest cycle of files by types, in the repository and in the program: files of one package, each of which names a type that is declared in the
//     next one
//   - the fields and the methods of the largest struct of the program; structs with tags are formats and flags, and do not count
//   - lines of the program and of the service without comments, in per cent of all that are not empty
//
// ROOMS_SAY=1 names them.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
)

// A room is a file.
type room struct {
	name string
	*ast.File
	names map[string]bool // all identifiers in it
}

// A count counts lines.
type count struct{ all, comments int }

func main() {
	set := token.NewFileSet()
	packages := map[string][]*room{}
	lines := map[string]*count{"cmd": {}, "service": {}}
	for _, name := range os.Args[1:] {
		text, err := os.ReadFile(name)
		check(err)
		file, err := parser.ParseFile(set, name, text, parser.ParseComments)
		check(err)
		r := &room{name, file, map[string]bool{}}
		ast.Inspect(file, func(n ast.Node) bool {
			if of, ok := n.(*ast.SelectorExpr); ok { // of what is behind the point, only types of other packages could be meant
				ast.Inspect(of.X, func(n ast.Node) bool { r.note(n); return true })
				return false
			}
			r.note(n)
			return true
		})
		packages[path.Dir(name)] = append(packages[path.Dir(name)], r)
		if c := lines[strings.Split(name, "/")[0]]; c != nil {
			c.add(set, file, string(text))
		}
	}
	cycle, ofProgram, fields, methods := 0, 0, 0, 0
	for dir, rooms := range packages {
		n := largestCycle(rooms)
		cycle = max(cycle, n)
		if strings.HasPrefix(dir, "cmd/") {
			f, m := largestStruct(rooms)
			ofProgram, fields, methods = max(ofProgram, n), max(fields, f), max(methods, m)
		}
	}
	fmt.Printf("files of the largest cycle by types\t%d\n", cycle)
	fmt.Printf("files of the largest cycle by types in cmd\t%d\n", ofProgram)
	fmt.Printf("fields of the largest struct in cmd\t%d\n", fields)
	fmt.Printf("methods of the largest struct in cmd\t%d\n", methods)
	for _, name := range []string{"cmd", "service"} {
		c := lines[name]
		fmt.Printf("lines without comments in %s, per cent\t%d\n", name, 100-100*c.comments/max(c.all, 1))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

func (r *room) note(n ast.Node) {
	if id, ok := n.(*ast.Ident); ok {
		r.names[id.Name] = true
	}
}

// add adds the lines of a file.
func (c *count) add(set *token.FileSet, file *ast.File, text string) {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			c.all++
		}
	}
	has := map[int]bool{}
	for _, group := range file.Comments {
		for _, of := range group.List {
			from, to := set.Position(of.Pos()).Line, set.Position(of.End()).Line
			for ; from <= to; from++ {
				has[from] = true
			}
		}
	}
	c.comments += len(has)
}

// types yields the names of the types of a file, and their declarations.
func (r *room) types(use func(name string, of *ast.TypeSpec)) {
	for _, d := range r.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					use(t.Name.Name, t)
				}
			}
		}
	}
}

// largestCycle returns how many files the largest cycle has; 1 if there is none.
func largestCycle(rooms []*room) int {
	n := len(rooms)
	reaches := make([][]bool, n)
	for i := range reaches {
		reaches[i] = make([]bool, n)
	}
	for j, to := range rooms {
		to.types(func(name string, _ *ast.TypeSpec) {
			for i, from := range rooms {
				reaches[i][j] = reaches[i][j] || i != j && from.names[name]
			}
		})
	}
	for k := range n {
		for i := range n {
			for j := range n {
				reaches[i][j] = reaches[i][j] || reaches[i][k] && reaches[k][j]
			}
		}
	}
	most := 1
	for i := range n {
		size := 0
		for j := range n {
			if i == j || reaches[i][j] && reaches[j][i] {
				size++
			}
		}
		most = max(most, size)
	}
	if os.Getenv("ROOMS_SAY") != "" && most > 1 {
		for i, r := range rooms {
			for j := range rooms {
				if i != j && reaches[i][j] && reaches[j][i] {
					fmt.Fprintln(os.Stderr, r.name)
					break
				}
			}
		}
	}
	return most
}

// largestStruct returns the largest numbers of fields and of methods of a struct without tags.
func largestStruct(rooms []*room) (fields, methods int) {
	is := map[string]bool{}
	for _, r := range rooms {
		r.types(func(name string, of *ast.TypeSpec) {
			s, ok := of.Type.(*ast.StructType)
			if !ok || slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return f.Tag != nil }) {
				return
			}
			is[name] = true
			n := 0
			for _, f := range s.Fields.List {
				n += max(len(f.Names), 1)
			}
			if os.Getenv("ROOMS_SAY") != "" && n > 12 {
				fmt.Fprintln(os.Stderr, r.name, name, n, "fields")
			}
			fields = max(fields, n)
		})
	}
	count := map[string]int{}
	for _, r := range rooms {
		for _, d := range r.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && is[id.Name] {
					if count[id.Name]++; count[id.Name] > 20 && os.Getenv("ROOMS_SAY") != "" {
						fmt.Fprintln(os.Stderr, r.name, id.Name, count[id.Name], "methods")
					}
					methods = max(methods, count[id.Name])
				}
				return true
			})
		}
	}
	return fields, methods
}
