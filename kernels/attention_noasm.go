//go:build !amd64 && !arm64

package kernels

func (l KVLayout) attendTiles(out, q []float32, stride, rows, group int, lens []int, pages [][]byte, head int,
	c, r float32, s *AttnScratch) {
	l.attendGeneric(out, q, stride, rows, group, lens, pages, head, c, r, s)
}

func (l KVLayout) segmentTile(part, q []float32, group, length int, pages [][]byte, head, seg int, c float32, s *AttnScratch) {
	l.segmentGeneric(part, q, group, length, pages, head, seg, c, s)
}

func scaleAdd(dst, src []float32, a, b float32) { scaleAddGeneric(dst, src, a, b) }
