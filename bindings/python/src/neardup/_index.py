"""Indexes of fingerprints and of signatures."""

from __future__ import annotations

import os
from array import array
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

from . import _native
from ._functions import _uint32
from ._object import ID, Object, divided


class Near(NamedTuple):
    """A stored fingerprint or signature that is near another one."""

    id: Any
    distance: int  #: in bits, of fingerprints
    similarity: float  #: the estimated Jaccard similarity, of signatures


class NearPair(NamedTuple):
    """Two stored fingerprints or signatures that are near each other."""

    a: Any
    b: Any
    distance: int
    similarity: float


class NearGroup(NamedTuple):
    """A group of those that are near each other, of which one is kept."""

    keep: Any
    members: list[Any]


class _Index(Object[ID]):
    def _add(self, ids: Sequence[ID], values: bytes) -> None:
        _native.run("add", self._open(), {"count": len(ids)}, [*self._encode(ids), values])

    def _search(self, values: bytes) -> list[list[Near]]:
        return self._found(_native.run("search", self._open(), items=[values]))

    def _nearest(self, value: bytes, n: int) -> list[Near]:
        return self._found(_native.run("nearest", self._open(), {"n": n}, [value]))[0]

    @staticmethod
    def _found(t: _native.Table | None) -> list[list[Near]]:
        assert t is not None
        near = [Near(*x) for x in zip(t.column("id"), t.numbers("distance"), t.numbers("similarity"))]
        return list(divided(near, t.numbers("ends")))

    def pairs(self) -> Iterator[NearPair]:
        """Yields all pairs of those that are near each other, each once, as they are found."""
        for t in _native.parts("pairs", self._open()):
            yield from map(NearPair, t.column("a"), t.column("b"), t.numbers("distance"), t.numbers("similarity"))

    def groups(self, linkage: str = "centre") -> list[NearGroup]:
        """Returns the groups of those that are near each other; linkage is that of Deduplicator.groups."""
        t = _native.run("groups", self._open(), {"linkage": linkage})
        assert t is not None
        return [NearGroup(keep, members) for keep, members in zip(t.column("keep"), divided(t.column("id"), t.numbers("ends")))]


class Index(_Index[ID]):
    """An index of 64-bit fingerprints (sum64): it finds all within a distance, without exception.

    >>> ix = Index(3)
    >>> ix.add_many([(1, 0b1011), (2, 0xFFFF)])
    >>> ix.search(0b1001)
    [Near(id=1, distance=1, similarity=0.0)]

    distance: how many bits may differ, 0 to 64; small ones are fast.
    path: files that hold the fingerprints and outlive the program.
    ids: int or str.
    """

    def __init__(self, distance: int = 3, path: str | os.PathLike[str] | None = None, *, ids: Any = int) -> None:
        self._make("index", ids, path, {"distance": _native.integer("distance", distance)})

    def add(self, id: ID, fingerprint: int) -> None:
        """Stores a fingerprint under an id. One that has the id already is replaced."""
        self._add([id], _fingerprints([fingerprint]))

    def add_many(self, fingerprints: Iterable[tuple[ID, int]]) -> None:
        """Adds pairs of an id and a fingerprint."""
        ids, values = _apart(fingerprints)
        self._add(ids, _fingerprints(values))

    def search(self, fingerprint: int) -> list[Near]:
        """Returns all stored fingerprints within the distance, the nearest first."""
        return self._search(_fingerprints([fingerprint]))[0]

    def search_many(self, fingerprints: Iterable[int]) -> list[list[Near]]:
        """Returns what search returns for each of several fingerprints, on all processors."""
        return self._search(_fingerprints(fingerprints))

    def nearest(self, fingerprint: int, n: int) -> list[Near]:
        """Returns the n nearest stored fingerprints, at any distance."""
        return self._nearest(_fingerprints([fingerprint]), n)


class SignatureIndex(_Index[ID]):
    """An index of MinHash signatures (sign): it finds nearly all with at least an estimated similarity.

    similarity: the smallest Jaccard similarity, above 0 and at most 1.
    values: the length of the signatures.
    bits: how many bits of each value are kept: 1, 2, 4, 8, 16 or 32. Fewer take less memory and estimate less exactly.
    path, ids: as in Index.
    """

    def __init__(self, similarity: float, path: str | os.PathLike[str] | None = None, *, values: int = 128, bits: int = 32, ids: Any = int) -> None:
        self._make("signature_index", ids, path, {"similarity": _native.number("similarity", similarity), "values": _native.integer("values", values), "bits": _native.integer("bits", bits)})

    def add(self, id: ID, signature: Sequence[int]) -> None:
        """Stores a signature under an id. One that has the id already is replaced."""
        self._add([id], _signatures([signature]))

    def add_many(self, signatures: Iterable[tuple[ID, Sequence[int]]]) -> None:
        """Adds pairs of an id and a signature."""
        ids, values = _apart(signatures)
        self._add(ids, _signatures(values))

    def search(self, signature: Sequence[int]) -> list[Near]:
        """Returns the stored signatures with at least the similarity, the most similar first."""
        return self._search(_signatures([signature]))[0]

    def search_many(self, signatures: Iterable[Sequence[int]]) -> list[list[Near]]:
        """Returns what search returns for each of several signatures, on all processors."""
        return self._search(_signatures(signatures))

    def nearest(self, signature: Sequence[int], n: int) -> list[Near]:
        """Returns up to n stored signatures, the most similar first, of those that agree in a band: perhaps below the similarity."""
        return self._nearest(_signatures([signature]), n)


def _apart(pairs: Iterable[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    ids, values = [], []
    for id, value in pairs:
        ids.append(id)
        values.append(value)
    return ids, values


def _fingerprints(values: Iterable[int]) -> bytes:
    try:
        return array("Q", values).tobytes()
    except OverflowError:
        raise OverflowError("neardup: a fingerprint has 64 bits, and is not negative") from None


def _signatures(signatures: Iterable[Sequence[int]]) -> bytes:
    return b"".join(bytes(_uint32(s)) for s in signatures)
