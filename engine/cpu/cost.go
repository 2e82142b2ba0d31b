package cpu

// Cost is what one token takes, by arithmetic.
type Cost struct {
	WeightBytes int64 // read of weights by a decoded token, head included
	StateBytes  int64 // read and written of recurrent state and convolution window, each
	MACs        int64 // multiply-accumulates of matrix products of a prefilled token, head excluded
	HeadMACs    int64
}

// Cost of one token of the loaded model. Keys and values come on top, with the context's length.
func (d *Device) Cost() Cost {
	c := Cost{WeightBytes: d.weightBytes(), StateBytes: int64(4 * d.lay.hidden)}
	for i := range d.m.layers {
		l := &d.m.layers[i]
		c.MACs += l.gateUp.macs() + l.down.macs()
		if l.gdn != nil {
			c.MACs += l.gdn.in.macs() + l.gdn.out.macs()
		} else {
			c.MACs += l.attn.in.macs() + l.attn.out.macs()
		}
	}
	c.HeadMACs = d.m.head.macs()
	return c
}

func (f *fan) macs() int64 {
	n := int64(0)
	for _, m := range f.matrices {
		n += int64(m.Rows()) * int64(m.Cols())
	}
	return n
}
