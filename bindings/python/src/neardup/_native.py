"""Calls of the shared library that is written in Go: see native/main.go.

Everything crosses the border as bytes. Texts of a call are one piece of memory with the places where each of them ends, so a
million texts are one call. ctypes releases the interpreter's lock while the library works.
"""

from __future__ import annotations

import ctypes
import json
import math
import operator
import os
import sys
from itertools import accumulate
from typing import Any, Iterable, Iterator, Mapping, Sequence, Union

Text = Union[str, bytes]

_NAMES = {"win32": "neardup.dll", "darwin": "libneardup.dylib"}
_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), _NAMES.get(sys.platform, "libneardup.so"))

_LAST, _PART, _ERROR, _LATE = range(4)
_WAIT = 100  # milliseconds after which a long call looks whether there was a Ctrl-C

_forked = False


def _in_child() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


class NeardupError(Exception):
    """An error of the library, with its message."""


def _load() -> ctypes.CDLL:
    try:
        lib = ctypes.CDLL(_PATH)
    except OSError as err:
        raise ImportError(f"neardup: cannot load its library: {err}. Install a wheel for this platform, or build one: see the README of the package") from err
    pointer, size, handle = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
    memory = [pointer, size, pointer, size, pointer, size]  # arguments, data, ends
    result = [ctypes.POINTER(pointer), ctypes.POINTER(size)]
    for name, returns, takes in (
        ("neardup_make", ctypes.c_int, [ctypes.c_char_p, *memory, ctypes.POINTER(handle), *result]),
        ("neardup_call", ctypes.c_int, [ctypes.c_char_p, handle, *memory, *result]),
        ("neardup_start", None, [ctypes.c_char_p, handle, *memory, ctypes.POINTER(handle)]),
        ("neardup_next", ctypes.c_int, [handle, ctypes.c_int, *result]),
        ("neardup_stop", None, [handle]),
        ("neardup_release", None, [handle]),
        ("neardup_free", None, [pointer]),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = returns, takes
    return lib


_lib = _load()


class Table:
    """A result: columns of numbers and texts, and values."""

    def __init__(self, memory: bytes) -> None:
        length = int.from_bytes(memory[:8], sys.byteorder)
        header = json.loads(memory[8 : 8 + length])
        self.values = header.get("values")
        self._columns = header.get("columns", {})
        self._memory = memoryview(memory)[(8 + length + 7) // 8 * 8 :]

    def numbers(self, name: str) -> memoryview:
        form, at, size = self._columns[name]
        return self._memory[at : at + size].cast(form)

    def bytes(self, name: str) -> bytes:
        return bytes(self.numbers(name))

    def texts(self, name: str) -> list[str]:
        data, begin, texts = self.bytes(name), 0, []
        for end in self.numbers(name + ".ends"):
            texts.append(decode(data[begin:end]))
            begin = end
        return texts

    def column(self, name: str) -> Sequence[Any]:
        """Numbers as a list, and texts as strings."""
        return self.texts(name) if name + ".ends" in self._columns else self.numbers(name).tolist()


def several(texts: Any) -> Any:
    """Returns texts, which must be several. What would yield something else than texts is an error."""
    if isinstance(texts, (str, bytes)):
        raise TypeError("neardup: texts must be several, such as a list; this is one")
    if isinstance(texts, Mapping):
        raise TypeError("neardup: texts must not be a mapping; pass its values(), or its items() to add_many")
    if hasattr(texts, "columns") and not is_column(texts):
        raise TypeError(f"neardup: choose the column with the texts; the {type(texts).__name__} has several")
    return texts


def encoded(texts: Iterable[Text]) -> list[bytes]:
    """Returns texts as UTF-8. Bytes stay as they are, and so do surrogates, as far as they can be written at all."""
    if is_column(texts):
        return [t.encode("utf-8", "surrogatepass") for t in column_texts(texts)]
    texts = several(texts)
    return [t if type(t) is bytes else encode(t, f"text {i}") for i, t in enumerate(texts)]


def encode(text: Text, name: str) -> bytes:
    """Returns a text as UTF-8. name is for the error."""
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise TypeError(f"neardup: {name} is not str or bytes, but {type(text).__name__}")


def decode(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def number(name: str, value: Any) -> float:
    """Returns an option that is a finite number."""
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"neardup: {name} must be a number, not {type(value).__name__}") from None
    if not math.isfinite(value):
        raise ValueError(f"neardup: {name} must be a finite number, not {value}")
    return value


def integer(name: str, value: Any) -> int:
    """Returns an option that is an integer of 64 bits."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"neardup: {name} must be an integer, not {type(value).__name__}") from None
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"neardup: {name} is too large: {value}")
    return value


def _check() -> None:
    if _forked:
        raise RuntimeError("neardup: this process was forked after neardup was imported, and the Go runtime does not survive that. Use multiprocessing with the start method spawn or forkserver, or import neardup in the child only")


def _memory(args: Any, items: Sequence[bytes]) -> tuple[list[Any], Any]:
    """Returns the arguments of a call, and what must be kept until it has ended."""
    _check()
    encoded_args = json.dumps(args).encode()
    data = b"".join(items)
    ends = (ctypes.c_int64 * len(items))(*accumulate(map(len, items)))
    return [encoded_args, len(encoded_args), data, len(data), ctypes.cast(ends, ctypes.c_void_p), len(items)], (encoded_args, data, ends)


class _Result:
    """Where the library writes a result. An interrupt may come at any time, so whatever is written is freed at the end."""

    def __init__(self) -> None:
        self.memory, self.length = ctypes.c_void_p(), ctypes.c_size_t()
        self.refs = ctypes.byref(self.memory), ctypes.byref(self.length)

    def take(self, state: int) -> Table | None:
        taken = ctypes.string_at(self.memory.value, self.length.value) if self.memory.value else b""
        self.free()
        if state == _ERROR:
            raise NeardupError(decode(taken))
        return Table(taken) if taken else None

    def free(self) -> None:
        address, self.memory.value = self.memory.value, None
        if address and not _forked:
            _lib.neardup_free(address)


def make(name: str, object: ctypes.c_size_t, args: Any, items: Sequence[bytes] = ()) -> None:
    """Makes an object, and writes its handle into object, whatever happens after that."""
    arguments, kept = _memory(args, items)
    result = _Result()
    try:
        result.take(_lib.neardup_make(name.encode(), *arguments, ctypes.byref(object), *result.refs))
    finally:
        result.free()
        del kept


def call(name: str, handle: int = 0, args: Any = None, items: Sequence[bytes] = ()) -> Table | None:
    """Does something that takes little time."""
    arguments, kept = _memory(args or {}, items)
    result = _Result()
    try:
        return result.take(_lib.neardup_call(name.encode(), handle, *arguments, *result.refs))
    finally:
        result.free()
        del kept


def parts(name: str, handle: int = 0, args: Any = None, items: Sequence[bytes] = ()) -> Iterator[Table]:
    """Yields the parts of the result of something that may take long. Ctrl-C ends it, and so does leaving the loop."""
    arguments, kept = _memory(args or {}, items)
    job, result = ctypes.c_size_t(), _Result()
    try:
        _lib.neardup_start(name.encode(), handle, *arguments, ctypes.byref(job))
        while True:
            _check()
            state = _lib.neardup_next(job, _WAIT, *result.refs)
            if state == _LATE:
                continue
            part = result.take(state)
            if state == _LAST:
                return
            assert part is not None
            yield part
    finally:
        result.free()
        if job.value and not _forked:
            _lib.neardup_stop(job)  # which waits until nothing reads the memory that is kept
        del kept


def run(name: str, handle: int = 0, args: Any = None, items: Sequence[bytes] = ()) -> Table | None:
    """Does something that may take long, and returns the one part of its result, if there is one."""
    result = None
    for part in parts(name, handle, args, items):
        result = part
    return result


def is_column(texts: Any) -> bool:
    """Reports whether texts are a column, or a table, that offers its memory by Arrow's C data interface."""
    return hasattr(texts, "__arrow_c_stream__") or hasattr(texts, "__arrow_c_array__")


def _address(capsule: Any, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)  # type: ignore[no-any-return]


def column(of: Any, ids: bool = False) -> Iterator[tuple[int, int]]:
    """Yields the parts of a column of texts, or of a table of ids and texts: a handle, and how many texts it has. The handle is valid until
    the next part is asked for. No text is copied."""
    stream, part = ctypes.c_size_t(), ctypes.c_size_t()
    try:
        if hasattr(of, "__arrow_c_stream__"):
            capsules = [of.__arrow_c_stream__()]
            args = {"stream": _address(capsules[0], b"arrow_array_stream")}
        else:
            capsules = list(of.__arrow_c_array__())
            args = {"schema": _address(capsules[0], b"arrow_schema"), "array": _address(capsules[1], b"arrow_array")}
        make("stream", stream, {**args, "ids": ids})
        while True:
            make("part", part, {"stream": stream.value})
            if not part.value:
                return
            n = call("len", part.value).values  # type: ignore[union-attr]
            if n:
                yield part.value, n
            _close(part)
    finally:
        _close(part)
        _close(stream)


def _close(handle: ctypes.c_size_t) -> None:
    if handle.value and not _forked:
        at, handle.value = handle.value, 0
        call("close", at)
        release(at)


def column_texts(of: Any) -> list[str]:
    """Returns a copy of the texts of a column."""
    texts: list[str] = []
    for part, _ in column(of):
        texts += call("texts", part).texts("text")  # type: ignore[union-attr]
    return texts


def run_for(texts: Iterable[Text], name: str, handle: int = 0, args: Any = None) -> Iterator[Table]:
    """Does something for each of several texts, and yields the results: one, or one for each part of a column."""
    if is_column(texts):
        for part, _ in column(texts):
            yield run(name, handle, {**(args or {}), "part": part})  # type: ignore[misc]
    else:
        yield run(name, handle, args, encoded(texts))  # type: ignore[misc]


def release(handle: int) -> None:
    if not _forked:
        _lib.neardup_release(handle)
