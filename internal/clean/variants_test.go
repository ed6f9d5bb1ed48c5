package clean

import "testing"

func TestVariants(t *testing.T) {
	for _, c := range []struct {
		steps    Steps
		in, want string
	}{
		{Steps{Simplified: true}, "人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，並應以兄弟關係的精神相對待。", "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"},
		{Steps{Simplified: true}, "後来、乾燥、臺灣 ABC \xff", "后来、干燥、台湾 ABC \xff"},
		{Steps{Simplified: true}, "后来、干燥、台湾", "后来、干燥、台湾"},
		{Steps{Arabic: true}, "كِتَابِي على", "کتابی علی"},
		{Steps{Arabic: true}, "کتابی علی", "کتابی علی"},
		{Steps{Confusables: true}, "pаypаl РАYPAL мир Ελλάδα 3а, a\xffа", "paypal PAYPAL мир Ελλάδα 3а, a\xffа"},
		{Steps{Confusables: true}, "Вest vоte мoсква", "Best vote мocквa"},
		{Steps{Simplified: true, Arabic: true, Confusables: true, Fold: true}, "後 ك Вest", "后 ک best"},
	} {
		if got := c.steps.Apply(c.in); got != c.want {
			t.Errorf("%+v of %q: %q, want %q", c.steps, c.in, got, c.want)
		}
		if again := c.steps.Apply(c.want); again != c.want {
			t.Errorf("%+v of %q again: %q", c.steps, c.want, again)
		}
	}
}
