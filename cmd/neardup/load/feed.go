package load

import (
	"iter"

	"github.com/neardup/neardup"
)

// This file passes documents on, so somebody takes them while others are loaded.

// A Feed passes documents on to a goroutine.
type Feed struct {
	documents chan []Taken
	done      chan struct{}
	err       error // valid once done is closed
}

// NewFeed returns a feed to take, which gets the documents in order and must read all of them, also after an error.
func NewFeed(take func(documents <-chan []Taken) error) *Feed {
	f := &Feed{documents: make(chan []Taken, 4), done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.err = take(f.documents)
	}()
	return f
}

// Take passes documents on. It has no error: Finish returns it.
func (f *Feed) Take(some []Taken) error {
	if len(some) > 0 {
		f.documents <- some
	}
	return nil
}

// Finish waits until all documents have been taken, and returns the error.
func (f *Feed) Finish() error {
	close(f.documents)
	<-f.done
	return f.err
}

// Each yields what of returns for the documents that are to be added, with the ids that id returns.
func Each[ID, D any](documents <-chan []Taken, id func(t Taken) (ID, bool), of func(t Taken) D) iter.Seq2[ID, D] {
	return func(yield func(ID, D) bool) {
		goOn := true
		for some := range documents { // read all, also after an error, so that Take never blocks for ever
			for _, t := range some {
				if id, ok := id(t); ok {
					goOn = goOn && yield(id, of(t))
				}
			}
		}
	}
}

// Number returns the number of a document: all are to be added.
func Number(t Taken) (int, bool) { return t.Number, true }

// Document returns what is compared of a document.
func Document(t Taken) neardup.Document {
	if t.Record != nil {
		return t.Record
	}
	return neardup.Text(t.Text)
}

// Text returns the text of a document.
func Text(t Taken) string { return t.Text }
