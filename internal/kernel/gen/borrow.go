package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// borrow makes the borrowing of MinHash: the smallest of the rows and which row it is in, for 64 values at a time, and then the values of
// these rows where a value is empty. Of up to 32 rows, two registers hold what they lend, and 128 values are done at a time.
func borrow(c *build.Context) {
	borrowAs(c, "borrowAVX512", 1)
	borrowAs(c, "borrowFewAVX512", 2)
	borrowWide(c)
}

// borrowWide makes the borrowing for rows of 16 bits, which stand anywhere, for 32 values at a time.
func borrowWide(c *build.Context) {
	c.Function("borrowWideAVX512")
	c.Attributes(nosplit)
	c.SignatureExpr("func(s *uint32, k int, rows **uint16, n int, lent *uint32) (late uint32)")
	s, left := c.Load(c.Param("s"), c.GP64()), c.Load(c.Param("k"), c.GP64())
	list, n, lent := c.Load(c.Param("rows"), c.GP64()), c.Load(c.Param("n"), c.GP64()), c.Load(c.Param("lent"), c.GP64())
	i, at, offset, late := c.GP64(), c.GP64(), c.GP64(), c.GP32()
	number, one, empty, least, which := c.ZMM(), c.ZMM(), c.ZMM(), c.ZMM(), c.ZMM()
	c.XORQ(offset, offset)
	c.XORL(late, late)
	c.MOVL(U32(1), at.As32())
	c.VPBROADCASTW(at.As32(), one)
	c.VPTERNLOGD(Imm(0xFF), empty, empty, empty)

	c.Label("part")
	c.VMOVDQA64(empty, least)
	c.VPXORQ(which, which, which)
	c.VPXORQ(number, number, number)
	c.XORQ(i, i)

	c.Label("each")
	row, smaller := c.ZMM(), c.K()
	c.MOVQ(Mem{Base: list, Index: i, Scale: 8}, at)
	c.VMOVDQU64(Mem{Base: at, Index: offset, Scale: 1}, row)
	c.VPCMPUW(Imm(1), least, row, smaller) // row < least
	c.VPMINUW(row, least, least)
	c.VMOVDQU16(number, smaller, which)
	c.VPADDW(one, number, number)
	c.INCQ(i)
	c.CMPQ(i, n)
	c.JNE(LabelRef("each"))

	never, some := c.K(), c.GP32()
	c.VPCMPEQW(empty, least, never)
	c.KMOVD(never, some)
	c.ORL(some, late)
	for q := range 2 {
		half, index, values := c.YMM(), c.ZMM(), c.ZMM()
		isEmpty, all := c.K(), c.K()
		c.VEXTRACTI64X4(Imm(uint64(q)), which, half)
		c.VPMOVZXWD(half, index)
		c.KXNORW(all, all, all)
		c.VPXORQ(values, values, values)
		c.VPGATHERDD(Mem{Base: lent, Index: index, Scale: 4}, all, values)
		c.VPCMPEQD(Mem{Base: s}.Offset(64*q), empty, isEmpty)
		c.VMOVDQU32(values, isEmpty, Mem{Base: s}.Offset(64*q))
	}
	c.ADDQ(U32(128), s)
	c.ADDQ(U32(64), offset)
	c.SUBQ(U32(32), left)
	c.JNE(LabelRef("part"))
	c.VZEROUPPER()
	c.Store(late, c.ReturnIndex(0))
	c.RET()
}

// borrowAs makes a function that does so many times 64 values at a time.
func borrowAs(c *build.Context, name string, together int) {
	c.Function(name)
	c.Attributes(nosplit)
	c.SignatureExpr("func(s *uint32, k int, table *uint8, rows *uint8, n int, lent *uint32)")
	s, k := c.Load(c.Param("s"), c.GP64()), c.Load(c.Param("k"), c.GP64())
	table, list, n := c.Load(c.Param("table"), c.GP64()), c.Load(c.Param("rows"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	lent := c.Load(c.Param("lent"), c.GP64())
	left, i, at := c.GP64(), c.GP64(), c.GP64()
	number, one, empty := c.ZMM(), c.ZMM(), c.ZMM()
	c.MOVQ(k, left)
	c.MOVL(U32(1), at.As32())
	c.VPBROADCASTB(at.As32(), one)
	c.VPTERNLOGD(Imm(0xFF), empty, empty, empty)
	low, high := c.ZMM(), c.ZMM()
	if together > 1 {
		c.VMOVDQU64(Mem{Base: lent}, low)
		c.VMOVDQU64(Mem{Base: lent}.Offset(64), high)
	}
	least, which := make([]reg.VecVirtual, together), make([]reg.VecVirtual, together)
	for p := range together {
		least[p], which[p] = c.ZMM(), c.ZMM()
	}

	c.Label("part")
	for p := range together {
		c.VMOVDQA64(empty, least[p])
		c.VPXORQ(which[p], which[p], which[p])
	}
	c.VPXORQ(number, number, number)
	c.XORQ(i, i)

	c.Label("each")
	c.MOVBQZX(Mem{Base: list, Index: i, Scale: 1}, at)
	c.IMULQ(k, at)
	for p := range together {
		row, smaller := c.ZMM(), c.K()
		c.VMOVDQU64(Mem{Base: table, Index: at, Scale: 1}.Offset(64*p), row)
		c.VPCMPUB(Imm(1), least[p], row, smaller) // row < least
		c.VPMINUB(row, least[p], least[p])
		c.VMOVDQU8(number, smaller, which[p])
	}
	c.VPADDB(one, number, number)
	c.INCQ(i)
	c.CMPQ(i, n)
	c.JNE(LabelRef("each"))

	for p := range together {
		for q := range 4 {
			index, quarter, values := c.ZMM(), c.XMM(), c.ZMM()
			isEmpty := c.K()
			c.VEXTRACTI32X4(Imm(uint64(q)), which[p], quarter)
			c.VPMOVZXBD(quarter, index)
			if together > 1 {
				c.VPERMI2D(high, low, index)
				values = index
			} else {
				all := c.K()
				c.KXNORW(all, all, all)
				c.VPXORQ(values, values, values)
				c.VPGATHERDD(Mem{Base: lent, Index: index, Scale: 4}, all, values)
			}
			c.VPCMPEQD(Mem{Base: s}.Offset(256*p+64*q), empty, isEmpty)
			c.VMOVDQU32(values, isEmpty, Mem{Base: s}.Offset(256*p+64*q))
		}
	}
	c.ADDQ(U32(256*together), s)
	c.ADDQ(U32(64*together), table)
	c.SUBQ(U32(64*together), left)
	c.JNE(LabelRef("part"))
	c.VZEROUPPER()
	c.RET()
}
