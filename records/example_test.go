package records_test

import (
	"context"
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

func ExampleMatch() {
	var rows []neardup.Record
	for i := range 300 { // persons that have nothing to do with each other
		rows = append(rows, neardup.Record{"name": fmt.Sprintf("%c%c%c smith", 'a'+i%26, 'a'+i/3%26, 'a'+i/5%26), "born": fmt.Sprintf("19%02d-%02d-%02d", 30+i*7%60, 1+i%12, 1+i*11%28), "city": []string{"Kiel", "Odense", "Cork"}[i%3]})
	}
	rows = append(rows,
		neardup.Record{"name": "Łukasz Wójcik", "born": "1984-03-12", "city": "Gdynia"},
		neardup.Record{"name": "WOJCIK, Lukasz", "born": "1984-03-21", "city": "Gdynia"},
	)
	m, err := records.Match(context.Background(), rows, records.MatchOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Groups)
	// Output: [[300 301]]
}
