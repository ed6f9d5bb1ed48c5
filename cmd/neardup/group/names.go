package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/cmd/neardup/cli"
	"github.com/neardup/neardup/cmd/neardup/sealed"
)

// This file keeps the names of groups for later calls (--state).

// The file groups has a mark, for each document the number of the one that names its group, and a checksum. Numbers are those of the
// Deduplicator, 4 bytes each, with the lowest byte first. If the document that names a group has gone, or was replaced, the first one that is left names it.
const groupsMark = "neardup groups 1"

// readNames returns the groups that a directory remembers.
func readNames(dir string) (groups []uint32, err error) {
	path := filepath.Join(dir, "groups")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cli.InFile(path, err)
	}
	numbers, ok := sealed.Open(b, groupsMark)
	if !ok || len(numbers)%4 != 0 {
		return nil, fmt.Errorf("%s:1: this is not a groups file, or it is damaged. If you delete it, the groups get new names", path)
	}
	for ; len(numbers) > 0; numbers = numbers[4:] {
		groups = append(groups, binary.LittleEndian.Uint32(numbers))
	}
	return groups, nil
}

// namesOf returns, for each document of earlier calls, the one that names its group. Their numbers are numbers in order.
func namesOf(numbers []int, groups []uint32) []int32 {
	names := make([]int32, len(numbers))
	heirs := map[uint32]int32{} // of documents that have gone, the first one of their group
	for i, number := range numbers {
		names[i] = int32(i)
		if number >= len(groups) {
			continue
		}
		name := groups[number]
		if root, ok := slices.BinarySearch(numbers, int(name)); ok {
			names[i] = int32(root)
		} else if heir, ok := heirs[name]; ok {
			names[i] = heir
		} else {
			heirs[name] = int32(i)
		}
	}
	return names
}

// writeNames writes the file groups. numbers has those of all documents, old and new.
func writeNames(dir string, g *Groups, numbers []int) error {
	b := []byte(groupsMark)
	for i, number := range numbers {
		for next := (len(b) - len(groupsMark)) / 4; next < number; next++ {
			b = binary.LittleEndian.AppendUint32(b, uint32(next))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(numbers[g.Of(i)]))
	}
	return sealed.Write(filepath.Join(dir, "groups"), sealed.Seal(b))
}
