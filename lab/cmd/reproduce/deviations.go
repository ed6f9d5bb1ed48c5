package main

// This file writes the table of everything in which the experiments differ from the papers.

// A deviation is something that is not as in the paper, or that the paper leaves open.
type deviation struct {
	experiment string
	paper      string // what the paper has or leaves open
	here       string
	why        string
	effect     string // if it begins with @, what the experiment noted under this name
}

// note keeps a result for the table of deviations.
func (l *lab) note(name, result string) {
	if l.noted == nil {
		l.noted = map[string]string{}
	}
	l.noted[name] = result
}

// deviationTable writes the deviations of the experiments that were run.
func (l *lab) deviationTable(chosen []experiment) {
	l.section(2, "What differs from the papers")
	l.text("Every reading of something that a paper leaves open, everything that could not be had, and every slip of a paper, with the effect that was measured here. \"Lost\" is what neither the paper nor its public copies have.")
	var rows [][]string
	for _, d := range deviations {
		ran := d.experiment == "all"
		for _, e := range chosen {
			ran = ran || e.name == d.experiment
		}
		if !ran {
			continue
		}
		effect := d.effect
		if effect[0] == '@' {
			if effect = l.noted[effect[1:]]; effect == "" {
				panic("nothing is noted as " + d.effect)
			}
		}
		rows = append(rows, []string{d.experiment, d.paper, d.here, d.why, effect})
	}
	l.table([]string{"experiment ", "the paper ", "here ", "why ", "effect "}, rows)
}

var deviations = []deviation{
	{"all", "its own data", "other collections, and copies of their texts edited on purpose", "lost", "values of the papers and of this report do not compare; the methods in one table do"},
	{"all", "`detected` and `right` are not defined", "a document is detected if any other is found similar to it, and right if one of its own group is", "Wang 2019 counts those of the right topic; our own group is stricter", "pairs that chain groups together count as right once their documents have one right partner"},
	{"all", "other documents may have near-duplicates of their own", "articles that share a fifth of their text with another are taken out", "what is planted is then all there is to be found", "precision is higher than on raw collections; \"What is alike without being planted\" has them"},
	{"all", "NLPIR (Wang 2019), IK Analyzer with a lexicon of Sogou (Li 2015), ICTCLAS (Zhang 2020), none named (Wang 2016)", "the dictionary of gse", "not to be had as Go modules", "\"How much the segmenter matters\" in E004"},
	{"all", "F1 is not given", "given", "one number to compare by", "none"},
	{"all", "machines of 2013 to 2019, Java, C++ or Python", "Go on the machine named above", "not to be had", "times compare within a table only"},

	{"E000", "four paragraphs of a paper", "an article, an edited copy, two articles", "lost", "@E000 texts"},
	{"E000", "\"similarity\" of two fingerprints is not defined", "the ratio of the smaller to the larger, beside 1 − H/f and cos(πH/f)", "its values fit no distance, and the Python class of the time has this ratio", "@E000 ratio"},
	{"E000", "a sum of 0 gives 1 in the prose, 0 in the steps", "both, in columns of their own", "it contradicts itself", "the table of four texts"},
	{"E000", "a program in C++ with 50 bits, one in Python with 128", "the low 50 bits, and 128 bits, of one hash", "products that overflow keep their low bits, so this is the same number", "none"},
	{"E000", "fingerprint 1001, and 3 as the last product", "1000 and −3", "slips", "none: both ways still agree"},
	{"E000", "its flow removes stop words; its 0.405 for unrelated texts suggests that they stayed", "cosines with and without, fingerprints with", "it contradicts itself", "@E000 stop"},
	{"E000", "hash of its programs, and weights", "`s001`, counts", "the Python class of that time has them", "not measured"},
	{"E000", "\"> 1\" for \"> 0\" of a plane, \"≥ 1\" and \"≤ 0\" of a sum, \"Sandom\", reference 6 for 7, 1969 for 1975", "what is meant", "slips", "none"},

	{"E001", "a Java program", "the same in Go, statement by statement", "Go is what this repository has", "none: the output is the same"},
	{"E001", "a sum of 0 gives 1 in the code, 0 in its comment and the text", "both", "it contradicts itself", "@E001 tie"},
	{"E001", "`subByDistance` forgets blocks of fingerprints with leading zeros", "only in `program2013`; indexes have all blocks", "a fault", "with it an index would miss neighbours"},
	{"E001", "bits are printed from the lowest, so blocks are reversed; one line of the listing is damaged", "the same; the line is mended", "what the program prints", "none on distances"},
	{"E001", "2³⁴ is \"about 1 billion\"", "17.2 billion", "a slip", "none"},
	{"E001", "messages of city names, matrices of them", "other messages of the same names", "lost", "@E001 cities"},
	{"E001", "which similarity of messages is not said", "Jaccard, with Dice and cosine beside it", "its values fit Jaccard best", "as cosines the three values would be at 17, 13 and 7 bits instead of 13, 7 and 4"},
	{"E001", "short messages, share misjudged", "labelled questions, and edited copies", "lost", "two tables and figures instead of one figure; shares missed and wrong are given at 3 and at the best threshold"},

	{"E001", "hash and words of its short texts", "xxh3, a sum of 0 gives 0; characters, pairs of characters and words", "its figure is lost; this hash has no dead bits", "not measured with s001"},

	{"E002", "five topics of 1,000 with 5,000 others", "each topic with 500 among the other articles of `zh-topics`", "the other Chinese collections have near-duplicates of their own, or are of one kind", "@E002 others"},
	{"E002", "keywords, tags, references", "five words with the largest TF-IDF, and the topic; a tenth is exchanged in variants", "the articles have none", "metadata that follow the text as these do may help more than real ones"},
	{"E002", "eq. 1 is an image that is lost", "μ/(H+1) + (1−μ)·minHash", "\"+1 so that the score is not infinite\" forces it", "none known"},
	{"E002", "similar if the score is less than 0.25", "at least 0.25", "a slip: unrelated documents score 0.027", "@E002 literally"},
	{"E002", "len(x) is \"normalised\"", "1 at the peak of the curve", "the usual meaning, and needs no data", "@E002 scale"},
	{"E002", "10,000 keywords of the CSSCI", "its curve in the weights; other keywords for the fit", "lost", "@E002 fit"},
	{"E002", "idf: whether 1 is added is not said", "ln(N/df)", "its words explain N and df only", "words of every document weigh 0, instead of a little less than 0"},
	{"E002", "rows of the matrix 0 to 5 for five letters", "0 to 4: signatures 1, 2, 0, 0 and 1, 0, 1, 2 (`go test -C lab ./baseline`)", "a slip", "rows 1 to 5 would give 2, 0, 0, 0 and 0, 0, 1, 1"},
	{"E002", "(x+i) mod 100 as a hundred functions", "the same, beside exact Jaccard; independent functions in a table of their own", "they are one permutation", "@E002 cyclic"},
	{"E002", "how rows of the matrix are numbered", "as they first occur", "open", "not measured"},
	{"E002", "candidates come from buckets", "from every pair in the tables by topic and at a glance, from buckets in \"The whole procedure\"", "it separates the score from the index", "recall of the whole procedure"},
	{"E002", "steps 2 and 3 of the procedure; how 48 bits are cut", "as in the patent of its authors (CN108595517); four parts of 12 bits", "lost", "none known"},
	{"E002", "one pool, or one for each topic", "one for each topic", "open", "not measured"},
	{"E002", "hash of words", "xxh3", "open", "not measured"},
	{"E002", "TF and IDF as formulas; length of Latin words; which particles are removed", "counts and ln(N/df); characters; the stop words of `wordlist`", "lost or open", "not measured"},
	{"E002", "time by \"data accesses per second\"", "by the number of fingerprints", "a number that others can make", "none known"},
	{"E002", "\"TD-IDF\"", "TF-IDF", "a slip", "none"},
	{"E002", "mean of the buckets: over which is not said; the factor of the experiment neither", "over all 65,536, with μ = 2 and 10; over those in use, too", "its example divides by 65,536, with μ = 2", "the table of counts: no pair within 3 bits is lost in any"},
	{"E002", "2³³ is \"nearly 1 billion\"", "8.6 billion", "a slip", "none"},
	{"E002", "an index in Redis", "in memory", "times without a network; `blockstore/redisstore` has its layout", "none on what is found"},

	{"E003", "petitions to a district of Guangzhou", "made-up fields, texts of articles", "lost", "fields that change are more than in real rows, perhaps"},
	{"E003", "how long the petitions are is not said", "100 to 500 characters, and a sweep from 100 to 4,000", "open", "@E003 length"},
	{"E003", "\"small fields weigh 2\": as a whole or by words is not said", "the whole value is one feature", "the word \"value\"", "a field that changes moves one feature, not several"},
	{"E003", "BKDR \"improved\" to 64 bits", "the same steps in 64 bits, seed 131", "open", "dead bits: see E001"},
	{"E003", "CityHash64 without a version; \"builtin\" hash", "1.1.1; the hash of june 2013", "current in 2014; the one that comes with the Java program", "not measured"},
	{"E003", "\"official\": how it reads a row", "all values as one text, a sum of 0 gives 1, as in the program of june 2013; the improved one gives 0", "open", "not measured"},
	{"E003", "300 rows for each topic, or in all; its topics", "for each; other topics", "open", "not measured"},
	{"all", "I-Match without thresholds (Li 2015); it adds hashes, and drops terms that repeat", "the window of idf with the best F1 on the first topic; SHA-1 of the sorted terms, of which none is dropped", "lost; as the paper of 2002 has it", "I-Match looks better than it would without truth"},
	{"E003", "shingles \"every N characters\"", "at every character", "a slip: it counts L−N+1", "none"},
	{"all", "DSC-SS is named (Li 2015)", "measured, with the size that is best on the first topic", "no size is given", "DSC-SS looks better than it would without truth"},
	{"E003", "Single-Pass \"merges classes\"", "in order of arrival, joins the nearest leader", "what it describes is agglomerative clustering, what it cites is this", "the table of counts has both ways to join"},
	{"E003", "the columns of its table, and whether the block is in the key", "four rows, one for each block, with the block in the key; `Rows` has four columns", "lost", "times of both"},
	{"E003", "MySQL and MongoDB", "MariaDB; no MongoDB", "no server of MongoDB to be had", "which of the two is faster stays open"},
	{"E003", "a ratio of comparisons that is lost", "2⁻¹⁴", "arithmetic", "none"},

	{"E004", "five topics of 500 with 10,000 others", "each topic with 500 among the other articles of `zh-topics`", "the other Chinese collections have near-duplicates of their own, or are of one kind", "@E004 others"},
	{"E004", "how much the similar documents differ is not said", "1, 2, 5 and 10 % of the words, and revisions by people", "open", "@E004 rates"},
	{"E004", "ICTCLAS gives parts of speech in context", "the one part of speech that gse's dictionary has for a word", "no tagger to be had", "not measured"},
	{"E004", "stop words are removed; markers may be among them", "markers are kept, for all methods", "otherwise they could not weigh more", "not measured"},
	{"E004", "weights of parts of speech", "3 for nouns (and verbal nouns), 2 for verbs, 1 else", "lost; nouns and verbs weigh more", "other constants were not measured"},
	{"E004", "how length enters", "1 + nl, with the shortest and longest word of the document", "with nl alone the shortest words would weigh 0", "@E004 nl"},
	{"E004", "what a marker weighs up: the word or its sentence; its list of markers", "the word; the markers of `wordlist`", "the literal reading; three are named", "sentences were not measured"},
	{"E004", "hash of words; TF and IDF as formulas", "xxh3; counts and ln(N/df)", "open or lost", "not measured"},
	{"E004", "how the factors combine", "their product", "only then is a marker \"five times an ordinary word\"", "@E004 sum"},
	{"E004", "titles", "the first line of an article", "the articles have no titles", "@E004 title"},
	{"E004", "threshold and a sum of 0 are not given", "H ≤ 3, and 0", "H ≤ 3 as in june 2013, Wang 2019 and Li 2015; 0 as in Wang 2019 and Li 2015", "\"F1 by the radius\"; a sum of 1 was not measured"},
	{"E004", "a dictionary of its own, and a filter of rare words", "neither", "not described", "not measured"},
	{"E004", "N and the threshold of shingles", "4 characters, one in 25, 0.5", "Broder's one in 25", "recall of shingles is higher than what the paper shows"},
	{"E004", "\"the weighted strings of step 2\" in step 5", "of step 4", "a slip", "none"},
	{"E004", "its method is the fastest", "it is not", "it does more for each word", "\"Time\""},
}
