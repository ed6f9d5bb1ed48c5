package cli

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"
	"unicode"
)

// This file has what a program does at its start and end, and what it shows to the user.

// Main runs a program and exits with the status that run returns. run creates its files with the
// Outputs it gets. If a signal stops the program, no half-written file is left behind. The environment variable NEARDUP_CPU_PROFILE
// names a file for a profile of the processor time, which go tool pprof reads.
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
	end, err := profile(os.Getenv("NEARDUP_CPU_PROFILE"))
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: NEARDUP_CPU_PROFILE: %v\n", name, err)
		os.Exit(1)
	}
	status := run(&outs)
	end()
	os.Exit(status)
}

// profile writes a profile of the processor time to a file until the function that it returns is called. It does nothing without a path.
func profile(path string) (end func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, pprof.StartCPUProfile(f)
}

// Count returns a number and what is counted: one for 1, many for other numbers.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Size returns a number of bytes in the unit that people expect.
func Size(bytes int64) string {
	switch {
	case bytes < 1e3:
		return Count(int(bytes), "byte", "bytes")
	case bytes < 1e6:
		return fmt.Sprintf("%.0f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
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
