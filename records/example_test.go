package records_test

import (
	"fmt"

	"github.com/neardup/neardup"
	"github.com/neardup/neardup/records"
)

func ExampleFields() {
	type Complaint struct {
		ID      int     `neardup:"-"`
		Name    string  `neardup:"name,chars2"`
		Phone   *string `neardup:"phone,phone=86"`
		Content string  `neardup:"content,large"`
	}
	fields, err := records.Fields[Complaint]()
	if err != nil {
		panic(err)
	}
	f := neardup.Fingerprinter{Fields: fields}
	rec, err := records.Of(Complaint{ID: 1, Name: "张三", Content: "楼下施工，夜里噪音很大。"})
	if err != nil {
		panic(err)
	}
	again, err := records.Of(Complaint{ID: 2, Name: "张三", Content: "楼下施工，夜里噪音很大！"})
	if err != nil {
		panic(err)
	}
	fmt.Println(f.Sum64(rec).Distance(f.Sum64(again)))
	// Output: 0
}
