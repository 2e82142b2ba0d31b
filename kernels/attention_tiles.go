//go:build amd64 || arm64

package kernels

import (
	"math"
	"unsafe"
)

// The tiled walk shared by all assembly levels. Queries (row × head of the group) are taken 12 at a time, so that a key or
// value in a register meets 12 of them; a block of tiles shares one conversion of each page to float32. Slots of a tile
// beyond the last query compute on zeros and are never read.

const (
	tileQueries  = 12
	tileDims     = 32                     // values are accumulated 32 dimensions at a time
	tileStep     = tileQueries * tileDims // floats of one such step of a tile
	blockQueries = 12 * tileQueries       // their queries and accumulators, and a page, fit a 1 MiB second-level cache
)

// attnBlock is a walk of up to blockQueries queries over the pages they share.
type attnBlock struct {
	l       KVLayout
	head    int
	queries int
	steps   int  // of tileDims in Dim
	direct  bool // keys and values are read as stored; else by way of float32 copies
	lens    []int32
	valid   *[16]int32 // of the page at hand, by query of the tile
	k, v    []float32  // the copies
	s       []float32  // scores, then weights, of a tile [12][32]; then its 16 corrections
	tiles   []float32
}

// attnTile is the state of 12 queries.
type attnTile struct {
	q       []float32 // q' [dim][12]
	acc, A  []float32 // [step][12][32]: of the segment, of the segments before it
	sum     []float32 // [12][16]
	m, M, L []float32 // [16]
}

func (b *attnBlock) tileFloats() int { return tileQueries*(b.l.Dim+16) + 2*b.steps*tileStep + 3*16 }

func (b *attnBlock) tile(i int) attnTile {
	f := b.tiles[i*b.tileFloats() : (i+1)*b.tileFloats()]
	cut := func(n int) []float32 {
		c := f[:n:n]
		f = f[n:]
		return c
	}
	return attnTile{q: cut(tileQueries * b.l.Dim), acc: cut(b.steps * tileStep), A: cut(b.steps * tileStep),
		sum: cut(tileQueries * 16), m: cut(16), M: cut(16), L: cut(16)}
}

// newBlock lays the block out in s. Single says that all queries see the same positions.
func (l KVLayout) newBlock(head, queries int, single bool, s *AttnScratch) attnBlock {
	b := attnBlock{l: l, head: head, queries: queries, steps: (l.Dim + tileDims - 1) / tileDims}
	b.direct = l.Dim%tileDims == 0 && (l.Format == KVF32 || single && queries <= tileQueries/2)
	page := PagePositions*l.Dim + tileDims // a step may read past the last dimension
	tiles := (queries + tileQueries - 1) / tileQueries
	s.floats = grow(s.floats, 2*page+tileStep+16+tiles*b.tileFloats())
	s.counts = grow(s.counts, 16+queries)
	f := s.floats
	b.k, b.v, b.s, b.tiles = f[:page], f[page:2*page], f[2*page:2*page+tileStep+16], f[2*page+tileStep+16:]
	b.valid, b.lens = (*[16]int32)(s.counts), s.counts[16:]
	clear(b.valid[:])
	clear(b.tile(tiles - 1).q) // of the last tile's empty slots
	for i := range tiles {
		b.reset(b.tile(i), 0, tileQueries)
	}
	return b
}

func (b *attnBlock) reset(t attnTile, from, to int) {
	for i := from; i < to; i++ {
		t.m[i] = lowest
		clear(t.sum[i*16 : (i+1)*16])
		for step := range b.steps {
			clear(t.acc[step*tileStep+i*tileDims:][:tileDims])
		}
	}
}

// put sets query i to q·c with a row of length n.
func (b *attnBlock) put(i int, q []float32, c float32, n int) {
	t := b.tile(i / tileQueries)
	for d, x := range q {
		t.q[d*tileQueries+i%tileQueries] = x * c
	}
	b.lens[i] = int32(n)
}

// walk takes pages p0..p1-1, which lie in one segment.
func (b *attnBlock) walk(pages [][]byte, p0, p1 int) {
	for p := p0; p < p1; p++ {
		k, v := unsafe.Pointer(&b.l.keys(pages[p], b.head)[0]), unsafe.Pointer(&b.l.values(pages[p], b.head)[0])
		format := b.l.Format
		if !b.direct {
			decodeKV(b.k, k, PagePositions*b.l.Dim, format)
			decodeKV(b.v, v, PagePositions*b.l.Dim, format)
			k, v, format = unsafe.Pointer(&b.k[0]), unsafe.Pointer(&b.v[0]), KVF32
		}
		for first := 0; first < b.queries; first += tileQueries {
			ahead := prefetches{scores: prefetch{at: k}, values: prefetch{at: v}} // nothing new
			if first == 0 {
				b.look(&ahead, pages, p, p1)
			}
			b.visit(first, p, k, v, format, ahead)
		}
	}
}

// prefetch is memory to fetch into the cache during a loop: pace bytes further in each of its turns. Loops of 4 and 6 queries
// have a pace of their own, 32 elements of the format they read.
type prefetch struct {
	at   unsafe.Pointer
	pace int
}

type prefetches struct{ scores, values prefetch }

// look finds what to prefetch while the first tile of page p is computed. Read as stored, the keys' loop fetches the page's
// values and the values' loop the next keys. Read by way of copies, it is the next page's keys and values.
func (b *attnBlock) look(ahead *prefetches, pages [][]byte, p, p1 int) {
	pace, next := PagePositions*b.l.Format.size(), min(p+1, p1-1)
	switch {
	case b.direct:
		ahead.scores = prefetch{unsafe.Pointer(&b.l.values(pages[p], b.head)[0]), pace}
		ahead.values = prefetch{unsafe.Pointer(&b.l.keys(pages[next], b.head)[0]), pace}
	case b.queries > tileQueries/2:
		ahead.scores = prefetch{unsafe.Pointer(&b.l.keys(pages[next], b.head)[0]), pace}
		ahead.values = prefetch{unsafe.Pointer(&b.l.values(pages[next], b.head)[0]), pace}
	}
}

// visit takes a page into the tile whose first query is given.
func (b *attnBlock) visit(first, page int, k, v unsafe.Pointer, format KVFormat, ahead prefetches) {
	n := min(tileQueries, b.queries-first)
	most, equal := int32(0), true
	for i := range n {
		b.valid[i] = max(0, min(PagePositions, b.lens[first+i]-int32(page*PagePositions)))
		most, equal = max(most, b.valid[i]), equal && b.valid[i] == b.valid[0]
	}
	if most == 0 {
		return
	}
	for i := n; i < tileQueries; i++ {
		b.valid[i] = 0
	}
	t := b.tile(first / tileQueries)
	corr := b.s[tileStep:]
	tileScores(&b.s[0], &t.q[0], k, format, b.l.Dim, n, ahead.scores)
	missing := b.l.missing(page)
	b.hide(missing, n)
	tileSoftmax(&b.s[0], &t.m[0], &corr[0], &t.sum[0], b.valid, n)
	v = unsafe.Add(v, missing*b.l.Dim*format.size())
	if equal {
		if int(most) > missing {
			tileValues(&t.acc[0], &b.s[missing], &corr[0], v, format, b.l.Dim, int(most)-missing, n, ahead.values)
		}
		return
	}
	for i := 0; i < n; { // runs of queries that see the same positions
		j := i + 1
		for j < n && b.valid[j] == b.valid[i] {
			j++
		}
		size := 1
		if j-i == 4 || j-i == 6 { // sizes that write no neighbour
			size = j - i
		}
		if int(b.valid[i]) > missing {
			for ; i < j; i += size {
				tileValues(&t.acc[i*tileDims], &b.s[i*PagePositions+missing], &corr[i], v, format, b.l.Dim, int(b.valid[i])-missing, size, prefetch{at: v})
			}
		}
		i = j
	}
}

// hide makes the scores of a page's first positions −Inf.
func (b *attnBlock) hide(missing, queries int) {
	for i := range queries {
		for pos := range missing {
			b.s[i*PagePositions+pos] = float32(math.Inf(-1))
		}
	}
}

// fold merges the finished segment of query i into its earlier ones, if any.
func (b *attnBlock) fold(i int, firstSegment bool) {
	t, at := b.tile(i/tileQueries), i%tileQueries
	l := sumTree((*[16]float32)(t.sum[at*16:]))
	if firstSegment {
		t.M[at], t.L[at] = t.m[at], l
		for step := range b.steps {
			o := step*tileStep + at*tileDims
			copy(t.A[o:o+tileDims], t.acc[o:])
		}
		return
	}
	var wa, wb float32
	t.M[at], t.L[at], wa, wb = mergeWeights(t.M[at], t.L[at], t.m[at], l)
	for step := range b.steps {
		o := step*tileStep + at*tileDims
		scaleAdd(t.A[o:o+tileDims], t.acc[o:o+tileDims], wa, wb)
	}
}

// attendTiles is Attend for the assembly levels, a block of rows at a time.
func (l KVLayout) attendTiles(out, q []float32, stride, rows, group int, lens []int, pages [][]byte, head int,
	c, r float32, s *AttnScratch) {
	perBlock := max(1, blockQueries/group)
	for t0 := 0; t0 < rows; t0 += perBlock {
		n := min(perBlock, rows-t0)
		b := l.newBlock(head, n*group, n == 1, s)
		longest := 0
		for i := range n * group {
			t, g := t0+i/group, i%group
			b.put(i, q[t*stride+g*l.Dim:][:l.Dim], c, lens[t])
			longest = max(longest, lens[t])
		}
		for seg := range Segments(longest) {
			b.walk(pages, seg*segmentPages, min((seg+1)*segmentPages, (longest+PagePositions-1)/PagePositions))
			for i := range b.queries {
				if int(b.lens[i]) > seg*SegmentPositions {
					b.fold(i, seg == 0)
					b.reset(b.tile(i/tileQueries), i%tileQueries, i%tileQueries+1)
				}
			}
		}
		for i := range b.queries {
			t, at := b.tile(i/tileQueries), i%tileQueries
			o := out[(t0+i/group)*stride+i%group*l.Dim:][:l.Dim]
			for d := 0; d < l.Dim; d += tileDims {
				n := min(tileDims, l.Dim-d)
				finish(o[d:d+n], t.A[d/tileDims*tileStep+at*tileDims:][:n], t.L[at], r)
			}
		}
	}
}

// segmentTile is segmentGeneric for the assembly levels.
func (l KVLayout) segmentTile(part, q []float32, group, length int, pages [][]byte, head, seg int, c float32, s *AttnScratch) {
	b := l.newBlock(head, group, true, s)
	for i := range group {
		b.put(i, q[i*l.Dim:(i+1)*l.Dim], c, length)
	}
	b.walk(pages, seg*segmentPages, min((seg+1)*segmentPages, (length+PagePositions-1)/PagePositions))
	for i := range group {
		t, at := b.tile(i/tileQueries), i%tileQueries
		p := part[i*l.PartFloats() : (i+1)*l.PartFloats()]
		p[0], p[1] = t.m[at], sumTree((*[16]float32)(t.sum[at*16:]))
		for d := 0; d < l.Dim; d += tileDims {
			copy(p[2+d:], t.acc[d/tileDims*tileStep+at*tileDims:][:min(tileDims, l.Dim-d)])
		}
	}
}

// tileSize is the size of kernel for n queries.
func tileSize(n int) int {
	switch {
	case n <= 4:
		return 4
	case n <= 6:
		return 6
	}
	return 12
}

func offset(p *float32, n int) *float32 { return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*n)) }
