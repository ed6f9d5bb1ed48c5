package dedup

import (
	"errors"
	"testing"

	"github.com/neardup/neardup"
)

// equivalents has texts in Normalization Form C, and the same in Form D, as macOS, PDF and some scanners write them.
var equivalents = []struct{ language, composed, decomposed string }{
	{"Vietnamese", "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi. Mọi con người đều được tạo hóa ban cho lý trí và lương tâm, và cần phải đối xử với nhau trong tình bằng hữu.",
		"Ta\u0302\u0301t ca\u0309 mo\u0323i ngu\u031bo\u031b\u0300i sinh ra đe\u0302\u0300u đu\u031bo\u031b\u0323c tu\u031b\u0323 do va\u0300 bi\u0300nh đa\u0306\u0309ng ve\u0302\u0300 nha\u0302n pha\u0302\u0309m va\u0300 quye\u0302\u0300n lo\u031b\u0323i. Mo\u0323i con ngu\u031bo\u031b\u0300i đe\u0302\u0300u đu\u031bo\u031b\u0323c ta\u0323o ho\u0301a ban cho ly\u0301 tri\u0301 va\u0300 lu\u031bo\u031bng ta\u0302m, va\u0300 ca\u0302\u0300n pha\u0309i đo\u0302\u0301i xu\u031b\u0309 vo\u031b\u0301i nhau trong ti\u0300nh ba\u0306\u0300ng hu\u031b\u0303u."},
	{"Korean", "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.",
		"\u1106\u1169\u1103\u1173\u11ab \u110b\u1175\u11ab\u1100\u1161\u11ab\u110b\u1173\u11ab \u1110\u1162\u110b\u1165\u1102\u1161\u11af \u1104\u1162\u1107\u116e\u1110\u1165 \u110c\u1161\u110b\u1172\u1105\u1169\u110b\u116e\u1106\u1167 \u1100\u1173 \u110c\u1169\u11ab\u110b\u1165\u11b7\u1100\u116a \u1100\u116f\u11ab\u1105\u1175\u110b\u1166 \u110b\u1175\u11bb\u110b\u1165 \u1103\u1169\u11bc\u1103\u1173\u11bc\u1112\u1161\u1103\u1161. \u110b\u1175\u11ab\u1100\u1161\u11ab\u110b\u1173\u11ab \u110e\u1165\u11ab\u1107\u116e\u110c\u1165\u11a8\u110b\u1173\u1105\u1169 \u110b\u1175\u1109\u1165\u11bc\u1100\u116a \u110b\u1163\u11bc\u1109\u1175\u11b7\u110b\u1173\u11af \u1107\u116e\u110b\u1167\u1107\u1161\u11ae\u110b\u1161\u11bb\u110b\u1173\u1106\u1167 \u1109\u1165\u1105\u1169 \u1112\u1167\u11bc\u110c\u1166\u110b\u1162\u110b\u1174 \u110c\u1165\u11bc\u1109\u1175\u11ab\u110b\u1173\u1105\u1169 \u1112\u1162\u11bc\u1103\u1169\u11bc\u1112\u1161\u110b\u1167\u110b\u1163 \u1112\u1161\u11ab\u1103\u1161."},
	{"Polish", "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
		"Wszyscy ludzie rodza\u0328 sie\u0328 wolni i ro\u0301wni pod wzgle\u0328dem swej godnos\u0301ci i swych praw. Sa\u0328 oni obdarzeni rozumem i sumieniem i powinni poste\u0328powac\u0301 wobec innych w duchu braterstwa."},
	{"Czech", "Všichni lidé se rodí svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím a mají spolu jednat v duchu bratrství.",
		"Vs\u030cichni lide\u0301 se rodi\u0301 svobodni\u0301 a sobe\u030c rovni\u0301 co do du\u030astojnosti a pra\u0301v. Jsou nada\u0301ni rozumem a sve\u030cdomi\u0301m a maji\u0301 spolu jednat v duchu bratrstvi\u0301."},
	{"Japanese", "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。",
		"すへ\u3099ての人間は、生まれなか\u3099らにして自由て\u3099あり、かつ、尊厳と権利とについて平等て\u3099ある。人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなけれは\u3099ならない。"},
	{"French", "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
		"Tous les e\u0302tres humains naissent libres et e\u0301gaux en dignite\u0301 et en droits. Ils sont doue\u0301s de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternite\u0301."},
	{"Hindi", "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए। ब\u095cा घो\u095cा",
		"सभी मनुष\u094dयों को गौरव और अधिकारों के मामले में जन\u094dमजात स\u094dवतन\u094dत\u094dरता और समानता प\u094dराप\u094dत है। उन\u094dहें बुद\u094dधि और अन\u094dतरात\u094dमा की देन प\u094dराप\u094dत है और परस\u094dपर उन\u094dहें भाईचारे के भाव से बर\u094dताव करना चाहिए। बड\u093cा घोड\u093cा"},
}

// TestEquivalents: canonically equivalent texts are the same text.
func TestEquivalents(t *testing.T) {
	d, err := New[string](Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range equivalents {
		if err := d.Add(e.language, neardup.Text(e.composed)); err != nil {
			t.Fatal(err)
		}
		if err := d.Add(e.language+", decomposed", neardup.Text(e.decomposed)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for p, err := range d.Pairs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if p.A+", decomposed" != p.B || p.Kind != neardup.SameWords || p.Similarity != 1 || p.Probability < 0.99 {
			t.Errorf("%+v", p)
		}
		n++
	}
	if n != len(equivalents) {
		t.Errorf("%d pairs of %d texts", n, len(equivalents))
	}
}

// otherWays has texts that are written in two ways, which a step of the Normalizer makes one.
var otherWays = []struct {
	what, a, b string
	step       neardup.Normalizer
}{
	{"traditional and simplified Chinese", "人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，並應以兄弟關係的精神相對待。人人有資格享有本宣言所載的一切權利和自由，不分種族、膚色、性別、語言、宗教、政治或其他見解。",
		"人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。人人有资格享有本宣言所载的一切权利和自由，不分种族、肤色、性别、语言、宗教、政治或其他见解。", neardup.Normalizer{Simplified: true}},
	{"Arabic letters in Persian", "تمام افراد بشر آزاد به دنیا می\u200cآیند و از لحاظ حیثیت و حقوق با هم برابرند. همه دارای عقل و وجدان هستند و باید نسبت به یکدیگر با روح برادری رفتار کنند.",
		"تمام افراد بشر آزاد به دنيا مي\u200cآيند و از لحاظ حيثيت و حقوق با هم برابرند. همه داراي عقل و وجدان هستند و بايد نسبت به يكديگر با روح برادري رفتار كنند.", neardup.Normalizer{Arabic: true}},
	{"vowel signs", "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق، وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا بروح الإخاء.",
		"يُولَدُ جميعُ النَّاسِ أحرارًا متساوينَ في الكرامةِ والحقوقِ، وقد وُهِبوا عقلًا وضميرًا وعليهم أن يعاملَ بعضُهم بعضًا بروحِ الإخاءِ.", neardup.Normalizer{Arabic: true}},
	{"Cyrillic letters in Latin words", "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.",
		"Аll humаn bеings аrе bоrn frее аnd еquаl in dignity аnd rights. Thеy аrе еndоwеd with rеаsоn аnd cоnsciеncе аnd shоuld аct tоwаrds оnе аnоthеr in а spirit оf brоthеrhооd.", neardup.Normalizer{Confusables: true}},
}

// TestOtherWays: without the step the two are hardly near-duplicates, and with it they certainly are.
func TestOtherWays(t *testing.T) {
	for _, c := range otherWays {
		probability := func(n neardup.Normalizer) float64 {
			d, err := New[int](Options{Fingerprinter: neardup.Fingerprinter{Normalizer: n}})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(d.Add(0, neardup.Text(c.a)), d.Add(1, neardup.Text(c.b))); err != nil {
				t.Fatal(err)
			}
			e, err := d.Explain(0, 1)
			if err != nil {
				t.Fatal(err)
			}
			return e.Probability
		}
		before, after := probability(neardup.Normalizer{}), probability(c.step)
		t.Logf("%s: %.2f, and with the step %.2f", c.what, before, after)
		if before > 0.6 || after < 0.95 {
			t.Errorf("%s: %.3f, and with the step %.3f", c.what, before, after)
		}
	}
}
