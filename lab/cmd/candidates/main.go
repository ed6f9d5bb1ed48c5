// Command candidates counts how many pairs become candidates as a collection grows: fingerprints that agree on
// blocks, for several numbers of blocks, and signatures that agree in a band.
//
//	go run ./cmd/candidates -random 8000000        random fingerprints, where theory is exact
//	go run ./cmd/candidates documents.jsonl        texts, such as those of cmd/growth
//
// docs/beyond.md extrapolates from it to collections that fit on no machine. A candidate that meets in several tables or
// bands counts in each, since each meeting is work.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/dedup/shard/blocks"
)

func main() {
	log.SetFlags(0)
	random := flag.Int("random", 0, "count among so many random fingerprints")
	similarity := flag.Float64("similarity", 0.6, "choose the bands for this Jaccard similarity")
	flag.Parse()
	var fps []uint64
	var keys [][]uint64 // for each band
	if *random > 0 {
		r := rand.New(rand.NewPCG(1, 1))
		for range *random {
			fps = append(fps, r.Uint64())
		}
	} else if flag.NArg() == 1 {
		ix, err := neardup.NewSignatureIndex[int](*similarity, neardup.SignatureIndexOptions{})
		if err != nil {
			log.Fatal(err)
		}
		if fps, keys, err = read(flag.Arg(0), ix.Banding()); err != nil {
			log.Fatal(err)
		}
	} else {
		log.Fatal("candidates: give -random, or a file of JSON lines")
	}
	fmt.Printf("%12s", "documents")
	for m := 4; m <= 7; m++ {
		fmt.Printf("%14d blocks %10s", m, "in theory")
	}
	if keys != nil {
		fmt.Printf("%14d bands", len(keys))
	}
	fmt.Println()
	for n := max(1, len(fps)/64); ; n = min(2*n, len(fps)) {
		fmt.Printf("%12d", n)
		for m := 4; m <= 7; m++ {
			sum := 0.0
			for _, t := range blocks.Tables(64, m, 3) {
				part := make([]uint64, n)
				for i, fp := range fps[:n] {
					part[i] = fp & t.Key.Lo
				}
				sum += meetings(part)
			}
			fmt.Printf("%21.4g %10.4g", sum, blocks.Candidates(float64(n), 64, m, 3))
		}
		if keys != nil {
			sum := 0.0
			for _, band := range keys {
				sum += meetings(slices.Clone(band[:n]))
			}
			fmt.Printf("%20.4g", sum)
		}
		fmt.Println()
		if n == len(fps) {
			return
		}
	}
}

// meetings returns how many pairs have the same key. It sorts keys.
func meetings(keys []uint64) (sum float64) {
	slices.Sort(keys)
	for i := 0; i < len(keys); {
		from := i
		for i++; i < len(keys) && keys[i] == keys[from]; i++ {
		}
		sum += float64(i-from) * float64(i-from-1) / 2
	}
	return sum
}

// read returns the different fingerprints of the texts of a file, and the keys of their bands. Texts without
// features are left out.
func read(path string, b neardup.Banding) (fps []uint64, keys [][]uint64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	keys = make([][]uint64, b.Bands)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	const workers = 8
	seen := map[uint64]bool{}
	for more := true; more; {
		var batch [][]byte
		for len(batch) < 1<<14 {
			if more = lines.Scan(); !more {
				break
			}
			batch = append(batch, slices.Clone(lines.Bytes()))
		}
		batchFPs, sigs := make([]uint64, len(batch)), make([]neardup.Signature, len(batch))
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				var fp neardup.Fingerprinter
				for i := w; i < len(batch); i += workers {
					var d struct{ Text string }
					if json.Unmarshal(batch[i], &d) == nil {
						batchFPs[i], sigs[i] = uint64(fp.Sum64(neardup.Text(d.Text))), fp.Sign(neardup.Text(d.Text), neardup.MinHash{})
					}
				}
			})
		}
		wg.Wait()
		for i, fp := range batchFPs {
			if fp == 0 || seen[fp] {
				continue
			}
			seen[fp] = true
			fps = append(fps, fp)
			for band := range keys {
				h := uint64(14695981039346656037)
				for _, v := range sigs[i][band*b.Rows:][:b.Rows] {
					h = (h ^ uint64(v&math.MaxInt32)) * 0x9E3779B97F4A7C15
					h ^= h >> 29
				}
				keys[band] = append(keys[band], h)
			}
		}
	}
	return fps, keys, lines.Err()
}
