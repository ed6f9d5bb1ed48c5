module github.com/neardup/neardup/cmd/neardup

go 1.26.0

require (
	github.com/klauspost/compress v1.20.3
	github.com/neardup/neardup v0.1.0
	github.com/schollz/progressbar/v3 v3.19.1
	github.com/valyala/fastjson v1.6.10
	github.com/zeebo/xxh3 v1.1.0
	golang.org/x/term v0.47.0
)

require github.com/stretchr/testify v1.11.1 // indirect

require (
	github.com/alecthomas/kong v1.17.0
	github.com/go-ego/gse v0.80.3 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/parquet-go/parquet-go v0.32.0
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/saintfish/chardet v0.0.0-20230101081208-5e3ef4b5456d
	github.com/sergi/go-diff v1.4.0
	github.com/ulikunitz/xz v0.5.17
	github.com/vcaesar/cedar v0.20.2 // indirect
	github.com/xuri/excelize/v2 v2.11.1
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0
)
