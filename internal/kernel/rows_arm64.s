//go:build !purego

#include "textflag.h"

// func minRowsNEON(dst *uint8, stride int, table *uint8, rows *uint8, n int)
TEXT ·minRowsNEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD stride+8(FP), R1
	MOVD table+16(FP), R2
	MOVD rows+24(FP), R3
	MOVD n+32(FP), R4
	MOVD R1, R5           // columns that are left

columns:
	VMOVI $255, V0.B16
	VMOVI $255, V1.B16
	MOVD  R3, R6
	MOVD  R4, R7

row:
	MOVBU.P 1(R6), R8
	MADD    R1, R2, R8, R9
	VLD1    (R9), [V2.B16, V3.B16]
	VUMIN   V2.B16, V0.B16, V0.B16
	VUMIN   V3.B16, V1.B16, V1.B16
	SUBS    $1, R7
	BNE     row
	VST1.P  [V0.B16, V1.B16], 32(R0)
	ADD     $32, R2
	SUBS    $32, R5
	BNE     columns
	RET
