package review

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/neardup/neardup/internal/server"
)

// open opens a page in a headless browser, and returns a context to look at it. What the page complains about is an
// error of the test.
func open(t *testing.T, path string) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(server.Chromium(t)), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the page fails: %s", e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			t.Errorf("the page says: %s", e.Args[0].Value)
		}
	})
	if err := chromedp.Run(ctx, chromedp.Navigate("file://"+path), chromedp.WaitReady("#list")); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// eval returns what an expression is in the page.
func eval[T any](t *testing.T, ctx context.Context, expression string) (x T) {
	t.Helper()
	if err := chromedp.Run(ctx, chromedp.Evaluate(expression, &x, awaited)); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return x
}

// write writes a report to a file.
func write(t *testing.T, r *Report) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// evil has markup that would do something if it were taken for markup.
const evil = `</script><script>document.title="taken"</script><img src=x onerror='document.title="taken"'><!--{{.}}` + "\u2028 'x' \"y\" & \x00"

func small() *Report {
	return &Report{
		Title: "Near-duplicates in " + evil, Key: "k", Made: evil, Documents: 4, Threshold: 0.6, Reason: evil, Least: 0.45, Kinds: []string{"revised", evil},
		Families: []Family{{Members: 12, Form: "Please pay", Filled: []string{"Ann", "\x00<b>"}}},
		Docs: []Doc{
			{ID: "a" + evil, At: evil, Text: "请市政府尽快修复中山路的路面。" + evil, Group: 1, Size: 2, Kept: true},
			{ID: "b", At: "b:1", Text: "请市政府尽快修复中山路的道路。" + evil, Group: 1, Size: 2},
			{ID: "c", At: "c:1", Text: "one two three four"},
			{ID: "d", At: "d:1", Text: "one two five four"},
		},
		Pairs: []Pair{
			{0, 1, 0.9, 0.8, 0, []Reason{{evil, 2.5}, {"alone", -0.5}}},
			{2, 3, 0.7, 0.58, 1, nil},
		},
	}
}

// TestPage looks at a page: it shows texts as texts, marks what differs, filters, labels and saves.
func TestPage(t *testing.T) {
	ctx := open(t, write(t, small()))
	wait := func(expression string) {
		t.Helper()
		if err := chromedp.Run(ctx, chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(10*time.Second))); err != nil {
			t.Fatalf("%s does not become true: %v", expression, err)
		}
	}
	// The most doubtful pair is selected.
	wait(`document.querySelectorAll("#text-b ins").length === 1`)
	if got := eval[string](t, ctx, `document.querySelector("#text-a del").textContent + document.querySelector("#text-b ins").textContent`); got != "threefive" {
		t.Errorf("marked are %q", got)
	}
	if got := eval[string](t, ctx, `document.querySelector("#families").innerText`); !strings.HasPrefix(got, "1 form that is filled in differently") || strings.Contains(got, "\x00") {
		t.Errorf("the families are %q", got)
	}
	if got := eval[string](t, ctx, `document.querySelector("#families li").textContent`); got != "12 documents share the form: Please pay; filled in, for example, with Ann / ⟨U+0000⟩<b>" {
		t.Errorf("the family is %q", got)
	}
	if got := eval[string](t, ctx, `document.querySelector("#effect").textContent`); got != "At 0.60 or more: 1 pair; expected precision 0.80, expected recall 0.58." {
		t.Errorf("the threshold says %q", got)
	}
	// A key labels the pair and goes on to the next one, which is Chinese.
	chromedp.Run(ctx, chromedp.KeyEvent("d"))
	wait(`document.querySelectorAll("#text-b ins").length === 1 && document.querySelector("#text-b ins").textContent === "道"`)
	if got := eval[string](t, ctx, `document.querySelector("#text-a").textContent`); got != strings.ReplaceAll(small().Docs[0].Text, "\x00", "U+0000") {
		t.Errorf("the text is %q", got)
	}
	if got := eval[string](t, ctx, `document.querySelector("#features td").textContent`); got != strings.ReplaceAll(evil, "\x00", "⟨U+0000⟩") {
		t.Errorf("the feature is %q", got)
	}
	if got := eval[string](t, ctx, `document.title`); got != strings.ReplaceAll(small().Title, "\x00", "\uFFFD") {
		t.Errorf("a text has done something: the title is %q", got)
	}
	if n := eval[int](t, ctx, `document.images.length`); n > 0 {
		t.Errorf("a text has become %d images", n)
	}
	chromedp.Run(ctx, chromedp.Click("#same"))
	// The threshold can be moved.
	eval[any](t, ctx, `(() => { const t = document.querySelector("#threshold"); t.value = 0.5; t.dispatchEvent(new Event("input")); return null })()`)
	if got := eval[string](t, ctx, `document.querySelector("#effect").textContent`); got != "At 0.50 or more: 2 pairs; 1 would be added; expected precision 0.69, expected recall 1.00." {
		t.Errorf("the threshold says %q", got)
	}
	// Search, in texts too, and filters.
	chromedp.Run(ctx, chromedp.SendKeys("#search", "FIVE"))
	wait(`document.querySelector("#count").textContent === "1 of 2 pairs"`)
	eval[any](t, ctx, `(() => { const s = document.querySelector("#search"); s.value = " "; s.dispatchEvent(new Event("input")); return null })()`)
	wait(`document.querySelector("#count").textContent === "2 of 2 pairs"`)
	eval[any](t, ctx, `document.querySelector("#kind-1").click()`)
	wait(`document.querySelector("#count").textContent === "1 of 2 pairs"`)
	// Labels are saved as a file.
	if got := savedLabels(t, ctx); !strings.Contains(got, `{"a":"c","b":"d","same":false}`+"\n") || !strings.Contains(got, `"b":"b","same":true}`+"\n") || strings.Count(got, "\n") != 2 {
		t.Errorf("saved are %q", got)
	}
	// They are there when the page is opened again.
	got := ""
	for range 10 { // the browser writes them to its store a little later
		chromedp.Run(ctx, chromedp.Reload(), chromedp.WaitReady("#list"))
		if got = eval[string](t, ctx, `document.querySelector("#save").textContent`); got == "Save labels (2)" {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	if got != "Save labels (2)" {
		t.Errorf("after reloads: %q", got)
	}
}

// savedLabels returns what the page saves.
func savedLabels(t *testing.T, ctx context.Context) string {
	t.Helper()
	dir := t.TempDir()
	if err := chromedp.Run(ctx, browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir), chromedp.Click("#save")); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if saved, _ := os.ReadFile(filepath.Join(dir, "labels.jsonl")); len(saved) > 0 {
			return string(saved)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("nothing is saved")
	return ""
}

// TestGroup: the view of a group shows its members; another one can be kept, one can be split off, and both be taken back and saved.
func TestGroup(t *testing.T) {
	r := small()
	r.Docs = []Doc{{ID: "a", At: "x:1", Text: "one two three", Group: 1, Size: 4, Kept: true}, {ID: "b", At: "x:2", Text: "one two four " + evil, Group: 1, Size: 4}, {ID: "c", At: "x:3", Text: "one two five", Group: 1, Size: 4}, {ID: "d", At: "x:4", Text: "else"}}
	r.Pairs = []Pair{{0, 1, 0.9, 0.9, 0, nil}, {0, 2, 0.9, 0.8, 0, nil}, {1, 2, 0.9, 0.7, 0, nil}, {2, 3, 0.5, 0.55, 1, nil}}
	ctx := open(t, write(t, r))
	members := func(want string) {
		t.Helper()
		got := ""
		for range 100 {
			got = eval[string](t, ctx, `[...document.querySelectorAll("#group:not([hidden]) .member")].map((e) => e.querySelector("h3").textContent + ": " + e.querySelector(".about").textContent + " [" + [...e.querySelectorAll("button")].map((b) => b.textContent) + "]").join("\n")`)
			if got == want {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("the group is\n%s\nand not\n%s", got, want)
	}
	button := func(member int, name string) {
		t.Helper()
		eval[any](t, ctx, fmt.Sprintf(`[...document.querySelectorAll(".member")[%d].querySelectorAll("button")].find((b) => b.textContent === %q).click()`, member, name))
	}
	chromedp.Run(ctx, chromedp.KeyEvent("g")) // the first pair is in no group
	members("")
	chromedp.Run(ctx, chromedp.KeyEvent("j"), chromedp.KeyEvent("g"))
	first := "a: x:1 · kept []\nb: x:2 · probability 0.90, revised [Keep this one,Split off,Compare]\nc: x:3 · probability 0.80, revised [Keep this one,Split off,Compare]"
	members(first)
	if got := eval[string](t, ctx, `document.querySelector("#group-says").textContent`); !strings.HasPrefix(got, "Group 1: 4 documents, 3 of them in this page.") {
		t.Errorf("it says %q", got)
	}
	button(1, "Keep this one")
	members("a: x:1 · probability 0.90, revised [Keep this one,Split off,Compare]\nb: x:2 · kept, as you chose []\nc: x:3 · probability 0.70, revised [Keep this one,Split off,Compare]")
	button(2, "Split off")
	members("a: x:1 · probability 0.90, revised [Keep this one,Split off,Compare]\nb: x:2 · kept, as you chose []\nc: x:3 · probability 0.70, revised · split off [Put it back,Compare]")
	want := `{"a":"a","b":"c","same":false}` + "\n" + `{"a":"b","b":"c","same":false}` + "\n" + `{"keep":"b","instead":"a"}` + "\n"
	if got := savedLabels(t, ctx); got != want {
		t.Errorf("saved are %q", got)
	}
	chromedp.Run(ctx, chromedp.KeyEvent("z"))
	members("a: x:1 · probability 0.90, revised [Keep this one,Split off,Compare]\nb: x:2 · kept, as you chose []\nc: x:3 · probability 0.70, revised [Keep this one,Split off,Compare]")
	chromedp.Run(ctx, chromedp.KeyEvent("z"))
	members(first)
	if n := eval[int](t, ctx, `document.images.length`); n > 0 {
		t.Errorf("a text has become %d images", n)
	}
	file := filepath.Join(t.TempDir(), "labels.jsonl")
	os.WriteFile(file, []byte(want), 0o666)
	chromedp.Run(ctx, chromedp.SetUploadFiles("#files", []string{file}))
	members("a: x:1 · probability 0.90, revised [Keep this one,Split off,Compare]\nb: x:2 · kept, as you chose []\nc: x:3 · probability 0.70, revised · split off [Put it back,Compare]")
	button(0, "Compare")
	members("")
	chromedp.Run(ctx, chromedp.Poll(`document.querySelector("#shares").textContent.startsWith("67 % of the words") || document.querySelector("#shares").textContent`, nil))
}

// TestTeach: the next pair is the one that teaches most: the threshold moves with the labels, and documents with a label come later.
func TestTeach(t *testing.T) {
	r := small()
	r.Docs, r.Pairs = nil, nil
	for i := range 40 {
		r.Docs = append(r.Docs, Doc{ID: fmt.Sprint(i), At: "x:1", Text: fmt.Sprint("text ", i)})
		if i%2 == 1 {
			r.Pairs = append(r.Pairs, Pair{A: i - 1, B: i, Similarity: 0.9, Probability: 0.5 + 0.02*float64(i/2)})
		}
	}
	r.Pairs[19].Why = []Reason{{r.Prior, -1}, {"words", 2.5}, {"changes", -0.5}}
	ctx := open(t, write(t, r))
	eval[any](t, ctx, `(() => { const o = document.querySelector("#order"); o.value = "teach"; o.dispatchEvent(new Event("change")); return null })()`)
	selected := func() float64 {
		return eval[float64](t, ctx, `parseFloat(document.querySelector("#says").textContent.slice("probability ".length))`)
	}
	eval[any](t, ctx, `document.querySelector(".row").click()`)
	var asked []float64
	for range 12 { // whoever labels says "same" from 0.7 on
		asked = append(asked, selected())
		key := "d"
		if selected() >= 0.7 {
			key = "s"
		}
		chromedp.Run(ctx, chromedp.KeyEvent(key))
	}
	if asked[0] != 0.5 || slices.Max(asked) < 0.7 {
		t.Errorf("asked are %v", asked)
	}
	var threshold float64
	var more int
	said := eval[string](t, ctx, `document.querySelector("#progress").textContent`)
	if _, err := fmt.Sscanf(said[strings.Index(said, "is about"):], "is about %f; about %d more", &threshold, &more); err != nil || threshold < 0.6 || threshold > 0.8 || more < 3 || more > 15 {
		t.Errorf("after twelve labels it says %q", said)
	}
	// The chart has axes, and the reasons are bars of which each begins where the one before it ends.
	if got := eval[string](t, ctx, `[...document.querySelectorAll("#chart text")].map((e) => e.textContent).join(" ")`); got != "0 0 1 0.5 3 1 0 0.25 0.5 0.75 1 probability pairs precision recall" {
		t.Errorf("the chart says %q", got)
	}
	eval[any](t, ctx, `(() => { const o = document.querySelector("#order"); o.value = "high"; o.dispatchEvent(new Event("change")); return null })()`)
	eval[any](t, ctx, `[...document.querySelectorAll(".row")].find((r) => r.textContent.includes("0.88")).click()`)
	if got := eval[string](t, ctx, `[...document.querySelectorAll("#features .track div:not(.zero)")].map((e) => e.className + " " + e.style.left + " " + e.style.width).join(", ")`); got != "against 0% 40%, for 0% 100%, against 80% 20%, for 40% 40%" {
		t.Errorf("the bars are %s", got)
	}
}

// TestLabels: a label can be unsure and be taken back, and files of labels are loaded; where they disagree, the pair is to be judged again.
func TestLabels(t *testing.T) {
	ctx := open(t, write(t, small()))
	says := func(want string) {
		t.Helper()
		got := ""
		for range 100 {
			if got = eval[string](t, ctx, `document.querySelector("#progress").textContent + "|" + document.querySelector("#save").textContent + "|" + document.querySelector("#loaded").textContent`); got == want {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("it says %q, not %q", got, want)
	}
	selected := func() string { return eval[string](t, ctx, `document.querySelector("#id-b").textContent`) }
	first := selected()
	chromedp.Run(ctx, chromedp.KeyEvent("w"))
	says("0 same, 0 different, 1 unsure|Save labels (1)|")
	second := selected()
	chromedp.Run(ctx, chromedp.KeyEvent("s"))
	says("1 same, 0 different, 1 unsure. By these labels, the threshold is about 0.37; about 19 more labels would settle it|Save labels (2)|")
	chromedp.Run(ctx, chromedp.KeyEvent("z"))
	says("0 same, 0 different, 1 unsure|Save labels (1)|")
	if selected() != second {
		t.Errorf("after undo, %q is selected", selected())
	}
	chromedp.Run(ctx, chromedp.KeyEvent("z"), chromedp.KeyEvent("z"))
	says("|Save labels (0)|")
	if selected() != first || !eval[bool](t, ctx, `document.querySelector("#undo").disabled`) {
		t.Errorf("after all is undone, %q is selected", selected())
	}
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.jsonl"), filepath.Join(dir, "two.jsonl")
	os.WriteFile(one, []byte(`{"a":"d","b":"c","same":true}`+"\n"+`{"a":"x","b":"y","unsure":true}`+"\nnothing\n"+`{"a":"x","b":"z","same":"constructor"}`+"\n"), 0o666)
	os.WriteFile(two, []byte(`{"a":"c","b":"d","same":false}`+"\n"), 0o666)
	chromedp.Run(ctx, chromedp.SetUploadFiles("#files", []string{one}))
	says("1 same, 0 different, 1 unsure. By these labels, the threshold is about 0.29; about 18 more labels would settle it|Save labels (2)|2 labels loaded, 2 invalid lines skipped")
	chromedp.Run(ctx, chromedp.SetUploadFiles("#files", []string{two}))
	says("0 same, 0 different, 1 unsure; 1 to label again|Save labels (1)|1 label loaded; 1 pair with conflicting labels")
	if got := eval[string](t, ctx, `[...document.querySelectorAll(".mark")].map((e) => e.textContent).join()`); got != "labels disagree" {
		t.Errorf("the list says %q", got)
	}
	chromedp.Run(ctx, chromedp.Click("#different"))
	says("0 same, 1 different, 1 unsure. By these labels, the threshold is about 0.77; about 18 more labels would settle it|Save labels (2)|1 label loaded; 1 pair with conflicting labels")
}

// TestPolicy: a script that somebody smuggles into the page does not run.
func TestPolicy(t *testing.T) {
	path := write(t, small())
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Replace(string(b), "<body>", `<body><script>window.smuggled = 1</script><img src="x" onerror="window.smuggled = 1"><style>body { display: none }</style>`, 1)
	os.WriteFile(path, []byte(page), 0o666)
	ctx := open(t, path)
	if got := eval[bool](t, ctx, `window.smuggled === undefined && getComputedStyle(document.body).display !== "none"`); !got {
		t.Error("the policy lets other scripts or styles in")
	}
}

// TestManyPairs: a hundred thousand pairs open and scroll.
func TestManyPairs(t *testing.T) {
	r := small()
	r.Docs, r.Pairs = nil, nil
	text := strings.Repeat("a text with some words ", 20)
	for i := range 20_000 {
		r.Docs = append(r.Docs, Doc{ID: fmt.Sprint("document ", i), At: "x.jsonl:1", Text: fmt.Sprint(text, i)})
	}
	for i := range 100_000 {
		r.Pairs = append(r.Pairs, Pair{A: i % 20_000, B: (i*7 + 1) % 20_000, Similarity: 0.9, Probability: 0.45 + 0.55*float64(i%1000)/1000})
	}
	start := time.Now()
	ctx := open(t, write(t, r))
	if got := eval[string](t, ctx, `document.querySelector("#count").textContent`); got != "100,000 of 100,000 pairs" {
		t.Errorf("it says %q", got)
	}
	eval[any](t, ctx, `document.querySelector("#list").scrollTop = 4e6`)
	chromedp.Run(ctx, chromedp.Poll(`document.querySelectorAll(".row").length > 5 && document.querySelector(".row").style.top > "3"`, nil))
	if n := eval[int](t, ctx, `document.querySelectorAll(".row").length`); n > 60 {
		t.Errorf("%d rows are in the page", n)
	}
	t.Log("opened and scrolled in", time.Since(start))
}

// shown waits until the two texts of a pair are shown, and returns how long that takes, and which share of them is marked.
func shown(t *testing.T, ctx context.Context, r *Report, pair int) (took time.Duration, marked float64) {
	t.Helper()
	got := eval[[]float64](t, ctx, fmt.Sprintf(`(async () => {
		const start = performance.now();
		document.querySelector("#list").scrollTop = %d * 80;
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		const row = [...document.querySelectorAll(".row")].find((r) => r.style.top === "%dpx");
		const before = document.querySelector("#text-a").firstChild;
		row.click();
		while (document.querySelector("#text-a").firstChild === before) await new Promise((done) => setTimeout(done, 1));
		const took = performance.now() - start;
		const length = (q) => [...document.querySelectorAll(q)].reduce((n, e) => n + e.textContent.length, 0);
		return [took, length("#text-a del") + length("#text-b ins")];
	})()`, pair, pair*80))
	a, b := r.Docs[r.Pairs[pair].A].Text, r.Docs[r.Pairs[pair].B].Text
	return time.Duration(got[0] * float64(time.Millisecond)), got[1] / float64(utf8.RuneCountInString(a)+utf8.RuneCountInString(b))
}

// awaited lets an expression of chromedp wait for a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// leastMarked returns the share of two texts that no comparison of characters can do without marking: what is not in their longest common
// subsequence.
func leastMarked(a, b []rune) float64 {
	row := make([]int32, len(b)+1)
	for _, x := range a {
		before := int32(0) // row[j] of the row before
		for j, y := range b {
			was := row[j+1]
			if x == y {
				row[j+1] = before + 1
			} else {
				row[j+1] = max(was, row[j])
			}
			before = was
		}
	}
	return 1 - 2*float64(row[len(b)])/float64(len(a)+len(b))
}

// TestStatutes: of forty pairs of versions of a statute, less than a third is marked, or as much as must be. It logs how long it takes to show
// what differs.
func TestStatutes(t *testing.T) {
	dir := os.Getenv("NEARDUP_DATA")
	if dir == "" {
		t.Skip("NEARDUP_DATA is not set")
	}
	texts := map[string]string{}
	f, err := os.Open(filepath.Join(dir, "zh-laws", "docs.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(z); d.More(); {
		var doc struct{ ID, Text string }
		if err := d.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		texts[doc.ID] = doc.Text
	}
	truth, err := os.ReadFile(filepath.Join(dir, "zh-laws", "truth.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var pairs [][2]string
	first := map[string]string{} // of each group
	for line := range strings.Lines(string(truth)) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); first[fields[1]] == "" {
			first[fields[1]] = fields[0]
		} else {
			pairs = append(pairs, [2]string{first[fields[1]], fields[0]})
		}
	}
	slices.SortFunc(pairs, func(p, q [2]string) int { // the longest
		return len(texts[q[0]]) + len(texts[q[1]]) - len(texts[p[0]]) - len(texts[p[1]])
	})
	r := small()
	r.Docs, r.Pairs, r.Kinds = nil, nil, []string{"revised"}
	for i, p := range pairs[:40] {
		for _, id := range p {
			r.Docs = append(r.Docs, Doc{ID: id, At: id, Text: texts[id]})
		}
		r.Pairs = append(r.Pairs, Pair{A: 2 * i, B: 2*i + 1, Probability: 0.9, Similarity: 0.9})
	}
	ctx := open(t, write(t, r))
	for i := range r.Pairs {
		took, marked := shown(t, ctx, r, i)
		t.Logf("%s and %s, %d characters: %.0f ms, %.0f %% marked", r.Docs[2*i].ID, r.Docs[2*i+1].ID, len([]rune(r.Docs[2*i].Text)), took.Seconds()*1000, marked*100)
		least := 0.3
		if marked > least { // some statutes were written anew
			least = max(least, 1.15*leastMarked([]rune(r.Docs[2*i].Text), []rune(r.Docs[2*i+1].Text))+0.02)
		}
		if marked > least {
			t.Errorf("pair %d: %.0f %% are marked, where %.0f %% are enough", i, marked*100, least*100)
		}
	}
}

// TestLongText: two texts of a megabyte, of which one word in fifty differs, or all, or which repeat one word, are shown.
func TestLongText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	words := make([]string, 150_000)
	for i := range words {
		if words[i] = fmt.Sprint("word", rnd.IntN(5000)); i%15 == 14 {
			words[i] += "."
		}
	}
	edited := slices.Clone(words)
	for range len(words) / 50 {
		edited[rnd.IntN(len(edited))] = "other"
	}
	others := make([]string, len(words))
	for i := range others {
		others[i] = fmt.Sprint("else", i)
	}
	r := small()
	r.Docs, r.Kinds, r.Pairs = nil, []string{"revised"}, nil
	for i, text := range []string{strings.Join(words, " "), strings.Join(edited, " "), strings.Join(others, " "), strings.Repeat("again ", 150_000), strings.Repeat("again ", 149_000) + "once " + strings.Repeat("again ", 500)} {
		r.Docs = append(r.Docs, Doc{ID: fmt.Sprint(i), At: "x", Text: text})
	}
	r.Pairs = []Pair{{0, 1, 0.9, 0.9, 0, nil}, {0, 2, 0.9, 0.9, 0, nil}, {3, 4, 0.9, 0.9, 0, nil}, {2, 3, 0.9, 0.9, 0, nil}}
	ctx := open(t, write(t, r))
	for i, most := range []float64{0.03, 1, 0.01, 1} {
		took, marked := shown(t, ctx, r, i)
		t.Logf("pair %d: %v, %.1f %% marked", i, took, marked*100)
		if marked > most || marked < most/4 && most == 1 {
			t.Errorf("pair %d: %.1f %% are marked", i, marked*100)
		}
	}
}

// TestDifferences: what is the same is folded and stands side by side, keys go to the next difference, and what cannot be seen is shown.
func TestDifferences(t *testing.T) {
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("This is the sentence number %d of a text.", i))
	}
	a := strings.Join(lines, "\n")
	lines[20] = "Here stands something else, of two lines,\nand more."
	lines[35] = "And here is a \u202eturn."
	r := small()
	r.Docs = []Doc{{ID: "a\u202eb", At: "x", Text: a}, {ID: "b", At: "y", Text: strings.Join(lines, "\n")}}
	r.Pairs = r.Pairs[:1]
	ctx := open(t, write(t, r))
	chromedp.Run(ctx, chromedp.Poll(`document.querySelectorAll("#text-b ins").length > 0`, nil))
	if got := eval[string](t, ctx, `document.querySelector("#id-a").textContent + document.querySelector("#text-b .unseen").textContent`); got != "a⟨U+202E⟩bU+202E" {
		t.Errorf("an unseen sign is shown as %q", got)
	}
	if got := eval[string](t, ctx, `[...document.querySelectorAll("#text-a .fold")].map((e) => e.textContent).join(", ")`); got != "18 equal parts, 10 equal parts" {
		t.Errorf("folded are %s", got)
	}
	aligned := `[...document.querySelectorAll("#text-a > *")].every((e, i) => e.getBoundingClientRect().top === document.querySelectorAll("#text-b > *")[i].getBoundingClientRect().top)`
	if !eval[bool](t, ctx, aligned) {
		t.Error("the sides are not aligned")
	}
	at := `(() => { const part = document.querySelector(".current").closest(".part"); return [...part.parentElement.children].indexOf(part) })()`
	var places []int
	for _, key := range []string{"n", "n", "n", "n", "p"} {
		chromedp.Run(ctx, chromedp.KeyEvent(key))
		places = append(places, eval[int](t, ctx, at))
	}
	if first, last := places[0], slices.Max(places); first != 3 || !slices.IsSorted(places[:4]) || places[4] >= last {
		t.Errorf("the keys go to the rows %d", places)
	}
	if got := eval[int](t, ctx, `document.querySelectorAll(".current").length`); got != 1 {
		t.Errorf("%d differences are current", got)
	}
	chromedp.Run(ctx, chromedp.Click("#text-b .fold"))
	if got := eval[string](t, ctx, `document.querySelector("#text-a").textContent.slice(0, 45)`); !strings.HasPrefix(got, lines[0]) || !eval[bool](t, ctx, aligned) {
		t.Errorf("unfolded it begins with %q", got)
	}
	// A page without pairs can be searched.
	ctx = open(t, write(t, &Report{Title: "t", Key: "k", Threshold: 0.5, Kinds: []string{"revised"}}))
	chromedp.Run(ctx, chromedp.SendKeys("#search", "a"), chromedp.Sleep(500*time.Millisecond))
	if got := eval[string](t, ctx, `document.querySelector("#says").textContent`); got != "There are no pairs." {
		t.Errorf("it says %q", got)
	}
}
