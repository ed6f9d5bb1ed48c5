package clean

// Fingerprints of pages depend on how golang.org/x/net/html reads markup, which can change with a
// version of that module. So the version string of a Normalizer includes a hash of what the parser
// in the binary makes of the page below. To change the page is to change the version of every
// Normalizer with HTML.

// pitfalls is a page in which nearly every tag is malformed or a special case: odd comments, script
// data with nested comments, raw text, character references without a semicolon or out of range,
// CDATA, NUL and CR. Two parsers that differ at all are likely to differ here.
const pitfalls = "<!DOCTYPE html PUBLIC \"><p>\"><!--a--!>b<!-->c<!--->d<!-- -- --!e> -->f<!x>g<?h>i</>j</ k>l<a b='>'c=\">\"d=>m" +
	"<script>n<!--<script></script>o</script>p--></script>q<style><b></styl></style >r<title>s&amp;<b></TITLE/>t<textarea>\nu</textarea\n>v" +
	"<xmp>&lt;</xmp>w&amp&ampx;&notit;&notin;&#0;&#128;&#x110000;&#xD800;&Aacute&Aacutey&NotEqualTilde;&#6 5;z<br/>0<p/ >1<svg><![CDATA[2]]></svg>" +
	"<template>3</template>4<noscript>5</noscript>6<iframe>7</iframe>8<pre>\n9\n</pre>\x00A\rB\r\nC<D\x00>E<=F<1>G<h1<i>H</i>I<plaintext></plaintext>J"

// ReadPitfalls returns the text that the parser in this binary extracts from the page of pitfalls.
// Two versions of the parser with the same result are taken to be equivalent.
func ReadPitfalls() string { return string(new(htmlText).write(nil, []byte(pitfalls), true)) }
