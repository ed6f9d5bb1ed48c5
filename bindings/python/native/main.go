// Command native is the shared library inside the Python package:
//
//	go build -C bindings -buildmode=c-shared -o libneardup_python.so ./python/native
//
// It has few functions, and they take and return bytes, so that one of them can be called for a million texts at once:
//
//	neardup_make   makes an object, such as a Deduplicator, or none
//	neardup_call   does something that takes little time, and returns the result
//	neardup_start  starts something that takes long: a job
//	neardup_next   waits for the next part of the result of a job, but only for some time, so that Python can handle Ctrl-C
//	neardup_stop   ends a job, whether it is done or not
//	neardup_free   frees a result
//
// What a function makes is written to where Python says before it returns, since an interrupt may come right after it. functions.go
// and the files of the objects have what can be called by which name, and table.go how results are written.
package main

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/cgo"
	"time"
	"unsafe"
)

func main() {}

// A call is what a method gets: its arguments, which are JSON, and texts or bytes in memory of Python's, which are only valid
// until the call has returned or the job was stopped.
type call struct {
	args  json.RawMessage
	bytes []byte
	begin int64   // of the first item in bytes
	ends  []int64 // of the items, each of which begins where the one before ends
	part  *part   // of a column of Arrow, whose texts are the items then; nil without
}

// into decodes the arguments.
func (c *call) into(args any) error {
	if err := json.Unmarshal(c.args, args); err != nil {
		return fmt.Errorf("neardup: arguments of a call: %w", err)
	}
	return nil
}

// len returns how many items there are.
func (c *call) len() int {
	if c.part != nil {
		return len(c.part.texts)
	}
	return len(c.ends)
}

// item returns an item, without a copy.
func (c *call) item(i int) []byte {
	from := c.begin
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.bytes[from:c.ends[i]]
}

// text returns an item as a string, without a copy.
func (c *call) text(i int) string {
	if c.part != nil {
		return c.part.texts[i]
	}
	b := c.item(i)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// from returns the call without its first items.
func (c *call) from(n int) *call {
	rest := *c
	if n > 0 {
		rest.begin, rest.ends = c.ends[n-1], c.ends[n:]
	}
	return &rest
}

// findPart finds the part of a column that the arguments name, if there is one.
func (c *call) findPart() error {
	var args struct{ Part C.uintptr_t }
	if err := c.into(&args); err != nil || args.Part == 0 {
		return err
	}
	o, err := objectOf(args.Part)
	if err != nil {
		return err
	}
	part, ok := o.(*part)
	if !ok {
		return errors.New("neardup: the handle does not belong to part of a column")
	}
	c.part = part
	return nil
}

// path returns a copy of the only item, or "" if there is none.
func (c *call) path() string {
	if c.len() == 0 {
		return ""
	}
	return string(c.item(0))
}

// callOf returns a call with memory of Python's.
func callOf(args unsafe.Pointer, argsLength C.size_t, data unsafe.Pointer, dataLength C.size_t, ends unsafe.Pointer, count C.size_t) *call {
	return &call{
		args:  json.RawMessage(unsafe.Slice((*byte)(args), int(argsLength))),
		bytes: unsafe.Slice((*byte)(data), int(dataLength)),
		ends:  unsafe.Slice((*int64)(ends), int(count)),
	}
}

// method returns the method of a name, for an object, which is 0 for functions.
func method(name string, object C.uintptr_t) (function, error) {
	if object == 0 {
		if f, ok := functions[name]; ok {
			return f, nil
		}
		return nil, fmt.Errorf("neardup: there is no function %q", name)
	}
	o, err := objectOf(object)
	if err != nil {
		return nil, err
	}
	return o.method(name)
}

// An object is what a handle stands for.
type object interface {
	method(name string) (function, error)
}

var errClosed = errors.New("neardup: it is closed")

// objectOf returns the object of a handle.
func objectOf(handle C.uintptr_t) (o object, err error) {
	defer func() {
		if recover() != nil {
			err = errClosed
		}
	}()
	return cgo.Handle(handle).Value().(object), nil
}

// run calls a method.
func run(ctx context.Context, name string, object C.uintptr_t, c *call, emit func(*table) error) error {
	return recovered(func() error {
		do, err := method(name, object)
		if err != nil {
			return err
		}
		if err := c.findPart(); err != nil {
			return err
		}
		return do(ctx, c, emit)
	})
}

// recovered turns a panic into an error: it must not end the interpreter.
func recovered(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("neardup: %v", r)
		}
	}()
	return f()
}

// What a result is.
const (
	isLast  C.int = iota // the result of a call, or nothing: a job has no more parts
	isPart               // a part of the result of a job
	isError              // a message
	isLate               // nothing yet: the time is over
)

//export neardup_make
func neardup_make(name *C.char, args unsafe.Pointer, argsLength C.size_t, data unsafe.Pointer, dataLength C.size_t, ends unsafe.Pointer, count C.size_t, object *C.uintptr_t, result *unsafe.Pointer, length *C.size_t) C.int {
	*object, *result, *length = 0, nil, 0
	err := recovered(func() error {
		made, err := makers[C.GoString(name)](callOf(args, argsLength, data, dataLength, ends, count))
		if err == nil && made != nil {
			*object = C.uintptr_t(cgo.NewHandle(made))
		}
		return err
	})
	if err != nil {
		*result, *length = inC([]byte(err.Error()))
		return isError
	}
	return isLast
}

//export neardup_call
func neardup_call(name *C.char, object C.uintptr_t, args unsafe.Pointer, argsLength C.size_t, data unsafe.Pointer, dataLength C.size_t, ends unsafe.Pointer, count C.size_t, result *unsafe.Pointer, length *C.size_t) C.int {
	*result, *length = nil, 0
	var all []byte
	err := run(context.Background(), C.GoString(name), object, callOf(args, argsLength, data, dataLength, ends, count), func(t *table) error {
		if all != nil {
			return errors.New("neardup: a call with several results")
		}
		all = t.encode()
		return nil
	})
	switch {
	case err != nil:
		*result, *length = inC([]byte(err.Error()))
		return isError
	case all != nil:
		*result, *length = inC(all)
	}
	return isLast
}

// inC returns bytes in memory of C's.
func inC(b []byte) (unsafe.Pointer, C.size_t) { return C.CBytes(b), C.size_t(len(b)) }

// A job is a method that runs.
type job struct {
	cancel context.CancelFunc
	parts  chan []byte // encoded tables; closed at the end
	err    error       // valid when parts is closed
}

//export neardup_start
func neardup_start(name *C.char, object C.uintptr_t, args unsafe.Pointer, argsLength C.size_t, data unsafe.Pointer, dataLength C.size_t, ends unsafe.Pointer, count C.size_t, handle *C.uintptr_t) {
	ctx, cancel := context.WithCancel(context.Background())
	j := &job{cancel: cancel, parts: make(chan []byte, 1)}
	method, c := C.GoString(name), callOf(args, argsLength, data, dataLength, ends, count)
	*handle = C.uintptr_t(cgo.NewHandle(j))
	go func() {
		defer close(j.parts)
		j.err = run(ctx, method, object, c, func(t *table) error {
			select {
			case j.parts <- t.encode():
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
}

// jobOf returns the job of a handle, or nil if it was stopped.
func jobOf(handle C.uintptr_t) (j *job) {
	defer func() { _ = recover() }() // of a handle that is not valid
	return cgo.Handle(handle).Value().(*job)
}

//export neardup_next
func neardup_next(handle C.uintptr_t, milliseconds C.int, result *unsafe.Pointer, length *C.size_t) C.int {
	*result, *length = nil, 0
	j := jobOf(handle)
	if j == nil {
		*result, *length = inC([]byte("neardup: the call was stopped"))
		return isError
	}
	timer := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
	defer timer.Stop()
	select {
	case part, more := <-j.parts:
		switch {
		case more:
			*result, *length = inC(part)
			return isPart
		case j.err != nil:
			*result, *length = inC([]byte(j.err.Error()))
			return isError
		}
		return isLast
	case <-timer.C:
		return isLate
	}
}

//export neardup_stop
func neardup_stop(handle C.uintptr_t) {
	j := jobOf(handle)
	if j == nil {
		return
	}
	j.cancel()
	for range j.parts { // until it has stopped, and reads no memory of Python's any more
	}
	remove(handle)
}

// remove deletes a handle. A second time does nothing.
func remove(handle C.uintptr_t) {
	defer func() { _ = recover() }()
	cgo.Handle(handle).Delete()
}

//export neardup_release
func neardup_release(object C.uintptr_t) { remove(object) }

//export neardup_free
func neardup_free(memory unsafe.Pointer) { C.free(memory) }
