package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// words makes the function that cuts 64 bytes of ASCII into words, for AVX-512. It keeps the letters and
// digits, and the first byte behind each run of them, which becomes a space; an instruction of VBMI2
// moves them side by side. The same instruction makes lists of the places where words begin and end.
func words(c *build.Context) {
	places := c.StaticGlobal("places")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 64 {
		c.AddDatum(i, U8(i))
	}
	c.Function("wordsAVX512")
	c.Attributes(nosplit)
	c.SignatureExpr("func(src, dst *byte, start, end *uint32, base uint32, open uint64) (bytes, starts, ends int, ok bool)")
	src, dst := c.Load(c.Param("src"), c.GP64()), c.Load(c.Param("dst"), c.GP64())
	x, t := c.ZMM(), c.ZMM()
	c.VMOVDQU64(Mem{Base: src}, x)
	high := c.K()
	c.VPMOVB2M(x, high)
	c.KORTESTQ(high, high)
	c.JNE(LabelRef("other"))

	// in finds the bytes among n from first on.
	in := func(first, n uint32) reg.OpmaskVirtual {
		lowest, limit, found := c.ZMM(), c.ZMM(), c.K()
		spreadByte(c, first, lowest)
		spreadByte(c, n, limit)
		c.VPSUBB(lowest, x, t)
		c.VPCMPUB(Imm(1), limit, t, found)
		return found
	}
	upper, bit := in('A', 26), c.ZMM()
	spreadByte(c, 'a'-'A', bit)
	c.VPADDB(bit, x, upper, x)
	letters, digits := in('a', 26), in('0', 10)
	c.KORQ(digits, letters, letters)
	out := c.ZMM()
	spreadByte(c, ' ', out)
	c.VMOVDQU8(x, letters, out)

	mask, open, behind, keep := c.GP64(), c.Load(c.Param("open"), c.GP64()), c.GP64(), c.GP64()
	c.KMOVQ(letters, mask)
	c.LEAQ(Mem{Base: open, Index: mask, Scale: 2}, behind) // what is behind a letter
	c.MOVQ(mask, keep)
	c.ORQ(behind, keep)
	kept := c.K()
	c.KMOVQ(keep, kept)
	compress(c, out, kept, out)
	c.VMOVDQU64(out, Mem{Base: dst})
	c.PEXTQ(keep, mask, mask) // the letters among those that are kept
	n := c.GP64()
	c.POPCNTQ(keep, n)
	c.Store(n, c.Return("bytes"))

	// Words begin at letters that are behind none, and end behind letters where none is. A word that
	// reaches the end does not end yet.
	c.LEAQ(Mem{Base: open, Index: mask, Scale: 2}, behind)
	starts, ends := c.GP64(), c.GP64()
	c.ANDNQ(mask, behind, starts)
	c.ANDNQ(behind, mask, ends)
	c.BZHIQ(n, ends, ends) // without bit n, which is behind a word that goes on; 64 drops none
	all, base := c.ZMM(), c.ZMM()
	c.VMOVDQU64(places, all)
	c.VPBROADCASTD(c.Load(c.Param("base"), c.GP32()), base)
	for _, list := range []struct {
		bits     reg.GPVirtual
		to, size string
	}{{starts, "start", "starts"}, {ends, "end", "ends"}} {
		to, k, some, low, upper := c.Load(c.Param(list.to), c.GP64()), c.K(), c.ZMM(), c.ZMM(), c.YMM()
		c.KMOVQ(list.bits, k)
		compress(c, all, k, some)
		c.VPMOVZXBD(some.AsX(), low)
		c.VPADDD(base, low, low)
		c.VMOVDQU32(low, Mem{Base: to})
		c.VEXTRACTI128(Imm(1), some.AsY(), upper.AsX())
		c.VPMOVZXBD(upper.AsX(), low)
		c.VPADDD(base, low, low)
		c.VMOVDQU32(low, Mem{Base: to, Disp: 64})
		count := c.GP64()
		c.POPCNTQ(list.bits, count)
		c.Store(count, c.Return(list.size))
	}
	c.VZEROUPPER()
	ok := c.GP8()
	c.MOVB(U8(1), ok)
	c.Store(ok, c.Return("ok"))
	c.RET()

	c.Label("other")
	c.VZEROUPPER()
	zero, no := c.GP64(), c.GP8()
	c.XORQ(zero, zero)
	c.MOVB(U8(0), no)
	for _, name := range []string{"bytes", "starts", "ends"} {
		c.Store(zero, c.Return(name))
	}
	c.Store(no, c.Return("ok"))
	c.RET()
}

// spreadByte sets all bytes of z to a number.
func spreadByte(c *build.Context, n uint32, z reg.VecVirtual) {
	g := c.GP32()
	c.MOVL(U32(n), g)
	c.VPBROADCASTB(g, z)
}

// compress moves the bytes of from whose bit in k is set side by side, and sets the others to 0. Avo has
// no VBMI2.
func compress(c *build.Context, from reg.VecVirtual, k reg.OpmaskVirtual, to reg.VecVirtual) {
	c.Instruction(&ir.Instruction{
		Opcode:   "VPCOMPRESSB",
		Suffixes: []string{"Z"},
		Operands: []Op{from, k, to},
		Inputs:   []Op{from, k},
		Outputs:  []Op{to},
	})
}
