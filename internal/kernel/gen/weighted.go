package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// weighted makes the addition of weighted hashes into 64 counters: the weight of a hash is added to
// counter i if its bit i is set.
func weighted(c *build.Context) {
	// Element i has bit i.
	each := c.StaticGlobal("bitOfEach")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 64 {
		c.AddDatum(8*i, U64(1<<i))
	}

	// With AVX-512 all counters are in registers, eight in each, and a mask says which ones grow.
	c.Function("addWeightedAVX512")
	c.Attributes(nosplit)
	c.SignatureExpr("func(counters *[64]uint64, hashes *uint64, weights *int64, n int)")
	counters, hashes := c.Load(c.Param("counters"), c.GP64()), c.Load(c.Param("hashes"), c.GP64())
	weights, n := c.Load(c.Param("weights"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	var sums, bits [8]reg.VecVirtual
	for j := range sums {
		sums[j], bits[j] = c.ZMM(), c.ZMM()
		c.VMOVDQU64(Mem{Base: counters, Disp: 64 * j}, sums[j])
		c.VMOVDQU64(each.Offset(64*j), bits[j])
	}
	hash, weight, i := c.ZMM(), c.ZMM(), c.GP64()
	c.XORQ(i, i)
	c.Label("hash")
	c.VPBROADCASTQ(Mem{Base: hashes, Index: i, Scale: 8}, hash)
	c.VPBROADCASTQ(Mem{Base: weights, Index: i, Scale: 8}, weight)
	for j := range sums {
		k := c.K()
		c.KMOVB(Mem{Base: hashes, Index: i, Scale: 8, Disp: j}, k)
		c.VPADDQ(weight, sums[j], k, sums[j])
	}
	c.INCQ(i)
	c.CMPQ(i, n)
	c.JNE(LabelRef("hash"))
	for j := range sums {
		c.VMOVDQU64(sums[j], Mem{Base: counters, Disp: 64 * j})
	}
	c.VZEROUPPER()
	c.RET()

	// With AVX2 32 counters are in registers, four in each; the function goes through the hashes
	// twice.
	c.Function("addWeightedAVX2")
	c.Attributes(nosplit)
	c.SignatureExpr("func(counters *[64]uint64, hashes *uint64, weights *int64, n int)")
	counters, hashes = c.Load(c.Param("counters"), c.GP64()), c.Load(c.Param("hashes"), c.GP64())
	weights, n = c.Load(c.Param("weights"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	i = c.GP64()
	for _, half := range []int{0, 32} {
		label := map[int]string{0: "low", 32: "high"}[half]
		var sums [8]reg.VecVirtual
		for j := range sums {
			sums[j] = c.YMM()
			c.VMOVDQU(Mem{Base: counters, Disp: 8*half + 32*j}, sums[j])
		}
		hash, weight := c.YMM(), c.YMM()
		c.XORQ(i, i)
		c.Label(label)
		c.VPBROADCASTQ(Mem{Base: hashes, Index: i, Scale: 8}, hash)
		c.VPBROADCASTQ(Mem{Base: weights, Index: i, Scale: 8}, weight)
		for j := range sums {
			bit, grows := each.Offset(8*half+32*j), c.YMM()
			c.VPAND(bit, hash, grows)
			c.VPCMPEQQ(bit, grows, grows)
			c.VPAND(weight, grows, grows)
			c.VPADDQ(grows, sums[j], sums[j])
		}
		c.INCQ(i)
		c.CMPQ(i, n)
		c.JNE(LabelRef(label))
		for j := range sums {
			c.VMOVDQU(sums[j], Mem{Base: counters, Disp: 8*half + 32*j})
		}
	}
	c.VZEROUPPER()
	c.RET()
}
