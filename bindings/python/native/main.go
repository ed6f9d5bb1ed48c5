// Command native is the shared library inside the Python package:
//
//	go build -C bindings -buildmode=c-shared -o libneardup_python.so ./python/native
//
// It has few functions, and they take and return bytes, so that one of them can be called for a million texts at once:
//
//	neardup_call   does something that takes little time, and returns the result
//	neardup_start  starts something that takes long, and returns a job
//	neardup_next   waits for the next part of the result of a job, but only for some time, so that Python can handle Ctrl-C
//	neardup_stop   ends a job, whether it is done or not
//	neardup_free   frees a result
//
// methods.go has what can be called by which name, and table.go how results are written.
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
	ends  []int64 // of the items in bytes, each of which begins where the one before ends
}

// into decodes the arguments. Unknown ones are an error, since they can only be mistakes of the Python side.
func (c *call) into(args any) error {
	if err := json.Unmarshal(c.args, args); err != nil {
		return fmt.Errorf("neardup: arguments of a call: %w", err)
	}
	return nil
}

// len returns how many items there are.
func (c *call) len() int { return len(c.ends) }

// item returns an item as a string, without a copy.
func (c *call) item(i int) string {
	from := int64(0)
	if i > 0 {
		from = c.ends[i-1]
	}
	b := c.bytes[from:c.ends[i]]
	return unsafe.String(unsafe.SliceData(b), len(b))
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
func method(name string, object C.uintptr_t) (do func(ctx context.Context, c *call, emit func(*table) error) error, err error) {
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
	method(name string) (func(ctx context.Context, c *call, emit func(*table) error) error, error)
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

// run calls a method and turns a panic into an error: it must not end the interpreter.
func run(ctx context.Context, name string, object C.uintptr_t, c *call, emit func(*table) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("neardup: %v", r)
		}
	}()
	do, err := method(name, object)
	if err != nil {
		return err
	}
	return do(ctx, c, emit)
}

// What a result is.
const (
	isLast  C.int = iota // the result of a call, or nothing: a job has no more parts
	isPart               // a part of the result of a job
	isError              // a message
	isLate               // nothing yet: the time is over
)

//export neardup_call
func neardup_call(name *C.char, object C.uintptr_t, args unsafe.Pointer, argsLength C.size_t, data unsafe.Pointer, dataLength C.size_t, ends unsafe.Pointer, count C.size_t, result *unsafe.Pointer, length *C.size_t) C.int {
	*result, *length = nil, 0
	err := run(context.Background(), C.GoString(name), object, callOf(args, argsLength, data, dataLength, ends, count), func(t *table) error {
		if *result != nil {
			return errors.New("neardup: a call with several results")
		}
		*result, *length = t.memory()
		return nil
	})
	if err != nil {
		C.free(*result)
		*result, *length = message(err)
		return isError
	}
	return isLast
}

// message returns the text of an error in memory of C's.
func message(err error) (unsafe.Pointer, C.size_t) {
	s := err.Error()
	return C.CBytes([]byte(s)), C.size_t(len(s))
}

// A job is a method that runs.
type job struct {
	cancel context.CancelFunc
	parts  chan *table // closed at the end
	err    error       // valid when parts is closed
}

//export neardup_start
func neardup_start(name *C.char, object C.uintptr_t, args unsafe.Pointer, argsLength C.size_t, data unsafe.Pointer, dataLength C.size_t, ends unsafe.Pointer, count C.size_t) C.uintptr_t {
	ctx, cancel := context.WithCancel(context.Background())
	j := &job{cancel: cancel, parts: make(chan *table, 1)}
	method, c := C.GoString(name), callOf(args, argsLength, data, dataLength, ends, count)
	go func() {
		defer close(j.parts)
		j.err = run(ctx, method, object, c, func(t *table) error {
			select {
			case j.parts <- t:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return C.uintptr_t(cgo.NewHandle(j))
}

//export neardup_next
func neardup_next(handle C.uintptr_t, milliseconds C.int, result *unsafe.Pointer, length *C.size_t) C.int {
	*result, *length = nil, 0
	j := cgo.Handle(handle).Value().(*job)
	timer := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
	defer timer.Stop()
	select {
	case t, more := <-j.parts:
		switch {
		case more:
			*result, *length = t.memory()
			return isPart
		case j.err != nil:
			*result, *length = message(j.err)
			return isError
		}
		return isLast
	case <-timer.C:
		return isLate
	}
}

//export neardup_stop
func neardup_stop(handle C.uintptr_t) {
	j := cgo.Handle(handle).Value().(*job)
	j.cancel()
	for range j.parts { // until it has stopped, and looks at no memory of Python's any more
	}
	cgo.Handle(handle).Delete()
}

//export neardup_release
func neardup_release(object C.uintptr_t) { cgo.Handle(object).Delete() }

//export neardup_free
func neardup_free(memory unsafe.Pointer) { C.free(memory) }
