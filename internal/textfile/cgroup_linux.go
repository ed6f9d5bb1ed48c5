package textfile

import (
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// This file finds the memory limit that Linux sets for the control groups of this process, of versions 1 and 2. Groups are nested, and the smallest limit
// on the way up counts. /proc/self/cgroup names the groups, and /proc/self/mountinfo says where they are mounted (man 7 cgroups, man 5 proc).

// groupLimit returns the smallest limit in bytes, or 0 if there is none. root is the root of the file system.
func groupLimit(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return 0
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) { // ID:CONTROLLERS:PATH
		_, line, _ = strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(line, ":")
		file := "memory.max"
		switch {
		case controllers == "": // version 2
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			file = "memory.limit_in_bytes"
		default:
			continue
		}
		for mount := range strings.Lines(string(mounts)) {
			if at, below, ok := groupMount(mount, controllers != "", group); ok {
				least = min(least, limitAbove(root, at, below, file))
			}
		}
	}
	if least >= mostLimit {
		return 0
	}
	return least
}

// mostLimit is above all memory that a machine has. Version 1 has a number near 2⁶³ instead of no limit.
const mostLimit = 1 << 60

// groupMount returns where a line of mountinfo mounts the groups of a version, and where a group is below that.
func groupMount(line string, isOld bool, group string) (at, below string, ok bool) {
	// ID PARENT DEVICE ROOT POINT OPTIONS … - TYPE SOURCE OPTIONS
	mount, kind, ok := strings.Cut(strings.TrimSpace(line), " - ")
	fields, of := strings.Fields(mount), strings.Fields(kind)
	if !ok || len(fields) < 5 || len(of) < 3 {
		return "", "", false
	}
	switch {
	case isOld && (of[0] != "cgroup" || !slices.Contains(strings.Split(of[2], ","), "memory")):
		return "", "", false
	case !isOld && of[0] != "cgroup2":
		return "", "", false
	}
	below = group
	if mounted := fields[3]; mounted != "/" { // a container may see only its own part
		if below, ok = strings.CutPrefix(group, mounted); !ok || below != "" && below[0] != '/' {
			below = "/"
		}
	}
	return fields[4], path.Clean("/" + below), true
}

// limitAbove returns the smallest limit of a group and those that it is in.
func limitAbove(root fs.FS, at, below, file string) int64 {
	least := int64(math.MaxInt64)
	for ; ; below = path.Dir(below) {
		b, err := fs.ReadFile(root, strings.TrimPrefix(path.Join(at, below, file), "/"))
		if limit, wrong := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && wrong == nil && limit > 0 {
			least = min(least, limit)
		}
		if below == "/" {
			return least
		}
	}
}
