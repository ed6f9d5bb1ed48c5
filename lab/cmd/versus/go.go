package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"

	minhashlsh "github.com/ekzhu/minhash-lsh"
	"github.com/go-ego/gse"
	"github.com/mfonda/simhash"

	"github.com/neardup/neardup"
)

// rows makes the rows. What a row needs is made outside of what is measured.
var rows = []func(t *texts) row{
	func(*texts) row { return simHashRow(200) },
	func(*texts) row { return simHashRow(4096) },
	weightedRow,
	func(t *texts) row {
		return textRow("english", "English text of 10 KB to a fingerprint of 64 bits", t.en, neardup.Words{}, "all take words as features")
	},
	func(t *texts) row {
		return textRow("chinese", "Chinese text of 10 KB to a fingerprint of 64 bits", t.zh, neardup.NGrams{N: 2},
			"mfonda takes words of Latin letters only, so it finds no feature in most Chinese texts, and gives them one value")
	},
	segmenterRow,
	func(*texts) row { return minHashRow(5, "values") },
	func(*texts) row { return minHashRow(10, "values") },
	func(*texts) row { return minHashRow(30, "values") },
	func(*texts) row { return minHashRow(500, "values") },
	func(*texts) row { return minHashRow(5, "permutations") },
	func(*texts) row { return minHashRow(10, "permutations") },
	func(*texts) row { return minHashRow(30, "permutations") },
	func(*texts) row { return minHashRow(500, "permutations") },
	jaccardRow,
	lshRow,
	lookupRow,
	joinRow,
}

//lint:ignore U1000 it is only written
var sink uint64 // uses the results, so that the compiler cannot drop the work

// random returns n random numbers.
func random(n int, seed uint64) []uint64 {
	r := rand.New(rand.NewPCG(seed, 1))
	all := make([]uint64, n)
	for i := range all {
		all[i] = r.Uint64()
	}
	return all
}

// encode returns numbers in little endian.
func encode(all ...[]uint64) (b []byte) {
	for _, numbers := range all {
		for _, v := range numbers {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	return b
}

// A feature is one of mfonda that has been hashed before.
type feature struct {
	sum    uint64
	weight int
}

func (f feature) Sum() uint64 { return f.sum }
func (f feature) Weight() int { return f.weight }

// simHashRow sums hashes of weight 1.
func simHashRow(n int) row {
	hashes := random(n, 1)
	var theirs []simhash.Feature
	for _, h := range hashes {
		theirs = append(theirs, feature{h, 1})
	}
	return row{fmt.Sprintf("SimHash of %d features of weight 1, hashed before", n), "a fingerprint",
		contestant{work: func(n int) {
			for range n {
				a := neardup.Accumulator64{}
				a.AddAll(hashes)
				sink ^= uint64(a.Sum())
			}
		}},
		[]contestant{{name: "mfonda/simhash", work: func(n int) {
			for range n {
				sink ^= simhash.Fingerprint(simhash.Vectorize(theirs))
			}
		}}}, "", task{"simhash", len(hashes), encode(hashes)}}
}

// weightedRow sums hashes with weights of their own.
func weightedRow(*texts) row {
	hashes := random(4096, 2)
	weights := make([]int64, len(hashes))
	values := make([]uint64, len(hashes)) // the weights, to be encoded
	var theirs []simhash.Feature
	for i, h := range hashes {
		weights[i] = int64(1 + i*7919%100_000)
		values[i] = uint64(weights[i])
		theirs = append(theirs, feature{h, int(weights[i])})
	}
	return row{"SimHash of 4096 features with weights, hashed before", "a fingerprint",
		contestant{work: func(n int) {
			for range n {
				a := neardup.Accumulator64{}
				a.AddWeighted(hashes, weights)
				sink ^= uint64(a.Sum())
			}
		}},
		[]contestant{{name: "mfonda/simhash", work: func(n int) {
			for range n {
				sink ^= simhash.Fingerprint(simhash.Vectorize(theirs))
			}
		}}}, "", task{"weighted", len(hashes), encode(hashes, values)}}
}

// textRow makes fingerprints of texts, another one each time.
func textRow(kind, name, text string, tokenizer neardup.Tokenizer, note string) row {
	const size = 10 << 10
	all := windows(text, size)
	f := neardup.Fingerprinter{Tokenizer: tokenizer}
	return row{name, "a text", over(all, "", func(s string) { sink ^= uint64(f.Sum64(neardup.Text(s))) }),
		[]contestant{over(all, "mfonda/simhash", func(s string) {
			sink ^= simhash.Simhash(simhash.NewWordFeatureSet([]byte(s)))
		})}, note, task{kind, size, []byte(strings.Join(all, ""))}}
}

// over is a contestant that does something with one text after the other.
func over(all []string, name string, do func(string)) contestant {
	next := 0
	return contestant{name: name, work: func(n int) {
		for range n {
			do(all[next%len(all)])
			next++
		}
	}}
}

// segmenterRow cuts Chinese into words.
func segmenterRow(t *texts) row {
	var seg gse.Segmenter
	if err := seg.LoadDictEmbed("zh"); err != nil {
		panic(err)
	}
	all := windows(t.zh, 10<<10)
	return row{"Chinese text of 10 KB to words of the dictionary", "a text",
		over(all, "", func(s string) {
			for token := range t.segmenter.Tokens(s) {
				sink += uint64(len(token.Text))
			}
		}),
		[]contestant{over(all, "gse, Segment", func(s string) { sink += uint64(len(seg.Segment([]byte(s)))) })},
		"the library uses the dictionary of gse, and takes the most probable words, too", task{}}
}

// minHashRow makes signatures of 128 values. With way "permutations" the library makes them as
// textbooks do, with a permutation for each value; the peers know no other way.
func minHashRow(elements int, way string) row {
	const sets = 256
	hashes := random(sets*elements, 3)
	next := 0
	theirs := 0
	return row{fmt.Sprintf("MinHash of %d elements, 128 %s", elements, way), "a signature",
		contestant{work: func(n int) {
			m := neardup.MinHash{Permutations: way == "permutations"}
			var signature neardup.Signature
			for range n {
				signature = m.AppendSign(signature[:0], hashes[next%sets*elements:][:elements])
				sink ^= uint64(signature[0])
				next++
			}
		}},
		[]contestant{{name: "ekzhu/minhash-lsh", work: func(n int) {
			var b [8]byte
			for range n {
				m := minhashlsh.NewMinhash(1, 128)
				for _, h := range hashes[theirs%sets*elements:][:elements] {
					binary.LittleEndian.PutUint64(b[:], h)
					m.Push(b[:])
				}
				sink ^= m.Signature()[0]
				theirs++
			}
		}}}, "ekzhu hashes the 8 bytes of every element, too", task{"minhash", elements, encode(hashes)}}
}

// jaccardRow compares two signatures.
func jaccardRow(*texts) row {
	m := neardup.MinHash{}
	one, other := random(500, 5), random(500, 6)
	a, b := m.Sign(one), m.Sign(other)
	x, y := make([]uint64, 128), make([]uint64, 128)
	for i := range x {
		x[i], y[i] = uint64(a[i]), uint64(b[i])
	}
	return row{"Jaccard similarity of two signatures of 128 values", "a pair",
		contestant{work: func(n int) {
			for range n {
				sink += uint64(a.Jaccard(b))
			}
		}},
		[]contestant{{name: "a loop in Go", work: func(n int) {
			for range n {
				same := 0
				for i, v := range x {
					if v == y[i] {
						same++
					}
				}
				sink += uint64(same)
			}
		}}}, "the library must also tell values that were borrowed", task{"jaccard", len(one), encode(one, other)}}
}

const many = 100_000 // signatures to be searched

// lshRow searches signatures.
func lshRow(*texts) row {
	m := neardup.MinHash{}
	ix, err := neardup.NewSignatureIndex[int](0.5, neardup.SignatureIndexOptions{})
	if err != nil {
		panic(err)
	}
	theirs := minhashlsh.NewMinhashLSH32(128, 0.5)
	signatures := make([]neardup.Signature, many)
	values := make([][]uint64, many)
	hashes := random(50*many, 7)
	for i := range signatures {
		signatures[i] = m.Sign(hashes[50*i:][:50])
		own := minhashlsh.NewMinhash(1, 128)
		var b [8]byte
		for _, h := range hashes[50*i:][:50] {
			binary.LittleEndian.PutUint64(b[:], h)
			own.Push(b[:])
		}
		values[i] = own.Signature()
		theirs.Add(i, values[i])
	}
	theirs.Index()
	if err := ix.AddAll(context.Background(), func(yield func(int, neardup.Signature) bool) {
		for i, s := range signatures {
			if !yield(i, s) {
				return
			}
		}
	}); err != nil {
		panic(err)
	}
	next, other := 0, 0
	return row{"search among 100,000 signatures, threshold 0.5", "a search that finds itself",
		contestant{work: func(n int) {
			for range n {
				for range ix.Search(context.Background(), signatures[next*23%many]) {
					sink++
				}
				next++
			}
		}},
		[]contestant{{name: "ekzhu/minhash-lsh", work: func(n int) {
			for range n {
				sink += uint64(len(theirs.Query(values[other*23%many])))
				other++
			}
		}}}, "the library also compares the signatures, and returns similarities; so does semblance",
		task{"lsh", 50, encode(hashes)}}
}

// lookupRow searches fingerprints within 3 bits.
func lookupRow(*texts) row {
	const n = 1_000_000
	fps := random(n, 8)
	ix, err := neardup.NewIndex[int, neardup.Fingerprint64](3, neardup.IndexOptions{})
	if err != nil {
		panic(err)
	}
	if err := ix.AddAll(context.Background(), func(yield func(int, neardup.Fingerprint64) bool) {
		for i, fp := range fps {
			if !yield(i, neardup.Fingerprint64(fp)) {
				return
			}
		}
	}); err != nil {
		panic(err)
	}
	queries := random(65_536, 9)
	for i := range queries {
		if i%2 == 0 {
			queries[i] = fps[queries[i]%n] ^ 1<<(i%64) ^ 1<<(i*7%61)
		}
	}
	tables := newTables(fps)
	next, other := 0, 0
	return row{"search within 3 bits among 1,000,000 fingerprints", "a search, of which half find something",
		contestant{work: func(n int) {
			for range n {
				for range ix.Search(context.Background(), neardup.Fingerprint64(queries[next%len(queries)])) {
					sink++
				}
				next++
			}
		}},
		[]contestant{{name: "four maps in Go", work: func(n int) {
			for range n {
				tables.search(queries[other%len(queries)], func(int32) { sink++ })
				other++
			}
		}}}, "four maps from 16 bits to lists, as the papers have it", task{"lookup", n, encode(fps, queries)}}
}

// tables is the index of the papers: four maps from 16 bits to the fingerprints that have them.
type tables struct {
	fps []uint64
	of  [4]map[uint16][]int32
}

func newTables(fps []uint64) *tables {
	t := &tables{fps: fps}
	for b := range t.of {
		t.of[b] = map[uint16][]int32{}
		for i, fp := range fps {
			k := uint16(fp >> (16 * b))
			t.of[b][k] = append(t.of[b][k], int32(i))
		}
	}
	return t
}

func (t *tables) search(q uint64, found func(int32)) {
	for b := range t.of {
		for _, i := range t.of[b][uint16(q>>(16*b))] {
			x := t.fps[i] ^ q
			if bits.OnesCount64(x) > 3 {
				continue
			}
			first := 0 // in an earlier block, too?
			for uint16(x>>(16*first)) != 0 {
				first++
			}
			if first == b {
				found(i)
			}
		}
	}
}

// joinRow finds all pairs within 3 bits.
func joinRow(*texts) row {
	fps := random(200_000, 10)
	for i := range fps {
		if i%20 == 19 {
			fps[i] = fps[i-10] ^ 1<<(i%64) ^ 1<<(i*7%61)
		}
	}
	ours := make([]neardup.Fingerprint64, len(fps))
	for i, fp := range fps {
		ours[i] = neardup.Fingerprint64(fp)
	}
	return row{"all pairs within 3 bits among 200,000 fingerprints", "a join",
		contestant{work: func(n int) {
			for range n {
				for _, err := range neardup.Pairs(context.Background(), ours, 3) {
					if err != nil {
						panic(err)
					}
					sink++
				}
			}
		}},
		[]contestant{{name: "four maps in Go", work: func(n int) {
			for range n {
				t := newTables(fps)
				for j, fp := range fps {
					t.search(fp, func(i int32) {
						if int(i) < j {
							sink++
						}
					})
				}
			}
		}}}, "", task{"join", len(fps), encode(fps)}}
}
