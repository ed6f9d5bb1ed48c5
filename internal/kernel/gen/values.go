package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// values makes the comparison of signatures, eight values at a time.
func values(c *build.Context) {
	c.Function("compareAVX2")
	c.Attributes(nosplit)
	c.SignatureExpr("func(a, b *uint64, n int) (same, neither int)")
	a, b, n := c.Load(c.Param("a"), c.GP64()), c.Load(c.Param("b"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	same, neither, x, y, equal, borrowed := c.YMM(), c.YMM(), c.YMM(), c.YMM(), c.YMM(), c.YMM()
	c.VPXOR(same, same, same)
	c.VPXOR(neither, neither, neither)

	c.Label("eight")
	c.VMOVDQU(Mem{Base: a}, x)
	c.VMOVDQU(Mem{Base: b}, y)
	c.VPCMPEQD(x, y, equal)
	c.VPSRAD(Imm(31), x, borrowed) // all bits, if it is borrowed
	c.VPANDN(equal, borrowed, equal)
	c.VPSUBD(equal, same, same) // subtracts −1
	c.VPAND(x, y, y)
	c.VPSRLD(Imm(31), y, y)
	c.VPADDD(y, neither, neither)
	c.ADDQ(Imm(32), a)
	c.ADDQ(Imm(32), b)
	c.SUBQ(Imm(4), n)
	c.JNE(LabelRef("eight"))

	for _, s := range []struct {
		name string
		sum  reg.VecVirtual
	}{{"same", same}, {"neither", neither}} {
		half, total := c.XMM(), c.GP64()
		low := s.sum.AsX()
		c.VEXTRACTI128(Imm(1), s.sum, half)
		c.VPADDD(half, low, low)
		c.VPSHUFD(Imm(0b01_00_11_10), low, half)
		c.VPADDD(half, low, low)
		c.VPSHUFD(Imm(0b10_11_00_01), low, half)
		c.VPADDD(half, low, low)
		c.VMOVD(low, total.As32())
		c.Store(total, c.ReturnIndex(map[string]int{"same": 0, "neither": 1}[s.name]))
	}
	c.VZEROUPPER()
	c.RET()
}
