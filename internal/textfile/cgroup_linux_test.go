package textfile

import (
	"testing"
	"testing/fstest"
)

// TestGroupLimit: the smallest limit on the way up counts, in both versions of control groups.
func TestGroupLimit(t *testing.T) {
	const (
		old = "36 32 0:31 / /sys/fs/cgroup/memory rw,nosuid shared:17 - cgroup cgroup rw,memory\n35 32 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		two = "25 24 0:22 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	)
	for name, x := range map[string]struct {
		groups, mounts string
		files          map[string]string
		want           int64
	}{
		"2, nested":    {"0::/user.slice/job\n", two, map[string]string{"user.slice/memory.max": "300000000\n", "user.slice/job/memory.max": "max\n"}, 300_000_000},
		"2, own":       {"0::/user.slice/job\n", two, map[string]string{"user.slice/memory.max": "300000000\n", "user.slice/job/memory.max": "200000000\n"}, 200_000_000},
		"2, container": {"0::/\n", two, map[string]string{"memory.max": "350000000\n"}, 350_000_000},
		"2, mounted":   {"0::/docker/abc\n", "25 24 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", map[string]string{"memory.max": "350000000\n"}, 350_000_000},
		"2, elsewhere": {"0::/../../other\n", "25 24 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", map[string]string{"memory.max": "350000000\n"}, 350_000_000},
		"2, none":      {"0::/job\n", two, map[string]string{"job/memory.max": "max\n"}, 0},
		"1, nested":    {"4:memory:/a/b\n1:cpu:/\n", old, map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/a/memory.limit_in_bytes": "100000000\n", "memory/a/b/memory.limit_in_bytes": "9223372036854771712\n"}, 100_000_000},
		"1, container": {"4:cpu,memory:/docker/x\n", "36 32 0:31 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", map[string]string{"memory/memory.limit_in_bytes": "100000000\n"}, 100_000_000},
		"1, none":      {"4:memory:/\n", old, map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"both":         {"4:memory:/a\n0::/b\n", old + "42 32 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", map[string]string{"memory/a/memory.limit_in_bytes": "5000000\n", "unified/b/memory.max": "4000000\n"}, 4_000_000},
		"no groups":    {"", old, nil, 0},
		"damaged":      {"x\n::::\n0::\n", "x\n - \n1 2 3 4 5 - cgroup2\n", nil, 0},
	} {
		root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(x.groups)}, "proc/self/mountinfo": {Data: []byte(x.mounts)}}
		for path, text := range x.files {
			root["sys/fs/cgroup/"+path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := groupLimit(root); got != x.want {
			t.Errorf("%s: %d instead of %d", name, got, x.want)
		}
	}
	if got := groupLimit(fstest.MapFS{}); got != 0 {
		t.Errorf("without /proc: %d", got)
	}
}
