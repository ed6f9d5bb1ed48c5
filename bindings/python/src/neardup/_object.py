"""What a Deduplicator and the indexes have in common: a handle of an object in Go, and ids of a type."""

from __future__ import annotations

from array import array
from types import TracebackType
from typing import Any, Generic, Iterable, Iterator, Sequence, TypeVar

from . import _native

ID = TypeVar("ID", int, str)
Self = TypeVar("Self", bound="Object[Any]")


class Object(Generic[ID]):
    _handle = 0

    def _make(self, function: str, ids: Any, args: dict[str, Any]) -> None:
        if ids is not int and ids is not str:
            raise TypeError("neardup: ids must be int or str")
        self._ids = ids
        self._handle = _native.call(function, args={"ids": ids.__name__, **args}).numbers("handle")[0]  # type: ignore[union-attr]

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", 0), 0
        if handle:
            try:
                _native.call("close", handle)
                _native.release(handle)
            except Exception:
                pass  # the interpreter may be ending; with files, call close to see errors

    def close(self) -> None:
        """Writes everything to the files, if there are any, and frees the memory. A second close does nothing."""
        handle, self._handle = self._handle, 0
        if handle:
            try:
                _native.call("close", handle)
            finally:
                _native.release(handle)

    def _open(self) -> int:
        if not self._handle:
            raise ValueError("neardup: it is closed")
        return self._handle

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
        return _native.encoded(ids)  # type: ignore[arg-type]

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
