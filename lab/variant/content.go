package variant

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// This file adds boilerplate and advertisements, and changes numbers, dates and width.

// Lines as sites have them around their texts, and advertisements between sentences: in Chinese,
// and in English.
var (
	boilerplate = [2][]string{{
		"首页 | 新闻 | 财经 | 体育 | 娱乐 | 科技 | 论坛", "您当前的位置：首页 > 频道 > 正文", "来源：本站综合 编辑：值班编辑", "【大 中 小】【打印】【关闭窗口】",
		"分享到：微博 微信 QQ空间", "相关阅读 热门推荐 图片新闻", "版权声明：未经授权不得转载，转载请注明出处。", "关于我们 | 联系方式 | 广告服务 | 网站地图 | 法律声明",
		"网友评论仅供其表达个人看法，并不表明本站立场。", "责任编辑：小编 浏览次数：1024",
	}, {
		"Home | News | Business | Sport | Science | Forum", "You are here: Home > Archive > Article", "Print this page | Send to a friend", "Share on social media",
		"Related articles and most read today", "Sign up for our newsletter", "All rights reserved. No part may be reproduced without permission.", "About us | Contact | Advertise | Site map | Privacy policy",
		"Comments are the opinions of their authors and not of this site.", "Last modified by the editors. 1024 views.",
	}}
	advertisements = [2][]string{{
		"【广告】全场五折，限时抢购，点击进入。", "下载客户端，随时随地看新闻。", "点击这里领取优惠券，数量有限，先到先得！", "扫描二维码关注我们，每天都有惊喜。", "专业团队为您服务，咨询热线全天开通。",
	}, {
		"Advertisement: everything at half price, this week only. ", "Download our app and read wherever you are. ", "Click here for your voucher while stocks last! ", "Follow us for a surprise every day. ", "Our experts are at your service around the clock. ",
	}}
)

// script returns 0 for a text with Chinese characters and 1 for other texts.
func script(text string) int {
	if strings.ContainsFunc(text, func(c rune) bool { return unicode.Is(unicode.Han, c) }) {
		return 0
	}
	return 1
}

// add inserts lines around a text, or advertisements between its sentences, until they have the
// length that the rate asks for. It inserts at least one, unless the rate is 0.
func add(text string, e Edit, r *source) (string, int) {
	left := e.Rate * float64(utf8.RuneCountInString(text))
	if left == 0 {
		return text, 0
	}
	lines := boilerplate[script(text)]
	if e.Kind == AddAdvertisements {
		lines = advertisements[script(text)]
	}
	pieces := []string{text}
	if e.Kind == AddAdvertisements {
		pieces = sentences(text)
	}
	before := make([]string, len(pieces)+1)
	n := 0
	for ; ; n++ {
		line := lines[r.below(len(lines))]
		length := float64(utf8.RuneCountInString(line))
		if n > 0 && left < length/2 {
			break
		}
		if left -= length; e.Kind == AddBoilerplate {
			line += "\n"
		}
		if at := r.below(len(before)); at == len(pieces) && e.Kind == AddBoilerplate {
			before[at] += "\n" + strings.TrimSuffix(line, "\n")
		} else {
			before[at] += line
		}
	}
	var b strings.Builder
	for i, piece := range pieces {
		b.WriteString(before[i] + piece)
	}
	return b.String() + before[len(pieces)], n
}

const months = "January|February|March|April|May|June|July|August|September|October|November|December"

var (
	numbers = regexp.MustCompile(`[0-9]+`)
	dates   = regexp.MustCompile(`[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日|[0-9]{1,2}月[0-9]{1,2}日|` +
		`\b[0-9]{4}([-/.])[0-9]{1,2}[-/.][0-9]{1,2}|\b[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}\b|` +
		`\b(?:` + months + `) [0-9]{1,2}(?:, [0-9]{4})?\b|\b[0-9]{1,2} (?:` + months + `)(?: [0-9]{4})?\b`)
	month = regexp.MustCompile(months)
)

// otherNumber returns another number with as many digits. It does not begin with 0, unless it has
// only one digit.
func otherNumber(s string, r *source) string {
	b := []byte(s)
	for {
		for i := range b {
			b[i] = '0' + byte(r.below(10))
		}
		if (b[0] != '0' || len(b) == 1) && string(b) != s {
			return string(b)
		}
	}
}

// otherDate returns another date in the same form.
func otherDate(s string, r *source) string {
	runs := numbers.FindAllString(s, -1)
	dayFirst := !month.MatchString(s) && len(runs[0]) < 4 && strings.Contains(s, "/") && runs[0] > "12" && len(runs[0]) == 2
	for {
		d := time.Date(1990, 1, 1+r.below(14_000), 0, 0, 0, 0, time.UTC)
		parts := []int{int(d.Month()), d.Day()} // in the order of the text, without the year
		if dayFirst {
			parts = []int{d.Day(), int(d.Month())}
		}
		if month.MatchString(s) {
			parts = parts[1:]
		}
		other := numbers.ReplaceAllStringFunc(s, func(run string) string {
			if len(run) == 4 {
				return fmt.Sprint(d.Year())
			}
			part := parts[0]
			parts = parts[1:]
			if run[0] == '0' || len(run) == 2 && strings.ContainsAny(s, "-/.") {
				return fmt.Sprintf("%02d", part)
			}
			return fmt.Sprint(part)
		})
		if other = month.ReplaceAllString(other, d.Month().String()); other != s {
			return other
		}
	}
}

// halfWidth returns the visible ASCII characters of a text. All of them have a full-width form.
func halfWidth(text string) (spans []span) {
	for i := range len(text) {
		if text[i] > ' ' && text[i] < 0x7F {
			spans = append(spans, span{i, i + 1})
		}
	}
	return spans
}

// fullWidth returns the full-width form of an ASCII character.
func fullWidth(s string, _ *source) string { return fmt.Sprintf("%c", rune(s[0])+0xFEE0) }
