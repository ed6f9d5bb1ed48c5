//go:build !purego

#include "textflag.h"

// func compareNEON(a, b *uint64, n int) (same, neither int)
TEXT ·compareNEON(SB), NOSPLIT, $0-40
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	MOVD n+16(FP), R2
	MOVD $0x80000000, R3
	VDUP R3, V16.S4
	VEOR V17.B16, V17.B16, V17.B16 // zero
	VEOR V18.B16, V18.B16, V18.B16 // same
	VEOR V19.B16, V19.B16, V19.B16 // neither

words:
	VLD1.P 32(R0), [V0.S4, V1.S4]
	VLD1.P 32(R1), [V2.S4, V3.S4]

	// A lane of V4 and V5 is 0 if and only if the values are equal and not borrowed.
	VEOR  V0.B16, V2.B16, V4.B16
	VEOR  V1.B16, V3.B16, V5.B16
	VAND  V0.B16, V16.B16, V6.B16
	VAND  V1.B16, V16.B16, V7.B16
	VORR  V4.B16, V6.B16, V4.B16
	VORR  V5.B16, V7.B16, V5.B16
	VCMEQ V4.S4, V17.S4, V4.S4
	VCMEQ V5.S4, V17.S4, V5.S4
	VSUB  V4.S4, V18.S4, V18.S4
	VSUB  V5.S4, V18.S4, V18.S4

	// Borrowed in both: the top bit of both values.
	VAND  V0.B16, V2.B16, V0.B16
	VAND  V1.B16, V3.B16, V1.B16
	VUSHR $31, V0.S4, V0.S4
	VUSHR $31, V1.S4, V1.S4
	VADD  V0.S4, V19.S4, V19.S4
	VADD  V1.S4, V19.S4, V19.S4
	SUBS  $4, R2
	BNE   words
	VADDV V18.S4, V18
	VADDV V19.S4, V19
	VMOV  V18.S[0], R3
	VMOV  V19.S[0], R4
	MOVD  R3, same+24(FP)
	MOVD  R4, neither+32(FP)
	RET
