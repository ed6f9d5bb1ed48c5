package neardupbeam

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
)

// This file registers DoFns: their types, so that a worker finds them, and how to call ProcessElement without reflection. The functions
// register.DoFnNxM of Beam do this too. But each of them makes functions for methods that our DoFns do not have, with their parameters in every
// order: it took two minutes and 5 GB to compile the eighteen DoFns of this package with them.
//
// registerNxM registers a DoFn with N parameters and M results, by its method: registerNxM((*fooFn).ProcessElement).
//
// Only ProcessElement is bound here. The SDK finds Setup by reflection, which does no harm, since it is
// called once for each instance. Functions without a receiver, combiners, emitters and iterators are still
// registered by package register of Beam.

// registerDoFn registers the type T. bind returns ProcessElement of a DoFn. The SDK asks for these
// functions by the name of the method when it makes a DoFn.
func registerDoFn[T any](bind func(fn *T) reflectx.Func) {
	t := reflect.TypeFor[T]()
	beam.RegisterType(t)
	reflectx.RegisterStructWrapper(t, func(fn any) map[string]reflectx.Func {
		return map[string]reflectx.Func{"ProcessElement": bind(fn.(*T))}
	})
}

// A method is what Beam asks of a function besides calling it. It implements reflectx.Func together with a
// method Call. CallNxM saves the slice of arguments: the SDK looks for it (reflectx.ToFuncNxM), and makes a
// slower one where there is none.
type method[F any] struct{ call F }

func (m method[F]) Name() string       { return reflectx.FunctionName(m.call) }
func (m method[F]) Type() reflect.Type { return reflect.TypeFor[F]() }

type method1x2[A, R, S any] struct{ method[func(A) (R, S)] }

func (m method1x2[A, R, S]) Call1x2(a any) (any, any) { return m.call(a.(A)) }
func (m method1x2[A, R, S]) Call(a []any) []any {
	r, s := m.call(a[0].(A))
	return []any{r, s}
}

func register1x2[T, A, R, S any](process func(*T, A) (R, S)) {
	registerDoFn(func(fn *T) reflectx.Func {
		return method1x2[A, R, S]{method[func(A) (R, S)]{func(a A) (R, S) { return process(fn, a) }}}
	})
}

type method3x0[A, B, C any] struct{ method[func(A, B, C)] }

func (m method3x0[A, B, C]) Call3x0(a, b, c any) { m.call(a.(A), b.(B), c.(C)) }
func (m method3x0[A, B, C]) Call(a []any) []any {
	m.call(a[0].(A), a[1].(B), a[2].(C))
	return nil
}

func register3x0[T, A, B, C any](process func(*T, A, B, C)) {
	registerDoFn(func(fn *T) reflectx.Func {
		return method3x0[A, B, C]{method[func(A, B, C)]{func(a A, b B, c C) { process(fn, a, b, c) }}}
	})
}

type method3x1[A, B, C any] struct{ method[func(A, B, C) error] }

func (m method3x1[A, B, C]) Call3x1(a, b, c any) any { return m.call(a.(A), b.(B), c.(C)) }
func (m method3x1[A, B, C]) Call(a []any) []any      { return []any{m.call(a[0].(A), a[1].(B), a[2].(C))} }

func register3x1[T, A, B, C any](process func(*T, A, B, C) error) {
	registerDoFn(func(fn *T) reflectx.Func {
		return method3x1[A, B, C]{method[func(A, B, C) error]{func(a A, b B, c C) error { return process(fn, a, b, c) }}}
	})
}

type method4x0[A, B, C, D any] struct{ method[func(A, B, C, D)] }

func (m method4x0[A, B, C, D]) Call4x0(a, b, c, d any) { m.call(a.(A), b.(B), c.(C), d.(D)) }
func (m method4x0[A, B, C, D]) Call(a []any) []any {
	m.call(a[0].(A), a[1].(B), a[2].(C), a[3].(D))
	return nil
}

func register4x0[T, A, B, C, D any](process func(*T, A, B, C, D)) {
	registerDoFn(func(fn *T) reflectx.Func {
		return method4x0[A, B, C, D]{method[func(A, B, C, D)]{func(a A, b B, c C, d D) { process(fn, a, b, c, d) }}}
	})
}

type method4x1[A, B, C, D any] struct{ method[func(A, B, C, D) error] }

func (m method4x1[A, B, C, D]) Call4x1(a, b, c, d any) any { return m.call(a.(A), b.(B), c.(C), d.(D)) }
func (m method4x1[A, B, C, D]) Call(a []any) []any {
	return []any{m.call(a[0].(A), a[1].(B), a[2].(C), a[3].(D))}
}

func register4x1[T, A, B, C, D any](process func(*T, A, B, C, D) error) {
	registerDoFn(func(fn *T) reflectx.Func {
		return method4x1[A, B, C, D]{method[func(A, B, C, D) error]{func(a A, b B, c C, d D) error { return process(fn, a, b, c, d) }}}
	})
}

type method5x1[A, B, C, D, E any] struct {
	method[func(A, B, C, D, E) error]
}

func (m method5x1[A, B, C, D, E]) Call5x1(a, b, c, d, e any) any {
	return m.call(a.(A), b.(B), c.(C), d.(D), e.(E))
}
func (m method5x1[A, B, C, D, E]) Call(a []any) []any {
	return []any{m.call(a[0].(A), a[1].(B), a[2].(C), a[3].(D), a[4].(E))}
}

func register5x1[T, A, B, C, D, E any](process func(*T, A, B, C, D, E) error) {
	registerDoFn(func(fn *T) reflectx.Func {
		return method5x1[A, B, C, D, E]{method[func(A, B, C, D, E) error]{func(a A, b B, c C, d D, e E) error { return process(fn, a, b, c, d, e) }}}
	})
}

type method6x0[A, B, C, D, E, F any] struct{ method[func(A, B, C, D, E, F)] }

func (m method6x0[A, B, C, D, E, F]) Call6x0(a, b, c, d, e, f any) {
	m.call(a.(A), b.(B), c.(C), d.(D), e.(E), f.(F))
}
func (m method6x0[A, B, C, D, E, F]) Call(a []any) []any {
	m.call(a[0].(A), a[1].(B), a[2].(C), a[3].(D), a[4].(E), a[5].(F))
	return nil
}

func register6x0[T, A, B, C, D, E, F any](process func(*T, A, B, C, D, E, F)) {
	registerDoFn(func(fn *T) reflectx.Func {
		return method6x0[A, B, C, D, E, F]{method[func(A, B, C, D, E, F)]{func(a A, b B, c C, d D, e E, f F) { process(fn, a, b, c, d, e, f) }}}
	})
}
