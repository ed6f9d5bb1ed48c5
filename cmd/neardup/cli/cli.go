package cli

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode"
)

// This file has what a program does at its start and end, and what it shows to the user.

// Main runs a program and exits with the status that run returns. run creates its files with the
// Outputs it gets. If a signal stops the program, no half-written file is left behind.
func Main(name string, run func(*Outputs) int) {
	var outs Outputs
	// Writing to a closed pipe then returns an error like any other.
	signal.Ignore(syscall.SIGPIPE)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		s := <-stop
		outs.Discard()
		fmt.Fprintf(os.Stderr, "\n%s: stopped: %v\n", name, s)
		if s, ok := s.(syscall.Signal); ok {
			os.Exit(128 + int(s))
		}
		os.Exit(1)
	}()
	os.Exit(run(&outs))
}

// Printable returns the beginning of a text, at most n characters, on one line. It is safe to print
// to a terminal: white space becomes one space, and characters that control or reorder the display
// are dropped.
func Printable(s string, n int) string {
	var b strings.Builder
	space := false
	for i, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			continue
		}
		if n--; n < 0 || i > 10_000 {
			b.WriteString("…")
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}
