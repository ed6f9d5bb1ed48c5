// Command browser makes a page for comparing two texts, or for finding the near-duplicates in a file, in any current browser,
// without a network: nothing that is read leaves the machine. The page is one file, which can be opened from a disk, be sent
// by mail, or be put on any site:
//
//	go run -C bindings ./browser -o ~/neardup.html
//
// It contains the program of package wasm, compressed. A worker runs it, so the page stays responsive meanwhile.
package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed page/page.html
var page string

//go:embed page/page.js
var script string

//go:embed page/worker.js
var worker string

func main() {
	out := flag.String("o", "neardup.html", "the `FILE` to write; an existing file is replaced only with -force")
	force := flag.Bool("force", false, "replace the file")
	flag.Parse()
	if err := write(*out, *force); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}

// write makes the page and writes it to a file.
func write(path string, force bool) error {
	html, err := build()
	if err != nil {
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, html)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		fmt.Printf("%s: %.1f MB\n", path, float64(len(html))/1e6)
	}
	return err
}

// build compiles the program for browsers and returns the page with everything in it.
func build() (string, error) {
	dir, err := os.MkdirTemp("", "neardup-page")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "neardup.wasm")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "github.com/neardup/neardup/bindings/browser/wasm")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, said)
	}
	wasm, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is one
	if _, err := z.Write(wasm); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	glue, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js")) // of Go: what the program needs of a browser
	if err != nil {
		return "", err
	}
	html := strings.Replace(page, "/*SCRIPT*/", script, 1)
	html = strings.Replace(html, "/*WORKER*/", string(glue)+"\n"+worker, 1)
	return strings.Replace(html, "/*PROGRAM*/", base64.StdEncoding.EncodeToString(packed.Bytes()), 1), nil
}
