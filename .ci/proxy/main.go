// Command proxy publishes all modules of the repository, as they are committed, to a module proxy in
// a folder, the form that GOPROXY=file://FOLDER reads. CI fetches them from there as users will from
// the network.
//
//	go run -C .ci/proxy . VERSION FOLDER
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: proxy VERSION FOLDER")
	}
	version, folder := os.Args[1], os.Args[2]
	root := git(".", "rev-parse", "--show-toplevel")
	for _, file := range strings.Fields(git(root, "ls-files", "--", "go.mod", "*/go.mod")) {
		dir := filepath.ToSlash(filepath.Dir(file))
		path := "github.com/neardup/neardup"
		if dir != "." {
			path += "/" + dir
		}
		if strings.Contains(path, "/internal/") || strings.Contains(path, "/.") { // tools of ours
			continue
		}
		if err := publish(root, dir, module.Version{Path: path, Version: version}, folder); err != nil {
			log.Fatalf("%s: %v", path, err)
		}
		fmt.Println(path, version)
	}
}

// publish writes the four files that a proxy has of a module: the zip holds what is committed below the
// folder of the module, without the modules nested in it.
func publish(root, dir string, m module.Version, folder string) error {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	at := filepath.Join(folder, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, dir, "go.mod"))
	if err != nil {
		return err
	}
	info := fmt.Sprintf("{\"Version\":%q,\"Time\":%q}\n", m.Version, time.Now().UTC().Format(time.RFC3339))
	for name, data := range map[string]string{"list": m.Version + "\n", m.Version + ".info": info, m.Version + ".mod": string(mod)} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(data), 0o644); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(at, m.Version+".zip"))
	if err != nil {
		return err
	}
	defer f.Close()
	subdir := dir
	if dir == "." {
		subdir = ""
	}
	if err := zip.CreateFromVCS(f, m, root, "HEAD", subdir); err != nil {
		return err
	}
	return f.Close()
}

// git returns what git prints.
func git(dir string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		log.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}
