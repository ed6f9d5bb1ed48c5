package lex

func IsSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func IsDigit(c byte) bool { return c-'0' < 10 }

func IsAlpha(c byte) bool { return c|0x20-'a' < 26 }

func IsAlnum(c byte) bool { return IsDigit(c) || IsAlpha(c) }
