"""Fingerprints and signatures of texts."""

from __future__ import annotations

from array import array
from typing import Iterable, Sequence, Union

from . import _native

Text = Union[str, bytes]


def version() -> str:
    """Returns the version of the fingerprints and signatures. Those of different versions cannot be compared."""
    return _native.call("version").values  # type: ignore[union-attr, no-any-return]


def sum64(text: Text) -> int:
    """Returns the 64-bit SimHash of a text. 0 nearly always means a text without words."""
    return _native.call("sum64", items=_native.encoded([text])).numbers("sums")[0]  # type: ignore[union-attr, no-any-return]


def sum64_many(texts: Iterable[Text]) -> list[int]:
    """Returns the 64-bit SimHash of each text, on all processors."""
    return _native.run("sum64", items=_native.encoded(texts)).numbers("sums").tolist()  # type: ignore[union-attr, no-any-return]


def sum128(text: Text) -> int:
    """Returns the 128-bit SimHash of a text."""
    high, low = _native.call("sum128", items=_native.encoded([text])).numbers("sums")  # type: ignore[union-attr]
    return high << 64 | low  # type: ignore[no-any-return]


def distance(a: int, b: int) -> int:
    """Returns the number of bits in which two fingerprints differ. Up to 3 of 64 mean near-duplicates."""
    return bin(a ^ b).count("1")


def sign(text: Text, values: int = 128) -> memoryview:
    """Returns the MinHash signature of a text: values numbers of 32 bits, from 16 to 4096."""
    return _native.call("sign", args={"values": _native.integer("values", values)}, items=_native.encoded([text])).numbers("values")  # type: ignore[union-attr]


def sign_many(texts: Iterable[Text], values: int = 128) -> memoryview:
    """Returns the MinHash signatures of texts, one after the other, on all processors: a text has values numbers of them.
    numpy.asarray(…).reshape(-1, values) makes an array of it without a copy."""
    return _native.run("sign", args={"values": _native.integer("values", values)}, items=_native.encoded(texts)).numbers("values")  # type: ignore[union-attr]


def jaccard(a: Sequence[int], b: Sequence[int]) -> float:
    """Returns the estimated Jaccard similarity of the sets of two signatures; nan if both sets are empty."""
    if len(a) != len(b):
        raise ValueError(f"neardup: signatures of {len(a)} and {len(b)} values cannot be compared")
    return _native.call("jaccard", items=[bytes(memoryview(_uint32(a))), bytes(memoryview(_uint32(b)))]).numbers("jaccard")[0]  # type: ignore[union-attr, no-any-return]


def _uint32(values: Sequence[int]) -> memoryview:
    if isinstance(values, memoryview) and values.format == "I":
        return values
    return memoryview(array("I", values))
