package checkpoint

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// FileInfo identifies a weight file, so that a digest can be remembered for it.
type FileInfo struct {
	Path    string // as opened; the base name for embedded and generated files
	Size    int64
	ModTime time.Time
	Inode   uint64 // 0 where there is none
}

// describes tells whether st is still the file that was opened.
func (i FileInfo) describes(st fs.FileInfo) bool {
	return st.Size() == i.Size && st.ModTime().Equal(i.ModTime) && inode(st) == i.Inode
}

func inode(st fs.FileInfo) uint64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sys.Ino
	}
	return 0
}

// weightFile is an open weight file: its image is mapped, or a copy in memory for file systems that cannot map.
type weightFile struct {
	info   FileInfo
	image  []byte
	mapped bool
}

// mapFile maps a file for reading. Symbolic links are followed: the hub's own cache is made of them.
func mapFile(dir, name string) (*weightFile, error) {
	path := filepath.Join(dir, name)
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() { // to open a named pipe can take for ever
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // a mapping outlives its descriptor
	st, err = f.Stat()
	if err != nil {
		return nil, err
	}
	w := &weightFile{info: FileInfo{Path: path, Size: st.Size(), ModTime: st.ModTime(), Inode: inode(st)}}
	if st.Size() == 0 || int64(int(st.Size())) != st.Size() {
		return w, nil // nothing to map: the header check refuses it
	}
	w.image, err = unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	w.mapped = true
	return w, nil
}

// loadFile reads a whole file from a file system without descriptors, such as one embedded in the binary.
func loadFile(fsys fs.FS, name string) (*weightFile, error) {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	w := &weightFile{info: FileInfo{Path: name, Size: int64(len(b))}, image: b}
	if st, err := fs.Stat(fsys, name); err == nil {
		w.info.ModTime = st.ModTime()
	}
	return w, nil
}

func (w *weightFile) bytes(t *Tensor) []byte {
	end := t.offset + t.Bytes
	return w.image[t.offset:end:end]
}

// release drops the pages of t from the process; a page shared with a neighbour is read again when it is touched.
func (w *weightFile) release(t *Tensor) {
	if !w.mapped || w.image == nil || t.Bytes == 0 {
		return
	}
	page := int64(os.Getpagesize())
	begin := t.offset / page * page
	end := min((t.offset+t.Bytes+page-1)/page*page, int64(len(w.image)))
	_ = unix.Madvise(w.image[begin:end], unix.MADV_DONTNEED) // advice: without it only memory is lost
}

func (w *weightFile) close() error {
	image := w.image
	w.image = nil
	if !w.mapped || image == nil {
		return nil
	}
	return unix.Munmap(image)
}
