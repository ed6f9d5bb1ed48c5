package clean

import (
	"github.com/neardup/neardup/internal/lex"
)

// pitfalls is a page that parsers that are not quite the same read differently.
const pitfalls = "<!DOCTYPE html PUBLIC \"><p>\"><!--a--!>b<!-->c<!--->d<!-- -- --!e> -->f<!x>g<?h>i</>j</ k>l<a b='>'c=\">\"d=>m" +
	"<script>n<!--<script></script>o</script>p--></script>q<style><b></styl></style >r<title>s&amp;<b></TITLE/>t<textarea>\nu</textarea\n>v" +
	"<xmp>&lt;</xmp>w&amp&ampx;&notit;&notin;&#0;&#128;&#x110000;&#xD800;&Aacute&Aacutey&NotEqualTilde;&#6 5;z<br/>0<p/ >1<svg><![CDATA[2]]></svg>" +
	"<template>3</template>4<noscript>5</noscript>6<iframe>7</iframe>8<pre>\n9\n</pre>\x00A\rB\r\nC<D\x00>E<=F<1>G<h1<i>H</i>I<plaintext></plaintext>J"

// ReadPitfalls returns what is made of a page full of pitfalls, by which versions of the parser
// are told apart.
func ReadPitfalls() string { return lex.String(new(htmlText).write(nil, []byte(pitfalls), true)) }
