module github.com/neardup/neardup/internal/ucd/gen

go 1.26
