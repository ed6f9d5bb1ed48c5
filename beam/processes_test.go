package neardupbeam

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	_ "unsafe" // for linkname

	"github.com/apache/beam/sdks/v2/go/container/pool"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness/init"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
	"github.com/neardup/neardup"
	"github.com/neardup/neardup/internal/collections"
	"google.golang.org/protobuf/proto"
)

// These tests run pipelines in several processes: Prism as a program, and workers that the worker pool of the SDK starts with its own boot, each a
// process that has nothing but the pipeline. So the names of functions, coders and settings cross the borders of
// processes. Prism gives each environment of a pipeline one worker. So the pipeline gets as many environments as there are to be
// workers, and its steps are spread over them.

// The harness of the SDK numbers the metrics of a process from 1 on, and Prism takes the numbers of one worker for those of another
// (seen with 2.77). So each process begins with a number of its own.
//
//go:linkname metricNumbers github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness.defaultShortIDCache
var metricNumbers *struct {
	sync.Mutex
	numbers, infos map[string]int // of other types
	last           int64
}

// numberMetrics sets the first number of this process.
func numberMetrics() { metricNumbers.last = int64(os.Getpid()) << 20 }

// A cluster is a runner with a pool of workers.
type cluster struct{ runner, pool string } // where they listen

// startCluster builds and starts the programs of the SDK.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	for name, path := range map[string]string{"prism": "cmd/prism", "boot": "container"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), "github.com/apache/beam/sdks/v2/go/"+path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	port := freePort(t)
	start := func(name string, args ...string) {
		cmd := exec.Command(filepath.Join(dir, name), args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		var log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &log, &log
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			cmd.Wait()
			if t.Failed() {
				t.Logf("%s:\n%.20000s", name, log.String())
			}
		})
	}
	start("prism", fmt.Sprintf("--job_port=%d", port), "--serve_http=false", "--log_level=warn")
	// Workers that begin at one time would write the program to one file. Each also writes its options into the folder where it is.
	script := filepath.Join(dir, "worker")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\ncd \"$(mktemp -d %[1]s/XXXXXXXX)\" && exec %[1]s/boot --semi_persist_dir=\"$PWD\" \"$@\" >>%[1]s/workers.log 2>&1\n", dir), 0o777); err != nil {
		t.Fatal(err)
	}
	poolPort := freePort(t)
	workers, err := pool.New(context.Background(), poolPort, script)
	if err != nil {
		t.Fatal(err)
	}
	go workers.ServeAndWait()
	t.Cleanup(func() {
		workers.Stop(context.Background())
		sweep(t)
		if log, err := os.ReadFile(filepath.Join(dir, "workers.log")); t.Failed() && err == nil {
			t.Logf("workers:\n%.20000s", log)
		}
	})
	return &cluster{fmt.Sprintf("localhost:%d", port), fmt.Sprintf("localhost:%d", poolPort)}
}

// sweep ends workers whose boot has ended without them, and removes the copies of the program that the boots have made.
func sweep(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(self)
	if err != nil {
		t.Fatal(err)
	}
	copies, _ := filepath.Glob("/tmp/bin*/worker")
	for _, path := range copies {
		if of, err := os.Stat(path); err != nil || of.Size() != info.Size() || of.ModTime().Before(info.ModTime()) {
			continue
		}
		exes, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, exe := range exes {
			if to, err := os.Readlink(exe); err == nil && to == path {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(exe)))
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		os.RemoveAll(filepath.Dir(path))
	}
}

// freePort returns a port that nobody uses now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// run runs a pipeline on so many workers.
func (c *cluster) run(ctx context.Context, p *beam.Pipeline, workers int) error {
	edges, _, err := p.Build()
	if err != nil {
		return err
	}
	pool := func(context.Context) string { return c.pool }
	environment, err := graphx.CreateEnvironment(ctx, "beam:env:external:v1", pool)
	if err != nil {
		return err
	}
	all, err := graphx.Marshal(edges, &graphx.Options{Environment: environment})
	if err != nil {
		return err
	}
	worker, err := os.Executable() // TestMain makes it a worker
	if err == nil {
		err = runnerlib.UpdateGoEnvironmentWorker(worker, all)
	}
	if err != nil {
		return err
	}
	spreadSteps(all, workers)
	_, err = runnerlib.Execute(ctx, all, c.runner, &runnerlib.JobOptions{Name: "test", Worker: worker, Parallelism: 1}, false)
	return err
}

// spreadSteps gives a pipeline so many environments, and spreads its steps over them.
func spreadSteps(p *pipepb.Pipeline, n int) {
	c := p.GetComponents()
	var first string
	for id := range c.GetEnvironments() {
		first = id
	}
	ids := []string{first}
	for i := 1; i < n; i++ {
		ids = append(ids, first+strconv.Itoa(i))
		c.Environments[ids[i]] = proto.Clone(c.GetEnvironments()[first]).(*pipepb.Environment)
	}
	var steps []string
	for id, step := range c.GetTransforms() {
		if step.GetEnvironmentId() != "" && len(step.GetSubtransforms()) == 0 {
			steps = append(steps, id)
		}
	}
	slices.Sort(steps)
	from := map[string]string{} // the step that makes a collection
	for i, id := range steps {
		c.Transforms[id].EnvironmentId = ids[i%n]
		for _, collection := range c.Transforms[id].GetOutputs() {
			from[collection] = id
		}
	}
	for _, id := range steps { // what the SDK does with groups is one step with whoever reads them
		for _, collection := range c.Transforms[id].GetInputs() {
			if from[collection] != "" && isGroups(c, c.GetPcollections()[collection].GetCoderId()) {
				c.Transforms[id].EnvironmentId = c.Transforms[from[collection]].GetEnvironmentId()
			}
		}
	}
}

// isGroups reports whether a coder is one of groups of several collections, which no process writes.
func isGroups(c *pipepb.Components, id string) bool {
	of := c.GetCoders()[id]
	return strings.HasPrefix(of.GetSpec().GetUrn(), "beam:go:coder:cogbk") || slices.ContainsFunc(of.GetComponentCoderIds(), func(id string) bool { return isGroups(c, id) })
}

// written has the lines that a pipeline has written, by the name of the result.
func written(t *testing.T, dir string, o Options) map[string][]string {
	t.Helper()
	of, names := map[string][]string{}, []string{"kept", "groups", "pairs"}
	if o.Method == Auto {
		names = append(names, "families")
	}
	for _, name := range names {
		of[name] = lines(t, filepath.Join(dir, name))
	}
	return of
}

// holdFn stops at a document for as long as a file is there, and says in another one which process does.
type holdFn struct{ File string }

func (fn *holdFn) ProcessElement(d Document, emit func(Document)) error {
	for fn.File != "" {
		if _, err := os.Stat(fn.File); err != nil {
			break
		}
		if err := os.WriteFile(fmt.Sprintf("%s-%d", fn.File, os.Getpid()), nil, 0o666); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	emit(d)
	return nil
}

func init() { beam.RegisterType(reflect.TypeFor[holdFn]()) }

// filesPipeline returns a pipeline from files to files, which holdFn may stop.
func filesPipeline(input, dir, hold string, o Options) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	documents, _ := Read(s, []string{input}, ReadOptions{})
	documents = beam.ParDo(s, &holdFn{hold}, documents)
	found := NearDuplicates(s, documents, o)
	Write(s, filepath.Join(dir, "kept"), 2, found.Kept)
	Write(s, filepath.Join(dir, "groups"), 2, found.Groups)
	Write(s, filepath.Join(dir, "pairs"), 2, found.Pairs(s))
	if o.Method == Auto {
		Write(s, filepath.Join(dir, "families"), 1, found.Families)
	}
	return p
}

// writeLines writes documents as JSON lines.
func writeLines(t *testing.T, docs []Document) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "in.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for _, d := range docs {
		b, err := documentLine(d)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(append(b, '\n'))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	return path
}

// TestProcesses: workers in processes of their own find what is found in this one, however many there are.
func TestProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds Prism and the SDK's boot, which takes minutes, and each worker takes three seconds to begin")
	}
	c := startCluster(t)
	all := map[string]collections.Texts{"mixed": collections.Shapes()["mixed"]}
	if dir := os.Getenv("NEARDUP_DATA"); dir != "" {
		data, err := collections.Data(dir)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, data)
	}
	options := map[string]Options{"auto": {Method: Auto, Kinds: neardup.AllKinds}, "minhash": {Method: MinHash}, "simhash": {Method: SimHash}, "cosine": {Method: Cosine, Similarity: 0.6}}
	for name, texts := range all {
		for with, o := range options {
			if with != "auto" && name != "mixed" {
				continue
			}
			t.Run(name+"/"+with, func(t *testing.T) {
				input, dir := writeLines(t, documentsOf(texts)), t.TempDir()
				if _, err := beam.Run(t.Context(), "prism", filesPipeline(input, dir, "", o)); err != nil {
					t.Fatal(err)
				}
				want := written(t, dir, o)
				numbers := []int{1, 2, 4}
				if with != "auto" || name != "mixed" {
					numbers = []int{2} // each takes three seconds to begin
				}
				for _, workers := range numbers {
					dir := t.TempDir()
					began := time.Now()
					if err := c.run(t.Context(), filesPipeline(input, dir, "", o), workers); err != nil {
						t.Fatalf("%d workers: %v", workers, err)
					}
					got := written(t, dir, o)
					for name, lines := range want {
						if !slices.Equal(got[name], lines) {
							t.Errorf("%d workers: %d lines of %s, not %d", workers, len(got[name]), name, len(lines))
						}
					}
					t.Logf("%d workers: %d documents, %d pairs, %v", workers, len(texts), len(want["pairs"]), time.Since(began).Round(time.Millisecond))
				}
			})
		}
	}
	t.Run("killed", func(t *testing.T) { killed(t, c) })
}

// killed: if a worker is killed, the job does not succeed. It leaves no file that anybody could take for a result, and the same job
// succeeds when it is repeated. (Prism starts no other worker, as Flink, Spark and Dataflow do, and waits for ever.)
func killed(t *testing.T, c *cluster) {
	input, dir := writeLines(t, documentsOf(collections.Shapes()["chain"])), t.TempDir()
	o := Options{Method: Auto}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hold := filepath.Join(t.TempDir(), "hold")
	if err := os.WriteFile(hold, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	go func() { done <- c.run(ctx, filesPipeline(input, dir, hold, o), 2) }()
	var holding []string // the processes that are in the middle of the job
	for began := time.Now(); len(holding) == 0; time.Sleep(10 * time.Millisecond) {
		if holding, _ = filepath.Glob(hold + "-*"); time.Since(began) > time.Minute {
			t.Fatal("no worker reads documents")
		}
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(holding[0], hold+"-"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Logf("the job: %v", err)
		if err == nil {
			t.Error("a job succeeded whose worker was killed")
		}
	case <-time.After(5 * time.Second): // Prism does not see it
		t.Log("the job waits for ever")
		cancel()
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl")); len(files) > 0 {
		t.Errorf("a job that was killed has left %q", files)
	}
	if err := c.run(t.Context(), filesPipeline(input, dir, "", o), 2); err != nil {
		t.Fatal(err)
	}
	whole := t.TempDir()
	if _, err := beam.Run(t.Context(), "prism", filesPipeline(input, whole, "", o)); err != nil {
		t.Fatal(err)
	}
	got := written(t, dir, o)
	for name, lines := range written(t, whole, o) {
		if !slices.Equal(got[name], lines) {
			t.Errorf("%d lines of %s, not %d", len(got[name]), name, len(lines))
		}
	}
}
