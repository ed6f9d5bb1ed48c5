package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// nearAVX2 makes the scans of fingerprints for AVX2, which cannot count bits: a byte shuffle looks up the
// counts of nibbles, and further instructions add them up.
func nearAVX2(c *build.Context) {
	nibbles := c.StaticGlobal("bitsOfNibbles")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 32 {
		n := uint8(0)
		for x := i % 16; x > 0; x &= x - 1 {
			n++
		}
		c.AddDatum(i, U8(n))
	}
	for _, width := range []int{32, 64, 128} {
		scan(c, nibbles, width)
	}
	anyPair(c, nibbles)
}

// counter has what it takes to count bits.
type counter struct {
	c                *build.Context
	table, low, zero reg.VecVirtual
	ones8, ones16    reg.VecVirtual // only for 32 bits
}

func newCounter(c *build.Context, nibbles Mem, width int) counter {
	k := counter{c: c, table: c.YMM(), low: c.YMM(), zero: c.YMM()}
	c.VMOVDQU(nibbles, k.table)
	spread(c, 0x0F, k.low, c.VPBROADCASTB)
	c.VPXOR(k.zero, k.zero, k.zero)
	if width == 32 {
		k.ones8, k.ones16 = c.YMM(), c.YMM()
		spread(c, 1, k.ones8, c.VPBROADCASTB)
		spread(c, 1, k.ones16, c.VPBROADCASTW)
	}
	return k
}

// spread sets all elements of y to a number.
func spread(c *build.Context, n uint32, y reg.VecVirtual, broadcast func(...Op)) {
	g := c.GP32()
	c.MOVL(U32(n), g)
	c.VMOVD(g, y.AsX())
	broadcast(y.AsX(), y)
}

// count replaces each element of x, of the given width, by the number of its bits. Elements of 128
// bits get it in both halves.
func (k counter) count(x reg.VecVirtual, width int) {
	c, high := k.c, k.c.YMM()
	c.VPSRLW(Imm(4), x, high)
	c.VPAND(k.low, x, x)
	c.VPAND(k.low, high, high)
	c.VPSHUFB(x, k.table, x)
	c.VPSHUFB(high, k.table, high)
	c.VPADDB(high, x, x)
	if width == 32 {
		c.VPMADDUBSW(k.ones8, x, x)
		c.VPMADDWD(k.ones16, x, x)
		return
	}
	c.VPSADBW(k.zero, x, x)
	if width == 128 {
		c.VPSHUFD(Imm(0b01_00_11_10), x, high)
		c.VPADDQ(high, x, x)
	}
}

// scan makes a function that looks at n elements, a multiple of the elements of a vector, in blocks
// of 64. It ends with the first block that has any within k bits.
func scan(c *build.Context, nibbles Mem, width int) {
	name, typ, args := fmt.Sprint("next", width, "AVX2"), "uint64", "q uint64"
	switch width {
	case 32:
		name, typ, args = "nextTagAVX2", "uint32", "q uint32"
	case 128:
		args = "q0, q1 uint64"
	}
	c.Function(name)
	c.Attributes(nosplit)
	c.SignatureExpr(fmt.Sprintf("func(from *%s, n int, %s, k int) (at int, mask uint64)", typ, args))
	lanes := 256 / width
	from, n := c.Load(c.Param("from"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	k := newCounter(c, nibbles, width)
	query, more := c.YMM(), c.YMM()
	switch width {
	case 32:
		q := c.Load(c.Param("q"), c.GP32())
		c.VMOVD(q, query.AsX())
		c.VPBROADCASTD(query.AsX(), query)
	case 64:
		c.VPBROADCASTQ(address(c, "q"), query)
	case 128:
		c.VBROADCASTI128(address(c, "q0"), query)
	}
	moreThan(c, width, more)
	at, end, p, left := c.GP64(), c.GP64(), c.GP64(), c.GP64()
	near, any := c.YMM(), c.YMM()
	mask := c.GP64()
	c.XORQ(at, at)
	look := func() { // sets the bits of near in each element within k bits
		c.VPXOR(Mem{Base: p}, query, near)
		k.count(near, width)
		compare(c, width, near, more)
	}

	c.Label("block")
	c.XORQ(mask, mask)
	c.MOVQ(n, left)
	c.SUBQ(at, left)
	c.JE(LabelRef("done")) // nothing is near: at is n
	c.MOVQ(U32(64), end)
	c.CMPQ(left, end)
	c.CMOVQGT(end, left)
	c.MOVQ(left, end)
	c.MOVQ(from, p)
	c.VPXOR(any, any, any)

	c.Label("vector")
	look()
	c.VPOR(near, any, any)
	c.ADDQ(Imm(32), p)
	c.SUBQ(Imm(uint64(lanes)), left)
	c.JNE(LabelRef("vector"))
	c.VPTEST(any, any)
	c.JNE(LabelRef("found"))
	c.ADDQ(end, at)
	c.MOVQ(p, from)
	c.JMP(LabelRef("block"))

	c.Label("found")
	bits, shift := c.GP64(), c.GP64()
	c.XORQ(shift, shift)
	c.MOVQ(from, p)
	c.Label("which")
	look()
	switch width {
	case 32:
		c.VMOVMSKPS(near, bits.As32())
	case 64:
		c.VMOVMSKPD(near, bits.As32())
	case 128: // both halves of an element are alike
		high := c.GP32()
		c.VMOVMSKPD(near, bits.As32())
		c.MOVL(bits.As32(), high)
		c.ANDL(Imm(1), bits.As32())
		c.SHRL(Imm(1), high)
		c.ANDL(Imm(2), high)
		c.ORL(high, bits.As32())
	}
	c.SHLXQ(shift, bits, bits)
	c.ORQ(bits, mask)
	c.ADDQ(Imm(32), p)
	c.ADDQ(Imm(uint64(lanes)), shift)
	c.SUBQ(Imm(uint64(lanes)), end)
	c.JNE(LabelRef("which"))

	c.Label("done")
	c.VZEROUPPER()
	c.Store(at, c.Return("at"))
	c.Store(mask, c.Return("mask"))
	c.RET()
}

// address returns where an argument is.
func address(c *build.Context, name string) Mem {
	b, err := c.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// moreThan sets all elements of y to k + 1.
func moreThan(c *build.Context, width int, y reg.VecVirtual) {
	k := c.Load(c.Param("k"), c.GP64())
	c.INCQ(k)
	c.VMOVQ(k, y.AsX())
	if width == 32 {
		c.VPBROADCASTD(y.AsX(), y)
	} else {
		c.VPBROADCASTQ(y.AsX(), y)
	}
}

// compare sets the bits of each element of counts if it is less than more, and clears them else.
func compare(c *build.Context, width int, counts, more reg.VecVirtual) {
	if width == 32 {
		c.VPCMPGTD(counts, more, counts)
	} else {
		c.VPCMPGTQ(counts, more, counts)
	}
}

// anyPair makes a function that looks for a pair within k bits. n is at least 4. It does not look at
// pairs of the last four elements.
func anyPair(c *build.Context, nibbles Mem) {
	c.Function("anyPairAVX2")
	c.Attributes(nosplit)
	c.SignatureExpr("func(fps *uint64, n int, k int) bool")
	fps, n := c.Load(c.Param("fps"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	k := newCounter(c, nibbles, 64)
	more, query, near, any := c.YMM(), c.YMM(), c.YMM(), c.YMM()
	moreThan(c, 64, more)
	last, p := c.GP64(), c.GP64()
	c.LEAQ(Mem{Base: fps, Index: n, Scale: 8, Disp: -32}, last) // the last vector
	c.VPXOR(any, any, any)
	look := func(at Mem) {
		c.VPXOR(at, query, near)
		k.count(near, 64)
		compare(c, 64, near, more)
		c.VPOR(near, any, any)
	}

	c.Label("each")
	c.CMPQ(fps, last)
	c.JGE(LabelRef("done"))
	c.VPBROADCASTQ(Mem{Base: fps}, query)
	c.ADDQ(Imm(8), fps)
	c.MOVQ(fps, p)
	c.Label("with")
	c.CMPQ(p, last)
	c.JGE(LabelRef("rest"))
	look(Mem{Base: p})
	c.ADDQ(Imm(32), p)
	c.JMP(LabelRef("with"))
	c.Label("rest") // the last vector, of which some may have been looked at
	look(Mem{Base: last})
	c.VPTEST(any, any)
	c.JE(LabelRef("each"))

	c.Label("done")
	result := c.GP8()
	c.VPTEST(any, any)
	c.SETNE(result)
	c.VZEROUPPER()
	c.Store(result, c.ReturnIndex(0))
	c.RET()
}
