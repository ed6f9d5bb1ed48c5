package neardup

import "testing"

// TestKindText: every set of kinds is written and read again, and another name is an error that changes nothing.
func TestKindText(t *testing.T) {
	t.Parallel()
	for k := Kind(0); k <= AllKinds; k++ {
		text, err := k.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		got := AllKinds
		if err := got.UnmarshalText(text); err != nil || got != k {
			t.Errorf("%v: read as %v, %v", k, got, err)
		}
	}
	k := Contained
	if err := k.UnmarshalText([]byte("revised, all")); err != nil || k != AllKinds {
		t.Errorf("%v, %v", k, err)
	}
	for _, names := range []string{"", "Revised", "revised,", "Kind(64)"} {
		k := Contained
		if err := k.UnmarshalText([]byte(names)); err == nil || k != Contained {
			t.Errorf("%q: %v, %v", names, k, err)
		}
	}
}
