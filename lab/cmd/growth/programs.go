package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"time"

	"github.com/neardup/neardup/lab/peak"
)

// This file runs the programs that are measured.

// measure runs a program and returns what it cost.
func measure(program string, args ...string) (m measurement, err error) {
	c := exec.Command(program, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	start := time.Now()
	if err := c.Run(); err != nil {
		return m, fmt.Errorf("%s: %w\n%s", program, err, stderr.Bytes())
	}
	m.wall, m.cpu = time.Since(start), c.ProcessState.UserTime()+c.ProcessState.SystemTime()
	m.peak = float64(peak.Of(c.ProcessState)) / 1e6
	m.says = saidBy(append(stdout.Bytes(), stderr.Bytes()...))
	return m, nil
}
