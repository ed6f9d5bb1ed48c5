//go:build !purego

#include "textflag.h"

// These kernels compare fingerprints 16 at a time. Their distances are counted for each byte, and
// pairwise additions bring the counts of 16 fingerprints into the 16 bytes of V0, in order.

// MATCHES appends 16 bits to the mask in R7, from bit R8 on: whether the distances in V0 are at most
// those in V17. V18 has the bits 1 to 128, twice.
#define MATCHES \
	VUMIN V17.B16, V0.B16, V1.B16 \
	VCMEQ V0.B16, V1.B16, V0.B16  \
	VAND  V18.B16, V0.B16, V0.B16 \
	VADDP V0.B16, V0.B16, V0.B16  \
	VADDP V0.B16, V0.B16, V0.B16  \
	VADDP V0.B16, V0.B16, V0.B16  \
	VMOV  V0.H[0], R9             \
	LSL   R8, R9, R9              \
	ORR   R9, R7, R7

// COUNT counts, for each byte, the bits in which four vectors differ from V16.
#define COUNT(a, b, c, d) \
	VEOR V16.B16, a.B16, a.B16 \
	VEOR V16.B16, b.B16, b.B16 \
	VEOR V16.B16, c.B16, c.B16 \
	VEOR V16.B16, d.B16, d.B16 \
	VCNT a.B16, a.B16          \
	VCNT b.B16, b.B16          \
	VCNT c.B16, c.B16          \
	VCNT d.B16, d.B16

// DIFFER counts, for each byte, the bits in which two vectors differ.
#define DIFFER(a, b) \
	VEOR b.B16, a.B16, a.B16 \
	VCNT a.B16, a.B16

// SUM adds neighbouring bytes of four vectors, twice, into the first one.
#define SUM(a, b, c, d) \
	VADDP b.B16, a.B16, a.B16 \
	VADDP d.B16, c.B16, c.B16 \
	VADDP c.B16, a.B16, a.B16

// BEGIN sets up what MATCHES needs. The largest distance is R3; as a byte, it is at most 255.
#define BEGIN \
	MOVD $255, R4                \
	CMP  R4, R3                  \
	CSEL HI, R4, R3, R3          \
	VDUP R3, V17.B16             \
	MOVD $0x8040201008040201, R5 \
	VDUP R5, V18.D2              \
	MOVD $0, R6

// func nextTagNEON(from *uint32, n int, q uint32, k int) (at int, mask uint64)
TEXT ·nextTagNEON(SB), NOSPLIT, $0-48
	MOVD  from+0(FP), R0
	MOVD  n+8(FP), R1
	MOVWU q+16(FP), R2
	MOVD  k+24(FP), R3
	VDUP  R2, V16.S4
	BEGIN

block:
	MOVD $0, R7
	MOVD $0, R8

group:
	VLD1.P 64(R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	COUNT(V0, V1, V2, V3)
	SUM(V0, V1, V2, V3)
	MATCHES
	SUBS   $16, R1
	BEQ    end
	ADD    $16, R8
	CMP    $64, R8
	BNE    group
	CBNZ   R7, end
	ADD    $64, R6
	B      block

end:
	MOVD R6, at+32(FP)
	MOVD R7, mask+40(FP)
	RET

// func next64NEON(from *uint64, n int, q uint64, k int) (at int, mask uint64)
TEXT ·next64NEON(SB), NOSPLIT, $0-48
	MOVD from+0(FP), R0
	MOVD n+8(FP), R1
	MOVD q+16(FP), R2
	MOVD k+24(FP), R3
	VDUP R2, V16.D2
	BEGIN

block:
	MOVD $0, R7
	MOVD $0, R8

group:
	VLD1.P 64(R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R0), [V4.B16, V5.B16, V6.B16, V7.B16]
	COUNT(V0, V1, V2, V3)
	COUNT(V4, V5, V6, V7)
	SUM(V0, V1, V2, V3)
	SUM(V4, V5, V6, V7)
	VADDP  V4.B16, V0.B16, V0.B16
	MATCHES
	SUBS   $16, R1
	BEQ    end
	ADD    $16, R8
	CMP    $64, R8
	BNE    group
	CBNZ   R7, end
	ADD    $64, R6
	B      block

end:
	MOVD R6, at+32(FP)
	MOVD R7, mask+40(FP)
	RET

// func next128NEON(from *[2]uint64, n int, q0, q1 uint64, k int) (at int, mask uint64)
TEXT ·next128NEON(SB), NOSPLIT, $0-56
	MOVD from+0(FP), R0
	MOVD n+8(FP), R1
	MOVD q0+16(FP), R2
	MOVD q1+24(FP), R4
	MOVD k+32(FP), R3
	VMOV R2, V16.D[0]
	VMOV R4, V16.D[1]
	BEGIN

block:
	MOVD $0, R7
	MOVD $0, R8

group:
	VLD1.P 64(R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R0), [V4.B16, V5.B16, V6.B16, V7.B16]
	COUNT(V0, V1, V2, V3)
	COUNT(V4, V5, V6, V7)
	SUM(V0, V1, V2, V3)
	SUM(V4, V5, V6, V7)
	VADDP  V4.B16, V0.B16, V0.B16
	VLD1.P 64(R0), [V4.B16, V5.B16, V6.B16, V7.B16]
	VLD1.P 64(R0), [V20.B16, V21.B16, V22.B16, V23.B16]
	COUNT(V4, V5, V6, V7)
	COUNT(V20, V21, V22, V23)
	SUM(V4, V5, V6, V7)
	SUM(V20, V21, V22, V23)
	VADDP  V20.B16, V4.B16, V4.B16
	VADDP  V4.B16, V0.B16, V0.B16
	MATCHES
	SUBS   $16, R1
	BEQ    end
	ADD    $16, R8
	CMP    $64, R8
	BNE    group
	CBNZ   R7, end
	ADD    $64, R6
	B      block

end:
	MOVD R6, at+40(FP)
	MOVD R7, mask+48(FP)
	RET

// func pairsNEON(fps, ring *uint64, rounds, k int) (near uint64)
TEXT ·pairsNEON(SB), NOSPLIT, $0-40
	MOVD  fps+0(FP), R0
	MOVD  ring+8(FP), R1
	MOVD  rounds+16(FP), R10
	MOVD  k+24(FP), R3
	BEGIN
	MOVD  $0, R7
	MOVD  $0, R8
	VLD1.P 64(R0), [V20.B16, V21.B16, V22.B16, V23.B16]
	VLD1.P 64(R0), [V24.B16, V25.B16, V26.B16, V27.B16]
	VMOVI $255, V28.B16                                 // the least distances

round:
	ADD    $8, R1
	MOVD   R1, R2
	VLD1.P 64(R2), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R2), [V4.B16, V5.B16, V6.B16, V7.B16]
	DIFFER(V0, V20)
	DIFFER(V1, V21)
	DIFFER(V2, V22)
	DIFFER(V3, V23)
	DIFFER(V4, V24)
	DIFFER(V5, V25)
	DIFFER(V6, V26)
	DIFFER(V7, V27)
	SUM(V0, V1, V2, V3)
	SUM(V4, V5, V6, V7)
	VADDP  V4.B16, V0.B16, V0.B16
	VUMIN  V0.B16, V28.B16, V28.B16
	SUBS   $1, R10
	BNE    round
	VMOV   V28.B16, V0.B16
	MATCHES
	MOVD   R7, near+32(FP)
	RET

// func Prefetch(p unsafe.Pointer, n int)
TEXT ·Prefetch(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1
	ADD  R0, R1, R1
	AND  $~63, R0, R0

line:
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	CMP  R1, R0
	BLO  line
	RET
