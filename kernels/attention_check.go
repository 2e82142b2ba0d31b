package kernels

import "fmt"

func init() { registerCheck("attention", checkAttention) }

// checkAttention covers each stored format, each size of tile, a page that is not full, a second segment, and
// segments apart.
func checkAttention() error {
	for _, format := range []KVFormat{KVF32, KVBF16, KVFP8} {
		l := KVLayout{Format: format, Heads: 1, Dim: 64}
		const positions = SegmentPositions + 2*PagePositions - 5
		wave := uint32(1)
		next := func() float32 { // a linear congruential sequence in ±2
			wave = wave*1664525 + 1013904223
			return float32(int32(wave)) * 0x1p-30
		}
		pages, k, v := make([][]byte, (positions+PagePositions-1)/PagePositions), make([]float32, l.Dim), make([]float32, l.Dim)
		for i := range pages {
			pages[i] = make([]byte, l.Bytes())
			for slot := range PagePositions {
				for d := range k {
					k[d], v[d] = next(), next()
				}
				l.Store(pages[i], slot, k, v, 0.01, 0.01)
			}
		}
		for _, shape := range []struct{ rows, group int }{{1, 4}, {1, 6}, {3, 5}} {
			stride := shape.group * l.Dim
			q, lens := make([]float32, shape.rows*stride), make([]int, shape.rows)
			for i := range q {
				q[i] = next()
			}
			for t := range lens {
				lens[t] = positions - t*3
			}
			got, want, s := make([]float32, len(q)), make([]float32, len(q)), new(AttnScratch)
			l.Attend(got, q, stride, shape.rows, shape.group, lens, pages, 0, 0.125, 0.01, 0.01, s)
			l.attendGeneric(want, q, stride, shape.rows, shape.group, lens, pages, 0, 0.125*l.restore(0.01), l.restore(0.01), s)
			if err := checkSame(got, want); err != nil {
				return fmt.Errorf("%v, %d rows of %d heads: %w", format, shape.rows, shape.group, err)
			}
			if shape.rows > 1 {
				continue
			}
			segments := Segments(positions)
			part := make([]float32, segments*shape.group*l.PartFloats())
			clear(got)
			l.AttendSegments(part, q, shape.group, positions, pages, 0, 0, segments, 0.125, 0.01, s)
			l.MergeSegments(got, part, shape.group, segments, 0.01)
			if err := checkSame(got, want); err != nil {
				return fmt.Errorf("%v, segments of %d heads: %w", format, shape.group, err)
			}
		}
	}
	return nil
}
