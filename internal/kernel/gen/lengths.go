package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lengths makes the functions that sort 64 strings by their lengths.
func lengths(c *build.Context) {
	const bounds = 4
	begin := func(name string) (start, end, limits, masks reg.Register) {
		c.Function(name)
		c.Attributes(nosplit)
		c.SignatureExpr("func(start, end *uint32, limits *uint32, masks *uint64)")
		return c.Load(c.Param("start"), c.GP64()), c.Load(c.Param("end"), c.GP64()), c.Load(c.Param("limits"), c.GP64()), c.Load(c.Param("masks"), c.GP64())
	}

	start, end, limits, masks := begin("shorterAVX512")
	var length [4]reg.VecVirtual
	for i := range length {
		from := c.ZMM()
		length[i] = c.ZMM()
		c.VMOVDQU32(Mem{Base: start, Disp: 64 * i}, from)
		c.VMOVDQU32(Mem{Base: end, Disp: 64 * i}, length[i])
		c.VPSUBD(from, length[i], length[i])
	}
	for j := range bounds {
		limit := c.ZMM()
		c.VPBROADCASTD(Mem{Base: limits, Disp: 4 * j}, limit)
		var k [4]reg.OpmaskVirtual
		for i := range k {
			k[i] = c.K()
			c.VPCMPUD(Imm(1), limit, length[i], k[i]) // below it
		}
		c.KUNPCKWD(k[0], k[1], k[1])
		c.KUNPCKWD(k[2], k[3], k[3])
		c.KUNPCKDQ(k[1], k[3], k[3])
		c.KMOVQ(k[3], Mem{Base: masks, Disp: 8 * j})
	}
	c.VZEROUPPER()
	c.RET()

	start, end, limits, masks = begin("shorterAVX2")
	var limit [bounds]reg.VecVirtual
	var mask [bounds]reg.GPVirtual
	for j := range limit {
		limit[j], mask[j] = c.YMM(), c.GP64()
		c.VPBROADCASTD(Mem{Base: limits, Disp: 4 * j}, limit[j])
		c.XORQ(mask[j], mask[j])
	}
	for i := 7; i >= 0; i-- {
		from, length := c.YMM(), c.YMM()
		c.VMOVDQU(Mem{Base: start, Disp: 32 * i}, from)
		c.VMOVDQU(Mem{Base: end, Disp: 32 * i}, length)
		c.VPSUBD(from, length, length)
		for j := range limit {
			below, bits := c.YMM(), c.GP64()
			c.VPCMPGTD(length, limit[j], below)
			c.VMOVMSKPS(below, bits.As32())
			c.SHLQ(Imm(8), mask[j])
			c.ORQ(bits, mask[j])
		}
	}
	for j := range mask {
		c.MOVQ(mask[j], Mem{Base: masks, Disp: 8 * j})
	}
	c.VZEROUPPER()
	c.RET()
}
