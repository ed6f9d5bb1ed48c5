// Command manifests checks the files of service/deploy by what reads them: the library of Docker Compose, and the types of Kubernetes, in which every
// field must be known. It also looks at whether both call flags that neardupd has. .ci/images runs it, in a module of its own.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	dir, program := os.Args[1], os.Args[2]
	help, err := exec.Command(program, "--help").Output()
	if err != nil {
		log.Fatal(err)
	}
	for _, check := range []func(string) ([]string, error){compose, kubernetes} {
		args, err := check(dir)
		if err != nil {
			log.Fatal(err)
		}
		for _, a := range args {
			if name, _, _ := strings.Cut(a, "="); !bytes.Contains(help, []byte(name+"=")) {
				log.Fatalf("neardupd has no flag %s", name)
			}
		}
		fmt.Println(args)
	}
}

// compose returns the arguments of the service in compose.yaml.
func compose(dir string) ([]string, error) {
	file := filepath.Join(dir, "compose.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{WorkingDir: dir, ConfigFiles: []types.ConfigFile{{Filename: file, Content: text}}}, func(o *loader.Options) { o.SetProjectName("neardup", true) })
	if err != nil {
		return nil, err
	}
	s := p.Services["neardupd"]
	if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
		return nil, err
	}
	return s.Command, nil
}

// kubernetes returns the arguments of the container in kubernetes.yaml.
func kubernetes(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "kubernetes.yaml"))
	if err != nil {
		return nil, err
	}
	service, set, _ := bytes.Cut(text, []byte("\n---\n"))
	var s core.Service
	var w apps.StatefulSet
	if err := errors.Join(yaml.UnmarshalStrict(service, &s), yaml.UnmarshalStrict(set, &w)); err != nil {
		return nil, err
	}
	c := w.Spec.Template.Spec.Containers[0]
	for key, value := range s.Spec.Selector {
		if w.Spec.Template.Labels[key] != value {
			return nil, fmt.Errorf("the service selects %s=%s", key, value)
		}
	}
	if s.Spec.Ports[0].TargetPort.StrVal != c.Ports[0].Name || c.LivenessProbe.HTTPGet.Port.StrVal != c.Ports[0].Name {
		return nil, errors.New("the ports do not agree")
	}
	return c.Args, nil
}
