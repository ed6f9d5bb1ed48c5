package client

import "time"

// This file has what goes over the wire. The service makes its OpenAPI description of these types.

// Settings say how a collection finds near-duplicates. They do not change.
type Settings struct {
	Method     string   `json:"method,omitempty" enum:"auto,simhash,minhash" doc:"auto, the default, is the most accurate, and stores the texts; simhash has 64-bit fingerprints, and minhash signatures of 128 bytes"`
	Distance   int      `json:"distance,omitempty" minimum:"1" maximum:"16" doc:"by simhash: in how many bits near-duplicates differ at most; without it 3"`
	Similarity float64  `json:"similarity,omitempty" minimum:"0.1" maximum:"1" doc:"by minhash: how similar near-duplicates are at least; without it 0.8"`
	Store      string   `json:"store,omitempty" doc:"by simhash and minhash: the name of a store that the service was started with; without one they are in files"`
	Expire     Duration `json:"expire,omitempty" doc:"after how long a document is deleted, such as 720h; without it documents stay"`
	Format     int      `json:"format,omitempty" readOnly:"true" doc:"the version of the files, set by the service"`
}

// A Duration is a [time.Duration] that is text in JSON, such as 720h or 90m.
type Duration struct{ time.Duration }

// MarshalText implements [encoding.TextMarshaler].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
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
	Documents int      `json:"documents" doc:"how many are stored; -1 if the store does not know"`
	Bytes     int64    `json:"bytes" doc:"of its files"`
}

// Collections are those of a service that a token may read.
type Collections struct {
	Collections []Info `json:"collections"`
}

// A Document is a text with an id.
type Document struct {
	ID   string `json:"id" minLength:"1" maxLength:"1024" doc:"up to 1024 bytes of UTF-8 without the byte 0"`
	Text string `json:"text" doc:"the whole text; what has no letters and digits is a near-duplicate of nothing"`
}

// A Match is a stored near-duplicate of a text.
type Match struct {
	ID          string  `json:"id" doc:"of the stored document"`
	Similarity  float64 `json:"similarity" doc:"from 0 to 1: by the method auto the share of the features in common, by minhash its estimate, by simhash 1 minus the share of the bits that differ"`
	Probability float64 `json:"probability,omitempty" doc:"that the two are near-duplicates, by the method auto"`
	Kind        string  `json:"kind,omitempty" doc:"how they differ, by the method auto: identical, same-words, same-form, same-except-numbers, contained or revised"`
	Distance    *int    `json:"distance,omitempty" doc:"in how many bits the fingerprints differ, by the method simhash"`
}

// Found are the near-duplicates of a text.
type Found struct {
	Matches []Match `json:"matches" doc:"the most probable or nearest first"`
	More    bool    `json:"more,omitempty" doc:"there are more of them than were asked for"`
}

// A Decision is what was done with a text.
type Decision struct {
	ID    string `json:"id"`
	Added bool   `json:"added" doc:"it has been stored, since it has no near-duplicate and its id was not there"`
	Found
}

// A Stored document is what is known of it.
type Stored struct {
	ID          string `json:"id"`
	Number      int    `json:"number,omitempty" doc:"how many documents were added before it, by the method auto"`
	Length      int    `json:"length,omitempty" doc:"characters, by the method auto"`
	Text        string `json:"text,omitempty" doc:"as it is compared, by the method auto: after normalizing, and of equal documents that of the first one"`
	Fingerprint string `json:"fingerprint,omitempty" doc:"64 bits in hexadecimal digits, by the method simhash"`
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
	Reasons     []Quantity `json:"reasons" doc:"what the probability comes from: their sum and the constant are the logarithm of the odds"`
	Constant    float64    `json:"constant"`
}

// A Quantity is one reason of a probability.
type Quantity struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Adds  float64 `json:"adds" doc:"to the logarithm of the odds"`
}

// An Order is a line of a batch.
type Order struct {
	Op    string  `json:"op" enum:"put,put-if-new,search,delete"`
	ID    string  `json:"id,omitempty" doc:"of all but a search, where it is only repeated"`
	Text  *string `json:"text,omitempty" doc:"of all but delete"`
	Limit int     `json:"limit,omitempty" doc:"how many matches are listed at most; without it 10"`
}

// An Outcome is the answer to a line.
type Outcome struct {
	ID      string  `json:"id,omitempty"`
	Added   bool    `json:"added,omitempty" doc:"the text has been stored"`
	Deleted bool    `json:"deleted,omitempty" doc:"the document was there"`
	Matches []Match `json:"matches,omitempty"`
	More    bool    `json:"more,omitempty"`
	Error   string  `json:"error,omitempty" doc:"why the line was not done; the others were"`
}

// A Group is a line of the groups.
type Group struct {
	IDs []string `json:"ids"`
}

// A Decided is a decision of before.
type Decided struct {
	At         time.Time `json:"at"`
	Collection string    `json:"collection"`
	Op         string    `json:"op"`
	ID         string    `json:"id,omitempty"`
	Added      bool      `json:"added"`
	Match      *Match    `json:"match,omitempty" doc:"the best one"`
}

// Deleted says how many documents were deleted.
type Deleted struct {
	Deleted int `json:"deleted"`
}

// NoDocument is what the service says of a document that is not there.
const NoDocument = "there is no such document"
