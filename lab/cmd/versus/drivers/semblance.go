//go:build ignore

// This program lets github.com/ophymx/semblance do the work of a row of versus. It is built inside of
// a clone, which brings the module and what it depends on.
//
//	driver JOB SIZE FILE
//
// JOB is a key of jobs, and FILE has the data: numbers of 64 bits in little endian, or a text. For
// each line with a number n on the standard input it does the work n times, and answers with the
// seconds that it took. It uses one thread.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/ophymx/semblance/lsh"
	"github.com/ophymx/semblance/minhash"
	"github.com/ophymx/semblance/shingle"
	"github.com/ophymx/semblance/simhash"
)

var sink uint64 // uses the results, so that the compiler cannot drop the work

// jobs prepares the work. What it prepares is not measured.
var jobs = map[string]func(data []byte, size int) func(n int){
	"simhash":  simHash,
	"weighted": weighted,
	"english":  english,
	"chinese":  chinese,
	"minhash":  minHash,
	"jaccard":  jaccard,
	"lsh":      search,
	"lookup":   lookup,
	"join":     join,
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("semblance: ")
	runtime.GOMAXPROCS(1)
	if len(os.Args) != 4 || jobs[os.Args[1]] == nil {
		log.Fatal("usage: driver JOB SIZE FILE")
	}
	size, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	work := jobs[os.Args[1]](data, size)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		n, err := strconv.Atoi(in.Text())
		if err != nil {
			log.Fatal(err)
		}
		runtime.GC()
		start := time.Now()
		work(n)
		fmt.Printf("{\"seconds\": %.9f}\n", time.Since(start).Seconds())
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
}

// numbers decodes numbers.
func numbers(data []byte) []uint64 {
	all := make([]uint64, len(data)/8)
	for i := range all {
		all[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	return all
}

// simHash sums all hashes with weight 1.
func simHash(data []byte, _ int) func(n int) {
	hashes := numbers(data)
	features := func(yield func(uint64, int) bool) {
		for _, h := range hashes {
			if !yield(h, 1) {
				return
			}
		}
	}
	return func(n int) {
		for range n {
			sink ^= uint64(simhash.Sketch(features))
		}
	}
}

// weighted sums hashes. After the hashes come as many weights.
func weighted(data []byte, size int) func(n int) {
	all := numbers(data)
	hashes, weights := all[:size], all[size:]
	features := func(yield func(uint64, int) bool) {
		for i, h := range hashes {
			if !yield(h, int(weights[i])) {
				return
			}
		}
	}
	return func(n int) {
		for range n {
			sink ^= uint64(simhash.Sketch(features))
		}
	}
}

// texts does something with texts of a size, one after the other.
func texts(data []byte, size int, do func(string)) func(n int) {
	text, next := string(data), 0
	return func(n int) {
		for range n {
			do(text[next%(len(text)/size)*size:][:size])
			next++
		}
	}
}

// english makes fingerprints of words.
func english(data []byte, size int) func(n int) {
	return texts(data, size, func(s string) { sink ^= uint64(simhash.SketchText(s, 1)) })
}

// chinese makes fingerprints of pairs of characters.
func chinese(data []byte, size int) func(n int) {
	return texts(data, size, func(s string) {
		sink ^= uint64(simhash.Sketch(func(yield func(uint64, int) bool) {
			for h := range shingle.CharRunes(s, 2) {
				if !yield(h, 1) {
					return
				}
			}
		}))
	})
}

// minHash makes signatures of 128 values of sets of a size, one after the other.
func minHash(data []byte, size int) func(n int) {
	hashes, next := numbers(data), 0
	sets := len(hashes) / size
	m := minhash.New(128, 1)
	signature := make(minhash.Signature, 128)
	return func(n int) {
		for range n {
			m.Reset(signature)
			m.Update(signature, hashes[next%sets*size:][:size])
			sink ^= signature[0]
			next++
		}
	}
}

// sign returns the signatures of sets of a size.
func sign(hashes []uint64, size int) []minhash.Signature {
	m := minhash.New(128, 1)
	all := make([]minhash.Signature, len(hashes)/size)
	for i := range all {
		all[i] = make(minhash.Signature, 128)
		m.Reset(all[i])
		m.Update(all[i], hashes[i*size:][:size])
	}
	return all
}

// jaccard compares the signatures of two sets of a size.
func jaccard(data []byte, size int) func(n int) {
	two := sign(numbers(data), size)
	return func(n int) {
		for range n {
			sink += uint64(minhash.Jaccard(two[0], two[1]))
		}
	}
}

// names returns the ids 0 to n-1, which are strings in semblance.
func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(i)
	}
	return all
}

// search searches the signatures of sets of a size for one of them, from similarity 0.5.
func search(data []byte, size int) func(n int) {
	signatures, next := sign(numbers(data), size), 0
	ix := lsh.NewVerifiedIndex(lsh.Params(128, 0.5))
	for i, id := range names(len(signatures)) {
		ix.Add(id, signatures[i])
	}
	return func(n int) {
		for range n {
			sink += uint64(len(ix.Query(signatures[next*23%len(signatures)], 0.5)))
			next++
		}
	}
}

// lookup searches size fingerprints within 3 bits. After the fingerprints come the queries.
func lookup(data []byte, size int) func(n int) {
	all, next := numbers(data), 0
	fps, queries := all[:size], all[size:]
	ix := lsh.NewHammingIndex(3)
	for i, id := range names(len(fps)) {
		ix.Add(id, simhash.Fingerprint(fps[i]))
	}
	return func(n int) {
		for range n {
			sink += uint64(len(ix.Query(simhash.Fingerprint(queries[next%len(queries)]))))
			next++
		}
	}
}

// join finds all pairs within 3 bits: it searches for each fingerprint among those before it.
func join(data []byte, _ int) func(n int) {
	fps := numbers(data)
	ids := names(len(fps))
	return func(n int) {
		for range n {
			ix := lsh.NewHammingIndex(3)
			for i, fp := range fps {
				sink += uint64(len(ix.Query(simhash.Fingerprint(fp))))
				ix.Add(ids[i], simhash.Fingerprint(fp))
			}
		}
	}
}
