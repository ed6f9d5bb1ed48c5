package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/bindings/internal/shipped"
	"github.com/neardup/neardup/dedup"
	"github.com/neardup/neardup/internal/server"
)

var (
	full  = flag.Bool("full", false, "read a file of 20,000 texts")
	shots = flag.String("shots", "", "`DIR` for pictures of the page")
)

// browser returns a context of Chromium without a network, or skips.
func browser(t *testing.T) context.Context {
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(server.Chromium(t)), chromedp.NoSandbox, chromedp.WindowSize(1100, 900))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the page fails: %s", e.ExceptionDetails.Error())
		case *cdplog.EventEntryAdded: // such as of the policy of the page
			t.Logf("the browser says %s", e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "file:") && !strings.HasPrefix(e.Request.URL, "blob:") {
				t.Errorf("the page asks for %.100s", e.Request.URL)
			}
		}
	})
	return ctx
}

// awaited makes an evaluation wait for a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// keptOf returns what is left of a file without the lines of duplicates, which are those of members that are not kept.
func keptOf(data, members string) string {
	gone := map[int]bool{}
	for line := range strings.Lines(members) {
		var group, id, keep int
		fmt.Sscan(line, &group, &id, &keep)
		gone[id] = id != keep
	}
	var b strings.Builder
	n := 0
	if strings.HasPrefix(data, "\ufeff") { // which stays
		b.WriteString("\ufeff")
	}
	for line := range strings.Lines(strings.TrimPrefix(data, "\ufeff")) {
		if !gone[n] {
			b.WriteString(line)
		}
		n++
	}
	return b.String()
}

// groupsOf is what the page's lastGroups has, by the Go library.
func groupsOf(t *testing.T, texts []string) (sums, members string) {
	d, err := dedup.New[int](dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var s, m strings.Builder
	for i, text := range texts {
		fmt.Fprintln(&s, neardup.Sum64(text))
		if err := d.Add(i, neardup.Text(text)); err != nil {
			t.Fatal(err)
		}
	}
	groups, err := d.Groups(context.Background(), dedup.GroupOptions[int]{})
	if err != nil || len(groups) == 0 {
		t.Fatal(len(groups), err)
	}
	for n, g := range groups {
		for _, x := range g.Matches {
			fmt.Fprintf(&m, "%d\t%d\t%d\t%v\t%v\t%v\n", n, x.ID, g.Keep, x.Similarity, x.Probability, x.Kind)
		}
	}
	return s.String(), m.String()
}

// TestPage opens the page from a disk in Chromium, without a network, and compares what it finds with the Go library.
func TestPage(t *testing.T) {
	ctx := browser(t)
	dir := t.TempDir()
	page := filepath.Join(dir, "neardup.html")
	if err := write(page, false); err != nil {
		t.Fatal(err)
	}
	if write(page, false) == nil {
		t.Error("a file that is there is replaced")
	}
	run := func(actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			var said string
			chromedp.Run(ctx, chromedp.Text("#alert", &said, chromedp.ByQuery))
			t.Fatalf("%v; the page says %q", err, said)
		}
	}
	shot := func(name string) {
		if *shots == "" {
			return
		}
		var picture []byte
		run(chromedp.CaptureScreenshot(&picture))
		if err := os.WriteFile(filepath.Join(*shots, name), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(cdplog.Enable(), network.Enable(), network.EmulateNetworkConditions(true, 0, -1, -1), chromedp.Navigate("file://"+page), chromedp.WaitVisible(`body[data-ready="yes"]`, chromedp.ByQuery))

	// Two texts.
	a := "Dear council, the bridge at the mill is closed again, and the children have to walk along the main road 关于住房公积金提取的有关规定 <b>bold</b>."
	b := "To the mayor: the bridge at the mill is closed again, and all children must walk along the main road 关于住房公积金提取的有关规定 <b>bold</b>!"
	var got struct {
		Duplicate                        bool
		Similarity, Probability, Jaccard float64
		Kind                             string
		Fingerprints                     []string
		Distance                         int
		Shared                           []int
	}
	var answer, marks string
	run(chromedp.SetValue("#a", a, chromedp.ByQuery), chromedp.SetValue("#b", b, chromedp.ByQuery), chromedp.Click("#compare", chromedp.ByQuery), chromedp.Poll("window.lastComparison && document.querySelector('#answer .text') !== null", nil),
		chromedp.Evaluate("lastComparison", &got), chromedp.Text("#answer .answer", &answer, chromedp.ByQuery), chromedp.Evaluate(`[...document.querySelectorAll(".text")][0].querySelector("mark").textContent`, &marks))
	d, err := dedup.New[int](dedup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{a, b} {
		if err := d.Add(i, neardup.Text(text)); err != nil {
			t.Fatal(err)
		}
	}
	e, err := d.Explain(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	x, y := neardup.Sum64(a), neardup.Sum64(b)
	var f neardup.Fingerprinter
	jaccard := f.Sign(neardup.Text(a), neardup.MinHash{}).Jaccard(f.Sign(neardup.Text(b), neardup.MinHash{}))
	if got.Duplicate != e.Duplicate || got.Similarity != e.Similarity || got.Probability != e.Probability || got.Kind != e.Kind.String() || got.Jaccard != jaccard ||
		got.Fingerprints[0] != x.String() || got.Fingerprints[1] != y.String() || got.Distance != x.Distance(y) {
		t.Errorf("the page says %+v of two texts, and Go %+v", got, e)
	}
	if want := "the bridge at the mill is closed again, and"; marks != want || !strings.Contains(strings.ToLower(answer), "near-duplicates") {
		t.Errorf("marked is %q, not %q; the answer is %q", marks, want, answer)
	}
	shot("texts.png")

	// A file of JSON lines, and one of plain lines.
	all := append(shipped.Texts(t, "en.jsonl", "zh.jsonl"), "", "<img src=x onerror=\"document.title='taken'\">", "<img src=x onerror=\"document.title='taken'\">!")
	var jsonl bytes.Buffer
	for _, text := range all {
		if err := json.NewEncoder(&jsonl).Encode(map[string]string{"text": text}); err != nil {
			t.Fatal(err)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	vocabulary := make([]string, 3000)
	for i := range vocabulary {
		for range 3 + rnd.IntN(7) {
			vocabulary[i] += string(rune('a' + rnd.IntN(26)))
		}
	}
	var plain []string
	for range map[bool]int{false: 1000, true: 9_999}[*full] { // pairs, of about a kilobyte each
		words := make([]string, 150)
		for k := range words {
			words[k] = vocabulary[rnd.IntN(rnd.IntN(3000)+1)]
		}
		plain = append(plain, strings.Join(words, " "))
		words[rnd.IntN(150)] = "other"
		plain = append(plain, strings.Join(words, " "))
	}
	plain = append(plain, "bytes \xff that are no text", "bytes \xff that are no text \xfe")
	run(chromedp.Click("#tab-file", chromedp.ByQuery))
	for name, file := range map[string]struct {
		data  string
		texts []string
	}{
		"texts.jsonl": {jsonl.String(), all}, "texts.txt": {"\ufeff" + strings.Join(plain, "\r\n"), plain},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(file.data), 0o600); err != nil {
			t.Fatal(err)
		}
		var found struct {
			Texts                 int
			Members, Fingerprints string
		}
		var summary string
		var encoded string
		run(chromedp.Evaluate("lastGroups = null", nil), chromedp.SetUploadFiles("#input", []string{path}, chromedp.ByQuery), chromedp.WaitVisible("#downloads", chromedp.ByQuery),
			chromedp.Poll("window.lastGroups && document.querySelector('#summary').textContent", &summary), chromedp.Evaluate("lastGroups", &found),
			chromedp.Evaluate(`saved.kept.arrayBuffer().then(b => { let s = ""; for (const c of new Uint8Array(b)) s += String.fromCharCode(c); return btoa(s) })`, &encoded, awaited))
		sums, members := groupsOf(t, file.texts)
		if found.Texts != len(file.texts) || found.Fingerprints != sums || found.Members != members {
			t.Errorf("%s: the page finds other groups than Go, or makes other fingerprints: %d texts, %d and %d bytes, not %d and %d", name, found.Texts, len(found.Fingerprints), len(found.Members), len(sums), len(members))
		}
		want := keptOf(file.data, members)
		kept, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if string(kept) != want || !strings.HasPrefix(summary, fmt.Sprint(len(file.texts), " texts, ")) {
			t.Errorf("%s: %d bytes are kept, not %d, and the page says %q", name, len(kept), len(want), summary)
		}
		t.Log(name, summary)
		shot(name + ".png")
	}

	// What is wrong is said, and the page goes on.
	path := filepath.Join(dir, "wrong.jsonl")
	if err := os.WriteFile(path, []byte("{\"text\": \"x\"}\n{\"texts\": 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var wrong, title string
	run(chromedp.SetUploadFiles("#input", []string{path}, chromedp.ByQuery), chromedp.Poll("document.querySelector('#alert').textContent", &wrong), chromedp.Title(&title))
	if err := os.WriteFile(path, []byte("{\"text\": \"x\"}\n\n{\"text\": \"x\"}"), 0o600); err != nil { // repaired, and chosen again
		t.Fatal(err)
	}
	var summary string
	run(chromedp.SetUploadFiles("#input", []string{path}, chromedp.ByQuery), chromedp.Poll("document.querySelector('#alert').textContent === '' && document.querySelector('#summary').textContent", &summary))
	if !strings.HasPrefix(summary, "2 texts, 1 duplicate in 1 group; 1 left") {
		t.Errorf("of the repaired file the page says %q", summary)
	}
	if !strings.Contains(wrong, "line 2") || title != "Near-duplicate texts" {
		t.Errorf("the page says %q, and its title is %q", wrong, title)
	}
}
