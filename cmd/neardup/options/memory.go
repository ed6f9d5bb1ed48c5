package options

import (
	"fmt"
	"runtime/debug"

	"github.com/neardup/neardup/internal/textfile"
)

// This file says how much memory a call may use, and for what.

// LimitMemory makes the garbage collector keep the program below nine tenths of --memory, until end is called. Without --memory, the limit is three quarters
// of the machine's memory, or of the smallest limit of a control group. A lower GOMEMLIMIT stays.
func LimitMemory(memory int64) (end func()) {
	most := memory * 9 / 10
	if memory == 0 {
		most = textfile.Machine() * 3 / 4 // half of which is the budget; the rest is for what the system keeps of files
	}
	before := debug.SetMemoryLimit(-1)
	if most == 0 || most >= before {
		return func() {}
	}
	debug.SetMemoryLimit(most)
	return func() { debug.SetMemoryLimit(before) }
}

// Room returns how many bytes a reader of a file may take for what the file says about itself: a quarter of what a call may use.
func Room(memory int64) int64 { return textfile.Budget(memory) / 4 }

// MachineMemory returns the memory of the machine in bytes, or 0.
func MachineMemory() float64 { return float64(textfile.Machine()) }

// pairBytes is what a pair takes while a list grows: 32 bytes in the old list, and a quarter more in the new one.
const pairBytes = 72

// rowBytes is what a row of few words and its pairs take while rows are linked: 1.7 kB of persons with five columns, 4 kB of songs. textBytes is what a byte of long rows
// takes: of 30,000 publications with abstracts, 14.
const (
	rowBytes  = 2000
	textBytes = 14
)

// CanLink returns an error if rows that have so many bytes together, and their pairs, do not fit in memory.
func (o *Options) CanLink(rows int, bytes int64) error {
	need := max(int64(rows)*rowBytes, bytes*textBytes)
	if need <= textfile.Budget(o.Memory) {
		return nil
	}
	return fmt.Errorf("%d rows and their pairs take about %d MB, which do not fit in --memory; raise it, or compare by a fixed schema, --schema -", rows, need>>20)
}

// MostListed returns how many pairs are listed at most: half of the memory is for them.
func MostListed(memory int64) int { return int(textfile.Budget(memory) / 2 / pairBytes) }
