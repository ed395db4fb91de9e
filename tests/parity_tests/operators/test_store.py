"""A stored program is loaded if nothing changed, and never in place of a different program."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests.audits.mutants import VARIABLE
from parity_tests.operators import load
from parity_tests.operators._harness import store as _store
from parity_tests.operators._harness.grid import check


X = jnp.arange(3.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "programs" / "some.bin"


def run(fun, path, key="a state of the sources"):
    """Return the program's output, whether it was traced, and the file's content."""
    traced = []

    def program(x):
        traced.append(x)
        return fun(x)

    output = _store.compiled(program, X, {}, key, path, {})(X)
    return output.tolist(), bool(traced), path.read_bytes() if path.exists() else b""


def double(x):
    return 2 * x


def test_nothing_changed(path):
    """On the second run, an unchanged program is neither traced nor compiled."""
    assert run(double, path)[:2] == ([0.0, 2.0, 4.0], True)
    assert run(double, path)[:2] == ([0.0, 2.0, 4.0], False)


def test_another_state_of_the_same_program(path):
    """After the sources are edited, an unchanged program is traced but not compiled again."""
    *_, first = run(double, path)
    output, traced, second = run(double, path, key="another")

    assert (output, traced) == ([0.0, 2.0, 4.0], True)
    assert first != second
    left, right = (pickle.loads(content) for content in (first, second))
    assert (left[0], right[0]) == ("a state of the sources", "another")
    assert left[1:] == right[1:]
    assert not run(double, path, key="another")[1]


def test_another_machine(path, monkeypatch):
    """On another machine or version, the same program is compiled instead of loaded."""
    *_, first = run(double, path)
    monkeypatch.setattr(_store, "_machine", lambda: "another")
    *_, second = run(double, path, key="another")

    left, right = (pickle.loads(content) for content in (first, second))
    assert left[1] != right[1]


def test_another_program(path):
    """A different program replaces the stored one."""
    run(double, path)

    assert run(jnp.square, path, key="another")[:2] == ([0.0, 1.0, 4.0], True)


@pytest.mark.parametrize("broken", [b"", b"no pickle", b"half"])
def test_a_broken_file(path, broken):
    """A broken file is written again, and the next run loads it."""
    *_, whole = run(double, path)
    path.write_bytes(whole[: len(whole) // 2] if broken == b"half" else broken)

    assert run(double, path)[:2] == ([0.0, 2.0, 4.0], True)
    assert not run(double, path)[1]


def test_a_mutant_reads_and_writes_nothing(path, monkeypatch):
    """A mutant neither reads nor writes the file, because its change is only in memory."""
    *_, before = run(double, path)
    monkeypatch.setenv(VARIABLE, "some/file.py:1")

    assert run(jnp.square, path) == ([0.0, 1.0, 4.0], True, before)


def test_exceptions_of_tracing_are_stored(path):
    """A loaded program reports the exceptions that tracing raised when it was stored."""
    raised = {}

    def program(x):
        raised[1] = "a reason"
        return x

    _store.compiled(program, X, {}, "key", path, raised)
    again = {}
    _store.compiled(program, X, {}, "key", path, again)

    assert raised == again == {1: "a reason"}


def test_the_key():
    """The key depends on the functions, the calls, the shapes and the dtypes."""
    keys = {
        _store.key(funs, labels, inputs)
        for funs in ([jnp.abs], [jax.nn.relu])
        for labels in (["drawn 0"], ["drawn 0", "point"])
        for inputs in (np.ones(2), np.ones(3), np.ones(2, np.float32))
    }

    assert len(keys) == 12
    assert _store.key([jnp.abs], ["drawn 0"], np.ones(2)) in keys


@pytest.mark.slow
def test_an_operator_twice(monkeypatch, tmp_path):
    """A run from the stored program gives the same outcome as a fresh one, even with LAPACK."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "jax"))
    record = load()["linalg.qr"]

    assert check(record) == check(record)
    assert _store.file("linalg.qr").exists()
