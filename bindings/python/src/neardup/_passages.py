"""What is copied inside texts that differ otherwise, and test items that occur in texts."""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple, Sequence, Union

from . import _native
from ._object import divided

Text = Union[str, bytes]


class Place(NamedTuple):
    """Where a passage is: texts[text][start:end]."""

    text: int
    start: int
    end: int


class Passage(NamedTuple):
    """A run of words, or of characters of scripts without spaces, that occurs in several places."""

    tokens: int  #: its length
    documents: int  #: in how many texts it occurs
    places: list[Place]


class Leak(NamedTuple):
    """A part of a test item that is in a text, as a whole or in part."""

    text: int  #: the position of the text
    item: int  #: and that of the item
    part: int  #: which part of the item, from 0
    shared: int  #: how many words or characters of the part are in the text
    tokens: int  #: and how many it has
    places: list[Place]  #: where in the text


def passages(texts: Iterable[Text], *, words: int = 0, characters: int = 0) -> Iterator[Passage]:
    """Yields all passages that occur in several places, in the order of their first places. Nothing of the length is missed.

    words, characters: how long a passage must be: by default 50 words, or 80 characters of Chinese and similar scripts.
    """
    places = _Places(texts)
    for t in _native.parts("passages", args=_length(words, characters), items=places.encoded):
        found = [places.at(*p) for p in zip(t.numbers("text"), t.numbers("from"), t.numbers("to"))]
        yield from map(Passage, t.numbers("tokens"), t.numbers("documents"), divided(found, t.numbers("ends")))


def decontaminate(items: Iterable[Union[Text, Sequence[Text]]], texts: Iterable[Text], *, words: int = 0, characters: int = 0) -> Iterator[Leak]:
    """Yields which test items are in which texts, in the order of the texts. An item is a text, or several parts such as a question
    and an answer, each of which is looked for by itself.

    words, characters: the shortest run that counts: by default 13 words, or 20 characters of Chinese and similar scripts.
    """
    parts = [[item] if isinstance(item, (str, bytes)) else list(item) for item in items]
    places = _Places(texts)
    of_items = [p for item in parts for p in _native.encoded(item)]
    args = {**_length(words, characters), "Parts": [len(item) for item in parts]}
    for t in _native.parts("decontaminate", args=args, items=[*of_items, *places.encoded]):
        ends = t.numbers("ends")
        begin = 0
        for text, item, part, shared, tokens, end in zip(t.numbers("text"), t.numbers("item"), t.numbers("part"), t.numbers("shared"), t.numbers("tokens"), ends):
            runs = zip(t.numbers("from")[begin:end], t.numbers("to")[begin:end])
            yield Leak(text, item, part, shared, tokens, [places.at(text, start, stop) for start, stop in runs])
            begin = end


def _length(words: int, characters: int) -> dict[str, object]:
    return {"Words": _native.integer("words", words), "Characters": _native.integer("characters", characters)}


class _Places:
    """Texts, and places in them by characters for those that are str."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self._texts: list[Text] = list(_native.column_texts(texts) if _native.is_column(texts) else _native.several(texts))
        self.encoded = _native.encoded(self._texts)

    def at(self, text: int, start: int, end: int) -> Place:
        data = self.encoded[text]
        if isinstance(self._texts[text], str) and len(data) != len(self._texts[text]):
            before = len(data[:start].decode("utf-8", "surrogatepass"))
            return Place(text, before, before + len(data[start:end].decode("utf-8", "surrogatepass")))
        return Place(text, start, end)
