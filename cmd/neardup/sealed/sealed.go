// Package sealed writes small files as a whole, with a mark at the beginning and a checksum at the end, so a reader can tell a
// file that is complete from one that is damaged, cut off, or of another kind.
package sealed

import (
	"encoding/binary"
	"errors"
	"os"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/cmd/neardup/cli"
)

// Seal appends the checksum of b, whose first bytes are the mark, to it.
func Seal(b []byte) []byte { return binary.LittleEndian.AppendUint64(b, xxh3.Hash(b)) }

// Open returns what is between the mark and the checksum of a file. It returns false if the file is damaged or has another mark.
func Open(b []byte, mark string) (content []byte, ok bool) {
	n := len(b) - 8
	if n < len(mark) || string(b[:len(mark)]) != mark || xxh3.Hash(b[:n]) != binary.LittleEndian.Uint64(b[n:]) {
		return nil, false
	}
	return b[len(mark):n], true
}

// Write replaces the file at path by one with data. After a failure or a crash the file has what it had before.
func Write(path string, data []byte) error {
	f, err := os.Create(path + ".part")
	if err != nil {
		return cli.InFile(path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(path+".part", path)
	}
	if err != nil {
		os.Remove(path + ".part")
		return cli.InFile(path, err)
	}
	return nil
}
