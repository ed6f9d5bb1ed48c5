package neardup

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// lexVersion changes whenever a tokenizer, a normaliser or the accumulator gives
// another result for any text.
const lexVersion = 1

// ErrVersion is the error of everything that was stored by other settings, in
// another width or by another version of this package.
var ErrVersion = errors.New("made in another way")

// Version describes all that fingerprints of f depend on, such as
//
//	neardup=1 unicode=15.0.0 normalizer=nfkc,urls:mask tokenizer=shingles(words,2) hash=xxh3 weight=1 tie=0
//
// Two fingerprints of one width compare if their versions are equal. It holds the
// digests of the dictionary of a [Segmenter] and of the lines of a [Boilerplate],
// and of a secret ([SeededHash]) a check value only. It is an error if a field of
// f has something of the caller's own and Custom does not name it. Of the parser of
// HTML, which is not part of this package, it holds what that makes of a page full of
// pitfalls.
//
// Store it beside fingerprints, as [WriteFingerprints] does, and check it with
// [Fingerprinter.CheckVersion]. It has no line breaks.
func (f *Fingerprinter) Version() (string, error) {
	if f.Tie > TieOne {
		return "", fmt.Errorf("neardup: Tie %d is neither TieZero nor TieOne", f.Tie)
	}
	of := f.features()
	hash, own := f.hashVersion(&of)
	if needsOf(f.Weight)&needsName != 0 {
		own = append(own, "Weight")
	}
	if err := checkWeight(f.Weight, &of, true); err != nil {
		return "", err
	}
	weight := "1"
	if f.Weight != nil && f.Weight != Weight(Count) {
		weight = weightVersion(f.Weight)
	}
	return of.describe(own, "hash=%s weight=%s tie=%d", hash, weight, f.Tie)
}

// hashVersion returns how features are hashed, and what of them and of that is the caller's
// own.
func (f *Fingerprinter) hashVersion(of *features) (hash string, own []string) {
	hash = hashVersion(f.Hash.key)
	if of.isCustom() {
		own = append(own, "Tokenizer")
	}
	if !f.Hash.isXXH3() {
		hash = "custom"
		own = append(own, "Hash")
	}
	return hash, own
}

// isVersion reports whether s may be a version: one line of printable ASCII.
func isVersion(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return s != "" && len(s) <= maxVersion
}

// shown returns a part of a version for an error message.
func shown(s string) string {
	if s = clip(s); isVersion(s) || s == "" || !strings.ContainsFunc(s, func(r rune) bool { return r != '…' && (r < ' ' || r > '~') }) {
		return s
	}
	return fmt.Sprintf("%q", s)
}

// CheckVersion returns nil if fingerprints that were stored with a version compare
// with those of f, and an [ErrVersion] that says what differs if not.
func (f *Fingerprinter) CheckVersion(stored string) error {
	current, err := f.Version()
	if err != nil {
		return err
	}
	return compareVersions(stored, current, fingerprintAgain)
}

// fingerprintAgain is what to do where fingerprints of another version are stored.
const fingerprintAgain = "fingerprint the stored texts again"

// compareVersions returns an error that says in what the versions differ, and what
// to do again.
func compareVersions(stored, current, again string) error {
	if stored == current {
		return nil
	}
	old, now := strings.Split(stored, " "), strings.Split(current, " ")
	var differ []string
	for _, o := range old {
		key, value, _ := strings.Cut(o, "=")
		n := field(now, key)
		switch {
		case n == value:
		case strings.HasPrefix(value, "xxh3-seeded:") && strings.HasPrefix(n, "xxh3-seeded:"):
			differ = append(differ, "another secret")
		default:
			differ = append(differ, fmt.Sprintf("%s=%s, not %s", shown(key), shown(value), cmp.Or(shown(n), "none")))
		}
	}
	for _, n := range now {
		if key, value, _ := strings.Cut(n, "="); field(old, key) == "" {
			differ = append(differ, fmt.Sprintf("no %s, not %s", key, shown(value)))
		}
	}
	if differ == nil {
		differ = []string{"the versions are written differently"}
	}
	return fmt.Errorf("neardup: what is stored was %w: %s; %s, or use the settings of then", ErrVersion, strings.Join(differ[:min(len(differ), 8)], "; "), again)
}

// field returns the value of a key, or "".
func field(version []string, key string) string {
	for _, f := range version {
		if k, value, _ := strings.Cut(f, "="); k == key {
			return value
		}
	}
	return ""
}

// version names the steps of n.
func (n *Normalizer) version() string {
	var steps []string
	usual := n.usual()
	n = &usual
	add := func(on bool, step string) {
		if on {
			steps = append(steps, step)
		}
	}
	if n.HTML {
		d := newDigest()
		d.text(stringOf(new(htmlText).write(nil, []byte(pitfalls), true)))
		steps = append(steps, fmt.Sprintf("html(%08x)", uint32(d.sum())))
	}
	add(n.Form != AsIs, [...]string{"", "nfc", "width", "nfkc"}[n.Form])
	add(n.Fold, "fold")
	for _, t := range []struct {
		what string
		how  Treatment
	}{{"urls", n.URLs}, {"emails", n.Emails}, {"dates", n.Dates}, {"numbers", n.Numbers}} {
		add(t.how != Keep, t.what+[...]string{"", ":mask", ":remove"}[t.how])
	}
	add(n.Space, "space")
	if n.Boilerplate != nil {
		d := newDigest()
		for _, line := range n.Boilerplate.lines {
			d.uint64(line)
		}
		steps = append(steps, fmt.Sprintf("boilerplate(%016x)", d.sum()))
	}
	if steps == nil {
		return "none"
	}
	return strings.Join(steps, ",")
}

// pitfalls is a page that parsers that are not quite the same read differently.
const pitfalls = "<!DOCTYPE html PUBLIC \"><p>\"><!--a--!>b<!-->c<!--->d<!-- -- --!e> -->f<!x>g<?h>i</>j</ k>l<a b='>'c=\">\"d=>m" +
	"<script>n<!--<script></script>o</script>p--></script>q<style><b></styl></style >r<title>s&amp;<b></TITLE/>t<textarea>\nu</textarea\n>v" +
	"<xmp>&lt;</xmp>w&amp&ampx;&notit;&notin;&#0;&#128;&#x110000;&#xD800;&Aacute&Aacutey&NotEqualTilde;&#6 5;z<br/>0<p/ >1<svg><![CDATA[2]]></svg>" +
	"<template>3</template>4<noscript>5</noscript>6<iframe>7</iframe>8<pre>\n9\n</pre>\x00A\rB\r\nC<D\x00>E<=F<1>G<h1<i>H</i>I<plaintext></plaintext>J"
