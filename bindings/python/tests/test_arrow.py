"""Tests of columns that offer their memory by Arrow's C data interface. Debian has no pyarrow, so what offers it here is written after the
specification (https://arrow.apache.org/docs/format/CDataInterface.html), in ctypes; with pyarrow, polars or DuckDB, the last test tries those too."""

import ctypes
import gc
import struct
from ctypes import POINTER, PYFUNCTYPE, CFUNCTYPE, Structure, c_char_p, c_int, c_int64, c_void_p

import pytest

import neardup


class Schema(Structure):
    pass


class Array(Structure):
    pass


class Stream(Structure):
    pass


FREE_SCHEMA, FREE_ARRAY, FREE_STREAM = (CFUNCTYPE(None, POINTER(s)) for s in (Schema, Array, Stream))
GET_SCHEMA, GET_NEXT, GET_ERROR = CFUNCTYPE(c_int, POINTER(Stream), POINTER(Schema)), CFUNCTYPE(c_int, POINTER(Stream), POINTER(Array)), CFUNCTYPE(c_void_p, POINTER(Stream))
Schema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64), ("n_children", c_int64), ("children", POINTER(POINTER(Schema))), ("dictionary", POINTER(Schema)), ("release", FREE_SCHEMA), ("private", c_void_p)]
Array._fields_ = [(n, c_int64) for n in ("length", "null_count", "offset", "n_buffers", "n_children")] + [("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(Array))), ("dictionary", POINTER(Array)), ("release", FREE_ARRAY), ("private", c_void_p)]
Stream._fields_ = [("get_schema", GET_SCHEMA), ("get_next", GET_NEXT), ("get_last_error", GET_ERROR), ("release", FREE_STREAM), ("private", c_void_p)]

new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]

alive = set()  # what was exported and not released yet
kept = []  # memory of all exports; they live as long as the tests


@FREE_SCHEMA
def free_schema(s):
    alive.remove(("schema", s.contents.private))
    s.contents.release = FREE_SCHEMA()


@FREE_ARRAY
def free_array(a):
    alive.remove(("array", a.contents.private))
    a.contents.release = FREE_ARRAY()


@FREE_STREAM
def free_stream(s):
    alive.remove(("stream", s.contents.private))
    s.contents.release = FREE_STREAM()


def export(kind, what):
    what.private = len(kept) + 1
    alive.add((kind, what.private))
    kept.append(what)


class Column:
    """A column in one piece: its format, its buffers as bytes, and so on."""

    def __init__(self, format, buffers, length, offset=0, dictionary=None, children=(), name="x", nulls=0):
        self.format, self.buffers, self.length, self.offset, self.dictionary, self.children, self.name, self.nulls = format, buffers, length, offset, dictionary, children, name, nulls

    def schema(self, to, top=True):
        to.format, to.name, to.n_children = self.format.encode(), self.name.encode(), len(self.children)
        to.release = free_schema if top else FREE_SCHEMA(lambda s: None)
        if self.children:
            all = (POINTER(Schema) * len(self.children))(*[ctypes.pointer(c.schema(Schema(), False)) for c in self.children])
            to.children = all
            kept.append(all)
        if self.dictionary:
            to.dictionary = ctypes.pointer(self.dictionary.schema(Schema(), False))
        if top:
            export("schema", to)
        kept.append(to)
        return to

    def array(self, to, top=True):
        to.length, to.null_count, to.offset, to.n_buffers, to.n_children = self.length, self.nulls, self.offset, len(self.buffers), len(self.children)
        copies = [ctypes.create_string_buffer(b, len(b)) if b else None for b in self.buffers]
        addresses = (c_void_p * len(copies))(*[ctypes.addressof(b) if b else None for b in copies])
        to.buffers = addresses
        to.release = free_array if top else FREE_ARRAY(lambda a: None)
        if self.children:
            all = (POINTER(Array) * len(self.children))(*[ctypes.pointer(c.array(Array(), False)) for c in self.children])
            to.children = all
            kept.append(all)
        if self.dictionary:
            to.dictionary = ctypes.pointer(self.dictionary.array(Array(), False))
        if top:
            export("array", to)
        kept.extend((to, copies, addresses))
        return to

    def __arrow_c_array__(self, requested_schema=None):
        return new(ctypes.addressof(self.schema(Schema())), b"arrow_schema", None), new(ctypes.addressof(self.array(Array())), b"arrow_array", None)


class Chunks:
    """A column in several pieces, or one that fails after them."""

    def __init__(self, pieces, error=None):
        self.pieces, self.error = pieces, error

    def __arrow_c_stream__(self, requested_schema=None):
        pieces = iter(self.pieces)
        message = ctypes.create_string_buffer(self.error.encode()) if self.error else None

        @GET_SCHEMA
        def get_schema(_, to):
            self.pieces[0].schema(to.contents)
            return 0

        @GET_NEXT
        def get_next(_, to):
            for piece in pieces:
                piece.array(to.contents)
                return 0
            if message:
                return 5
            to.contents.release = FREE_ARRAY()
            return 0

        @GET_ERROR
        def get_error(_):
            return ctypes.addressof(message)

        s = Stream(get_schema, get_next, get_error, free_stream)
        export("stream", s)
        kept.extend((get_schema, get_next, get_error, message))
        return new(ctypes.addressof(s), b"arrow_array_stream", None)


def offsets(texts, form):
    ends = [0]
    for t in texts:
        ends.append(ends[-1] + len(t))
    return struct.pack(f"={len(ends)}{form}", *ends)


def strings(texts, form="u", offset=0, **more):
    """Texts as utf8, large_utf8 and so on. offset rows before them belong to somebody else."""
    data = [b"not these"] * offset + [t.encode("utf-8", "surrogatepass") for t in texts]
    if form.startswith("v"):
        buffers, views = [b"", b"of others"], b""
        for i, t in enumerate(data):
            if len(t) <= 12:
                views += struct.pack("=i12s", len(t), t)
            else:
                to = i % 2
                views += struct.pack("=i4sii", len(t), t[:4], to, len(buffers[to]))
                buffers[to] += t
        return Column(form, [None, views, *buffers, struct.pack("=2q", *map(len, buffers))], len(texts), offset, **more)
    return Column(form, [None, offsets(data, "q" if form in "UZ" else "i"), b"".join(data)], len(texts), offset, **more)


def numbers(values, form="l", code="q", **more):
    return Column(form, [None, struct.pack(f"={len(values)}{code}", *values)], len(values), **more)


def dictionary(texts, code="i", form="i"):
    different = sorted(set(texts))
    c = numbers([different.index(t) for t in texts], form, code)
    c.dictionary = strings(different)
    return c


def table(*columns, offset=0):
    return Column("+s", [None], columns[0].length - offset, offset, children=columns)


@pytest.fixture
def texts():
    base = ["The lamp in Mill Lane has been dark for two weeks, and people fall over the kerb.", "When will the library open on Sundays?", "", "短文", "The lamp in Mill Lane has been dark for three weeks, and people fall over the kerb!"]
    return [f"{t} {i}" if t else t for i in range(20) for t in base] + ["The lamp in Mill Lane has been dark for two weeks, and people fall over the kerb."]


@pytest.fixture(autouse=True)
def all_is_released():
    yield
    gc.collect()
    assert not alive


def shown(result):
    return result.kept, result.groups, sorted(result.pairs())


def forms(texts):
    yield from (strings(texts, form, offset) for form in ("u", "U", "z", "Z", "vu", "vz") for offset in (0, 3))
    yield dictionary(texts)
    yield dictionary(texts, "H", "S")
    yield table(strings(texts))
    yield table(strings(["x", *texts]), offset=1)
    for form in ("u", "vu"):
        yield Chunks([strings(texts[:7], form), strings([], form), strings(texts[7:], form, 2)])
    yield Chunks([table(strings(texts[:50])), table(strings(texts[50:]))])


def test_all_forms(texts):
    want, sums, signatures = shown(neardup.dedup(texts)), neardup.sum64_many(texts), neardup.sign_many(texts)
    d = neardup.Deduplicator()
    d.add_many(enumerate(texts))
    found, passages = d.search_many(texts), list(neardup.passages(texts, words=5))
    assert len(want[1]) > 3 and passages
    for column in forms(texts):
        assert shown(neardup.dedup(column)) == want
        assert neardup.sum64_many(column) == sums
        assert neardup.sign_many(column) == signatures
        assert d.search_many(column) == found
        assert list(neardup.passages(column, words=5)) == passages
        assert list(neardup.decontaminate(["in Mill Lane has been dark for two weeks and people fall over the kerb"], column)) == list(neardup.decontaminate(["in Mill Lane has been dark for two weeks and people fall over the kerb"], texts))


def test_tables_of_ids(texts):
    for ids, form, code in ((int, "l", "q"), (int, "i", "i"), (int, "C", "B"), (int, "L", "Q"), (str, "", "")):
        names = [ids(i) for i in range(len(texts))]
        d, of = neardup.Deduplicator(ids=ids), neardup.Deduplicator(ids=ids)
        of.add_many(zip(names, texts))
        d.add_many(Chunks([table(numbers(names[:9], form, code) if ids is int else strings(names[:9]), strings(texts[:9])), table(numbers(names[9:], form, code) if ids is int else strings(names[9:]), strings(texts[9:]))]))
        assert list(d) == names and sorted(d.pairs()) == sorted(of.pairs())
    del d, of
    gc.collect()


def test_no_texts():
    for column in (strings([]), Chunks([strings([], "U")]), Column("u", [None, None, None], 0)):
        assert neardup.dedup(column).kept == [] and neardup.sum64_many(column) == [] and len(neardup.sign_many(column)) == 0
    with neardup.Deduplicator(ids=str) as d:
        d.add_many(table(strings([]), strings([])))
        assert len(d) == 0


def test_errors(texts):
    with_null = Column("u", [b"\xfb\xff", offsets([b"x"] * 9, "i"), b"x" * 9], 9, nulls=1)
    damaged = Column("U", [None, struct.pack("=3q", 0, 5, 3), b"12345"], 2)
    views = Column("vu", [None, struct.pack("=i4sii", 20, b"abcd", 3, 0), b"x" * 20, struct.pack("=q", 20)], 1)
    for column, says in (
        (with_null, "text 2 is null"), (Chunks([strings(texts[:3]), with_null]), "text 5 is null"), (damaged, "damaged"), (views, "damaged"),
        (numbers([1, 2]), 'no texts, but values of the type "l"'), (table(strings(texts, name="title"), strings(texts, name="body")), r'choose the column.*"title" "body"'),
        (Chunks([strings(texts[:3])], "the disk has gone"), "the disk has gone"),
    ):
        with pytest.raises(neardup.NeardupError, match=says):
            neardup.dedup(column)
        with pytest.raises(neardup.NeardupError, match=says):
            neardup.sum64_many(column)
    for ids, column, says in (
        (int, table(strings(texts), strings(texts)), "ids=str"), (str, table(numbers([1]), strings(["x"])), "ids=int"), (int, strings(texts), "two columns"),
        (int, table(numbers([2**63], "L", "Q"), strings(["x"])), "64 bits"), (int, table(numbers([0.5], "g", "d"), strings(["x"])), "integers or texts"),
    ):
        with neardup.Deduplicator(ids=ids) as d, pytest.raises(neardup.NeardupError, match=says):
            d.add_many(column)

    class Frame:
        columns = ["title", "body"]

        def __iter__(self):
            return iter(self.columns)

    for wrong in (Frame(), {"a": "b"}, "text"):
        with pytest.raises(TypeError):
            neardup.dedup(wrong)
        with pytest.raises(TypeError):
            neardup.sum64_many(wrong)
        with pytest.raises(TypeError):
            list(neardup.passages(wrong))


def test_pandas_and_numpy(texts):
    want = shown(neardup.dedup(texts))
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    assert shown(neardup.dedup(numpy.array(texts))) == want
    frame = pandas.DataFrame({"id": range(len(texts)), "text": texts})
    assert shown(neardup.dedup(frame["text"])) == want
    with pytest.raises((TypeError, neardup.NeardupError), match="choose the column"):
        neardup.dedup(frame)
    with pytest.raises(TypeError, match="text of id 1 is not str"):
        neardup.dedup(pandas.Series(["a", None]))
    with neardup.Deduplicator() as d:
        d.add_many(zip(frame["id"], frame["text"]))
        assert len(d) == len(texts)
    kept = frame.iloc[neardup.dedup(frame["text"]).kept]
    assert len(kept) == len(want[0])
    signatures = numpy.asarray(neardup.sign_many(frame["text"])).reshape(-1, 128)
    assert signatures.shape == (len(texts), 128)


@pytest.mark.parametrize("library", ["pyarrow", "polars", "duckdb"])
def test_libraries(texts, library):
    lib = pytest.importorskip(library)
    want = shown(neardup.dedup(texts))
    if library == "pyarrow":
        columns = [lib.array(texts), lib.chunked_array([texts[:5], texts[5:]]), lib.table({"text": texts}), lib.array(texts).dictionary_encode()]
    elif library == "polars":
        columns = [lib.Series(texts), lib.DataFrame({"text": texts}), lib.DataFrame({"text": texts})["text"].cast(lib.Categorical)]
    else:
        pytest.importorskip("pyarrow")
        columns = [lib.sql("SELECT unnest($1) AS text", params=[texts])]
    for column in columns:
        assert shown(neardup.dedup(column)) == want
