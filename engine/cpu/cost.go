package cpu

import "hearth/kernels"

// Cost is what one token takes, by arithmetic.
type Cost struct {
	WeightBytes int64 // read of weights by a decoded token, head included
	StateBytes  int64 // read and written of recurrent state and convolution window, each
	MACs        int64 // multiply-accumulates of matrix products of a prefilled token, head excluded
	HeadMACs    int64
	FixedMACs   int64 // of MACs: with activations in fixed point, weights in NVFP4
}

// Cost of one token of the loaded model. Keys and values come on top, with the context's length.
func (d *Device) Cost() Cost {
	c := Cost{WeightBytes: d.weightBytes(), StateBytes: int64(4 * d.lay.hidden)}
	for i := range d.m.layers {
		l := &d.m.layers[i]
		c.add(&l.gateUp, &l.down)
		if l.gdn != nil {
			c.add(&l.gdn.in, &l.gdn.out)
		} else {
			c.add(&l.attn.in, &l.attn.out)
		}
	}
	head := Cost{}
	head.add(&d.m.head)
	c.HeadMACs = head.MACs
	return c
}

func (c *Cost) add(fans ...*fan) {
	for _, f := range fans {
		for _, m := range f.matrices {
			n := int64(m.Rows()) * int64(m.Cols())
			c.MACs += n
			if m.InputKey().Kind == kernels.InputFixed24 {
				c.FixedMACs += n
			}
		}
	}
}
