// Command gen writes the assembly of internal/kernel for amd64:
//
//	go run -C internal/kernel/gen . [-dir DIR]
//
// Each function of this program makes one file, beside the portable twin of the same name.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	dir := flag.String("dir", "..", "`DIR` for the assembly")
	flag.Parse()
	for _, f := range []struct {
		name string
		make func(c *build.Context)
	}{{"borrow", borrow}, {"rows", rows}, {"values", values}, {"nearavx2", nearAVX2}, {"nearavx512", nearAVX512}, {"lengths", lengths}, {"products", products}, {"units", units}, {"weighted", weighted}, {"words", words}} {
		c := build.NewContext()
		c.ConstraintExpr("!purego")
		f.make(c)
		if err := write(filepath.Join(*dir, f.name+"_amd64.s"), c); err != nil {
			fmt.Fprintf(os.Stderr, "gen: %s: %v\n", f.name, err)
			os.Exit(1)
		}
	}
}

// write compiles what was built and writes it to a file.
func write(path string, c *build.Context) error {
	file, err := c.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	text, err := printer.NewGoAsm(printer.Config{Name: "gen", Argv: []string{"go", "run", "-C", "internal/kernel/gen"}}).Print(file)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

const nosplit = attr.NOSPLIT
