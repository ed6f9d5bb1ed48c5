"""Calls of the shared library that is written in Go: see native/main.go.

Everything crosses the border as bytes. Texts of a call are one piece of memory with the places where each of them ends, so a
million texts are one call. ctypes releases the interpreter's lock while the library works.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from itertools import accumulate
from typing import Any, Iterable, Iterator, Sequence

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
        ("neardup_call", ctypes.c_int, [ctypes.c_char_p, handle, *memory, *result]),
        ("neardup_start", handle, [ctypes.c_char_p, handle, *memory]),
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
            texts.append(data[begin:end].decode("utf-8", "replace"))
            begin = end
        return texts

    def column(self, name: str) -> Sequence[Any]:
        """Numbers as a list, and texts as strings."""
        return self.texts(name) if name + ".ends" in self._columns else self.numbers(name).tolist()


def encoded(texts: Iterable[str | bytes]) -> list[bytes]:
    """Returns texts as UTF-8. Bytes stay as they are, and so do surrogates, as far as they can be written at all."""
    return [t if isinstance(t, bytes) else _encode(t) for t in texts]


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    except AttributeError:
        raise TypeError(f"neardup: a text is a str or bytes, not {type(text).__name__}") from None


def _memory(args: Any, items: Sequence[bytes]) -> tuple[list[Any], Any]:
    """Returns the arguments of a call, and what must be kept until it has ended."""
    if _forked:
        raise RuntimeError("neardup: this process was forked after neardup was imported, and the Go runtime does not survive that. Use multiprocessing with the start method spawn or forkserver, or import neardup in the child only")
    encoded_args = json.dumps(args).encode()
    data = b"".join(items)
    ends = (ctypes.c_int64 * len(items))(*accumulate(map(len, items)))
    return [encoded_args, len(encoded_args), data, len(data), ctypes.cast(ends, ctypes.c_void_p), len(items)], (encoded_args, data, ends)


def _take(state: int, memory: ctypes.c_void_p, length: ctypes.c_size_t) -> Table | None:
    try:
        taken = ctypes.string_at(memory, length.value) if memory.value else b""
    finally:
        _lib.neardup_free(memory)
    if state == _ERROR:
        raise NeardupError(taken.decode("utf-8", "replace"))
    return Table(taken) if taken else None


def call(name: str, handle: int = 0, args: Any = None, items: Sequence[bytes] = ()) -> Table | None:
    """Does something that takes little time."""
    memory, length = ctypes.c_void_p(), ctypes.c_size_t()
    arguments, kept = _memory(args or {}, items)
    state = _lib.neardup_call(name.encode(), handle, *arguments, ctypes.byref(memory), ctypes.byref(length))
    del kept
    return _take(state, memory, length)


def parts(name: str, handle: int = 0, args: Any = None, items: Sequence[bytes] = ()) -> Iterator[Table]:
    """Yields the parts of the result of something that may take long. Ctrl-C ends it, and so does leaving the loop."""
    arguments, kept = _memory(args or {}, items)
    job = _lib.neardup_start(name.encode(), handle, *arguments)
    try:
        while True:
            memory, length = ctypes.c_void_p(), ctypes.c_size_t()
            state = _lib.neardup_next(job, _WAIT, ctypes.byref(memory), ctypes.byref(length))
            if state == _LATE:
                continue
            part = _take(state, memory, length)
            if state == _LAST:
                return
            assert part is not None
            yield part
    finally:
        _lib.neardup_stop(job)
        del kept


def run(name: str, handle: int = 0, args: Any = None, items: Sequence[bytes] = ()) -> Table | None:
    """Does something that may take long, and returns the one part of its result, if there is one."""
    result = None
    for part in parts(name, handle, args, items):
        result = part
    return result


def release(handle: int) -> None:
    if not _forked:
        _lib.neardup_release(handle)
