"""What a Deduplicator and the indexes have in common: a handle of an object in Go, and ids of a type."""

from __future__ import annotations

import ctypes
import os
from array import array
from types import TracebackType
from typing import Any, Generic, Iterable, Iterator, Sequence, TypeVar

from . import _native

ID = TypeVar("ID", int, str)
Self = TypeVar("Self", bound="Object[Any]")


class Object(Generic[ID]):
    _slot: Any = None

    def _make(self, function: str, ids: Any, path: Any, args: dict[str, Any]) -> None:
        if ids is not int and ids is not str:
            raise TypeError("neardup: ids must be int or str")
        self._ids, self._path = ids, None if path is None else os.fsencode(path)
        if self._path == b"":
            raise ValueError("neardup: the path is empty")
        self._slot = ctypes.c_size_t()
        _native.make(function, self._slot, {"ids": ids.__name__, **args}, [] if self._path is None else [self._path])

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            pass  # the interpreter may be ending; call close to see errors of files

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"neardup: a {type(self).__name__} cannot be copied or pickled; open it by its path in another process, after it is closed here")

    def __repr__(self) -> str:
        if not (self._slot and self._slot.value):
            return f"<neardup.{type(self).__name__}: closed>"
        where = "" if self._path is None else f" in {os.fsdecode(self._path)!r}"
        return f"<neardup.{type(self).__name__}: {len(self):,} ids of type {self._ids.__name__}{where}>"

    def close(self) -> None:
        """Writes everything to the files, if there are any, and frees the memory. A second close does nothing."""
        if not self._slot or not self._slot.value:
            return
        handle, self._slot.value = self._slot.value, 0
        try:
            _native.call("close", handle)
        finally:
            _native.release(handle)

    def _open(self) -> int:
        if not self._slot or not self._slot.value:
            raise ValueError(f"neardup: the {type(self).__name__} is closed")
        return self._slot.value  # type: ignore[no-any-return]

    def _encode(self, ids: Sequence[ID]) -> list[bytes]:
        if self._ids is int:
            try:
                return [array("q", ids).tobytes()]
            except TypeError:
                raise TypeError("neardup: ids are int here; make it with ids=str for strings") from None
            except OverflowError:
                raise OverflowError("neardup: an id has at most 64 bits, signed") from None
        if not all(isinstance(i, str) for i in ids):
            raise TypeError("neardup: ids are str here")
        return [_native.encode(i, "an id") for i in ids]

    def __len__(self) -> int:
        return _native.call("len", self._open()).values  # type: ignore[union-attr, no-any-return]

    def delete(self, id: ID) -> bool:
        """Removes what is stored under an id, and returns whether it was there."""
        return _native.call("delete", self._open(), items=self._encode([id])).values  # type: ignore[union-attr, no-any-return]

    def sync(self) -> None:
        """Writes all changes to the disk, if there are files."""
        _native.run("sync", self._open())


def divided(values: Sequence[Any], ends: Iterable[int]) -> Iterator[Any]:
    begin = 0
    for end in ends:
        yield values[begin:end]
        begin = end
