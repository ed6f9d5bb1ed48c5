"""Tests of the installed package. The Go test beside them computes what the Go library says, to the bit, in NEARDUP_EXPECTED."""

import copy
import doctest
import gc
import json
import multiprocessing
import os
import pickle
import re
import signal
import struct
import subprocess
import sys
import threading
import time

import pytest

import neardup


@pytest.fixture(scope="module")
def expected():
    with open(os.environ["NEARDUP_EXPECTED"], encoding="utf-8") as f:
        return json.load(f)


@pytest.fixture(scope="module")
def d(expected):
    with neardup.Deduplicator() as d:
        d.add_many(enumerate(expected["Texts"]))
        yield d


def bits(x):
    return struct.pack(">d", x).hex()


def test_installed():
    assert "site-packages" in neardup.__file__


def test_functions(expected):
    texts = expected["Texts"]
    assert neardup.version() == expected["Version"]
    assert [f"{neardup.sum64(t):016x} {neardup.sum128(t):032x}" for t in texts] == expected["Sums"]
    assert neardup.sum64_many(iter(texts)) == [neardup.sum64(t.encode()) for t in texts]
    assert list(neardup.sign(texts[0])) == expected["Signature"]
    signatures = neardup.sign_many(texts)
    some = [signatures[i : i + 128] for i in range(0, len(signatures), 128)]
    assert [bits(neardup.jaccard(a, b)) for a, b in zip(some, some[1:])] == expected["Jaccard"]
    assert neardup.jaccard(list(some[0]), list(some[1])) == neardup.jaccard(some[0], some[1])
    assert neardup.distance(0b1011, 0b0001) == 2
    with pytest.raises(ValueError):
        neardup.jaccard(some[0], some[1][:16])
    with pytest.raises(neardup.NeardupError, match="values"):
        neardup.sign("a", values=5)


def test_tokenizers(expected):
    texts = expected["Texts"][:20]
    for tokenizer, sums in expected["Tokenizers"].items():
        assert [f"{s:016x}" for s in neardup.sum64_many(texts, tokenizer)] == sums
        assert [f"{neardup.sum64(t, tokenizer=tokenizer):016x}" for t in texts] == sums
        assert neardup.sign_many(texts[:1], tokenizer=tokenizer) == neardup.sign(texts[0], tokenizer=tokenizer)
    assert len({neardup.version(t) for t in expected["Tokenizers"]}) == len(expected["Tokenizers"])
    for wrong in ("words0", "word", "chars", "3", "words-1", "chars99999999999999999999"):
        with pytest.raises(neardup.NeardupError):
            neardup.sum64("a", tokenizer=wrong)


def test_pairs(d, expected):
    assert [[str(p.a), str(p.b), bits(p.similarity), bits(p.probability), str(p.kind)] for p in d.pairs()] == expected["Pairs"]
    assert len(expected["Pairs"]) > 50


@pytest.mark.parametrize("linkage", ["centre", "complete", "single"])
def test_groups(d, expected, linkage):
    groups = d.groups(linkage)
    assert [[g.keep, *g.members] for g in groups] == expected["Groups"][linkage]
    for g in groups:
        assert [m.id for m in g.matches] == g.members and g.keep in g.members


def test_prefer(d):
    for g in d.groups("single", prefer="first"):
        assert g.keep == min(g.members)
    with pytest.raises(ValueError):
        d.groups(prefer="best")
    with pytest.raises(ValueError, match="linkage"):
        d.groups("chain")


def test_families(d, expected):
    got = [[f.members, f.form, f.filled] for f in d.families()]
    assert got == [[f["Members"], f["Form"], f["Filled"]] for f in expected["Families"]] and got


def test_search(d, expected):
    cut = [t.encode()[9:] for t in expected["Texts"][:40]]
    found = d.search_many(cut)
    assert [[str(m.id), bits(m.similarity), bits(m.probability), str(m.kind)] for f in found for m in f] == expected["Found"]
    assert d.search(cut[0]) == found[0]


def test_explain(d, expected):
    a, b = map(int, expected["Pairs"][0][:2])
    e = d.explain(a, b)
    assert str(e) == expected["Explained"]
    assert e.duplicate and e.compared and abs(sum(adds for _, _, adds in e.evidence)) > 0 and e.features
    assert str(d.estimate()) == expected["Estimate"]
    with pytest.raises(neardup.NeardupError):
        d.explain(a, 10**9)


def test_dedup(expected):
    texts = expected["Texts"]
    r = neardup.dedup(texts)
    assert sorted(r.kept + r.removed) == list(range(len(texts)))
    assert r.removed == sorted(i for g in expected["Groups"]["centre"] for i in g[1:] if i != g[0])
    assert len(list(r.pairs())) == len(expected["Pairs"]) and r.estimate().pairs == len(expected["Pairs"])
    assert repr(r).startswith("<neardup.Result: ")
    assert not neardup.dedup(iter(())).kept


def test_ids():
    with neardup.Deduplicator(ids=str) as d:
        d.add("ä\n", "one two three four five")
        d.add_many(iter([("b", "one two three four five"), ("", b"\xff not UTF-8"), ("c", "\ud800 half of a pair")]))
        assert list(d) == ["ä\n", "b", "", "c"] and len(d) == 4 and "b" in d and "x" not in d and 1 not in d
        assert [(p.a, p.b, p.kind) for p in d.pairs()] == [("ä\n", "b", neardup.Kind.IDENTICAL)]
        assert d.text("b") == "one two three four five" and d.text("x") is None
        assert d.delete("b") and not d.delete("b") and not list(d.pairs())
        with pytest.raises(TypeError):
            d.add(1, "one")
    with neardup.Deduplicator() as d:
        d.add(-(2**63), "a")
        d.add(2**63 - 1, "a")
        assert list(d) == [-(2**63), 2**63 - 1]
        for id, error in ((2**63, OverflowError), ("a", TypeError), (1.5, TypeError)):
            with pytest.raises(error):
                d.add(id, "a")
        for text in (None, 3, ["a"]):
            with pytest.raises(TypeError):
                d.add(1, text)
    with pytest.raises(TypeError):
        neardup.Deduplicator(ids=float)


def test_add_if_new():
    with neardup.Deduplicator() as d:
        assert d.add_if_new(1, "The lamp in Mill Lane has been dark for two weeks.") == (True, [])
        added, (m,) = d.add_if_new(2, "THE LAMP in Mill Lane has been dark for two weeks!")
        assert (added, m.id, m.kind) == (False, 1, neardup.Kind.SAME_WORDS) and len(d) == 1
        assert d.add_if_new(1, "something else entirely") == (False, [])
        with pytest.raises(ValueError):
            d.add_if_new(3, "a", n=0)


def test_since():
    with neardup.Deduplicator() as d:
        d.add_many((i, "the same text each time") for i in range(3))
        n = d.next_sequence()
        d.add(9, "the same text each time")
        assert {(p.a, p.b) for p in d.pairs(since=n)} == {(0, 9), (1, 9), (2, 9)}


def test_options():
    texts = [f"invoice number {i} of our shop, payable within thirty days" for i in range(4)] + ["invoice number 17 of our shop, payable within thirty days!"]
    assert {p.kind for p in neardup.Deduplicator(similarity=0.1).pairs()} == set()
    with neardup.Deduplicator(kinds=neardup.Kind.ALL) as d:
        d.add_many(enumerate(texts))
        assert neardup.Kind.SAME_FORM in {p.kind for p in d.pairs()}
    for options in ({"probability": 2}, {"similarity": -1}, {"bias": 99}):
        with pytest.raises(neardup.NeardupError):
            neardup.Deduplicator(**options)
    for options in ({"probability": float("nan")}, {"bias": float("inf")}, {"memory": 2**70}, {"kinds": neardup.Kind(0)}, {"kinds": 64}, {"kinds": -1}, {"path": ""}):
        with pytest.raises(ValueError):
            neardup.Deduplicator(**options)
    for options in ({"probability": "x"}, {"memory": 1.5}, {"kinds": "all"}, {"ids": "int"}):
        with pytest.raises(TypeError):
            neardup.Deduplicator(**options)
    with pytest.raises(ValueError):
        neardup.dedup(iter(lambda: 1 / 0, 1), linkage="chain")  # before any text is read
    assert str(neardup.Kind.SAME_FORM | neardup.Kind.REVISED) == "same-form,revised" and str(neardup.Kind(0)) == "none"


def test_files(tmp_path):
    path = tmp_path / "pages"
    with neardup.open(path, ids=str) as d:
        d.add("a", "one two three four five six")
        with pytest.raises(neardup.NeardupError):
            neardup.open(path, ids=str)
        d.sync()
        d.compact()
    d.close()
    with pytest.raises(ValueError, match="closed"):
        len(d)
    with neardup.open(path, ids=str) as d:
        assert [m.id for m in d.search("one two three four five six")] == ["a"]
    with pytest.raises(neardup.NeardupError):
        neardup.open(path)  # with ids of another type


def test_threads():
    texts = [f"number {i % 50} of the texts that several threads add, and {i} more words" for i in range(400)]
    with neardup.Deduplicator() as d:
        threads = [threading.Thread(target=lambda k=k: [d.add(i, texts[i]) for i in range(k, 400, 4)]) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        got = {frozenset((p.a, p.b)) for p in d.pairs()}
    with neardup.Deduplicator() as d:
        d.add_many(enumerate(texts))
        assert got == {frozenset((p.a, p.b)) for p in d.pairs()}


def test_left_loop(d):
    """Leaving the loop over pairs ends the search, and the Deduplicator goes on."""
    for _ in range(50):
        for _ in d.pairs():
            break
    assert len(list(d.pairs())) > 50


def test_ctrl_c():
    """Ctrl-C ends a long call soon, although the interpreter is waiting for Go."""
    program = """if True:
        import neardup, os, random, signal, threading, time
        random.seed(1)
        frame = [str(random.random()) for _ in range(200)]
        d = neardup.Deduplicator()
        d.add_many((i, " ".join(frame[:100] + [str(random.random()) for _ in range(12)] + frame[100:])) for i in range(3000))
        threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.time()
        try:
            n = sum(1 for _ in d.pairs())
            print("done", n)
        except KeyboardInterrupt:
            print("interrupted after", round(time.time() - start, 1))
    """
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert out.stdout.startswith("interrupted after") and float(out.stdout.split()[-1]) < 10, out


def _in_child(queue):
    try:
        queue.put(neardup.sum64("a b c"))
    except RuntimeError as err:
        queue.put(str(err))


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_processes(how):
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {how} here")
    context = multiprocessing.get_context(how)
    queue = context.Queue()
    process = context.Process(target=_in_child, args=(queue,))
    process.start()
    got = queue.get(timeout=60)
    process.join(60)
    assert process.exitcode == 0
    if how == "fork":
        assert "spawn" in got
    else:
        assert got == neardup.sum64("a b c")


def test_lock_is_released():
    """Another thread of Python goes on while Go works."""
    texts = [" ".join(f"w{i * 7919 % 9973 + k}" for k in range(200)) for i in range(3000)]
    turns, stop = [0], threading.Event()

    def turn():
        while not stop.is_set():
            turns[0] += 1
            time.sleep(0.001)

    t = threading.Thread(target=turn)
    t.start()
    before = turns[0]
    neardup.dedup(texts)
    after = turns[0]
    stop.set()
    t.join()
    assert after - before > 5


def test_docstrings():
    for module in (neardup, neardup._dedup, neardup._functions, neardup._index):
        assert doctest.testmod(module).failed == 0
    for name in neardup.__all__:
        assert getattr(neardup, name).__doc__, name


def test_coming_from(expected):
    """The last column of the table in docs/coming-from.md works."""
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "coming-from.md")
    with open(page, encoding="utf-8") as f:
        section = f.read().split("\n## From Python\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\|.*\| `(.+)` \|$", section, re.M)
    assert len(rows) == 10
    for row in rows:
        eval(row, {"neardup": neardup, "texts": expected["Texts"]})


def test_index(expected):
    texts = expected["Texts"][:80]
    sums = neardup.sum64_many(texts)
    for ids in (int, str):
        with neardup.Index(10, ids=ids) as ix:
            ix.add_many((ids(i), s) for i, s in enumerate(sums))
            assert len(ix) == 80
            brute = {(a, b): neardup.distance(sums[a], sums[b]) for b in range(80) for a in range(b) if neardup.distance(sums[a], sums[b]) <= 10}
            assert {(int(p.a), int(p.b)): p.distance for p in ix.pairs()} == brute and brute
            for q, found in zip(sums, ix.search_many(sums)):
                assert {int(n.id): n.distance for n in found} == {i: neardup.distance(q, s) for i, s in enumerate(sums) if neardup.distance(q, s) <= 10}
                assert ix.search(q) == found
            assert [n.distance for n in ix.nearest(sums[0], 5)] == sorted(neardup.distance(sums[0], s) for s in sums)[:5]
            assert ix.groups("single") and ix.delete(ids(0)) and not ix.delete(ids(0)) and len(ix) == 79
    for value in (-1, 2**64):
        with pytest.raises(OverflowError):
            neardup.Index().add(1, value)
    with pytest.raises(neardup.NeardupError):
        neardup.Index(65)


def test_signature_index(expected, tmp_path):
    texts = expected["Texts"][:80]
    signatures = [neardup.sign(t) for t in texts]
    with neardup.SignatureIndex(0.7, tmp_path / "signatures", ids=str) as ix:
        ix.add_many((str(i), s) for i, s in enumerate(signatures))
        found = {(int(p.a), int(p.b)): p.similarity for p in ix.pairs()}
        brute = {(a, b): neardup.jaccard(signatures[a], signatures[b]) for b in range(80) for a in range(b)}
        brute = {k: v for k, v in brute.items() if v >= 0.7}
        assert set(found) <= set(brute) and len(found) >= 0.9 * len(brute) and all(found[k] == brute[k] for k in found) and found
        assert ix.search(list(signatures[3]))[0].similarity == 1
        assert ix.nearest(signatures[3], 4)[0].similarity == 1
        with pytest.raises(neardup.NeardupError, match="signatures"):
            ix.search(signatures[3][:50])
    with neardup.SignatureIndex(0.7, tmp_path / "signatures", ids=str) as ix:
        assert len(ix) == 80


def test_passages():
    licence = "Permission is hereby granted, free of charge, to any person who obtains a copy of this software and its documentation files, to deal in it without restriction."
    texts = ["Über alles Mögliche. " + licence, ("中文 " + licence + " end").encode(), "nothing in common with the others at all", licence + " \ud800 " + licence]
    (p,) = neardup.passages(iter(texts), words=20)
    assert (p.documents, [q.text for q in p.places]) == (3, [0, 1, 3, 3])
    for q in p.places:
        part = texts[q.text][q.start : q.end]
        assert (part if isinstance(part, str) else part.decode()).rstrip(".") == licence.rstrip(".")
    with pytest.raises(neardup.NeardupError, match="length"):
        list(neardup.passages(texts, words=-1))


def test_decontaminate():
    items = [["How many bones has a human hand, counted without those of the wrist and the arm?", "Nineteen of them, as every student of medicine has to know by heart at the end of the year"], "A text that nobody has ever put into any collection of texts for training a model"]
    texts = ["Ünrelated.", "Ü: " + items[0][0] + " Answer: " + items[0][1], b"x " * 50, "and " + items[1][:-12]]
    found = list(neardup.decontaminate(items, texts))
    assert [(k.text, k.item, k.part, k.shared == k.tokens) for k in found] == [(1, 0, 0, True), (1, 0, 1, True), (3, 1, 0, False)]
    (q,) = found[0].places
    assert texts[1][q.start : q.end] == items[0][0].rstrip("?")
    assert list(neardup.decontaminate([], texts)) == [] and list(neardup.decontaminate(items, [])) == []


def test_ids_come_back():
    """Ids that are not valid Unicode are told apart, and numbers that are no int are ids if they are whole."""
    with neardup.Deduplicator(ids=str) as d:
        d.add("\ud800", "one two three")
        d.add("\ud801", "four five six")
        assert list(d) == ["\ud800", "\ud801"] and "\ud801" in d and d.delete("\ud800") and len(d) == 1

    class Whole:
        def __index__(self):
            return 7

    with neardup.Deduplicator() as d:
        d.add(Whole(), "one")
        assert 7 in d and Whole() in d and 10**30 not in d and "7" not in d


def test_one_text_is_not_several():
    for call in (neardup.dedup, neardup.sum64_many, lambda t: list(neardup.passages(t)), neardup.Deduplicator().search_many):
        for text in ("a text", b"a text"):
            with pytest.raises(TypeError, match="several"):
                call(text)
    with pytest.raises(TypeError, match="text 1 is not str or bytes, but float"):
        neardup.sum64_many(["a", 1.5])
    with pytest.raises(TypeError, match="the text of id 'x'"):
        neardup.Deduplicator(ids=str).add_many([("x", None)])
    assert neardup.sum64(bytearray(b"a b c")) == neardup.sum64("a b c")


def test_no_copies(expected):
    r = neardup.dedup(expected["Texts"][:20])
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        for x in (r.deduplicator, neardup.Index()):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                make(x)
    with pytest.raises(TypeError):
        pickle.dumps(r)
    assert "20 ids of type int" in repr(r.deduplicator)
    r.deduplicator.close()
    r.deduplicator.close()
    assert "closed" in repr(r.deduplicator)


@pytest.fixture
def interrupted(monkeypatch):
    """Makes an interrupt come right after the library has started or made something. Undo ends that."""
    lib = neardup._native._lib

    class Interrupted:
        def __getattr__(self, name):
            return getattr(lib, name)

        def neardup_start(self, *args):
            lib.neardup_start(*args)
            raise KeyboardInterrupt

        def neardup_make(self, *args):
            lib.neardup_make(*args)
            raise KeyboardInterrupt

    monkeypatch.setattr(neardup._native, "_lib", Interrupted())
    return monkeypatch


def test_interrupted_start(request):
    """An interrupt right after the library has started does not leave it reading memory that is gone."""
    with neardup.Deduplicator() as d:
        patched = request.getfixturevalue("interrupted")
        with pytest.raises(KeyboardInterrupt):
            d.add_many((i, "%08d " % i * 500) for i in range(3000))
        with pytest.raises(KeyboardInterrupt):
            neardup.Deduplicator()
        patched.undo()
        assert all(d.text(i) == "%08d " % i * 500 for i in d)


def test_files_after_interrupt(tmp_path, interrupted):
    with pytest.raises(KeyboardInterrupt):
        neardup.open(tmp_path / "pages")
    interrupted.undo()
    gc.collect()
    neardup.open(tmp_path / "pages").close()
    with pytest.raises(TypeError):
        neardup.open(None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_with_open_iterator():
    program = """if True:
        import neardup, os, sys
        r = neardup.dedup(["the same words again and again"] * 9000)
        pairs = r.pairs()
        next(pairs)
        if (pid := os.fork()) == 0:
            try:
                next(pairs)
                for _ in pairs: pass
                print("no error")
            except RuntimeError as err:
                print("spawn" in str(err), flush=True)
            sys.exit(0)
        print(os.waitpid(pid, 0)[1], flush=True)
    """
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert out.stdout.split()[-1] == "0", out
