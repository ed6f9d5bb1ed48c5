package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// products makes the functions that permute numbers of 32 bits by a product, and find the smallest. They
// take four vectors at a time, because the product of one is a long time coming.
func products(c *build.Context) {
	for _, wide := range []bool{false, true} {
		name, size, vector := "leastProductAVX2", 32, func() reg.VecVirtual { return c.YMM() }
		xor := func(a, b, to Op) { c.VPXOR(a, b, to) }
		if wide {
			name, size, vector = "leastProductAVX512", 64, func() reg.VecVirtual { return c.ZMM() }
			xor = func(a, b, to Op) { c.VPXORD(a, b, to) }
		}
		c.Function(name)
		c.Attributes(nosplit)
		c.SignatureExpr("func(numbers *uint32, n int, xor, factor uint32) (least uint32)")
		numbers, n := c.Load(c.Param("numbers"), c.GP64()), c.Load(c.Param("n"), c.GP64())
		flip, factor := vector(), vector()
		spread := func(n reg.Register, to reg.VecVirtual) {
			word := c.XMM()
			c.VMOVD(n, word)
			c.VPBROADCASTD(word, to)
		}
		spread(c.Load(c.Param("xor"), c.GP32()), flip)
		spread(c.Load(c.Param("factor"), c.GP32()), factor)
		var least [4]reg.VecVirtual
		ones := c.GP32()
		c.MOVL(U32(0xFFFFFFFF), ones)
		for i := range least {
			least[i] = vector()
			spread(ones, least[i])
		}

		c.Label("four")
		for i := range least {
			x := vector()
			xor(Mem{Base: numbers, Disp: size * i}, flip, x)
			c.VPMULLD(factor, x, x)
			c.VPMINUD(x, least[i], least[i])
		}
		c.ADDQ(U32(4*size), numbers)
		c.SUBQ(U32(size), n)
		c.JNE(LabelRef("four"))
		c.VPMINUD(least[1], least[0], least[0])
		c.VPMINUD(least[3], least[2], least[2])
		c.VPMINUD(least[2], least[0], least[0])
		half, result := c.YMM(), c.GP32()
		if wide {
			c.VEXTRACTI64X4(Imm(1), least[0], half)
			c.VPMINUD(half, least[0].AsY(), least[0].AsY())
		}
		c.VEXTRACTI128(Imm(1), least[0].AsY(), half.AsX())
		c.VPMINUD(half.AsX(), least[0].AsX(), least[0].AsX())
		c.VPSHUFD(Imm(0b01_00_11_10), least[0].AsX(), half.AsX())
		c.VPMINUD(half.AsX(), least[0].AsX(), least[0].AsX())
		c.VPSHUFD(Imm(0b10_11_00_01), least[0].AsX(), half.AsX())
		c.VPMINUD(half.AsX(), least[0].AsX(), least[0].AsX())
		c.VMOVD(least[0].AsX(), result)
		c.VZEROUPPER()
		c.Store(result, c.Return("least"))
		c.RET()
	}
}
