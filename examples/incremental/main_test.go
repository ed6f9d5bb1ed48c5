package main

import (
	"bytes"
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/neardup/neardup/service"
	"github.com/neardup/neardup/service/client"
)

// TestRun: a line that comes again was here, and one that is nearly the same is like it.
func TestRun(t *testing.T) {
	s, err := service.New(context.Background(), service.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server := httptest.NewServer(s)
	defer server.Close()
	const line = "The library will stay open until ten in the evening from Monday to Friday, except in August"
	var out bytes.Buffer
	in := strings.NewReader(line + "\n" + line + ".\nQuite another line about something else\n" + line + "\n")
	if err := run(context.Background(), &client.Client{URL: server.URL}, "lines", in, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"is new", "same-words", "is new", "is already stored"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, without %q", i, lines[i], want)
		}
	}
}
