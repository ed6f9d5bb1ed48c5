// Package server starts database servers for tests and benchmarks of the stores, and finds the browser for tests of pages. The script
// server.sh does the work.
package server

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

//go:embed server.sh
var script string

// ErrMissing is the error for a server that is not installed.
var ErrMissing = errors.New("server not installed")

// A Server is a running server on 127.0.0.1, with its files in a temporary directory.
type Server struct {
	Port string
	dir  string
	name string
	args []string
}

// Start starts a redis, mariadb or postgres server. The further arguments go to the server.
func Start(name string, args ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "neardup-"+name+"-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, name: name, args: args}
	if err := s.Restart(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// ForTest starts a server and stops it after the test. If the server is not installed, the test is
// skipped, or fails if NEARDUP_SERVERS is "required".
func ForTest(t testing.TB, name string, args ...string) *Server {
	t.Helper()
	s, err := Start(name, args...)
	if errors.Is(err, ErrMissing) && os.Getenv("NEARDUP_SERVERS") != "required" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// run runs server.sh and returns its output. server.sh ends with the code 3 if the server is not
// installed.
func run(args ...string) (string, error) {
	cmd := exec.Command("bash", append([]string{"-c", script, "server.sh"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 3:
		return "", fmt.Errorf("%w: %s", ErrMissing, strings.TrimSpace(errs.String()))
	case err != nil:
		return "", fmt.Errorf("server.sh %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// Restart starts a killed server again, on the same port and with the same data.
func (s *Server) Restart() error {
	port, err := run(append([]string{"start", s.name, s.dir}, s.args...)...)
	if err != nil {
		return err
	}
	s.Port = port
	return nil
}

// Kill kills the server at once. The server has no time to write anything.
func (s *Server) Kill() error {
	_, err := run("kill", s.dir)
	return err
}

// Stop stops the server and removes its files.
func (s *Server) Stop() error {
	_, err := run("stop", s.dir)
	return errors.Join(err, os.RemoveAll(s.dir))
}
