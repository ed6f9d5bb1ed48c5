package service

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	installed "github.com/neardup/neardup/internal/server"
	"github.com/neardup/neardup/service/client"
)

// TestPage looks at the page in Chromium: with a token, with texts and ids that try to be markup, and side by side.
func TestPage(t *testing.T) {
	const token = "browser-0123456789abcdef"
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("browser "+token+" admin *\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, Options{Tokens: must(ReadTokens(file))})
	c := s.client()
	c.Token = token
	if err := c.Create(bg, "pages", client.Settings{}); err != nil {
		t.Fatal(err)
	}
	const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`
	must(c.PutIfNew(bg, "pages", client.Document{ID: hostile, Text: hostile + text(1, 0)}, 1))
	must(c.PutIfNew(bg, "pages", client.Document{ID: "other", Text: hostile + text(1, 5)}, 1))
	if err := c.Put(bg, "pages", client.Document{ID: "other", Text: hostile + text(1, 5)}); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(installed.Chromium(t)), chromedp.NoSandbox, chromedp.WindowSize(1100, 1000))...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	defer cancel()
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*runtime.EventExceptionThrown); ok {
			t.Errorf("the page fails: %s", e.ExceptionDetails.Error())
		}
	})
	var decisions, left, right, title, verdict, chinese string
	var marked int
	err := chromedp.Run(ctx,
		chromedp.Navigate(s.url),
		chromedp.WaitVisible("#login"),
		chromedp.SendKeys("#token", token), chromedp.Click("#login button"),
		chromedp.WaitVisible("#collections tr"),
		chromedp.WaitNotVisible("#login"),
		chromedp.Text("#decisions", &decisions),
		chromedp.Click("#decisions .as-link"),
		chromedp.WaitVisible("#verdict"),
		chromedp.Text("#verdict", &verdict), chromedp.Text("#left", &left), chromedp.Text("#right", &right),
		chromedp.Evaluate(`document.querySelectorAll("#left mark, #right mark").length`, &marked),
		chromedp.Evaluate(`sides("A股市场2024年收盘。", "A股市场2025年收盘").flat().filter(x => x.nodeName == "MARK").map(x => x.textContent).join("|")`, &chinese),
		chromedp.Title(&title),
	)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(decisions, hostile) || !strings.HasPrefix(verdict, "Near-duplicates") || !strings.Contains(left, "onerror") || !strings.Contains(right, hostile) || marked == 0 || title != "neardup" {
		t.Errorf("the title is %q, %d words are marked, and the page says\n%s\n%s\n%s\n%s", title, marked, decisions, verdict, left, right)
	}
	if chinese != "2024|。|2025" {
		t.Errorf("marked in Chinese: %s", chinese)
	}
	if path := os.Getenv("NEARDUP_SCREENSHOT"); path != "" {
		var image []byte
		if err := chromedp.Run(ctx, chromedp.FullScreenshot(&image, 100)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, image, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
