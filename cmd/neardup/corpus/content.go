package corpus

import (
	"strings"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/shard"
)

// This file has what documents are compared by.

// A Content is a text, with its metadata if they count. All documents with this text share it. Its
// mark is made once, so a copy costs only a hash.
type Content struct {
	Mark
	Number  int32  // of the text among the different ones, from 1; 0 if it has none yet
	Blank   bool   // empty or white space: never a copy of another document
	Counted bool   // in the summary
	Length  int32  // of the text, in bytes
	Hash    uint64 // of the text and its metadata
}

// A Mark is what a text is compared by. Which fields are used depends on the method.
type Mark struct {
	Fingerprint neardup.Fingerprint128 // simhash; with 64 bits only Lo is used
	More        *MoreMark              // nil if there is nothing in it
	Empty       bool                   // the text has no features
	Signature   int64                  // minhash: where the signature is in the signatures of the call; 0 if it is in More or there is none
}

// A MoreMark is the part of a mark that few methods need.
type MoreMark struct {
	Signature neardup.Signature // minhash, if the call keeps no signatures
	Metadata  neardup.Set
	Levels    *shard.Signature // auto, for a table of signatures
}

// Compared is the content of all documents that a Deduplicator compares.
var Compared Content

// MarkOf returns the mark of a text with a fingerprint. A text without features has the fingerprint 0.
func MarkOf(fp neardup.Fingerprint128) Mark {
	return Mark{Fingerprint: fp, Empty: fp == neardup.Fingerprint128{}}
}

// IsFeatureless reports whether a content has nothing to compare.
func (t *Content) IsFeatureless() bool {
	return t.Empty || t.More != nil && t.More.Levels != nil && t.More.Levels.IsEmpty()
}

// Contents find the content of a text by the 128-bit hash of the text. There are 64 parts with a lock
// each, so workers rarely wait for each other.
type Contents [64]struct {
	sync.Mutex
	of map[[16]byte]*Content
}

// Claim returns the content for the hash of a text, and whether it is new: then it is the one that is given.
func (c *Contents) Claim(hash [16]byte, given *Content) (*Content, bool) {
	part := &c[hash[0]%64]
	part.Lock()
	defer part.Unlock()
	if known := part.of[hash]; known != nil {
		return known, false
	}
	if part.of == nil {
		part.of = make(map[[16]byte]*Content)
	}
	part.of[hash] = given
	return given, true
}

// IsBlank reports whether a text is empty, or white space.
func IsBlank(text string) bool { return strings.TrimSpace(text) == "" }
