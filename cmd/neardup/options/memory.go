package options

import (
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

// rowBytes is what a row and its pairs take while they are linked: 2.8 kB of a table of persons with five columns, 6.4 kB of songs, 12 kB of 2,000 publications.
const rowBytes = 10_000

// MostRows returns how many rows are linked at most.
func MostRows(memory int64) int { return int(textfile.Budget(memory) / rowBytes) }

// MostListed returns how many pairs are listed at most: half of the memory is for them.
func MostListed(memory int64) int { return int(textfile.Budget(memory) / 2 / pairBytes) }
