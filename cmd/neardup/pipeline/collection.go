package pipeline

import (
	"fmt"
	"io"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/cmd/neardup/input"
	"github.com/neardup/neardup/dedup/shard"
)

// This file has what a call knows of its documents, and what it says of how they were read. load.go loads them, and
// group.go and auto.go group them.

// A collection has the documents of a call, the old ones first.
type collection struct {
	stderr  io.Writer // for what a quiet call does not say
	errors  io.Writer
	version string // of the fingerprints

	Sources    []input.Source
	oldSources int
	docs       documents
	oldGroups  []int32 // with --state, for each old document the one that names its group
	old        int     // as many of the first documents are of old sources
	bytes      int64
	bad        int
	dropped    int                  // documents without text that are left out
	repeated   int                  // documents that are left out since another one has their id
	byPlace    int                  // how many documents have no id
	has        uint64               // the fields that any document has; see [input.Document]
	garbled    map[int32]garbled    // by the numbers of the sources
	texts      []uint64             // hashes of the texts of new documents, with the methods auto and cosine
	superseded map[input.Place]bool // those of which another one of their ids comes later; only with --same-id last
	passed     []string             // files of other formats in directories
	hidden     []string             // hidden files and folders there
	cols       input.Columns
	progress   *progress

	method  *method
	take    func(d *stored, b *batch, i int) error // if set, it gets the documents, with their place in a batch, instead of docs
	feed    *feed                                  // if set, it gets the texts
	part    *partWriter                            // with --shard
	signer  *shard.Signer                          // if set, documents get signatures
	exact   *exact                                 // with the methods auto and cosine
	cluster []int32                                // for each document, the number of the document that its group keeps
	size    []int32                                // see sizes
	like    map[int]pair                           // for each document that is not kept, it and the one that is
	pairs   []pair

	mostListed int // so many are listed at most
}

// stored is what the program keeps of a document.
type stored struct {
	input.Place
	offset  int64 // where it begins in the source
	ID      string
	length  int32 // of the text, in characters; only with --keep longest, and of old documents with --state
	content *content
}

// A content is a text, with its metadata if they count. All documents with this text share it. Its
// mark is made once, so a copy costs only a hash.
type content struct {
	mark
	number  int32  // of the text among the different ones, from 1; 0 if it has none yet
	blank   bool   // there is no text, so no document is a copy of another
	counted bool   // in the summary
	length  int32  // of the text, in bytes
	hash    uint64 // of the text and its metadata
}

// A pair is two documents by number. The value is that of nearPair.
type pair struct {
	i, j        uint32
	value       float64
	probability float64      // that they are near-duplicates; 0 with other methods than auto and cosine
	kind        neardup.Kind // the same
}

// compared is the content of all documents that a Deduplicator compares.
var compared = content{mark: mark{exact: true}}

// likeOf returns what was found of a document that is removed and the one that is kept, and whether they were compared: others may
// connect them.
func (c *collection) likeOf(i int) (p pair, ok bool) {
	p, ok = c.like[i]
	return p, ok && (p.probability > 0 || c.exact == nil)
}

// alone makes each document a group of its own.
func (c *collection) alone() {
	c.cluster, c.like = make([]int32, c.docs.Len()), map[int]pair{}
	for i := range c.cluster {
		c.cluster[i] = int32(i)
	}
}

// at returns a place as text: file:line, or "" if it is none.
func (c *collection) at(p input.Place) string {
	if p == input.NoPlace {
		return ""
	}
	return fmt.Sprintf("%s:%d", c.Sources[p.Source].Path, p.Line)
}

// duplicates returns how many new documents are not kept.
func (c *collection) duplicates() (n int) {
	for i := c.old; i < c.docs.Len(); i++ {
		if int(c.cluster[i]) != i {
			n++
		}
	}
	return n
}
