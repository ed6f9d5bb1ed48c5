// Command simhash2013 prints what the Java program of june 2013 prints, byte for byte:
//
//	go run -C lab ./cmd/simhash2013 [-zero]
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/neardup/neardup/lab/program2013"
)

func main() {
	zero := flag.Bool("zero", false, "a sum of 0 gives the bit 0, as the text of june 2013 says; its program gives 1")
	flag.Parse()
	tie := true
	if *zero {
		tie = false
	}
	if err := program2013.Print(os.Stdout, tie); err != nil {
		fmt.Fprintln(os.Stderr, "simhash2013:", err)
		os.Exit(1)
	}
}
