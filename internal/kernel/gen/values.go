package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// values makes the comparison of signatures.
func values(c *build.Context) {
	valuesAVX2(c)
	valuesAVX512(c)
}

// valuesAVX2 makes the one for AVX2, eight values at a time.
func valuesAVX2(c *build.Context) {
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

// valuesAVX512 makes the one for AVX-512, 16 values at a time.
func valuesAVX512(c *build.Context) {
	c.Function("compareAVX512")
	c.Attributes(nosplit)
	c.SignatureExpr("func(a, b *uint64, n int) (same, neither int)")
	a, b, n := c.Load(c.Param("a"), c.GP64()), c.Load(c.Param("b"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	top, x, y := c.ZMM(), c.ZMM(), c.ZMM()
	bit, bits := c.GP32(), c.GP64()
	c.MOVL(U32(1<<31), bit)
	c.VPBROADCASTD(bit, top)
	same, neither := c.GP64(), c.GP64()
	c.XORQ(same, same)
	c.XORQ(neither, neither)
	equal, both := c.K(), c.K()

	c.Label("sixteen")
	c.VMOVDQU64(Mem{Base: a}, x)
	c.VMOVDQU64(Mem{Base: b}, y)
	c.VPCMPEQD(x, y, equal)
	c.VPTESTNMD(x, top, equal, equal) // and not borrowed
	c.VPANDD(x, y, y)
	c.VPTESTMD(y, top, both)
	c.KMOVW(equal, bits.As32())
	c.POPCNTL(bits.As32(), bits.As32())
	c.ADDQ(bits, same)
	c.KMOVW(both, bits.As32())
	c.POPCNTL(bits.As32(), bits.As32())
	c.ADDQ(bits, neither)
	c.ADDQ(Imm(64), a)
	c.ADDQ(Imm(64), b)
	c.SUBQ(Imm(8), n)
	c.JNE(LabelRef("sixteen"))
	c.VZEROUPPER()
	c.Store(same, c.Return("same"))
	c.Store(neither, c.Return("neither"))
	c.RET()
}
