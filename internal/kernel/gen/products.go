package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// products makes the function that permutes numbers of 32 bits by products, and finds the smallest by each factor. It takes four
// vectors of factors at a time, because the product of one is a long time coming.
func products(c *build.Context) {
	const size = 32
	c.Function("leastProductsAVX2")
	c.Attributes(nosplit)
	c.SignatureExpr("func(least *uint32, k int, numbers *uint32, n int, flips, factors *uint32)")
	least, k := c.Load(c.Param("least"), c.GP64()), c.Load(c.Param("k"), c.GP64())
	numbers, n := c.Load(c.Param("numbers"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	flips, factors := c.Load(c.Param("flips"), c.GP64()), c.Load(c.Param("factors"), c.GP64())
	i := c.GP64()
	var flip, factor, smallest [4]reg.VecVirtual
	for v := range 4 {
		flip[v], factor[v], smallest[v] = c.YMM(), c.YMM(), c.YMM()
	}

	c.Label("values")
	for v := range 4 {
		c.VMOVDQU(Mem{Base: flips, Disp: size * v}, flip[v])
		c.VMOVDQU(Mem{Base: factors, Disp: size * v}, factor[v])
		c.VPCMPEQD(smallest[v], smallest[v], smallest[v])
	}
	c.XORQ(i, i)
	c.Label("numbers")
	all := c.YMM()
	c.VPBROADCASTD(Mem{Base: numbers, Index: i, Scale: 4}, all)
	for v := range 4 {
		x := c.YMM()
		c.VPXOR(all, flip[v], x)
		c.VPMULLD(factor[v], x, x)
		c.VPMINUD(x, smallest[v], smallest[v])
	}
	c.INCQ(i)
	c.CMPQ(i, n)
	c.JNE(LabelRef("numbers"))
	for v := range 4 {
		c.VPSRLD(Imm(1), smallest[v], smallest[v])
		c.VPMINUD(Mem{Base: least, Disp: size * v}, smallest[v], smallest[v])
		c.VMOVDQU(smallest[v], Mem{Base: least, Disp: size * v})
	}
	for _, p := range []reg.Register{least, flips, factors} {
		c.ADDQ(U32(4*size), p)
	}
	c.SUBQ(U32(size), k)
	c.JNE(LabelRef("values"))
	c.VZEROUPPER()
	c.RET()
}
