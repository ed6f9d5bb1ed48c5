package neighbour

import "math"

// This file has the limits of a graph: which part of the memory each thing may take, and from which
// size on something is done in another way. None of them changes which neighbours are found, except
// UsualLimit.

// Each of these is one part in so many of the memory of a graph. What takes more goes to temporary
// files.
const (
	sketchShare = 8   // sketches, which are read in any order
	keyShare    = 16  // keys of bands that are not yet in a run; they are read in order
	runShare    = 16  // the longest run; all others together take about as much
	slotShare   = 128 // slots of ordinals, and ordinals of slots

	listShare   = 8 // pairs that a join has found
	bandShare   = 8 // the list of a band during a join
	bucketShare = 8 // sketches of the buckets that are compared at once
)

const (
	leastMemory = 1 << 20 // of sketchShare and keyShare
	mostKeys    = 64 << 20
)

// UsualLimit is how many contents of a bucket are compared with one another. Comparing so many takes a
// millisecond. In a larger bucket, a crowd, only those in the window of a content are compared with
// it.
const (
	UsualLimit Limit = 8192
	NoLimit    Limit = math.MaxInt32
)

// A bucket of more than leastKept is kept for searches if it is dense: if an eighth of denseSamples
// pairs in it are neighbours. To list the pairs of such buckets would take more memory than they do.
const (
	leastKept    = 1024
	denseSamples = 64
)

const (
	perJob      = 32      // signatures that a goroutine takes at a time
	fewUnsorted = 256     // signatures that are not worth a run: looking at all of them takes as long as looking into one
	mostAtOnce  = 1 << 15 // signatures that are sorted while everybody waits: about 20 milliseconds

	leastLooked = 10      // the least size of a table of what was looked at, as a power of two
	mostBits    = 1 << 23 // ordinals up to which a set of bits, which takes a megabyte, is used instead of a table
)

// Most is how many neighbours make the neighbourhood of a content: enough to tell what many of them
// share from what few share, and few enough to be read soon.
const Most = 64
