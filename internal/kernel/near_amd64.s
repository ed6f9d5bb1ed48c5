//go:build !purego

#include "textflag.h"

// The three below look at 64 at a time: the least of their distances says whether
// any is near, and only then are they looked at one by one ("rest", which also
// does the last ones, in as many lanes as there are; others are not read).

// func nextTagAVX512(tags *uint32, n, from int, tag uint32, k int) (at int, mask uint64)
TEXT ·nextTagAVX512(SB), NOSPLIT, $0-56
	MOVQ         tags+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         from+16(FP), R12
	MOVL         tag+24(FP), AX
	MOVQ         k+32(FP), BX
	VPBROADCASTD AX, Z0
	VPBROADCASTD BX, Z1
	LEAQ         (SI)(R12*4), SI
	SUBQ         R12, CX         // how many are left

sixtyfour:
	CMPQ       CX, $320
	JLT        near
	PREFETCHT0 1024(SI)          // across pages, unlike the processor by itself
	PREFETCHT0 1088(SI)
	PREFETCHT0 1152(SI)
	PREFETCHT0 1216(SI)

near:
	CMPQ     CX, $64
	JLT      few
	VPXORD   (SI), Z0, Z2
	VPXORD   64(SI), Z0, Z3
	VPXORD   128(SI), Z0, Z4
	VPXORD   192(SI), Z0, Z5
	VPOPCNTD Z2, Z2
	VPOPCNTD Z3, Z3
	VPOPCNTD Z4, Z4
	VPOPCNTD Z5, Z5
	VPMINUD  Z2, Z3, Z3
	VPMINUD  Z4, Z5, Z5
	VPMINUD  Z3, Z5, Z5
	VPCMPUD  $2, Z1, Z5, K1      // distance <= k
	KORTESTW K1, K1
	JNE      found
	ADDQ     $256, SI
	ADDQ     $64, R12
	SUBQ     $64, CX
	JMP      sixtyfour

found:
	MOVQ $64, CX

few:
	XORL R8, R8                  // the result
	XORL R9, R9                  // the position in it
	MOVQ R12, R13
	ADDQ CX, R13                 // the end, if there is nothing

rest:
	TESTQ       CX, CX
	JLE         done
	MOVL        $16, DX
	CMPQ        CX, DX
	CMOVQLT     CX, DX
	MOVL        $-1, R11
	SHLXL       DX, R11, R11
	NOTL        R11
	KMOVW       R11, K2
	VMOVDQU32.Z (SI), K2, Z2
	VPXORD      Z0, Z2, Z2
	VPOPCNTD    Z2, Z2
	VPCMPUD     $2, Z1, Z2, K2, K1
	KMOVW       K1, R10
	SHLXQ       R9, R10, R10
	ORQ         R10, R8
	ADDQ        $64, SI
	ADDQ        $16, R9
	SUBQ        $16, CX
	JMP         rest

done:
	VZEROUPPER
	TESTQ   R8, R8
	CMOVQEQ R13, R12
	MOVQ    R12, at+40(FP)
	MOVQ    R8, mask+48(FP)
	RET

// func next64AVX512(fps *uint64, n, from int, q uint64, k int) (at int, mask uint64)
TEXT ·next64AVX512(SB), NOSPLIT, $0-56
	MOVQ         fps+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         from+16(FP), R12
	MOVQ         q+24(FP), AX
	MOVQ         k+32(FP), BX
	VPBROADCASTQ AX, Z0
	VPBROADCASTQ BX, Z1
	LEAQ         (SI)(R12*8), SI
	SUBQ         R12, CX

sixtyfour:
	CMPQ     CX, $64
	JLT      few
	VPXORQ   (SI), Z0, Z2
	VPXORQ   64(SI), Z0, Z3
	VPXORQ   128(SI), Z0, Z4
	VPXORQ   192(SI), Z0, Z5
	VPXORQ   256(SI), Z0, Z6
	VPXORQ   320(SI), Z0, Z7
	VPXORQ   384(SI), Z0, Z8
	VPXORQ   448(SI), Z0, Z9
	VPOPCNTQ Z2, Z2
	VPOPCNTQ Z3, Z3
	VPOPCNTQ Z4, Z4
	VPOPCNTQ Z5, Z5
	VPOPCNTQ Z6, Z6
	VPOPCNTQ Z7, Z7
	VPOPCNTQ Z8, Z8
	VPOPCNTQ Z9, Z9
	VPMINUQ  Z2, Z3, Z3
	VPMINUQ  Z4, Z5, Z5
	VPMINUQ  Z6, Z7, Z7
	VPMINUQ  Z8, Z9, Z9
	VPMINUQ  Z3, Z5, Z5
	VPMINUQ  Z7, Z9, Z9
	VPMINUQ  Z5, Z9, Z9
	VPCMPUQ  $2, Z1, Z9, K1
	KORTESTW K1, K1
	JNE      found
	ADDQ     $512, SI
	ADDQ     $64, R12
	SUBQ     $64, CX
	JMP      sixtyfour

found:
	MOVQ $64, CX

few:
	XORL R8, R8
	XORL R9, R9
	MOVQ R12, R13
	ADDQ CX, R13

rest:
	TESTQ       CX, CX
	JLE         done
	MOVL        $8, DX
	CMPQ        CX, DX
	CMOVQLT     CX, DX
	MOVL        $-1, R11
	SHLXL       DX, R11, R11
	NOTL        R11
	KMOVW       R11, K2
	VMOVDQU64.Z (SI), K2, Z2
	VPXORQ      Z0, Z2, Z2
	VPOPCNTQ    Z2, Z2
	VPCMPUQ     $2, Z1, Z2, K2, K1
	KMOVW       K1, R10
	SHLXQ       R9, R10, R10
	ORQ         R10, R8
	ADDQ        $64, SI
	ADDQ        $8, R9
	SUBQ        $8, CX
	JMP         rest

done:
	VZEROUPPER
	TESTQ   R8, R8
	CMOVQEQ R13, R12
	MOVQ    R12, at+40(FP)
	MOVQ    R8, mask+48(FP)
	RET

// func next128AVX512(fps *[2]uint64, n, from int, q0, q1 uint64, k int) (at int, mask uint64)
TEXT ·next128AVX512(SB), NOSPLIT, $0-64
	MOVQ         fps+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         from+16(FP), R12
	MOVQ         k+40(FP), BX
	VMOVDQU      q0+24(FP), X0
	VSHUFI64X2   $0, Z0, Z0, Z0  // both words, four times
	VPBROADCASTQ BX, Z1
	MOVQ         R12, AX
	SHLQ         $4, AX
	ADDQ         AX, SI
	SUBQ         R12, CX
	MOVL         $0x55, BX       // one lane of two

sixtyfour:
	CMPQ        CX, $64
	JLT         few
	VPXORQ      (SI), Z0, Z2
	VPXORQ      64(SI), Z0, Z3
	VPXORQ      128(SI), Z0, Z4
	VPXORQ      192(SI), Z0, Z5
	VPOPCNTQ    Z2, Z2
	VPOPCNTQ    Z3, Z3
	VPOPCNTQ    Z4, Z4
	VPOPCNTQ    Z5, Z5
	VPUNPCKLQDQ Z3, Z2, Z6
	VPUNPCKHQDQ Z3, Z2, Z7
	VPADDQ      Z6, Z7, Z2
	VPUNPCKLQDQ Z5, Z4, Z6
	VPUNPCKHQDQ Z5, Z4, Z7
	VPADDQ      Z6, Z7, Z4
	VPMINUQ     Z2, Z4, Z14
	VPXORQ      256(SI), Z0, Z8
	VPXORQ      320(SI), Z0, Z9
	VPXORQ      384(SI), Z0, Z10
	VPXORQ      448(SI), Z0, Z11
	VPOPCNTQ    Z8, Z8
	VPOPCNTQ    Z9, Z9
	VPOPCNTQ    Z10, Z10
	VPOPCNTQ    Z11, Z11
	VPUNPCKLQDQ Z9, Z8, Z12
	VPUNPCKHQDQ Z9, Z8, Z13
	VPADDQ      Z12, Z13, Z8
	VPUNPCKLQDQ Z11, Z10, Z12
	VPUNPCKHQDQ Z11, Z10, Z13
	VPADDQ      Z12, Z13, Z10
	VPMINUQ     Z8, Z10, Z15
	VPXORQ      512(SI), Z0, Z2
	VPXORQ      576(SI), Z0, Z3
	VPXORQ      640(SI), Z0, Z4
	VPXORQ      704(SI), Z0, Z5
	VPOPCNTQ    Z2, Z2
	VPOPCNTQ    Z3, Z3
	VPOPCNTQ    Z4, Z4
	VPOPCNTQ    Z5, Z5
	VPUNPCKLQDQ Z3, Z2, Z6
	VPUNPCKHQDQ Z3, Z2, Z7
	VPADDQ      Z6, Z7, Z2
	VPUNPCKLQDQ Z5, Z4, Z6
	VPUNPCKHQDQ Z5, Z4, Z7
	VPADDQ      Z6, Z7, Z4
	VPMINUQ     Z2, Z4, Z16
	VPXORQ      768(SI), Z0, Z8
	VPXORQ      832(SI), Z0, Z9
	VPXORQ      896(SI), Z0, Z10
	VPXORQ      960(SI), Z0, Z11
	VPOPCNTQ    Z8, Z8
	VPOPCNTQ    Z9, Z9
	VPOPCNTQ    Z10, Z10
	VPOPCNTQ    Z11, Z11
	VPUNPCKLQDQ Z9, Z8, Z12
	VPUNPCKHQDQ Z9, Z8, Z13
	VPADDQ      Z12, Z13, Z8
	VPUNPCKLQDQ Z11, Z10, Z12
	VPUNPCKHQDQ Z11, Z10, Z13
	VPADDQ      Z12, Z13, Z10
	VPMINUQ     Z8, Z10, Z17
	VPMINUQ     Z14, Z15, Z15
	VPMINUQ     Z16, Z17, Z17
	VPMINUQ     Z15, Z17, Z17
	VPCMPUQ     $2, Z1, Z17, K1
	KORTESTW    K1, K1
	JNE         found
	ADDQ        $1024, SI
	ADDQ        $64, R12
	SUBQ        $64, CX
	JMP         sixtyfour

found:
	MOVQ $64, CX

few:
	XORL R8, R8
	XORL R9, R9
	MOVQ R12, R13
	ADDQ CX, R13

rest:
	TESTQ       CX, CX
	JLE         done
	MOVL        $4, DX
	CMPQ        CX, DX
	CMOVQLT     CX, DX
	ADDL        DX, DX
	MOVL        $-1, R11
	SHLXL       DX, R11, R11
	NOTL        R11
	KMOVW       R11, K2
	VMOVDQU64.Z (SI), K2, Z2
	VPXORQ      Z0, Z2, Z2
	VPOPCNTQ    Z2, Z2
	VPSHUFD     $0x4E, Z2, Z3    // the other word of each
	VPADDQ      Z3, Z2, Z2
	VPCMPUQ     $2, Z1, Z2, K2, K1
	KMOVW       K1, R10
	PEXTL       BX, R10, R10
	SHLXQ       R9, R10, R10
	ORQ         R10, R8
	ADDQ        $64, SI
	ADDQ        $4, R9
	SUBQ        $4, CX
	JMP         rest

done:
	VZEROUPPER
	TESTQ   R8, R8
	CMOVQEQ R13, R12
	MOVQ    R12, at+48(FP)
	MOVQ    R8, mask+56(FP)
	RET

// func anyPairAVX512(fps *uint64, n int, k int) bool
TEXT ·anyPairAVX512(SB), NOSPLIT, $0-25
	MOVQ         fps+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVQ         k+16(FP), BX
	VPBROADCASTQ BX, Z1
	KXORW        K3, K3, K3      // whether any pair was near

row:
	SUBQ         $1, CX          // how many follow the first
	JLE          end
	VPBROADCASTQ (SI), Z0
	ADDQ         $8, SI
	MOVQ         SI, DI
	MOVQ         CX, DX

eight:
	CMPQ     DX, $8
	JLT      few
	VPXORQ   (DI), Z0, Z2
	VPOPCNTQ Z2, Z2
	VPCMPUQ  $2, Z1, Z2, K1
	KORW     K1, K3, K3
	ADDQ     $64, DI
	SUBQ     $8, DX
	JMP      eight

few:
	TESTQ       DX, DX
	JEQ         row
	MOVL        $-1, R11
	SHLXL       DX, R11, R11
	NOTL        R11
	KMOVW       R11, K2
	VMOVDQU64.Z (DI), K2, Z2
	VPXORQ      Z0, Z2, Z2
	VPOPCNTQ    Z2, Z2
	VPCMPUQ     $2, Z1, Z2, K2, K1
	KORW        K1, K3, K3
	JMP         row

end:
	KMOVW K3, AX
	TESTW AX, AX
	SETNE ret+24(FP)
	VZEROUPPER
	RET

// func prefetch(p unsafe.Pointer, n int)
TEXT ·Prefetch(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	LEAQ -1(SI)(CX*1), CX        // the last byte
	ANDQ $~63, SI

line:
	PREFETCHT0 (SI)
	ADDQ       $64, SI
	CMPQ       SI, CX
	JLS        line
	RET
