package neardupbeam

import (
	"fmt"
)

// This file joins documents with the groups of their ids, and reports ids that several documents have.

// keepDocuments emits the documents with an id that are to keep. If several documents have the id, all of
// them are kept if one of them is to be kept: nobody can tell by the id which one a group means. That is so
// if a group keeps the id, or if fewer members than documents have it, since then at least one document is
// in no group. It holds all documents of an id in memory, which are few unless the ids are wrong.
func keepDocuments(id []byte, documents, keeps func(*[]byte) bool, emit func(Document), note func(Note)) error {
	drop, inGroups := true, 0
	for keep := []byte(nil); keeps(&keep); inGroups++ {
		if string(keep) == string(id) {
			drop = false
		}
	}
	var all []Document
	for b := []byte(nil); documents(&b); {
		d, err := decodeDocument(b)
		if err != nil {
			return err
		}
		all = append(all, d)
	}
	if len(all) > 1 {
		note(Note{RepeatedID, string(id), fmt.Sprintf("%d documents have this id; all of them are kept, or none", len(all))})
	}
	if drop && inGroups >= len(all) {
		return nil
	}
	for _, d := range all {
		emit(d)
	}
	return nil
}
