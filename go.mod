module github.com/neardup/neardup

go 1.25.0

require (
	github.com/go-ego/gse v0.80.3
	github.com/zeebo/xxh3 v1.1.0
	golang.org/x/net v0.58.0
	golang.org/x/sys v0.47.0
)

require (
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/vcaesar/cedar v0.20.2 // indirect
)
