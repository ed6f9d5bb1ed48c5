package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// weighted makes the function that adds hashes with weights, for AVX-512. It takes four hashes at a time, as
// internal/bitsum does: it transposes them, so that each nibble says which of the four have a bit
// set, and looks up the sum of their weights in a table of 16. The table is in two registers, and one
// instruction looks up eight nibbles in it. All 64 counters are in registers. (AVX2 cannot look up
// numbers of 64 bits; conditional additions with it take as long as the portable twin.)
func weighted(c *build.Context) {
	shifts := c.StaticGlobal("nibbleShifts")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		c.AddDatum(8*i, U64(4*i))
	}

	c.Function("addWeightedAVX512")
	c.Attributes(nosplit)
	c.SignatureExpr("func(sums *[64]uint64, hashes *uint64, weights *int64, n int)")
	sums, hashes := c.Load(c.Param("sums"), c.GP64()), c.Load(c.Param("hashes"), c.GP64())
	weights, n := c.Load(c.Param("weights"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	words := c.AllocLocal(32)
	var counters [8]reg.VecVirtual
	for i := range counters {
		counters[i] = c.ZMM()
		c.VMOVDQU64(Mem{Base: sums, Disp: 64 * i}, counters[i])
	}
	var shift [2]reg.VecVirtual
	for i := range shift {
		shift[i] = c.ZMM()
		c.VMOVDQU64(shifts.Offset(64*i), shift[i])
	}
	var has [3]reg.OpmaskVirtual // the lanes, from 0 to 7, whose number has bit j
	for j, lanes := range []uint32{0xAA, 0xCC, 0xF0} {
		g := c.GP32()
		has[j] = c.K()
		c.MOVL(U32(lanes), g)
		c.KMOVW(g, has[j])
	}
	odd, high := c.GP64(), c.GP64()
	c.MOVQ(U64(0x5555555555555555), odd)
	c.MOVQ(U64(0x3333333333333333), high)

	c.Label("four")
	h := make([]reg.GPVirtual, 4)
	for i := range h {
		h[i] = c.GP64()
		c.MOVQ(Mem{Base: hashes, Disp: 8 * i}, h[i])
	}
	swap := func(a, b reg.GPVirtual, by uint64, mask reg.GPVirtual) { // see nibbles in internal/bitsum
		t := c.GP64()
		c.MOVQ(a, t)
		c.SHRQ(Imm(by), t)
		c.XORQ(b, t)
		c.ANDQ(mask, t)
		c.XORQ(t, b)
		c.SHLQ(Imm(by), t)
		c.XORQ(t, a)
	}
	swap(h[0], h[1], 1, odd)
	swap(h[2], h[3], 1, odd)
	swap(h[0], h[2], 2, high)
	swap(h[1], h[3], 2, high)
	for i := range h {
		c.MOVQ(h[i], words.Offset(8*i))
	}
	// The sums of the 16 subsets of the weights, those without the last one first.
	low, sum, last := c.ZMM(), c.ZMM(), c.ZMM()
	c.VPBROADCASTQ_Z(Mem{Base: weights}, has[0], low)
	for j := 1; j < 3; j++ {
		c.VPBROADCASTQ_Z(Mem{Base: weights, Disp: 8 * j}, has[j], sum)
		c.VPADDQ(sum, low, low)
	}
	c.VPBROADCASTQ(Mem{Base: weights, Disp: 24}, last)
	c.VPADDQ(low, last, last)
	for i := range counters {
		// Only the lowest four bits of an index count, so it may have more.
		x := c.ZMM()
		if i%2 == 0 {
			c.VPBROADCASTQ(words.Offset(4*i), sum)
		}
		c.VPSRLVQ(shift[i%2], sum, x)
		c.VPERMI2Q(last, low, x)
		c.VPADDQ(x, counters[i], counters[i])
	}
	c.ADDQ(Imm(32), hashes)
	c.ADDQ(Imm(32), weights)
	c.SUBQ(Imm(4), n)
	c.JNE(LabelRef("four"))
	for i := range counters {
		c.VMOVDQU64(counters[i], Mem{Base: sums, Disp: 64 * i})
	}
	c.VZEROUPPER()
	c.RET()
}
