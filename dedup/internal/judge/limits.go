package judge

// This file has the limits of a judge: which part of the memory each thing may take, and how many
// contents it looks at.

// Each of these is one part in so many of the memory. What takes more is forgotten, and read or made
// again when it is needed.
const (
	textShare  = 16 // texts as words, which take the longest to make
	placeShare = 32 // places of contents in their neighbourhoods
	formShare  = 32 // forms of neighbourhoods
	ownShare   = 64 // what each worker keeps for itself
)

// mostSpare is the size in bytes up to which a worker is kept for the next search.
const mostSpare = 4 << 20

// MostNeighbours is how many neighbours a content may have that is compared with all of them. With
// more, it is in a crowd.
const MostNeighbours = 256

// In a crowd, hundreds of contents may be nearer to a content than its near-duplicates are, such as
// those that were changed in the same place. So every beforeRandom-th one that Nearest yields first is
// drawn at random, up to mostRandom of them.
const (
	mostRandom   = 16
	beforeRandom = 4
)

// mostStale is up to how many changes of its neighbourhood a place is kept as it was. A place is kept
// without the guest of a search, so one or two changes are usual.
const mostStale = 8

// leastMany is how many documents show a template. Fewer show none, as they show no form.
const leastMany = 4

// mostForms is how many documents of a neighbourhood show whether it has forms: so many that most
// documents can fill in a slot differently and four ways are still seen.
const mostForms = 16
