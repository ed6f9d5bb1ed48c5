package link

import (
	"math"
	"strconv"
	"strings"

	"github.com/neardup/neardup/internal/values"
)

// This file reads dates and numbers, however they are written.

// days writes dates as eight digits, year first, or returns false unless nine of ten cells are dates.
func (c *cells) days() (days []string, areDates bool) {
	days = make([]string, len(c.texts))
	isDate, isFilled := make([]bool, len(c.texts)), make([]bool, len(c.texts))
	for n, cell := range c.texts {
		days[n] = strings.TrimSpace(cell)
		isFilled[n] = days[n] != ""
	}
	filled := c.count(func(n int) bool { return isFilled[n] })
	others := func() int { return c.count(func(n int) bool { return isFilled[n] && !isDate[n] }) }
	looked := 0
	for _, end := range [...]int{len(days) / 8, len(days)} {
		inChunks(1000, end-looked, func(from, to int) {
			for n := looked + from; n < looked+to; n++ {
				if day, ok := dayOf(days[n]); ok {
					days[n], isDate[n] = day, true
				}
			}
		})
		if looked = end; c.count(func(n int) bool { return n < looked && isFilled[n] && !isDate[n] }) > filled/10 {
			return nil, false
		}
	}
	return days, filled > 0 && filled-others() > filled*9/10
}

// dayOf writes a date as eight digits.
func dayOf(s string) (string, bool) {
	if len(s) == 8 && isDigits(s) {
		return s, (s[:2] == "19" || s[:2] == "20") && s[4:6] <= "12" && s[6:] <= "31"
	}
	if len(s) < 6 || countDigits(s) < 3 {
		return "", false
	}
	day := values.Date.Of(s, "")
	if len(day) != 10 || day[4] != '-' || day[7] != '-' || countDigits(day) != 8 {
		return "", false
	}
	return day[:4] + day[5:7] + day[8:], true
}

// numberOf reads a number, also of a length of time such as 1m 58sec or 08:40, in seconds.
func numberOf(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 40 {
		return 0, false
	}
	bare := strings.TrimLeft(strings.ReplaceAll(s, ",", ""), "$€£¥")
	if x, err := strconv.ParseFloat(bare, 64); err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) {
		return x, true
	}
	minutes, seconds, ok := strings.Cut(s, ":")
	if !ok || len(seconds) != 2 {
		if minutes, seconds, ok = strings.Cut(s, "m"); !ok {
			return 0, false
		}
		seconds = strings.TrimRight(strings.TrimSpace(seconds), "sec. ")
	}
	m, err := strconv.ParseUint(minutes, 10, 20)
	if err != nil {
		return 0, false
	}
	sec, err := strconv.ParseUint(seconds, 10, 20)
	return float64(60*m + sec), err == nil
}

func countDigits(s string) (n int) {
	for i := range len(s) {
		if s[i]-'0' <= 9 {
			n++
		}
	}
	return n
}
