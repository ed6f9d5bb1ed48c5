package dedup

// This file has all limits of a Deduplicator: which part of Options.Memory each thing may take, and
// how many documents it compares, tries or shows where there are too many for all of them. None of
// the shares changes an answer. The limits for crowds do, and say what they were chosen by.

// Each of these is one part in so many of Options.Memory. What takes more goes to temporary files, or
// is made again when it is needed. The neighbours and the judge have shares of their own.
const (
	bodyShare   = 8  // texts and signatures: only those that are compared are read again, so more would save little
	edgeShare   = 16 // pairs that were found, so that Groups after Pairs need not compare again
	atOnceShare = 32 // a batch of texts of AddAll, of which there are two, and a copy of one that is being written
	wholeShare  = 64 // texts that a goroutine compares with each other at once
	numberShare = 64 // each kind of number that is known of documents; most are read in the order of documents, if at all
)

const (
	leastBodies     = 1 << 20 // of bodyShare
	mostBodies      = 64 << 20
	mostForSearches = 1 << 30 // of what searches have made of texts: most texts are looked at by one search alone

	edgeBytes = 32 // about what a pair takes
	readBytes = 16 // about what a text takes for each of its bytes when it is compared
)

// A goroutine compares perJob contents at a time. If they are connected with others, and all of these
// fit into wholeShare, it compares up to mostWhole, so that no text is read twice.
const (
	perJob    = 64
	mostWhole = 256
)

// fewSearched is how many documents there must be for each new one, so that the new ones are searched
// for instead of listing the neighbours of all. Groups of 100,000 English documents take 0.06 s by
// searches and 0.11 s by lists if one in 100 is new, the same if one in 32 is, and 0.25 and 0.19 s if
// one in 16 is.
const fewSearched = 32

// To compare all pairs of a crowd would take forever: 20,000 pages of one template have 200 million
// pairs. So Groups around centres, and Families, compare a content with its nearest neighbours only,
// until mostMissed in a row are not near-duplicates, or with mostForms, which are enough to show what
// all have in common. All versions of a page are found, because they are near-duplicates of the
// first one, and the time grows with the number of pages. Pairs compares all neighbours.
const (
	mostMissed = 32 // with 16 and with 64 the groups of all 24 collections are the same
	mostForms  = 32
)

// mostOld is with how many old contents a new one in a crowd is compared: it joins the most similar
// one, and each takes a millisecond or two.
const mostOld = 16

// A search in a crowd also looks at the nearest ones, until it has found as many as the caller wants,
// or mostFound, or until mostMissedBySearch in a row were not near-duplicates. That is fewer than for
// groups, because somebody waits, and each takes 2 ms.
const (
	mostFound          = 64
	mostMissedBySearch = 16
)

// mostTries is how many members Groups tries to keep before it keeps the one that represents the
// group. Each try compares one member with all others.
const mostTries = 8

const (
	leastFamily = 4    // members: fewer do not show what is filled in
	mostShown   = 8    // members whose texts tell what all have in common
	mostFilled  = 2000 // bytes of what is filled in that are shown
)
