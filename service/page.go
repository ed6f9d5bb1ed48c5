package service

import (
	_ "embed"
	"net/http"
)

// This file has the page at /. It is a client like any other: it asks for a token if one is needed, and has no right of its own.

//go:embed page.html
var page []byte

// servePage answers with the page. It loads nothing, and texts cannot become code in it. The policy of the
// header allows no other sources, no frames and no forms; the script and the style are in the page itself.
func servePage(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	w.Write(page)
}
