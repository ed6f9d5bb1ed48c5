package review

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// open opens a page in a headless browser, and returns a context to look at it. What the page complains about is an
// error of the test.
func open(t *testing.T, path string) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		if os.Getenv("NEARDUP_SERVERS") == "required" {
			t.Fatal("there is no Chromium")
		}
		t.Skip("there is no Chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
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
	if err := chromedp.Run(ctx, chromedp.Evaluate(expression, &x)); err != nil {
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
	if got := eval[string](t, ctx, `document.querySelector("#effect").textContent`); got != "From 0.60 on: 1 pairs." {
		t.Errorf("the threshold says %q", got)
	}
	// A key labels the pair and goes on to the next one, which is Chinese.
	chromedp.Run(ctx, chromedp.KeyEvent("d"))
	wait(`document.querySelectorAll("#text-b ins").length === 1 && document.querySelector("#text-b ins").textContent === "道"`)
	if got := eval[string](t, ctx, `document.querySelector("#text-a").textContent`); got != small().Docs[0].Text {
		t.Errorf("the text is %q", got)
	}
	if got := eval[string](t, ctx, `document.querySelector("#features td").textContent`); got != evil {
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
	if got := eval[string](t, ctx, `document.querySelector("#effect").textContent`); got != "From 0.50 on: 2 pairs; 1 would join." {
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
	dir := t.TempDir()
	if err := chromedp.Run(ctx, browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir), chromedp.Click("#save")); err != nil {
		t.Fatal(err)
	}
	var saved []byte
	for range 100 {
		if saved, _ = os.ReadFile(filepath.Join(dir, "labels.jsonl")); len(saved) > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if got := string(saved); !strings.Contains(got, `{"a":"c","b":"d","same":false}`+"\n") || !strings.Contains(got, `"b":"b","same":true}`+"\n") || strings.Count(got, "\n") != 2 {
		t.Errorf("saved are %q", got)
	}
	// They are there when the page is opened again.
	chromedp.Run(ctx, chromedp.Reload(), chromedp.WaitReady("#list"))
	if got := eval[string](t, ctx, `document.querySelector("#save").textContent`); got != "Save labels (2)" {
		t.Errorf("after a reload: %q", got)
	}
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
