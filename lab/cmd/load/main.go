// Command load measures the service neardupd on this machine: it fills a collection with texts made of sentences, and then sends put-if-new in
// a closed loop, in which each client waits for an answer before it sends the next text. Every other text is a known one with a few words
// changed. A client that is told to come again, since the service is busy, waits a hundredth of a second, and is counted.
//
// With -letters there is a crowd beside them: so many copies of one letter, each with two other words. Then every tenth text that is sent is another
// copy, and how long the others take says whether a crowd holds everybody up.
//
//	go run -C lab ./cmd/load -data DIR -documents 1000000
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/neardup/neardup/lab/program"
	"github.com/neardup/neardup/lab/sentences"
	"github.com/neardup/neardup/service/client"
)

func main() {
	data := flag.String("data", os.Getenv("NEARDUP_DATA"), "`DIR` with throughput/en.txt.gz; the default is $NEARDUP_DATA")
	documents := flag.Int("documents", 100_000, "`NUMBER` of documents that are there before")
	method := flag.String("method", "auto", "auto, simhash or minhash")
	letters := flag.Int("letters", 0, "`NUMBER` of copies of one letter that are there before, too")
	clients := flag.String("clients", "1,8,64", "comma-separated `NUMBERS` of clients")
	duration := flag.Duration("for", 20*time.Second, "how long each number of clients sends")
	dir := flag.String("dir", "", "a `DIR` for the collection, which is kept; without one it is temporary")
	flags := flag.String("flags", "", "more `FLAGS` for neardupd, separated by spaces")
	flag.Parse()
	if err := run(*data, *documents, *letters, *method, *clients, *duration, *dir, *flags); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// A loader has what is sent.
type loader struct {
	client    client.Client
	all       [][]string
	documents int
	letters   int
	next      atomic.Int64 // of those that are new
}

func run(data string, documents, letters int, method, clients string, duration time.Duration, dir, flags string) error {
	if data == "" {
		return errors.New("give -data or set NEARDUP_DATA")
	}
	all, err := sentences.Read(filepath.Join(data, "throughput", "en.txt.gz"), false)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	neardupd := filepath.Join(work, "neardupd")
	if err := program.Build("service/cmd/neardupd", neardupd); err != nil {
		return err
	}
	if dir == "" {
		dir = filepath.Join(work, "collections")
	}
	server, url, err := start(neardupd, append([]string{"--dir", dir, "--listen", "127.0.0.1:0"}, strings.Fields(flags)...))
	if err != nil {
		return err
	}
	defer server.Wait()
	defer server.Process.Signal(os.Interrupt)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256
	l := &loader{client: client.Client{URL: url, HTTP: &http.Client{Transport: transport}}, all: all, documents: documents, letters: letters}
	began := time.Now()
	if err := l.fill(method); err != nil {
		return err
	}
	fmt.Printf("%d documents and %d letters stored in %.1f s, %s\n", documents, letters, time.Since(began).Seconds(), memory(server.Process.Pid))
	fmt.Printf("%8s %10s %8s %8s %9s %9s %9s %11s  %s\n", "clients", "requests/s", "refused", "known", "p50 ms", "p99 ms", "most ms", "letters p99", "memory")
	for number := range strings.SplitSeq(clients, ",") {
		var n int
		if _, err := fmt.Sscan(number, &n); err != nil || n < 1 {
			return fmt.Errorf("-clients %q", number)
		}
		r, err := l.loop(n, duration)
		if err != nil {
			return err
		}
		sent := len(r.times) + len(r.letters)
		fmt.Printf("%8d %10.0f %8d %8.3f %9.2f %9.2f %9.2f %11.2f  %s\n", n, float64(sent)/duration.Seconds(), r.refused, float64(r.known)/float64(sent),
			quantile(r.times, .5), quantile(r.times, .99), quantile(r.times, 1), quantile(r.letters, .99), memory(server.Process.Pid))
	}
	return nil
}

// start starts the service, and returns its URL when it listens.
func start(program string, args []string) (*exec.Cmd, string, error) {
	c := exec.Command(program, args...)
	log, err := c.StderrPipe()
	if err != nil {
		return nil, "", err
	}
	if err := c.Start(); err != nil {
		return nil, "", err
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "address="); ok {
			go func() {
				for lines.Scan() {
					fmt.Fprintln(os.Stderr, lines.Text())
				}
			}()
			address, _, _ = strings.Cut(address, " ")
			return c, "http://" + address, nil
		}
		fmt.Fprintln(os.Stderr, lines.Text())
	}
	return nil, "", errors.Join(errors.New("neardupd does not listen"), c.Wait())
}

// quantile returns a quantile of times that ascend, in milliseconds.
func quantile(times []time.Duration, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return times[int(q*float64(len(times)-1))].Seconds() * 1e3
}

// memory says how much memory a process has, where /proc says so.
func memory(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return ""
	}
	var said []string
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && (name == "VmRSS" || name == "VmHWM" || name == "RssFile") {
			said = append(said, name+" "+strings.TrimSpace(value))
		}
	}
	return strings.Join(said, ", ")
}

// text returns the text of a document, with some words replaced if it is a version.
func (l *loader) text(number int, version bool) string {
	words := sentences.Document(rand.New(rand.NewPCG(uint64(number), 1)), l.all)
	if version {
		for range 5 {
			words[rand.IntN(len(words))] = "changed"
		}
	}
	return strings.Join(words, " ")
}

// letter returns a copy of the letter.
func (l *loader) letter(number int) string {
	words := sentences.Document(rand.New(rand.NewPCG(1, 2)), l.all)
	r := rand.New(rand.NewPCG(uint64(number), 3))
	for range 2 {
		words[r.IntN(len(words))] = fmt.Sprint("signed", r.IntN(30_000))
	}
	return strings.Join(words, " ")
}

// fill stores the documents that are there before.
func (l *loader) fill(method string) error {
	ctx := context.Background()
	if err := l.client.Create(ctx, "load", client.Settings{Method: method}); err != nil {
		return err
	}
	const batch = 1000
	var from atomic.Int64
	return together(4, func() error {
		for {
			first := int(from.Add(batch)) - batch
			if first >= l.documents+l.letters {
				return nil
			}
			var orders []client.Order
			for i := first; i < min(first+batch, l.documents+l.letters); i++ {
				text := ""
				if i < l.documents {
					text = l.text(i, false)
				} else {
					text = l.letter(i)
				}
				orders = append(orders, client.Order{Op: "put", ID: fmt.Sprint(i), Text: &text})
			}
			out, err := l.client.Batch(ctx, "load", orders)
			if err != nil {
				return err
			}
			for _, o := range out {
				if o.Error != "" {
					return errors.New(o.Error)
				}
			}
		}
	})
}

// together runs n functions, and returns their first error.
func together(n int, f func() error) (first error) {
	var wg sync.WaitGroup
	var once sync.Once
	for range n {
		wg.Go(func() {
			if err := f(); err != nil {
				once.Do(func() { first = err })
			}
		})
	}
	wg.Wait()
	return first
}

// A result is the times of all requests that were answered, ascending, and how many texts were known.
type result struct {
	times, letters []time.Duration
	known, refused int
}

// loop sends from so many clients.
func (l *loader) loop(clients int, duration time.Duration) (r result, err error) {
	var mu sync.Mutex
	end := time.Now().Add(duration)
	err = together(clients, func() error {
		var mine result
		for i := 0; time.Now().Before(end); i++ {
			d := client.Document{ID: fmt.Sprint("v", l.next.Add(1))}
			isLetter := l.letters > 0 && i%10 == 9
			switch {
			case isLetter:
				d.Text = l.letter(l.documents + l.letters + int(l.next.Add(1)))
			case i%2 == 0:
				d.Text = l.text(rand.IntN(l.documents), true)
			default:
				d.Text = l.text(l.documents+int(l.next.Add(1)), false)
			}
			began := time.Now()
			decision, err := l.client.PutIfNew(context.Background(), "load", d, 10)
			if e := (*client.Error)(nil); errors.As(err, &e) && e.Status == http.StatusServiceUnavailable {
				mine.refused++
				time.Sleep(10 * time.Millisecond)
				continue
			}
			if err != nil {
				return err
			}
			if isLetter {
				mine.letters = append(mine.letters, time.Since(began))
			} else {
				mine.times = append(mine.times, time.Since(began))
			}
			if !decision.Added {
				mine.known++
			}
		}
		mu.Lock()
		defer mu.Unlock()
		r.letters = append(r.letters, mine.letters...)
		r.times, r.known, r.refused = append(r.times, mine.times...), r.known+mine.known, r.refused+mine.refused
		return nil
	})
	slices.Sort(r.times)
	slices.Sort(r.letters)
	return r, err
}
