package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// products makes the functions that permute hashes by a product of 128 bits, and find the smallest. A
// vector multiplies 32 by 32 bits only, so each product is put together from four. Of the result,
// high word ^ low word, only the upper half is wanted: the upper half of the high word, and the lower
// half of what is between the two words.
func products(c *build.Context) {
	for _, wide := range []bool{false, true} {
		name, size, vector := "leastProductAVX2", 32, func() reg.VecVirtual { return c.YMM() }
		xor := func(a, b, to Op) { c.VPXOR(a, b, to) }
		and := func(a, b, to Op) { c.VPAND(a, b, to) }
		move := func(from, to Op) { c.VMOVDQU(from, to) }
		if wide {
			name, size, vector = "leastProductAVX512", 64, func() reg.VecVirtual { return c.ZMM() }
			xor = func(a, b, to Op) { c.VPXORQ(a, b, to) }
			and = func(a, b, to Op) { c.VPANDQ(a, b, to) }
			move = func(from, to Op) { c.VMOVDQU64(from, to) }
		}
		c.Function(name)
		c.Attributes(nosplit)
		c.SignatureExpr("func(hashes *uint64, n int, xor, factor uint64, least *uint64)")
		hashes, n, to := c.Load(c.Param("hashes"), c.GP64()), c.Load(c.Param("n"), c.GP64()), c.Load(c.Param("least"), c.GP64())
		flip, low, high, half, least := vector(), vector(), vector(), vector(), vector()
		c.VPBROADCASTQ(address(c, "xor"), flip)
		c.VPBROADCASTQ(address(c, "factor"), low)
		c.VPSRLQ(Imm(32), low, high)
		move(Mem{Base: to}, least)
		ones := c.GP64()
		c.MOVQ(U64(1<<32-1), ones)
		word := c.XMM()
		c.VMOVQ(ones, word)
		c.VPBROADCASTQ(word, half)

		c.Label("vector")
		a, b, lowest, middle, upper, top := vector(), vector(), vector(), vector(), vector(), vector()
		xor(Mem{Base: hashes}, flip, a)
		c.VPSRLQ(Imm(32), a, b)
		c.VPMULUDQ(a, low, lowest)
		c.VPMULUDQ(b, low, middle)
		c.VPMULUDQ(a, high, upper)
		c.VPMULUDQ(b, high, top)
		c.VPSRLQ(Imm(32), lowest, lowest)
		c.VPADDQ(lowest, middle, middle) // cannot overflow
		and(half, middle, lowest)
		c.VPADDQ(lowest, upper, upper)
		c.VPSRLQ(Imm(32), middle, middle)
		c.VPADDQ(middle, top, top)
		c.VPSRLQ(Imm(32), upper, middle)
		c.VPADDQ(middle, top, top)
		c.VPSRLQ(Imm(32), top, top)
		xor(upper, top, top) // its lower half
		c.VPMINUD(top, least, least)
		c.ADDQ(U32(size), hashes)
		c.SUBQ(U32(size/8), n)
		c.JNE(LabelRef("vector"))
		move(least, Mem{Base: to})
		c.VZEROUPPER()
		c.RET()
	}
}
