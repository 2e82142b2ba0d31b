package appliance

import (
	"os"
	"strconv"
	"strings"
)

// pageShare of the memory limit, one in so many, may hold attention keys and values.
const pageShare = 4

// memoryLimit is what this process may use, in bytes: the machine's memory, or its control group's limit if that is lower.
// 0 if neither can be read.
func memoryLimit() int64 {
	limit := int64(0)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		limit = meminfoTotal(string(text))
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
	}
	return limit
}

// meminfoTotal reads MemTotal of /proc/meminfo (proc_meminfo(5)), which is in KiB.
func meminfoTotal(text string) int64 {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "MemTotal:")
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
