package june2013

import "testing"

// Vectors of the source documents.
func TestHash(t *testing.T) {
	for s, want := range map[string]uint64{
		"":        0,
		"This":    0xeb1daedc7c5afac8,
		"is":      0x002fbfaea690c58a,
		"a":       0x00000002e40db1e0,
		"test":    0x201d2fb14dfc27b8,
		"string":  0x80c50259a40cc845,
		"for":     0xc6079cb3d3de86a6,
		"testing": 0xc8f89c84814c448b, "testing,": 0xdd2eb37b84d60880,
		"abcdef": 0x06b91f10fdfd6d9b,
		"als":    0x142a6050a169701d,
		"北京":     0x25c8fd2fc79a862b, "上海": 0x237cff3c5d5ab4eb, "香港": 0x45d93a4f7a32a2a6,
		"深圳": 0x31fef0e9bf7a3ca2, "一": 0x0000025318354e01, "数据": 0x2e20f339713d473c,
		"数据库": 0xd1b219d19c09ffaa, "综上所述": 0x3849208d903335da,
	} {
		if got := Hash64(s); got != want {
			t.Errorf("Hash64(%q) = %016x, want %016x", s, got, want)
		}
	}
	for s, want := range map[string][2]uint64{
		"This":    {0x22bdf3e6, 0xeb1daedc7c5afac8},
		"testing": {0xf9183b453f75aa1a, 0xc8f89c84814c448b},
		"abcdef":  {0x7cedae2034e05f28, 0x06b91f10fdfd6d9b},
	} {
		if hi, lo := Hash128(s); hi != want[0] || lo != want[1] {
			t.Errorf("Hash128(%q) = %x%016x, want %x%016x", s, hi, lo, want[0], want[1])
		}
	}
}
