package pipeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/cmd/neardup/cli"
)

// This file says which group a document is in, by a name that lasts: the id of the first document that was kept of the group. With --state
// the directory remembers the groups of the documents that are there, in the file groups: a document that joins a group later is in the group
// of that name, also if it is like another member than the first.

// groupOf returns the document that names the group of a document.
func (c *collection) groupOf(i int) int {
	if i >= c.old {
		i = int(c.cluster[i])
	}
	if i < len(c.oldGroups) {
		return int(c.oldGroups[i])
	}
	return i
}

// sizes returns how many documents each group has, at the document that names it. All documents of earlier calls count that --state has; of
// those of --against, the one that is kept.
func (c *collection) sizes() []int32 {
	if c.size == nil {
		c.size = make([]int32, c.docs.Len())
		for i := range c.docs.Len() {
			if i >= c.old || c.oldGroups != nil {
				c.size[c.groupOf(i)]++
			}
		}
		for i := range c.old {
			if c.oldGroups == nil && c.size[i] > 0 {
				c.size[i]++
			}
		}
	}
	return c.size
}

// The file groups has a mark, for each document the number of the one that names its group, and a checksum. Numbers are those of the
// Deduplicator, 4 bytes each, with the lowest byte first. If the document that names a group has gone, or was replaced, the first one that is left names it.
const groupsMark = "neardup groups 1"

// readGroups returns the groups that a directory remembers.
func readGroups(dir string) (groups []uint32, err error) {
	path := filepath.Join(dir, "groups")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cli.InFile(path, err)
	}
	numbers, ok := unsealed(b, groupsMark)
	if !ok || len(numbers)%4 != 0 {
		return nil, fmt.Errorf("%s:1: this is no file of groups, or it is damaged; without it, groups get new names", path)
	}
	for ; len(numbers) > 0; numbers = numbers[4:] {
		groups = append(groups, binary.LittleEndian.Uint32(numbers))
	}
	return groups, nil
}

// setOldGroups sets the groups of the documents of earlier calls, whose numbers are numbers in order.
func (c *collection) setOldGroups(numbers []int, groups []uint32) {
	c.oldGroups = make([]int32, len(numbers))
	heirs := map[uint32]int32{} // of documents that have gone, the first one of their group
	for i, number := range numbers {
		c.oldGroups[i] = int32(i)
		if number >= len(groups) {
			continue
		}
		name := groups[number]
		if root, ok := slices.BinarySearch(numbers, int(name)); ok {
			c.oldGroups[i] = int32(root)
		} else if heir, ok := heirs[name]; ok {
			c.oldGroups[i] = heir
		} else {
			heirs[name] = int32(i)
		}
	}
}

// writeGroups writes the file groups. numbers has those of all documents, old and new.
func (c *collection) writeGroups(dir string, numbers []int) error {
	b := []byte(groupsMark)
	for i, number := range numbers {
		for next := (len(b) - len(groupsMark)) / 4; next < number; next++ {
			b = binary.LittleEndian.AppendUint32(b, uint32(next))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(numbers[c.groupOf(i)]))
	}
	return writeWhole(filepath.Join(dir, "groups"), sealed(b))
}
