package main

import (
	"net/http"
	_ "net/http/pprof"
	"runtime"
)

func init() {
	runtime.SetMutexProfileFraction(10)
	runtime.SetBlockProfileRate(100000)
	go http.ListenAndServe("127.0.0.1:6061", nil)
}
