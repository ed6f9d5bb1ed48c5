package neardup

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup/internal/clean"
)

func TestNormalizer(t *testing.T) {
	all := Normalizer{URLs: TreatmentMask, Emails: TreatmentMask, Dates: TreatmentMask, Numbers: TreatmentMask}
	for _, test := range []struct {
		n        Normalizer
		in, want string
	}{
		{Normalizer{}, "Ａ\r\n  b\xff", "Ａ\r\n  b\xff"},
		{Normalizer{Form: FormNFC}, "e\u0301 ① Ａ\nｶﾞ", "é ① Ａ\nｶﾞ"},
		{Normalizer{Form: FormWidth}, "e\u0301 ① Ａ１！\u3000ｶﾞ", "é ① A1! ガ"},
		{Normalizer{Form: FormNFKC}, "e\u0301 ① Ａ ｶﾞ x² ﬁ ㎏ ½", "é 1 A ガ x2 fi kg 1⁄2"},
		{Normalizer{Fold: true}, "ΣΊΣΥΦΟΣ Ａ İß 𝐀", "σίσυφοσ a iß a"},
		{Normalizer{Space: true}, " a \t b\u3000\u00a0c \r\n\n \n d", "a b c\nd"},
		{all, "see http://example.com/a_(b)?q=1&r=2#x.", "see <url>."},
		{all, "（https://例子.com/路径）", "（https://例子.com/路径）"}, // beyond ASCII at once
		{all, "访问http://www.moe.gov.cn/x.html，或www.baidu.com。", "访问<url>，或<url>。"},
		{all, "(www.a.org) [ftp://b/c] git+ssh://u@h/p http:// www. awww.x.y", "(<url>) [<url>] <url> http:// www. awww.x.y"},
		{all, "mail a.b+c@d-e.co.uk, x@y, @z.com, 邮箱123456@qq.com。", "mail <email>, x@y, @z.com, 邮箱<email>。"},
		{all, "a@b.c@d.e _x_@y.org. a@b..com a@-b.com", "<email>@d.e _<email>. a@b..com a@-b.com"},
		{all, "on 2026-11-21, 2026/1/2 and 21.11.2026 08:52", "on <date>, <date> and <date>"},
		{all, "2026-11-21T08:52:47Z 2026-11-21T08:52:47.123+02:00 08:52:47", "<date> <date> <date>"},
		{all, "2026年11月21日，11月21日、2026 年 11 月；2026年", "<date>，<date>、<date>；<date>"},
		{all, "Nov 21, 2026; November 2026; 21st of May; 21 May; 3 Sept. 1999; 1-Jan-2020", "<date>; <date>; 21st of May; <date>; <date>; <date>"},
		{all, "may 10 people march 300 km? Mayor 5, Marcher 6", "may <number> people march <number> km? Mayor <number>, Marcher <number>"},
		{all, "1,024.5 and 3.14, 10.20.30.40; 50% mp3 3rd h264 x86_64 第3条 1'000", "<number> and <number>, <number>; <number>% mp3 3rd h264 x86_64 第<number>条 <number>"},
		{all, "section 5 may apply, up to 20 may enter, 20 May, 20 may 2026, may 2026, Marc 5, march 5, March 5", "section <number> may apply, up to <number> may enter, <date>, <date>, <date>, Marc <number>, march <number>, <date>"},
		{all, "fe80::1:22 00:11:22:33:44:55 10:30am, 10:30 p.m. 8:52", "fe80::<number>:<number> <number>:<number>:<number>:<number>:<number>:<number> <date>, <date> <date>"},
		{all, "2026年11月21日08:52，11月21日 08:52，2026年11月21日8时30分，上午8点30分5秒", "<date>，<date>，<date>，上午<date>"},
		{all, "Sat, 21 Nov 2026 08:52:47 +0800; 2026-11-21 08:52 -03:00; 21/Nov/2026:08:52:47; 12 June, 2026; Nov-21-2026; 21ST NOVEMBER 2026", "Sat, <date>; <date>; <date>; <date>; <date>; <date>"},
		{all, "v1.2.3 1.2.3b 3.14e-10 2.5GB end 5", "v1.2.3 1.2.3b 3.14e-10 2.5GB end <number>"},
		{all, "Read more.http://t.co/x here-http://t.co/1 C++http://a.b " + strings.Repeat("http://a.b/", 500), "Read more.<url> here-<url> C++<url> <url>"},
		{all, "http://a.b/" + strings.Repeat("c", 5000) + " a@b." + strings.Repeat("c", 100), "<url> a@b." + strings.Repeat("c", 100)},
		{all, "x Nov" + strings.Repeat(" ", 59) + "12345", "x Nov" + strings.Repeat(" ", 59) + "<number>"},
		{all, "2026-13-45 99:99 31/31/1999 1/2", "<number>-<number>-<number> <number>:<number> <date> <number>/<number>"},
		{Normalizer{Numbers: TreatmentRemove}, "a 12 b", "a   b"},
		{Normalizer{Numbers: TreatmentMask}, strings.Repeat("7", 300), "<number><number>"},
		{Normalizer{HTML: true}, "<p>Hello&nbsp;<b>wor</b>ld &lt;x&gt;<br>two\n lines<p>new", "Hello\u00a0world <x>\ntwo lines\nnew"},
		{Normalizer{HTML: true}, "<title>A &amp; B</title><script>if (a<b) '</p>'</script><style>p{}</style><noscript>no</noscript>c<!-- d -->e", "A & B\nce"},
		{Normalizer{HTML: true}, "<ul><li>a<li>b</ul><table><tr><td>c<td>d<tr><td>e</table>f", "a\nb\nc d\ne\nf"},
		{Normalizer{HTML: true}, "<pre>a\n  b</pre>c<textarea>d\ne</textarea><template><p>f</template>g", "a\nb\nc\nd\ne\ng"},
		{Normalizer{HTML: true}, "a < b & c > d <3 </> <!doctype html><?php ?>e<img alt='x>y' src=z>f", "a < b & c > d <3 e f"},
		{Normalizer{HTML: true}, "<svg><style/></svg>a <svg><script/><title/></svg>b<svg><![CDATA[c]]></svg>d<![CDATA[e]]>f", "a b c df"},
		{Normalizer{HTML: true}, "Home <svg><title>icon</title><style>x</style><path/></svg> page<svg><p>p<script>s</script>q", "Home page\npq"},
		{Normalizer{HTML: true}, "Buy<button>Add</button>Ships<img src=x>today <video>fall<b>back</b></video>x <ruby>漢<rp>(</rp>han<rp>)</rp></ruby>", "Buy Add Ships today x 漢han"},
		{Normalizer{HTML: true}, "<pre>a\rb\r\nc</pre>", "a\nb\nc\n"},
		{Normalizer{HTML: true}, "plain text\nof two lines, unclosed <b attr='", "plain text of two lines, unclosed"},
		{Normalizer{HTML: true, Form: FormNFKC, Numbers: TreatmentMask, Space: true}, "<p>①&#65296;</p>  <p>&#x58;</p>", "<number>\nX\n"},
	} {
		got := test.n.Normalize(test.in)
		if got != test.want {
			t.Errorf("%s of %q:\n%q, want\n%q", test.n.version(), test.in, got, test.want)
		}
	}
}

// TestLongMarkup: what is longer than the limits ends where it should.
func TestLongMarkup(t *testing.T) {
	n := Normalizer{HTML: true}
	long := strings.Repeat("x", 3*clean.MaxMarkup)
	for _, test := range []struct{ in, want string }{
		{"a<img src='data:" + long + "'>b", "a b"},
		{"a<div class='" + long + "'>b", "a\nb"},
		{"a<!-- > " + long + "-- > -->b", "ab"},
		{"a<!--" + long[:clean.MaxMarkup-7] + "-->b", "ab"},
		{"a<!--" + long[:clean.MaxMarkup-6] + "-->b", "ab"},
		{"a<!--" + long[:clean.MaxMarkup-5] + "-->b", "ab"},
		{"a<script src='" + long + "'>hidden</script>b", "ab"},
		{"a<script>" + long + "<p>" + long + "</script >b", "ab"},
		{"a<style>" + strings.Repeat("</styl ", clean.MaxMarkup) + "</style>b", "ab"},
		{"a<title>" + long + "&amp;" + long + "</title>b", "a\n" + long + "&" + long + "\nb"},
		{"a</p " + long + ">b", "a\nb"},
		{"a<!doctype " + long + ">b", "ab"},
		{strings.Repeat("x&amp;", clean.MaxMarkup), strings.Repeat("x&", clean.MaxMarkup)},
		{strings.Repeat("x&ampamp;", clean.MaxMarkup), strings.Repeat("x&amp;", clean.MaxMarkup)},
		{strings.Repeat("<b>", 1_000_000) + "a", "a"},
		{strings.Repeat("<", 1_000_000), strings.Repeat("<", 1_000_000)},
	} {
		if got := n.Normalize(test.in); got != test.want {
			t.Errorf("%.30q…: %.100q… of %d bytes, want %.100q… of %d", test.in, got, len(got), test.want, len(test.want))
		}
	}
}

// TestLongLines: lines are cut at spaces, and no byte is lost.
func TestLongLines(t *testing.T) {
	n := Normalizer{Form: FormNFC}
	for _, unit := range []string{"a", "word ", "字", "é", "\xff", "x\n", "🙂"} {
		text := strings.Repeat(unit, 5*clean.MaxLine/len(unit))
		if got := n.Normalize(text); got != text {
			t.Errorf("%q: %d bytes became %d", unit, len(text), len(got))
		}
	}
	spaced := Normalizer{Space: true}
	for _, unit := range []string{"word ", "word" + strings.Repeat(" ", 50_000), " " + strings.Repeat("w", 70_000), "\t\u3000x"} {
		text := strings.Repeat(unit, 5*clean.MaxLine/len(unit)+2) + "\n" + unit
		lines := strings.Split(text, "\n")
		want := strings.Join(strings.Fields(lines[0]), " ") + "\n" + strings.TrimSpace(lines[1])
		if got := spaced.Normalize(text); got != want {
			t.Errorf("%.20q…: %d bytes became %d, want %d", unit, len(text), len(got), len(want))
		}
	}
}

// checkNormalizer compares pieces with the whole, and looks for what must hold of
// every step.
func checkNormalizer(t *testing.T, n Normalizer, text string, size int, rnd *rand.Rand) {
	t.Helper()
	want := n.Normalize(text)
	s := n.steps().Stream()
	var got []byte
	for rest := text; rest != ""; {
		i := min(len(rest), rnd.IntN(size)+1)
		got = append(got, s.Write([]byte(rest[:i]), false)...)
		rest = rest[i:]
	}
	got = append(got, s.Write(nil, true)...)
	if string(got) != want {
		t.Fatalf("%s of %.300q in pieces of up to %d bytes: %.300q, whole %.300q", n.version(), text, size, got, want)
	}
	if n.HTML {
		return
	}
	if utf8.ValidString(text) && !utf8.ValidString(want) {
		t.Fatalf("%s of %.300q: %.300q is not valid", n.version(), text, want)
	}
	if n == (Normalizer{Fold: n.Fold, Space: n.Space}) {
		if again := n.Normalize(want); again != want {
			t.Fatalf("%s of %.300q: %.300q, and once more %.300q", n.version(), text, want, again)
		}
	}
	if n == (Normalizer{Form: n.Form}) && strings.Count(want, "\n") != strings.Count(text, "\n") {
		t.Fatalf("%s of %.300q: %.300q has other lines", n.version(), text, want)
	}
}

// normalizers are those of the tests: each step alone, and all.
func normalizers() []Normalizer {
	return []Normalizer{
		{HTML: true}, {Form: FormNFC}, {Form: FormWidth}, {Form: FormNFKC}, {Fold: true},
		{URLs: TreatmentMask}, {Emails: TreatmentMask}, {Dates: TreatmentMask}, {Numbers: TreatmentMask}, {Space: true},
		{URLs: TreatmentRemove, Emails: TreatmentRemove, Dates: TreatmentRemove, Numbers: TreatmentRemove},
		{HTML: true, Form: FormNFKC, Fold: true, URLs: TreatmentMask, Emails: TreatmentMask, Dates: TreatmentMask, Numbers: TreatmentMask, Space: true},
		{Simplified: true, Arabic: true, Confusables: true, Fold: true, Space: true},
	}
}

func FuzzNormalizer(f *testing.F) {
	for i, text := range append([]string{
		"<p>a&amp;b<script>x</script><!-- c --><title>t</title>", "http://a.b/c?d=e www.f.g h@i.jk 2026-11-21 08:52 Nov 21, 2026 1,024.5",
		"2026年11月21日 21.11.2026T08:52:47.5+02:00 1st May", "<plaintext><p>", "<textarea></TEXTAREA><xmp><b></xmp><template><template></template>",
		"<svg><title>a</title><style/><![CDATA[b]]><p>c<math></svg><script/>", "&#x41;&#0;&#1114112;&notit;&Aacute", "e\u0301\u0323\u0301ｶﾞ각\u11a8ﷺ①", "尊嚴和權利 كِتَابِي Вest мир\u00ada", "\u1100\u1161\u11a8\u0344\u0f73",
	}, hostile...) {
		f.Add(text, uint64(i), 1+i%7)
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64, size int) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		size = max(1, size&0xFFFF)
		for _, n := range normalizers() {
			checkNormalizer(t, n, text, size, rnd)
		}
		if len(text) > 0 && len(text) < 1000 && seed%8 == 0 { // the limits lie at 64 KiB
			long := strings.Repeat(text, 150_000/len(text))
			for _, n := range []Normalizer{normalizers()[0], normalizers()[11]} {
				checkNormalizer(t, n, long, 40_000, rnd)
			}
		}
	})
}

func TestBoilerplate(t *testing.T) {
	n := Normalizer{Space: true, Numbers: TreatmentMask}
	docs := make([]string, 100)
	a, b, all := BoilerplateBuilder{Normalizer: n}, BoilerplateBuilder{Normalizer: n}, BoilerplateBuilder{Normalizer: n}
	for i := range docs {
		docs[i] = fmt.Sprintf("Home |  About\nPage %d\nbody of number x%dx\n***\n\nbody of number x%dx", i, i, i)
		if i%10 == 0 {
			docs[i] += "\n© tenth"
		}
		if i%2 == 0 {
			a.Add(docs[i])
		} else {
			b.Add(docs[i])
		}
		all.Add(docs[i])
	}
	a.Merge(&b)
	if a.Documents() != 100 {
		t.Errorf("%d documents", a.Documents())
	}
	common := a.Build(11)
	if common.Len() != 2 || fmt.Sprint(common) != fmt.Sprint(all.Build(11)) {
		t.Errorf("%d lines, want 2: merged %v, in one %v", common.Len(), common, all.Build(11))
	}
	if tenth := a.Build(10).Len(); tenth != 3 {
		t.Errorf("%d lines, want 3", tenth)
	}
	n.Boilerplate = common
	if got := n.Normalize(docs[10]); got != "body of number x10x\n***\nbody of number x10x\n© tenth" {
		t.Errorf("%q", got)
	}
	var buf bytes.Buffer
	if size, err := common.WriteTo(&buf); err != nil || size != int64(buf.Len()) {
		t.Error(size, err)
	}
	read := &Boilerplate{}
	_, err := read.ReadFrom(&buf)
	if err != nil || fmt.Sprint(read) != fmt.Sprint(common) {
		t.Errorf("%v, %v", read, err)
	}
	// A line is found as it was collected, whatever the steps make of its length.
	for _, test := range []struct {
		n    Normalizer
		text string
	}{
		{Normalizer{Form: FormNFKC}, strings.Repeat("ﷺ ", 10_000)}, {Normalizer{Numbers: TreatmentMask}, strings.Repeat("1234567890123 ", 5500)},
		{Normalizer{HTML: true, Space: true}, "<p>" + strings.Repeat("word  ", 16_000) + "</p>"},
	} {
		b := BoilerplateBuilder{Normalizer: test.n}
		b.Add(test.text)
		b.Add(test.text)
		test.n.Boilerplate = b.Build(2)
		if got := strings.TrimSpace(test.n.Normalize(test.text)); got != "" {
			t.Errorf("%s: %d bytes are left", test.n.version(), len(got))
		}
	}
	// A part of a line that is left out does not take the end of the line with it.
	var menu BoilerplateBuilder
	menu.Add("Home About")
	menu.Add("Home, About.\r")
	n = Normalizer{Space: true, Boilerplate: menu.Build(2)}
	if got := n.Normalize(strings.Repeat("w ", 32_200) + strings.Repeat("y", 1136) + "  Home About\nnext\nhome about\nend"); !strings.HasSuffix(got, "yy\nnext\nend") {
		t.Errorf("…%q", got[len(got)-20:])
	}
	one, _ := clean.LineHash([]byte(strings.Repeat("some words ", 3000)))
	two, _ := clean.LineHash([]byte(strings.Repeat("Some -- words,   ", 3000)))
	if one != two {
		t.Error("the hash of a line depends on more than its words")
	}
	// The same lines are found where a long line is cut.
	long := strings.Repeat("word ", clean.MaxLine/5*2) + "\nend"
	var c BoilerplateBuilder
	c.Add(long)
	c.Add(long)
	n = Normalizer{Boilerplate: c.Build(2)}
	if got := n.Normalize(long); got != "" {
		t.Errorf("%d bytes are left", len(got))
	}
}

func BenchmarkNormalizer(b *testing.B) {
	for _, lang := range []string{"en", "zh"} {
		text := throughput(b, lang, 1<<20)
		for _, n := range normalizers() {
			b.Run("text="+lang+"/steps="+n.version(), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					n.Normalize(text)
				}
			})
		}
	}
}

// TestBuilderWithoutBoilerplate: lines are counted before any are left out.
func TestBuilderWithoutBoilerplate(t *testing.T) {
	build := func(n Normalizer) *Boilerplate {
		b := BoilerplateBuilder{Normalizer: n}
		b.Add("all rights reserved by us\none two three")
		b.Add("all rights reserved by us\nfour five six")
		return b.Build(2)
	}
	first := build(Normalizer{})
	if again := build(Normalizer{Boilerplate: first}); first.Len() != 1 || again.Len() != 1 {
		t.Errorf("%d lines, and again %d", first.Len(), again.Len())
	}
	var file bytes.Buffer
	if _, err := first.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	var read Boilerplate // of a damaged file, nothing is read
	if _, err := read.ReadFrom(bytes.NewReader(file.Bytes()[:file.Len()-1])); err == nil || read.Len() != 0 {
		t.Errorf("%d lines, %v", read.Len(), err)
	}
}

// TestDisguises prints the recall of copies of real texts that were changed in one
// way, without and with the step that is for it.
func TestDisguises(t *testing.T) {
	t.Parallel()
	var docs []string
	for _, lang := range []string{"en", "zh", "more"} {
		for _, d := range corpus(t, lang) {
			docs = append(docs, d.Text)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	number, url := regexp.MustCompile(`[0-9]+`), regexp.MustCompile(`https?://[^\s)>"]+`)
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	page := func(text string) string {
		return "<!doctype html><title>Page</title><script>var a = 1 < 2;</script><nav><a href='/home?x=1'>Home</a></nav><div class=\"content\"><p>" +
			strings.ReplaceAll(escape(text), "\n", "</p>\n<p style='margin:0'>") + "</p></div>"
	}
	wide := func(text string) string {
		return strings.Map(func(r rune) rune {
			if r > ' ' && r < 0x7F {
				return r + 0xFEE0
			}
			return r
		}, text)
	}
	menu := "Home\nProducts and services\nNews of the day\nContact and imprint\nPrivacy of our visitors\nTerms of use apply\n© 2026 Example Corporation, all rights reserved\n"
	var b BoilerplateBuilder
	for _, d := range docs {
		b.Add(d + "\n" + menu)
	}
	common := b.Build(len(docs) * 9 / 10)
	for _, test := range []struct {
		name   string
		n      Normalizer
		change func(string) string
		least  float64
	}{
		{"upper case", Normalizer{}, strings.ToUpper, 1},
		{"full width", Normalizer{}, wide, 1},
		{"other spaces and punctuation", Normalizer{}, func(s string) string {
			return strings.NewReplacer(" ", "\u00a0 ", "\n", "\r\n", ",", ";", "。", "．\u3000").Replace(s)
		}, 1},
		{"in a page", Normalizer{HTML: true}, page, 0.85},
		{"other addresses", Normalizer{URLs: TreatmentMask}, func(s string) string {
			return url.ReplaceAllStringFunc(s, func(string) string {
				return fmt.Sprintf("https://example.com/%x/%x?id=%d", rnd.Uint32(), rnd.Uint32(), rnd.Uint32())
			})
		}, 0.97},
		{"other numbers", Normalizer{Numbers: TreatmentRemove, Dates: TreatmentRemove, URLs: TreatmentRemove}, func(s string) string {
			return number.ReplaceAllStringFunc(s, func(n string) string { return fmt.Sprint(rnd.IntN(9) + 1)[:1] + n[1:] })
		}, 0.7},
		{"a menu and a footer", Normalizer{Boilerplate: common}, func(s string) string { return s + "\n" + menu }, 1},
	} {
		recall := func(n Normalizer) float64 {
			f := Fingerprinter{Normalizer: n}
			near := 0
			for _, d := range docs {
				if f.Sum64(Text(d)).Distance(f.Sum64(Text(test.change(d)))) <= 3 {
					near++
				}
			}
			return float64(near) / float64(len(docs))
		}
		without, with := recall(Normalizer{}), recall(test.n)
		t.Logf("%-30s %.3f without, %.3f with %s", test.name, without, with, test.n.version())
		if with < test.least {
			t.Errorf("%s: recall %.3f with %s, want %.3f", test.name, with, test.n.version(), test.least)
		}
	}
}

// TestBoilerplateTwice: a file that has the same line twice is damaged.
func TestBoilerplateTwice(t *testing.T) {
	var file bytes.Buffer
	if _, err := (&Boilerplate{lines: clean.Lines{Sorted: []uint64{1, 1}}}).WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	var read Boilerplate
	if _, err := read.ReadFrom(&file); !errors.Is(err, ErrDamaged) || read.Len() != 0 {
		t.Errorf("%d lines, %v", read.Len(), err)
	}
}
