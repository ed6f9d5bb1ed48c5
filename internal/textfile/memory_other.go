//go:build !linux && !darwin

package textfile

// physical returns 0: it is not known how to ask for the memory of the machine.
func physical() int64 { return 0 }
