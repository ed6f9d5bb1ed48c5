package dedup

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/neardup/neardup"
)

// The first article of the Universal Declaration of Human Rights in scripts without spaces between words, of which every
// character is a word to the tokenizers, and in two that are written from right to left.
var articles = map[string]struct{ text, space, end string }{
	"Thai":    {"มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ", "", " "},
	"Lao":     {"ມະນຸດເກີດມາມີສິດເສລີພາບ ແລະ ສະເໝີໜ້າກັນໃນທາງກຽດຕິສັກ ແລະ ທາງສິດດ້ວຍມະນຸດມີສະຕິສຳປັດຊັນຍະແລະມີມະໂນທຳຈຶ່ງຕ້ອງປະພຶດຕົນຕໍ່ກັນໃນທາງພີ່ນ້ອງ", "", " "},
	"Khmer":   {"មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព ក្នុងផ្នែកសេចក្ដីថ្លៃថ្នូរនិងសិទ្ធិ មនុស្ស មានវិចារណញ្ញាណនិងសតិសម្បជញ្ញៈជាប់ពីកំណើត ហើយគប្បីប្រព្រឹត្ដចំពោះគ្នាទៅវិញទៅមក ក្នុងស្មារតីភាតរភាពជាបងប្អូន", "", "។ "},
	"Burmese": {"လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် လည်းကောင်း တူညီလွတ်လပ်သော အခွင့်အရေးများဖြင့် လည်းကောင်း မွေးဖွားလာသူများ ဖြစ်သည် ထိုသူတို့၌ ပိုင်းခြား ဝေဖန်တတ်သော ဉာဏ်နှင့် ကျင့်ဝတ် သိတတ်သော စိတ်တို့ရှိကြ၍", "", "။ "},
	"Tibetan": {"འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་སྐྱེས་ཙམ་ཉིད་ནས་ཆེ་མཐོངས་དང་ཐོབ་ཐང་གི་རང་དབང་འདྲ་མཉམ་དུ་ཡོད་ལ་ཁོང་ཚོར་རང་བྱུང་གི་བློ་རྩལ་དང་བསམ་ཚུལ་བཟང་པོ་འདོན་པའི་འོས་བབས་ཀྱང་ཡོད", "་", "། "},
	"Arabic":  {"يولد جميع الناس أحرارا متساوين في الكرامة والحقوق وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا بروح الإخاء", " ", ". "},
	"Hebrew":  {"כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם כולם חוננו בתבונה ובמצפון לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה", " ", ". "},
}

// syllables returns the letters of a text, each with its marks.
func syllables(text string) (all []string) {
	begin := -1
	for i, r := range text + " " {
		if unicode.IsMark(r) && begin >= 0 {
			continue
		}
		if begin >= 0 {
			all = append(all, text[begin:i])
		}
		if begin = -1; unicode.IsLetter(r) {
			begin = i
		}
	}
	return all
}

// TestScripts: in scripts of which the words are not known, and from right to left, a page with another sentence is found, and
// pages that have nothing to do with it are not.
func TestScripts(t *testing.T) {
	for name, article := range articles {
		rnd := rand.New(rand.NewPCG(uint64(len(article.text)), 9))
		letters := syllables(article.text)
		words := make([]string, 600)
		for i := range words {
			var b strings.Builder
			for range 2 + rnd.IntN(4) {
				b.WriteString(letters[rnd.IntN(len(letters))])
			}
			words[i] = b.String()
		}
		sentence := func() string {
			of := make([]string, 6+rnd.IntN(10))
			for i := range of {
				of[i] = words[rnd.IntN(rnd.IntN(len(words))+1)] // some are frequent
			}
			return strings.Join(of, article.space) + article.end
		}
		page := func() (sentences []string) {
			for range 15 {
				sentences = append(sentences, sentence())
			}
			return sentences
		}
		d := made[string](t, Options{})
		first := page()
		for i := range 60 {
			must(0, d.Add(fmt.Sprint("other ", i), neardup.Text(strings.Join(page(), ""))))
		}
		must(0, d.Add("page", neardup.Text(strings.Join(first, ""))))
		first[7] = sentence()
		changed := strings.Join(first, "")
		if found := listed(d.Search(bg, neardup.Text(changed))); len(found) != 1 || found[0].ID != "page" || found[0].Kind != neardup.Revised {
			t.Errorf("%s: found %v", name, found)
		}
		must(0, d.Add("changed", neardup.Text(changed)))
		if pairs := listed(d.Pairs(bg)); len(pairs) != 1 || pairs[0].A != "page" || pairs[0].B != "changed" {
			t.Errorf("%s: %d pairs, %v", name, len(pairs), pairs[:min(3, len(pairs))])
		}
	}
}
