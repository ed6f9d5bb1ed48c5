#include "textflag.h"

// func matchTagsAVX512(tags *uint32, n int, tag uint32, k int) uint64
TEXT ·matchTagsAVX512(SB), NOSPLIT, $0-40
	MOVQ         tags+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVL         tag+16(FP), AX
	MOVQ         k+24(FP), BX
	VPBROADCASTD AX, Z0
	VPBROADCASTD BX, Z1
	XORL         R8, R8          // the result
	XORL         R9, R9          // the position in it

sixteen:
	CMPQ     CX, $16
	JLT      rest
	VPXORD   (SI), Z0, Z2
	VPOPCNTD Z2, Z2
	VPCMPUD  $2, Z1, Z2, K1      // distance <= k
	KMOVW    K1, R10
	SHLXQ    R9, R10, R10
	ORQ      R10, R8
	ADDQ     $64, SI
	ADDQ     $16, R9
	SUBQ     $16, CX
	JMP      sixteen

rest:
	TESTQ       CX, CX
	JEQ         done
	MOVL        $-1, R11
	SHLXL       CX, R11, R11
	NOTL        R11
	KMOVW       R11, K2          // the lanes that exist; others are not read
	VMOVDQU32.Z (SI), K2, Z2
	VPXORD      Z0, Z2, Z2
	VPOPCNTD    Z2, Z2
	VPCMPUD     $2, Z1, Z2, K2, K1
	KMOVW       K1, R10
	SHLXQ       R9, R10, R10
	ORQ         R10, R8

done:
	VZEROUPPER
	MOVQ R8, ret+32(FP)
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
