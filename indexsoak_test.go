package neardup

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A soakModel is what an index should hold after so many changes.
type soakModel struct {
	seed    uint64
	changes uint64
	stored  map[uint64]Fingerprint64
	digest  uint64 // of all that is stored
}

// soakChange returns a change by its number. Every pair of ids has the same fingerprint or
// nearly.
func soakChange(seed, number uint64) (id uint64, fp Fingerprint64, del bool) {
	rnd := rand.New(rand.NewPCG(seed, number))
	id = rnd.Uint64N(20_000)
	fp = Fingerprint64(id / 2 * 0x9E3779B97F4A7C15)
	if rnd.IntN(2) == 0 {
		fp ^= 1 << rnd.IntN(64)
	}
	if rnd.IntN(10) == 0 {
		fp = fp&^0xFFFF | 0xBEEF
	}
	return id, fp, rnd.IntN(3) == 0
}

func soakMix(id uint64, fp Fingerprint64) uint64 {
	x := (id ^ 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93
	x = (x ^ x>>32 ^ uint64(fp)) * 0xD6E8FEB86659FD93
	return x ^ x>>29
}

func (m *soakModel) step() {
	id, fp, del := soakChange(m.seed, m.changes)
	m.changes++
	if old, ok := m.stored[id]; ok {
		m.digest -= soakMix(id, old)
		delete(m.stored, id)
	}
	if !del {
		m.stored[id] = fp
		m.digest += soakMix(id, fp)
	}
}

// TestIndexSoak kills a process that changes an index, again and again, and compares what
// is left with a model: all that had been synced, and of the rest some first part. It takes
// as long as NEARDUP_SOAK says, for example 10m.
func TestIndexSoak(t *testing.T) {
	t.Parallel()
	if os.Getenv("NEARDUP_SOAK_PATH") != "" {
		soakChild(t)
		return
	}
	duration := 3 * time.Second
	if s := os.Getenv("NEARDUP_SOAK"); s != "" {
		var err error
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	} else if !*full {
		duration = time.Second
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "soak.index")
	m := soakModel{seed: seed, stored: map[uint64]Fingerprint64{}}
	kills, compacted := 0, uint64(0)
	for end := time.Now().Add(duration); time.Now().Before(end); kills++ {
		synced := m.changes
		env := []string{"NEARDUP_SOAK_PATH=" + path, fmt.Sprintf("NEARDUP_SOAK_SEED=%d", seed), fmt.Sprintf("NEARDUP_SOAK_FROM=%d", m.changes)}
		runAndKill(t, env, time.Duration(20+rnd.IntN(600))*time.Millisecond, func(line string) {
			what, number, _ := strings.Cut(line, " ")
			n, err := strconv.ParseUint(number, 10, 64)
			switch {
			case what == "synced" && err == nil:
				synced = n
			case what == "compacted" && err == nil:
				synced = n
				compacted++
			default:
				t.Errorf("child: %s", line)
			}
		})
		ix := mustOpen[uint64, Fingerprint64](t, path, 3)
		digest := uint64(0)
		for id, fp := range valuesOf(ix.All()) {
			digest += soakMix(id, fp)
		}
		for m.changes < synced {
			m.step()
		}
		for ahead := 0; digest != m.digest || ix.Len() != len(m.stored); ahead++ {
			if ahead > 1_000_000 {
				t.Fatalf("after %d kills: %d stored are no state since change %d", kills, ix.Len(), synced)
			}
			m.step()
		}
		if err := ix.Verify(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			id, fp, _ := soakChange(seed, rnd.Uint64N(m.changes+1))
			want := 0
			for _, x := range m.stored {
				if (x ^ fp).Distance(0) <= 3 {
					want++
				}
			}
			got := 0
			for match := range ix.Search(bg, fp) {
				got++
				if x, ok := m.stored[match.ID]; !ok || (x^fp).Distance(0) != match.Distance {
					t.Fatalf("%d: a wrong match %v", id, match)
				}
			}
			if got != want {
				t.Fatalf("%d: %d found, want %d", id, got, want)
			}
		}
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d changes, %d snapshots, %d stored", kills, m.changes, compacted, len(m.stored))
}

// runAndKill runs the test again in a process of its own, which env tells to be the child, kills it after a
// time, and calls said for each line that it has written. It fails if said does.
func runAndKill(t *testing.T, env []string, after time.Duration, said func(line string)) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulated program cannot start itself")
	} else if err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said(lines.Text())
	}
	cmd.Wait()
	if timer.Stop(); t.Failed() {
		t.Fatal("the child failed")
	}
}

// soakChild changes the index until it is killed, and says when changes are on the disk.
func soakChild(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("NEARDUP_SOAK_SEED"), 10, 64)
	number, _ := strconv.ParseUint(os.Getenv("NEARDUP_SOAK_FROM"), 10, 64)
	ix := mustOpen[uint64, Fingerprint64](t, os.Getenv("NEARDUP_SOAK_PATH"), 3)
	rnd := rand.New(rand.NewPCG(seed, number))
	for ; ; number++ {
		id, fp, del := soakChange(seed, number)
		if del {
			must(ix.Delete(id))
		} else {
			ix.Add(id, fp)
		}
		var err error
		switch rnd.IntN(5000) {
		case 0:
			if err = ix.Compact(bg); err == nil {
				fmt.Println("compacted", number+1)
			}
		case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20:
			if err = ix.Sync(); err == nil {
				fmt.Println("synced", number+1)
			}
		case 21, 22, 23, 24, 25, 26, 27, 28, 29, 30:
			for m := range ix.Search(bg, fp) {
				if m.Distance > 3 {
					fmt.Println("found", m)
				}
			}
		}
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
}
