package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// units makes the functions that count the bits of hashes, by a tree of carry-save adders as in
// internal/bitsum, with another hash in each lane of a vector. Plane j of a lane has bit j of its 64
// counters. 16 vectors go through the tree, and what it carries ripples through the planes above.
func units(c *build.Context) {
	c.Function("countAVX512")
	countBits(c, 64, func() reg.VecVirtual { return c.ZMM() }, func(a, b, x reg.VecVirtual) (sum, carry reg.VecVirtual) {
		carry = c.ZMM()
		c.VMOVDQA64(a, carry)
		c.VPTERNLOGQ(Imm(0xE8), x, b, carry) // the majority of three
		c.VPTERNLOGQ(Imm(0x96), x, b, a)     // their exclusive or
		return a, carry
	})
	c.Function("countAVX2")
	countBits(c, 32, func() reg.VecVirtual { return c.YMM() }, func(a, b, x reg.VecVirtual) (sum, carry reg.VecVirtual) {
		t, carry := c.YMM(), c.YMM()
		c.VPXOR(a, b, t)
		c.VPAND(a, b, carry)
		c.VPXOR(t, x, a)
		c.VPAND(t, x, t)
		c.VPOR(t, carry, carry)
		return a, carry
	})
}

// planes is the number of planes of a lane: enough for the blocks of one call.
const planes = 10

// countBits makes a function for vectors of some bytes. adder adds three vectors, and may overwrite
// them. n is the number of blocks of 16 vectors, above 0.
func countBits(c *build.Context, size int, vector func() reg.VecVirtual, adder func(a, b, x reg.VecVirtual) (sum, carry reg.VecVirtual)) {
	c.Attributes(nosplit)
	c.SignatureExpr("func(planes *uint64, hashes *uint64, n int)")
	to, hashes, n := c.Load(c.Param("planes"), c.GP64()), c.Load(c.Param("hashes"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	move := func(from, to Op) { c.VMOVDQU(from, to) }
	xor, and := func(a, b, to Op) { c.VPXOR(a, b, to) }, func(a, b, to Op) { c.VPAND(a, b, to) }
	if size == 64 {
		move = func(from, to Op) { c.VMOVDQU64(from, to) }
		xor, and = func(a, b, to Op) { c.VPXORQ(a, b, to) }, func(a, b, to Op) { c.VPANDQ(a, b, to) }
	}
	var low [4]reg.VecVirtual
	for j := range low {
		low[j] = vector()
		move(Mem{Base: to, Disp: size * j}, low[j])
	}
	c.Label("block")
	// add adds 2^level vectors to the lowest planes, from one on, and returns what is carried.
	var add func(first, level int) reg.VecVirtual
	add = func(first, level int) reg.VecVirtual {
		if level == 0 {
			x := vector()
			move(Mem{Base: hashes, Disp: size * first}, x)
			return x
		}
		a := add(first, level-1)
		b := add(first+1<<(level-1), level-1)
		sum, carry := adder(low[level-1], a, b)
		move(sum, low[level-1])
		return carry
	}
	carry := add(0, 4)
	for j := 4; j < planes; j++ {
		p, both := vector(), vector()
		move(Mem{Base: to, Disp: size * j}, p)
		and(p, carry, both)
		xor(p, carry, p)
		move(p, Mem{Base: to, Disp: size * j})
		carry = both
	}
	c.ADDQ(U32(16*size), hashes)
	c.DECQ(n)
	c.JNE(LabelRef("block"))
	for j := range low {
		move(low[j], Mem{Base: to, Disp: size * j})
	}
	c.VZEROUPPER()
	c.RET()
}
