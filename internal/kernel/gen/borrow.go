package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// borrow makes the borrowing of MinHash: 64 values at a time, the smallest of the rows and which row it is in, and then the values of
// these rows where a value is empty.
func borrow(c *build.Context) {
	c.Function("borrowAVX512")
	c.Attributes(nosplit)
	c.SignatureExpr("func(s *uint32, k int, table *uint8, rows *uint8, n int, lent *uint32)")
	s, k := c.Load(c.Param("s"), c.GP64()), c.Load(c.Param("k"), c.GP64())
	table, list, n := c.Load(c.Param("table"), c.GP64()), c.Load(c.Param("rows"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	lent := c.Load(c.Param("lent"), c.GP64())
	left, i, at := c.GP64(), c.GP64(), c.GP64()
	row, least, which, number, one, empty := c.ZMM(), c.ZMM(), c.ZMM(), c.ZMM(), c.ZMM(), c.ZMM()
	smaller := c.K()
	c.MOVQ(k, left)
	c.MOVL(U32(1), at.As32())
	c.VPBROADCASTB(at.As32(), one)
	c.VPTERNLOGD(Imm(0xFF), empty, empty, empty)

	c.Label("part")
	c.VMOVDQA64(empty, least)
	c.VPXORQ(which, which, which)
	c.VPXORQ(number, number, number)
	c.XORQ(i, i)

	c.Label("each")
	c.MOVBQZX(Mem{Base: list, Index: i, Scale: 1}, at)
	c.IMULQ(k, at)
	c.VMOVDQU64(Mem{Base: table, Index: at, Scale: 1}, row)
	c.VPCMPUB(Imm(1), least, row, smaller) // row < least
	c.VMOVDQU8(row, smaller, least)
	c.VMOVDQU8(number, smaller, which)
	c.VPADDB(one, number, number)
	c.INCQ(i)
	c.CMPQ(i, n)
	c.JNE(LabelRef("each"))

	for q := range 4 {
		index, quarter, values := c.ZMM(), c.XMM(), c.ZMM()
		all, isEmpty := c.K(), c.K()
		c.VEXTRACTI32X4(Imm(uint64(q)), which, quarter)
		c.VPMOVZXBD(quarter, index)
		c.KXNORW(all, all, all)
		c.VPXORQ(values, values, values)
		c.VPGATHERDD(Mem{Base: lent, Index: index, Scale: 4}, all, values)
		c.VPCMPEQD(Mem{Base: s}.Offset(64*q), empty, isEmpty)
		c.VMOVDQU32(values, isEmpty, Mem{Base: s}.Offset(64*q))
	}
	c.ADDQ(U32(256), s)
	c.ADDQ(Imm(64), table)
	c.SUBQ(Imm(64), left)
	c.JNE(LabelRef("part"))
	c.VZEROUPPER()
	c.RET()
}
