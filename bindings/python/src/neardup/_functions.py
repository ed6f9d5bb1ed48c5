"""Fingerprints and signatures of texts.

tokenizer says what texts are cut into: "words2" for pairs of words (the default), "words" for single ones, "words3" for runs of three words, "chars3"
for runs of three characters, and so on. In Chinese, which does not separate words, a character is a word. Only values of one tokenizer can be compared.
"""

from __future__ import annotations

from array import array
from typing import Iterable, Sequence, Union

from . import _native

Text = Union[str, bytes]


def version(tokenizer: str = "words2") -> str:
    """Returns the version of the fingerprints and signatures. Those of different versions cannot be compared."""
    return _native.call("version", args={"tokenizer": tokenizer}).values  # type: ignore[union-attr, no-any-return]


def sum64(text: Text, tokenizer: str = "words2") -> int:
    """Returns the 64-bit SimHash of a text. 0 nearly always means a text without words."""
    return _native.call("sum64", args={"tokenizer": tokenizer}, items=_native.encoded([text])).numbers("sums")[0]  # type: ignore[union-attr, no-any-return]


def sum64_many(texts: Iterable[Text], tokenizer: str = "words2") -> list[int]:
    """Returns the 64-bit SimHash of each text, on all processors."""
    return [s for t in _native.run_for(texts, "sum64", args={"tokenizer": tokenizer}) for s in t.numbers("sums")]


def sum128(text: Text, tokenizer: str = "words2") -> int:
    """Returns the 128-bit SimHash of a text."""
    high, low = _native.call("sum128", args={"tokenizer": tokenizer}, items=_native.encoded([text])).numbers("sums")  # type: ignore[union-attr]
    return high << 64 | low  # type: ignore[no-any-return]


def distance(a: int, b: int) -> int:
    """Returns the number of bits in which two fingerprints differ. Up to 3 of 64 mean near-duplicates."""
    return bin(a ^ b).count("1")


def sign(text: Text, values: int = 128, tokenizer: str = "words2") -> memoryview:
    """Returns the MinHash signature of a text: values numbers of 32 bits, from 16 to 4096."""
    return _native.call("sign", args={"values": _native.integer("values", values), "tokenizer": tokenizer}, items=_native.encoded([text])).numbers("values")  # type: ignore[union-attr]


def sign_many(texts: Iterable[Text], values: int = 128, tokenizer: str = "words2") -> memoryview:
    """Returns the MinHash signatures of texts, one after the other, on all processors: a text has values numbers of them.
    numpy.asarray(…).reshape(-1, values) makes an array of it without a copy."""
    parts = [t.numbers("values") for t in _native.run_for(texts, "sign", args={"values": _native.integer("values", values), "tokenizer": tokenizer})]
    return parts[0] if len(parts) == 1 else memoryview(b"".join(parts)).cast("I")


def jaccard(a: Sequence[int], b: Sequence[int]) -> float:
    """Returns the estimated Jaccard similarity of the sets of two signatures; nan if both sets are empty."""
    if len(a) != len(b):
        raise ValueError(f"neardup: signatures of {len(a)} and {len(b)} values cannot be compared")
    return _native.call("jaccard", items=[bytes(memoryview(_uint32(a))), bytes(memoryview(_uint32(b)))]).numbers("jaccard")[0]  # type: ignore[union-attr, no-any-return]


def _uint32(values: Sequence[int]) -> memoryview:
    if isinstance(values, memoryview) and values.format == "I":
        return values
    return memoryview(array("I", values))
