//go:build !purego

#include "textflag.h"

// func foldBlockAVX512(src, dst *byte) (mask uint64, ok bool)
TEXT ·foldBlockAVX512(SB), NOSPLIT, $0-25
	MOVQ      src+0(FP), SI
	MOVQ      dst+8(FP), DI
	VMOVDQU64 (SI), Z0
	VPMOVB2M  Z0, K1               // bytes above 127
	KORTESTQ  K1, K1
	JNE       other
	MOVL      $0x20, AX
	VPBROADCASTB AX, Z1
	MOVL      $0x41, BX            // 'A'
	VPBROADCASTB BX, Z2
	MOVL      $26, CX
	VPBROADCASTB CX, Z3
	VPSUBB    Z2, Z0, Z4
	VPCMPUB   $1, Z3, Z4, K1       // c-'A' < 26
	VPADDB    Z1, Z0, K1, Z0       // to lower case
	VMOVDQU64 Z0, (DI)
	VPADDB    Z1, Z2, Z2           // 'a'
	VPSUBB    Z2, Z0, Z4
	VPCMPUB   $1, Z3, Z4, K1       // c-'a' < 26
	MOVL      $0x30, AX            // '0'
	VPBROADCASTB AX, Z2
	MOVL      $10, CX
	VPBROADCASTB CX, Z3
	VPSUBB    Z2, Z0, Z4
	VPCMPUB   $1, Z3, Z4, K2       // c-'0' < 10
	KORQ      K1, K2, K1
	KMOVQ     K1, AX
	VZEROUPPER
	MOVQ      AX, mask+16(FP)
	MOVB      $1, ok+24(FP)
	RET

other:
	VZEROUPPER
	MOVQ $0, mask+16(FP)
	MOVB $0, ok+24(FP)
	RET
