package appliance

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// pageShare of the memory limit, one in so many, may hold attention keys and values.
const pageShare = 4

// memoryLimit is what this process may use, in bytes: the machine's memory, or its control group's limit if that is lower.
// 0 if neither can be read.
func memoryLimit() int64 { return leastBytes(meminfoBytes("MemTotal"), groupLimitBytes()) }

// availableMemory is what programs could still take, in bytes, 0 if it cannot be read.
func availableMemory() int64 { return leastBytes(meminfoBytes("MemAvailable"), groupLimitBytes()) }

// leastBytes is the lower of two figures of which 0 means unknown.
func leastBytes(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// groupLimitBytes is the memory limit of this process's control group or of one above it, 0 if there is none.
func groupLimitBytes() int64 {
	limit := int64(0)
	for _, name := range groupLimitFiles() {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			limit = leastBytes(limit, n)
		}
	}
	return limit
}

// groupLimitFiles are where limits may stand: for each group from ours to the root (cgroups(7)), and version 1's root.
func groupLimitFiles() []string {
	const root = "/sys/fs/cgroup"
	files := []string{root + "/memory/memory.limit_in_bytes"}
	text, _ := os.ReadFile("/proc/self/cgroup") // absent: only the roots
	for line := range strings.Lines(string(text)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			for group = path.Clean("/" + group); group != "/"; group = path.Dir(group) {
				files = append(files, path.Join(root, group, "memory.max"))
			}
		}
	}
	return append(files, root+"/memory.max")
}

func meminfoBytes(key string) int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return parseMeminfo(string(text), key)
}

// parseMeminfo reads one figure of /proc/meminfo (proc_meminfo(5)), which is in KiB, and gives bytes.
func parseMeminfo(text, key string) int64 {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, key+":")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		if err != nil {
			return 0
		}
		return n << 10
	}
	return 0
}
