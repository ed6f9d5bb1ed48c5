package textfile

import (
	"cmp"
	"sync"
)

// Machine returns the memory of the machine in bytes, or less if the system limits this process to less. It
// returns 0 if that cannot be found out.
func Machine() int64 { return machine() }

// Budget returns how much memory may be used: the given number of bytes, or if that is 0 half of the memory of the machine,
// or a gigabyte if that cannot be found out.
func Budget(said int64) int64 { return cmp.Or(said, Machine()/2, 1<<30) }

// machine asks the system once.
var machine = sync.OnceValue(physical)
