package server

import (
	"os"
	"os/exec"
	"testing"
)

// Chromium returns the path of Chromium or Chrome. If there is none, the test is skipped, or fails if NEARDUP_SERVERS is "required".
func Chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("NEARDUP_SERVERS") == "required" {
		t.Fatal("there is no Chromium")
	}
	t.Skip("there is no Chromium")
	return ""
}
