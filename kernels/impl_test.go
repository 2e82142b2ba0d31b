package kernels

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// eachLevel runs body once per instruction level with that level in force. A level the CPU lacks is skipped, unless
// HEARTH_REQUIRE names it: then its absence is a failure.
func eachLevel(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	saved := level
	defer func() { level = saved }()
	for l := range levelNames {
		l := Level(l)
		if (l == NEON) != (runtime.GOARCH == "arm64") && l != Generic {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			if err := Use(l); err != nil {
				if strings.Contains(os.Getenv("HEARTH_REQUIRE"), l.String()) {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			body(t)
		})
	}
}

// guarded copies src to memory that ends at an unreadable page, so that reading past the end is a fault.
func guarded[T any](t testing.TB, src []T) []T {
	t.Helper()
	size := int(unsafe.Sizeof(*new(T))) * len(src)
	page := os.Getpagesize()
	n := (size + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, n+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mprotect(mem[n:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	if len(src) == 0 {
		return nil
	}
	dst := unsafe.Slice((*T)(unsafe.Pointer(&mem[n-size])), len(src))
	copy(dst, src)
	return dst
}
