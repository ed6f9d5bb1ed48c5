"""The Deduplicator, and dedup for the usual case."""

from __future__ import annotations

import enum
import os
from typing import Any, Iterable, Iterator, NamedTuple, Sequence, Union, overload

from . import _native
from ._object import ID, Object, divided

Text = Union[str, bytes]
_BATCH = 1 << 24  # bytes of texts that cross the border at once
_COUNT = 1 << 15  # and how many


class Kind(enum.IntFlag):
    """How the documents of a pair differ. Each pair has one kind, the first that fits."""

    IDENTICAL = 1  #: the same text, byte for byte
    SAME_WORDS = 2  #: the same words in the same order; other case, width, white space or punctuation
    SAME_FORM = 4  #: one form that is filled in differently, or pages of one template; does not count by default
    SAME_EXCEPT_NUMBERS = 8  #: the same words except for figures
    CONTAINED = 16  #: one has all words of the other in the same order, and more
    REVISED = 32  #: they differ in another way
    ALL = 63

    def __str__(self) -> str:
        return ",".join(k.name.lower().replace("_", "-") for k in Kind if k is not Kind.ALL and k & self) or "none"


class Pair(NamedTuple):
    """Two documents that are near-duplicates. a was added before b."""

    a: Any
    b: Any
    similarity: float  #: the cosine of their features, 0 to 1
    probability: float  #: that they are near-duplicates
    kind: Kind


class Match(NamedTuple):
    """A stored document that is a near-duplicate of a text."""

    id: Any
    similarity: float
    probability: float
    kind: Kind


class Added(NamedTuple):
    """What add_if_new has done."""

    added: bool  #: the text was stored
    matches: list[Match]  #: the near-duplicates because of which it was not; none if the id was there already


class Group(NamedTuple):
    """Near-duplicates, of which one is kept."""

    keep: Any
    members: list[Any]  #: in the order of adding, keep included
    matches: list[Match]  #: how near each member is to keep


class Family(NamedTuple):
    """Four or more documents of one form that is filled in differently, or pages of one template."""

    members: list[Any]
    form: str  #: what they have in common, with […] for what is filled in
    filled: list[str]  #: what each member fills in


class Explanation(NamedTuple):
    """Why two documents are near-duplicates, or why they are not. str() returns it as text."""

    similarity: float
    probability: float
    kind: Kind
    duplicate: bool  #: they are near-duplicates, and their kind counts
    compared: bool  #: they have enough in common to be compared in a collection
    evidence: list[tuple[str, float, float]]  #: names, values, and what they add to the logarithm of the odds
    constant: float
    features: list[tuple[str, float, float]]  #: features of both, with their weights in a and b
    text: str

    def __str__(self) -> str:
        return self.text


class Estimate(NamedTuple):
    """What can be expected of the pairs that are found. str() returns it as text."""

    probability: float  #: the threshold, or 0 if the similarity decides
    similarity: float
    pairs: int  #: of texts that differ; equal ones are certain, and not counted
    wrong: float  #: about how many of them are false positives
    missed: float  #: about how many compared pairs below the threshold are near-duplicates
    wrong_least: int
    wrong_most: int
    histogram: list[int]  #: compared pairs by probability, in steps of 0.05
    text: str

    def __str__(self) -> str:
        return self.text


class Deduplicator(Object[ID]):
    """Finds near-duplicates among documents that you add under ids of your own.

    >>> d = Deduplicator()
    >>> d.add(1, "The lamp in Mill Lane has been dark for two weeks, and people fall over the kerb.")
    >>> d.add(2, "The lamp in Mill Lane has been dark for three weeks, and people fall over the kerb!")
    >>> [(p.a, p.b, p.kind) for p in d.pairs()]
    [(1, 2, <Kind.REVISED: 32>)]

    Two documents are near-duplicates if their probability is at least one half. Every pair that is reported was compared in
    full. How likely a pair is depends on the two texts and on the documents that have much in common with them, and on
    nothing else: not on the order of adding, nor on the number of processors. Results are those of the Go library of the same
    version, to the bit.

    Texts are str or bytes; bytes are read as UTF-8, and need not be valid. All methods may be called from several threads.
    Long ones release the interpreter's lock, use all processors (GOMAXPROCS in the environment changes that), and end with
    KeyboardInterrupt on Ctrl-C.

    path: files that hold the documents and outlive the program; open(path) is the same.
    ids: the type of the ids, int (64 bits, signed) or str.
    probability: the smallest probability of near-duplicates, above 0 and at most 1. A higher one finds fewer pairs, of which
        more are right.
    similarity: if given, decides instead of the probability: the smallest cosine.
    bias: added to the logarithm of the odds of every pair.
    kinds: the kinds that count; by default all but SAME_FORM.
    memory: how many bytes may be used; by default half of the memory of the machine, of which it uses little. What takes more
        goes to temporary files.
    """

    @overload
    def __init__(self: "Deduplicator[int]", path: str | os.PathLike[str] | None = ..., *, ids: type[int] = ..., probability: float = ..., similarity: float = ..., bias: float = ..., kinds: Kind | None = ..., memory: int = ...) -> None: ...
    @overload
    def __init__(self: "Deduplicator[str]", path: str | os.PathLike[str] | None = ..., *, ids: type[str], probability: float = ..., similarity: float = ..., bias: float = ..., kinds: Kind | None = ..., memory: int = ...) -> None: ...

    def __init__(self, path: Any = None, *, ids: Any = int, probability: float = 0.0, similarity: float = 0.0, bias: float = 0.0, kinds: Kind | None = None, memory: int = 0) -> None:
        kinds_number = 0 if kinds is None else _native.integer("kinds", kinds)
        if kinds is not None and not 0 < kinds_number <= Kind.ALL:
            raise ValueError("neardup: kinds must be one or more of Kind, joined by |")
        self._make("deduplicator", ids, path, {"probability": _native.number("probability", probability), "similarity": _native.number("similarity", similarity), "bias": _native.number("bias", bias), "kinds": kinds_number, "memory": _native.integer("memory", memory)})

    def __contains__(self, id: object) -> bool:
        try:
            if self._ids is int:
                id = _native.integer("id", id)
            elif not isinstance(id, str):
                return False
        except (TypeError, ValueError):
            return False
        return _native.call("contains", self._open(), items=self._encode([id])).values  # type: ignore[union-attr, no-any-return, list-item]

    def __iter__(self) -> Iterator[ID]:
        """Yields the ids in the order of adding."""
        for part in _native.parts("ids", self._open()):
            yield from part.column("id")

    def add(self, id: ID, text: Text) -> None:
        """Stores a text under an id. A document that has the id already is replaced. For many, add_many takes less time."""
        _native.call("add", self._open(), items=[*self._encode([id]), *_native.encoded([text])])

    def add_many(self, documents: Iterable[tuple[ID, Text]]) -> None:
        """Adds pairs of an id and a text, on all processors. It reads the iterable in parts, of which none is kept. After an
        error or Ctrl-C, some of the documents before it have been added.

        A table that offers Arrow's C data interface (pyarrow, polars, DuckDB, pandas) may have them too: the first of its two columns has the ids,
        and the second one the texts, which are not copied on the way."""
        if _native.is_column(documents):
            for part, _ in _native.column(documents, ids=True):
                _native.run("add_many", self._open(), {"part": part})
            return
        ids: list[ID] = []
        texts: list[bytes] = []
        size = 0
        for id, text in documents:
            ids.append(id)
            texts.append(text if type(text) is bytes else _native.encode(text, f"the text of id {id!r}"))
            size += len(texts[-1])
            if size >= _BATCH or len(ids) >= _COUNT:
                self._add(ids, texts)
                ids, texts, size = [], [], 0
        if ids:
            self._add(ids, texts)

    def _add(self, ids: Sequence[ID], texts: list[bytes]) -> None:
        _native.run("add_many", self._open(), {"count": len(ids)}, [*self._encode(ids), *texts])

    def add_if_new(self, id: ID, text: Text, n: int = 1) -> Added:
        """Stores a text under an id unless there is one like it. Either it is added, or the first n near-duplicates are returned,
        or there is a document with the id already and nothing is done. Of two calls at the same time, one finds the other's
        text."""
        if _native.integer("n", n) < 1:
            raise ValueError("neardup: n must be at least 1")
        t = _native.call("add_if_new", self._open(), {"n": n}, [*self._encode([id]), *_native.encoded([text])])
        assert t is not None
        return Added(t.values, _matches(t))

    def text(self, id: ID) -> str | None:
        """Returns the text of a document as it is compared, or None if there is no such document."""
        t = _native.call("text", self._open(), items=self._encode([id]))
        assert t is not None
        return t.bytes("text").decode("utf-8", "replace") if t.values else None

    def search(self, text: Text) -> list[Match]:
        """Returns the stored near-duplicates of a text, the most probable first. A text that was added finds itself."""
        return _matches(_native.run("search", self._open(), items=_native.encoded([text])))  # type: ignore[arg-type]

    def search_many(self, texts: Iterable[Text]) -> list[list[Match]]:
        """Returns what search returns for each of several texts, on all processors."""
        return [m for t in _native.run_for(texts, "search", self._open()) for m in divided(_matches(t), t.numbers("ends"))]

    def pairs(self, since: int = 0) -> Iterator[Pair]:
        """Yields all pairs of near-duplicates, each once, as they are found. With since, only those with a document that was
        added after the first so many: see next_sequence."""
        kinds = {int(k): k for k in Kind}
        for t in _native.parts("pairs", self._open(), {"since": since}):
            for a, b, similarity, probability, kind in zip(t.column("a"), t.column("b"), t.numbers("similarity"), t.numbers("probability"), t.numbers("kind")):
                yield Pair(a, b, similarity, probability, kinds[kind])

    def next_sequence(self) -> int:
        """Returns how many documents were ever added: pairs(since=this) later reports the pairs of those added from now on."""
        return _native.call("next", self._open()).values  # type: ignore[union-attr, no-any-return]

    def groups(self, linkage: str = "centre", *, prefer: str = "longest", old: int = 0) -> list[Group]:
        """Returns the groups of near-duplicates, in the order of their first members. Delete the members that are not keep, and
        no near-duplicates are left.

        linkage: "centre" groups around the longest documents; in "complete" groups all members are near-duplicates of each
            other; "single" joins whatever a chain of pairs connects.
        prefer: "longest" or "first": which member is kept, if all others are near-duplicates of it and it is none of a document that
            another group keeps; otherwise the next one of which that is true.
        old: so many documents that were added first are old. They are kept in preference to new ones.
        """
        _check_groups(linkage, prefer)
        t = _native.run("groups", self._open(), {"linkage": linkage, "old": old, "first": prefer == "first"})
        assert t is not None
        members = divided(_matches(t), t.numbers("ends"))
        return [Group(keep, [m.id for m in matches], matches) for keep, matches in zip(t.column("keep"), members)]

    def families(self) -> list[Family]:
        """Returns the families, the largest first."""
        t = _native.run("families", self._open())
        assert t is not None
        ends = t.numbers("ends")
        return [Family(members, form, filled) for members, form, filled in zip(divided(t.column("id"), ends), t.texts("form"), divided(t.texts("filled"), ends))]  # type: ignore[arg-type]

    def explain(self, a: ID, b: ID) -> Explanation:
        """Says why two documents are near-duplicates, or why they are not."""
        v = _native.run("explain", self._open(), items=self._encode([a, b])).values  # type: ignore[union-attr]
        v["kind"] = Kind(v["kind"])
        for name in ("evidence", "features"):
            v[name] = [tuple(x) for x in v[name] or ()]
        return Explanation(**v)

    def estimate(self) -> Estimate:
        """Says what can be expected of the pairs. It takes as long as pairs, or no time after them."""
        return Estimate(**_native.run("estimate", self._open()).values)  # type: ignore[union-attr]

    def compact(self) -> None:
        """Writes the files anew, without what was deleted."""
        _native.run("compact", self._open())


def open(path: str | bytes | os.PathLike[Any], *, ids: Any = int, probability: float = 0.0, similarity: float = 0.0, bias: float = 0.0, kinds: Kind | None = None, memory: int = 0) -> Deduplicator[Any]:
    """Opens a Deduplicator in files, or makes an empty one; the options are those of Deduplicator. The folder of the path must be
    there."""
    if path is None:
        raise TypeError("neardup: open needs a path; Deduplicator() is one in memory")
    return Deduplicator(path, ids=ids, probability=probability, similarity=similarity, bias=bias, kinds=kinds, memory=memory)


def _check_groups(linkage: str, prefer: str) -> None:
    if linkage not in ("centre", "complete", "single"):
        raise ValueError(f'neardup: linkage must be "centre", "complete" or "single", not {linkage!r}')
    if prefer not in ("longest", "first"):
        raise ValueError(f'neardup: prefer must be "longest" or "first", not {prefer!r}')


def _matches(t: _native.Table) -> list[Match]:
    return [Match(id, similarity, probability, Kind(kind)) for id, similarity, probability, kind in zip(t.column("id"), t.numbers("similarity"), t.numbers("probability"), t.numbers("kind"))]


class Result:
    """What dedup returns. Documents are known by their positions, from 0 on."""

    def __init__(self, deduplicator: Deduplicator[int], groups: list[Group]) -> None:
        self.deduplicator = deduplicator  #: all texts, for search, explain and so on
        self.groups = groups  #: the groups of near-duplicates
        removed = {id for g in groups for id in g.members if id != g.keep}
        self.removed: list[int] = sorted(removed)  #: positions of the texts that are near-duplicates of one that is kept
        self.kept: list[int] = [i for i in range(len(deduplicator)) if i not in removed]  #: positions of all others

    def pairs(self) -> Iterator[Pair]:
        """Yields all pairs of near-duplicates."""
        return self.deduplicator.pairs()

    def estimate(self) -> Estimate:
        """Says how many of the pairs are expected to be wrong."""
        return self.deduplicator.estimate()

    def __repr__(self) -> str:
        def count(n: int, one: str) -> str:
            return f"{n:,} {one}{'' if n == 1 else 's'}"

        return f"<neardup.Result: {count(len(self.removed), 'duplicate')} in {count(len(self.groups), 'group')}; {count(len(self.kept), 'text')} kept>"


def dedup(texts: Iterable[Text], *, linkage: str = "centre", prefer: str = "longest", probability: float = 0.0, similarity: float = 0.0, bias: float = 0.0, kinds: Kind | None = None, memory: int = 0) -> Result:
    """Finds the near-duplicates among texts.

    >>> texts = ["Read the whole paper, please.", "When will the library open on Sundays?", "READ the whole paper please"]
    >>> dedup(texts).kept
    [0, 1]

    texts: any iterable of str or bytes, or a column that offers Arrow's C data interface, as those of pyarrow, polars, pandas and DuckDB do; it is
        not copied on the way.

    linkage and prefer are those of Deduplicator.groups, and the other options those of Deduplicator.
    """
    texts = _native.several(texts)
    _check_groups(linkage, prefer)
    d: Deduplicator[int] = Deduplicator(probability=probability, similarity=similarity, bias=bias, kinds=kinds, memory=memory)
    if _native.is_column(texts):
        first = 0
        for part, n in _native.column(texts):
            _native.run("add_many", d._open(), {"part": part, "first": first})
            first += n
    else:
        d.add_many(enumerate(texts))
    return Result(d, d.groups(linkage, prefer=prefer))
