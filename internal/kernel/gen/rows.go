package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// rows makes the smallest of rows, 32 bytes of all rows at a time.
func rows(c *build.Context) {
	c.Function("minRowsAVX2")
	c.Attributes(nosplit)
	c.SignatureExpr("func(dst *uint8, stride int, table *uint8, rows *uint8, n int)")
	dst, stride := c.Load(c.Param("dst"), c.GP64()), c.Load(c.Param("stride"), c.GP64())
	table, list, n := c.Load(c.Param("table"), c.GP64()), c.Load(c.Param("rows"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	left, i, row, least := c.GP64(), c.GP64(), c.GP64(), c.YMM()
	c.MOVQ(stride, left)

	c.Label("part")
	c.VPCMPEQB(least, least, least)
	c.XORQ(i, i)

	c.Label("each")
	c.MOVBQZX(Mem{Base: list, Index: i, Scale: 1}, row)
	c.IMULQ(stride, row)
	c.VPMINUB(Mem{Base: table, Index: row, Scale: 1}, least, least)
	c.INCQ(i)
	c.CMPQ(i, n)
	c.JNE(LabelRef("each"))

	c.VMOVDQU(least, Mem{Base: dst})
	c.ADDQ(Imm(32), dst)
	c.ADDQ(Imm(32), table)
	c.SUBQ(Imm(32), left)
	c.JNE(LabelRef("part"))
	c.VZEROUPPER()
	c.RET()
}
