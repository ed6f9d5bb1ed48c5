package passages

// This file has the limits of a Finder: the usual lengths, how much it reports of what repeats itself,
// and how much it takes at a time.

// The usual length of a passage. Fifty words are two or three sentences: so many are rarely equal
// unless they were copied (Lee et al. 2022, Deduplicating Training Data Makes Language Models Better,
// section 4.2, who take 50 tokens too). 80 Chinese characters are about as much text.
const (
	usualWords      = 50
	usualCharacters = 80
)

// mostLength is the largest Length in words or characters, so that no sum of weights overflows 32
// bits.
const mostLength = 1 << 15

// mostTokens is how many tokens all documents may have: their numbers have 40 bits.
const mostTokens = 1 << 40

// mostSources is how many places of a passage count as its sources. Nobody who wants to know where a
// text comes from needs more, and the work stays in proportion to the places.
const mostSources = 16

// mostMatchRuns is how many runs a Match has: a text that repeats itself may share any number of runs
// with another one.
const mostMatchRuns = 1000

const (
	perJob    = 64 // documents that a goroutine reads at a time for Passages
	perRead   = 16 // texts that a goroutine reads at a time for AddAll
	mostAhead = 32 // texts, or blocks of the index, that are announced before they are read: a disk reads about as many side by side
)
