// Package program builds the programs of this repository that are measured.
package program

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// Build builds the program of a folder of this repository as a file. The working folder is that of go run -C lab.
func Build(folder, to string) error {
	c := exec.Command("go", "build", "-o", to, ".")
	c.Dir = filepath.Join("..", folder)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", filepath.Base(folder), err, out)
	}
	return nil
}
