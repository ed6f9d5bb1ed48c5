package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// A process is a running program that does the work of a peer. It waits while the library works. It
// reads commands, one a line, and answers each with a line of JSON that has the seconds it took.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	dir     string // a folder that is removed in the end, or ""
	version string
}

// start starts a program. What it says of errors is passed on.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd}
	cmd.Stderr = os.Stderr
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	return p, cmd.Start()
}

// read reads a line of JSON.
func (p *process) read(v any) error {
	if !p.out.Scan() {
		if err := p.out.Err(); err != nil {
			return err
		}
		return io.ErrUnexpectedEOF
	}
	if err := json.Unmarshal(p.out.Bytes(), v); err != nil {
		return fmt.Errorf("answer %q: %w", p.out.Text(), err)
	}
	return nil
}

// ask sends a command, and returns how long it took.
func (p *process) ask(command string) (time.Duration, error) {
	if _, err := fmt.Fprintln(p.in, command); err != nil {
		return 0, err
	}
	var answer struct{ Seconds *float64 }
	if err := p.read(&answer); err != nil {
		return 0, err
	}
	if answer.Seconds == nil {
		return 0, fmt.Errorf("answer %q has no seconds", p.out.Text())
	}
	return time.Duration(*answer.Seconds * 1e9), nil
}

// stop ends the process and removes its folder.
func (p *process) stop() {
	p.in.Close()
	p.cmd.Wait()
	os.RemoveAll(p.dir)
}
