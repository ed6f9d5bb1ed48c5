package client

import "time"

// This file has what goes over the wire. The service makes its OpenAPI description of these types.
//
// The tags are the schema too: huma checks requests by them, and refuses a request with a field that is not
// here.

// Settings say how a collection finds near-duplicates. They do not change. Fields with the zero value mean
// the default, and the service fills them in when it makes the collection. They must be comparable: the
// service compares them by ==.
type Settings struct {
	Method     string   `json:"method,omitempty" enum:"auto,simhash,minhash" doc:"auto, the default, is the most accurate, and stores the texts; simhash has 64-bit fingerprints, and minhash signatures of 128 bytes"`
	Distance   int      `json:"distance,omitempty" minimum:"1" maximum:"16" doc:"simhash: the largest number of bits in which near-duplicates differ; the default is 3"`
	Similarity float64  `json:"similarity,omitempty" minimum:"0.1" maximum:"1" doc:"minhash: the smallest similarity of near-duplicates; the default is 0.8"`
	Store      string   `json:"store,omitempty" doc:"simhash and minhash: the name of a store that the service was started with; by default the collection is kept in files"`
	Expire     Duration `json:"expire,omitempty" doc:"how long to keep documents before they are deleted, such as 720h; by default they are kept forever"`
	Format     int      `json:"format,omitempty" readOnly:"true" doc:"the version of the files, set by the service"`
}

// A Duration is a [time.Duration] that is text in JSON, such as 720h or 90m.
type Duration struct{ time.Duration }

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. An empty text is 0.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		d.Duration = 0
		return nil
	}
	d.Duration, err = time.ParseDuration(string(text))
	return err
}

// An Info says what a collection is.
type Info struct {
	Name      string   `json:"name"`
	Settings  Settings `json:"settings"`
	Documents int      `json:"documents" doc:"the number of stored documents; -1 if the store does not know it"`
	Bytes     int64    `json:"bytes" doc:"the size of its files"`
}

// Collections are those of a service that a token may read.
type Collections struct {
	Collections []Info `json:"collections"`
}

// A Document is a text with an id.
type Document struct {
	ID   string `json:"id" minLength:"1" maxLength:"1024" doc:"up to 1024 bytes of UTF-8, without NUL bytes"`
	Text string `json:"text" doc:"the whole text; a text without letters and digits has no near-duplicates"`
}

// A Match is a stored near-duplicate of a text.
type Match struct {
	ID          string  `json:"id" doc:"the id of the stored document"`
	Similarity  float64 `json:"similarity" doc:"from 0 to 1; auto: the share of features in common; minhash: an estimate of that share; simhash: 1 minus the share of bits that differ"`
	Probability float64 `json:"probability,omitempty" doc:"auto: the probability that the two are near-duplicates"`
	Kind        string  `json:"kind,omitempty" doc:"auto: how the two differ: identical, same-words, same-form, same-except-numbers, contained or revised"`
	Distance    *int    `json:"distance,omitempty" doc:"simhash: the number of bits in which the fingerprints differ"`
}

// Found are the near-duplicates of a text. Matches is never null in an answer.
type Found struct {
	Matches []Match `json:"matches" doc:"the most probable or nearest first"`
	More    bool    `json:"more,omitempty" doc:"there are more matches than were requested"`
}

// A Decision is what was done with a text. If the id was in use, Added is false and there are no matches.
type Decision struct {
	ID    string `json:"id"`
	Added bool   `json:"added" doc:"the text was stored, because it has no near-duplicate and its id was not in use"`
	Found
}

// A Stored is what is known about a stored document.
type Stored struct {
	ID          string `json:"id"`
	Number      int    `json:"number,omitempty" doc:"auto: the number of documents that were added before it"`
	Length      int    `json:"length,omitempty" doc:"auto: the number of characters"`
	Text        string `json:"text,omitempty" doc:"auto: the text as it is compared, that is, normalized; equal documents have the text of the first one"`
	Fingerprint string `json:"fingerprint,omitempty" doc:"simhash: the 64 bits as hexadecimal digits"`
}

// A Pair is two stored documents, and why they are near-duplicates, or not.
type Pair struct {
	A           Stored     `json:"a"`
	B           Stored     `json:"b"`
	Duplicate   bool       `json:"duplicate" doc:"they are near-duplicates"`
	Compared    bool       `json:"compared" doc:"they have enough in common to be compared in a search"`
	Similarity  float64    `json:"similarity"`
	Probability float64    `json:"probability"`
	Kind        string     `json:"kind"`
	Reasons     []Quantity `json:"reasons" doc:"the reasons for the probability; the constant plus what they add is the logarithm of the odds"`
	Constant    float64    `json:"constant"`
}

// A Quantity is one reason for a probability.
type Quantity struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Adds  float64 `json:"adds" doc:"what it adds to the logarithm of the odds"`
}

// An Order is a line of a batch. Text is a pointer, because an empty text is not the same as none.
type Order struct {
	Op    string  `json:"op" enum:"put,put-if-new,search,delete"`
	ID    string  `json:"id,omitempty" doc:"required for all operations except search, which only repeats it in its answer"`
	Text  *string `json:"text,omitempty" doc:"required for all operations except delete"`
	Limit int     `json:"limit,omitempty" doc:"the largest number of matches to list; the default is 10"`
}

// An Outcome is the answer to a line.
type Outcome struct {
	ID      string  `json:"id,omitempty"`
	Added   bool    `json:"added,omitempty" doc:"the text has been stored"`
	Deleted bool    `json:"deleted,omitempty" doc:"the document existed"`
	Matches []Match `json:"matches,omitempty"`
	More    bool    `json:"more,omitempty"`
	Error   string  `json:"error,omitempty" doc:"why this line was not processed; it does not affect the others"`
}

// A Group is a line of the groups.
type Group struct {
	IDs []string `json:"ids"`
}

// A Decided is an earlier decision. The service remembers the last hundred, until it ends.
type Decided struct {
	At         time.Time `json:"at"`
	Collection string    `json:"collection"`
	Op         string    `json:"op"`
	ID         string    `json:"id,omitempty"`
	Added      bool      `json:"added"`
	Match      *Match    `json:"match,omitempty" doc:"the best match"`
}

// Deleted says how many documents were deleted.
type Deleted struct {
	Deleted int `json:"deleted"`
}

// NoDocument is what the service says about a document that does not exist.
const NoDocument = "there is no such document"
