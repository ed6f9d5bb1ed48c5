package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// nearAVX512 makes the scans of fingerprints for AVX-512, which counts bits by itself and masks the lanes
// behind the last element. They look at 64 elements at a time: the least of their distances says
// whether any is near, and only then are they looked at one vector at a time.
func nearAVX512(c *build.Context) {
	for _, width := range []int{32, 64, 128} {
		scan512(c, width)
	}
	anyPair512(c)
	prefetch(c)
}

// An op512 has the instructions for elements of 32 or 64 bits.
type op512 struct {
	xor     func(...Op)
	popcnt  func(...Op)
	min     func(...Op)
	compare func(...Op)
	load    func(from, in, to Op) // with a mask; other lanes are 0
	spread  func(...Op)
}

func newOp512(c *build.Context, width int) op512 {
	if width == 32 {
		return op512{c.VPXORD, c.VPOPCNTD, c.VPMINUD, c.VPCMPUD, c.VMOVDQU32_Z, c.VPBROADCASTD}
	}
	return op512{c.VPXORQ, c.VPOPCNTQ, c.VPMINUQ, c.VPCMPUQ, c.VMOVDQU64_Z, c.VPBROADCASTQ}
}

const atMost = 2 // of VPCMPUD: the second operand is at most the first

// scan512 makes a function that looks at elements from one on, in blocks of 64. It ends with the first
// block that has any within k bits.
func scan512(c *build.Context, width int) {
	name, typ, arg, args := fmt.Sprintf("next%dAVX512", width), "uint64", "fps", "q uint64"
	switch width {
	case 32:
		name, typ, arg, args = "nextTagAVX512", "uint32", "tags", "tag uint32"
	case 128:
		typ, args = "[2]uint64", "q0, q1 uint64"
	}
	c.Function(name)
	c.Attributes(nosplit)
	c.SignatureExpr(fmt.Sprintf("func(%s *%s, n, from int, %s, k int) (at int, mask uint64)", arg, typ, args))
	do := newOp512(c, width)
	each, size := 512/width, width/8 // elements of a vector, bytes of an element
	p, left, at := c.Load(c.Param(arg), c.GP64()), c.Load(c.Param("n"), c.GP64()), c.Load(c.Param("from"), c.GP64())
	query, most := c.ZMM(), c.ZMM()
	switch width {
	case 32:
		c.VPBROADCASTD(c.Load(c.Param("tag"), c.GP32()), query)
		c.VPBROADCASTD(c.Load(c.Param("k"), c.GP64()).(reg.GPVirtual).As32(), most)
	case 64:
		c.VPBROADCASTQ(c.Load(c.Param("q"), c.GP64()), query)
		c.VPBROADCASTQ(c.Load(c.Param("k"), c.GP64()), most)
	case 128:
		c.VMOVDQU(address(c, "q0"), query.AsX())
		c.VSHUFI64X2(Imm(0), query, query, query) // both words, four times
		c.VPBROADCASTQ(c.Load(c.Param("k"), c.GP64()), most)
	}
	offset := c.GP64()
	c.MOVQ(at, offset)
	c.SHLQ(Imm(map[int]uint64{32: 2, 64: 3, 128: 4}[width]), offset)
	c.ADDQ(offset, p)
	c.SUBQ(at, left)

	c.Label("block")
	if width == 32 {
		// The tags of a large bucket go on in the next page, which the processor does not fetch by itself.
		c.CMPQ(left, U32(320))
		c.JLT(LabelRef("near"))
		for i := range 4 {
			c.PREFETCHT0(Mem{Base: p, Disp: 1024 + 64*i})
		}
		c.Label("near")
	}
	c.CMPQ(left, Imm(64))
	c.JLT(LabelRef("few"))
	// distances returns the least distances of some vectors from one on.
	var distances func(first, vectors int) reg.VecVirtual
	distances = func(first, vectors int) reg.VecVirtual {
		if vectors == 1 {
			x := c.ZMM()
			do.xor(Mem{Base: p, Disp: 64 * first}, query, x)
			do.popcnt(x, x)
			return x
		}
		a, b := distances(first, vectors/2), distances(first+vectors/2, vectors/2)
		if width == 128 && vectors == 2 { // add the counts of the two words
			low := c.ZMM()
			c.VPUNPCKLQDQ(b, a, low)
			c.VPUNPCKHQDQ(b, a, b)
			c.VPADDQ(low, b, b)
		} else {
			do.min(a, b, b)
		}
		return b
	}
	near := c.K()
	do.compare(Imm(atMost), most, distances(0, size), near)
	c.KORTESTW(near, near)
	c.JNE(LabelRef("found"))
	c.ADDQ(U32(64*size), p)
	c.ADDQ(Imm(64), at)
	c.SUBQ(Imm(64), left)
	c.JMP(LabelRef("block"))

	c.Label("found")
	c.MOVQ(U32(64), left)

	c.Label("few")
	mask, shift, end := c.GP64(), c.GP64(), c.GP64()
	c.XORQ(mask, mask)
	c.XORQ(shift, shift)
	c.MOVQ(at, end)
	c.ADDQ(left, end) // the end, if there is nothing
	other := c.GP64()
	if width == 128 {
		c.MOVQ(U32(0x55), other) // one lane of two
	}

	c.Label("rest")
	c.TESTQ(left, left)
	c.JLE(LabelRef("done"))
	n := c.GP64() // the lanes of the next elements
	c.MOVQ(U32(each), n)
	c.CMPQ(left, n)
	c.CMOVQLT(left, n)
	if width == 128 {
		c.ADDQ(n, n)
	}
	in := lanes(c, n)
	x, bits := c.ZMM(), c.GP64()
	do.load(Mem{Base: p}, in, x)
	do.xor(query, x, x)
	do.popcnt(x, x)
	if width == 128 {
		swapped := c.ZMM()
		c.VPSHUFD(Imm(0x4E), x, swapped) // the other word of each
		c.VPADDQ(swapped, x, x)
	}
	do.compare(Imm(atMost), most, x, in, near)
	c.KMOVW(near, bits.As32())
	if width == 128 {
		c.PEXTQ(other, bits, bits)
	}
	c.SHLXQ(shift, bits, bits)
	c.ORQ(bits, mask)
	c.ADDQ(Imm(64), p)
	c.ADDQ(Imm(uint64(each)), shift)
	c.SUBQ(Imm(uint64(each)), left)
	c.JMP(LabelRef("rest"))

	c.Label("done")
	c.VZEROUPPER()
	c.TESTQ(mask, mask)
	c.CMOVQEQ(end, at)
	c.Store(at, c.Return("at"))
	c.Store(mask, c.Return("mask"))
	c.RET()
}

// lanes returns a mask of the first n lanes.
func lanes(c *build.Context, n reg.GPVirtual) reg.OpmaskVirtual {
	ones, in := c.GP32(), c.K()
	c.MOVL(U32(0xFFFFFFFF), ones)
	c.SHLXL(n.As32(), ones, ones)
	c.NOTL(ones)
	c.KMOVW(ones, in)
	return in
}

// anyPair512 makes a function that looks for a pair within k bits.
func anyPair512(c *build.Context) {
	c.Function("anyPairAVX512")
	c.Attributes(nosplit)
	c.SignatureExpr("func(fps *uint64, n int, k int) bool")
	p, n := c.Load(c.Param("fps"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	most, query, x := c.ZMM(), c.ZMM(), c.ZMM()
	c.VPBROADCASTQ(c.Load(c.Param("k"), c.GP64()), most)
	any, near := c.K(), c.K() // any: whether any pair was near
	c.KXORW(any, any, any)
	with, left := c.GP64(), c.GP64()

	c.Label("each")
	c.SUBQ(Imm(1), n) // how many follow the first
	c.JLE(LabelRef("done"))
	c.VPBROADCASTQ(Mem{Base: p}, query)
	c.ADDQ(Imm(8), p)
	c.MOVQ(p, with)
	c.MOVQ(n, left)

	c.Label("eight")
	c.CMPQ(left, Imm(8))
	c.JLT(LabelRef("few"))
	c.VPXORQ(Mem{Base: with}, query, x)
	c.VPOPCNTQ(x, x)
	c.VPCMPUQ(Imm(atMost), most, x, near)
	c.KORW(near, any, any)
	c.ADDQ(Imm(64), with)
	c.SUBQ(Imm(8), left)
	c.JMP(LabelRef("eight"))

	c.Label("few")
	c.TESTQ(left, left)
	c.JEQ(LabelRef("each"))
	in := lanes(c, left)
	c.VMOVDQU64_Z(Mem{Base: with}, in, x)
	c.VPXORQ(query, x, x)
	c.VPOPCNTQ(x, x)
	c.VPCMPUQ(Imm(atMost), most, x, in, near)
	c.KORW(near, any, any)
	c.JMP(LabelRef("each"))

	c.Label("done")
	bits, result := c.GP32(), c.GP8()
	c.KMOVW(any, bits)
	c.TESTW(bits.As16(), bits.As16())
	c.SETNE(result)
	c.VZEROUPPER()
	c.Store(result, c.ReturnIndex(0))
	c.RET()
}

// prefetch makes a function that prefetches n bytes.
func prefetch(c *build.Context) {
	c.Function("Prefetch")
	c.Attributes(nosplit)
	c.SignatureExpr("func(p *byte, n int)")
	p, last := c.Load(c.Param("p"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	c.LEAQ(Mem{Base: p, Index: last, Scale: 1, Disp: -1}, last)
	c.ANDQ(I32(-64), p)
	c.Label("line")
	c.PREFETCHT0(Mem{Base: p})
	c.ADDQ(Imm(64), p)
	c.CMPQ(p, last)
	c.JLS(LabelRef("line"))
	c.RET()
}
