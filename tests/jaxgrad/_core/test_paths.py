"""The paths of leaves as text, and the errors for a path that does not exist."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from jaxgrad._core import paths


class Pair(NamedTuple):
    """A node whose leaves have the names of a flax variable's."""

    value: Any
    raw_value: Any


class Layers(nnx.Module):
    """A module with a list, a tree in one variable, and a key."""

    def __init__(self, rngs: nnx.Rngs):
        self.layers = nnx.List([nnx.Linear(2, 2, rngs=rngs)])
        self.tree = nnx.Param({"value": jnp.ones(2), "x": [jnp.ones(1)]})
        self.dropout = nnx.Dropout(0.5, rngs=rngs)


def test_a_path_joins_the_keys():
    """Dicts, lists, named tuples and equinox modules have one form of path."""
    tree = {"a": [1, {"b": 2}], "c": Pair(3, (4,)), "d": eqx.nn.Linear(2, 3, key=jax.random.key(0))}
    names = [name for name, _ in paths.named(tree)]

    assert names == ["a/0", "a/1/b", "c/value", "c/raw_value/0", "d/weight", "d/bias"]
    assert paths.named(5) == [("", 5)]


def test_a_state_of_flax_has_the_paths_of_its_pure_dict():
    """The key `value` of a variable is left out, and every other key of that name is kept."""
    state = nnx.split(Layers(nnx.Rngs(0)))[1]
    names = [name for name, _ in paths.named(state)]

    assert "layers/0/bias" in names and {"tree/value", "tree/x/0"} <= {*names}
    assert names == [name for name, _ in paths.named(nnx.to_pure_dict(state))]
    keys = [keys for keys, _ in jax.tree_util.tree_leaves_with_path(state)]
    assert paths.by_keys(state) == dict(zip(keys, names, strict=True))


def test_a_variable_can_be_a_leaf():
    """A node that `is_leaf` accepts is not opened, and None can be a leaf below a variable."""
    state = nnx.State({"a": nnx.Param(jnp.ones(1)), "b": nnx.Param(None)})
    (first, variable), _ = paths.named(state, is_leaf=lambda x: isinstance(x, nnx.Variable))
    assert first == "a" and isinstance(variable, nnx.Param)

    assert [name for name, _ in paths.named(state)] == ["a"]
    assert paths.named(state, is_leaf=lambda x: x is None)[1] == ("b", None)


def test_a_function_is_mapped_over_trees_with_the_path():
    """The other trees follow the structure of the first."""
    state = nnx.State({"a": nnx.Param(1.0), "b": {"c": nnx.Param(2.0)}})
    out = paths.map_named(lambda name, x, y: (name, x + y), state, state)

    assert out["a"].get_value() == ("a", 2.0) and out["b"]["c"].get_value() == ("b/c", 4.0)


NAMES = ["encoder/layers/0/attention/bias", "encoder/layers/0/attention/kernel", "head/bias"]
NAMES += ["head/kernel", "norm/scale"]


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("*/baias", "'encoder/layers/0/attention/bias', 'head/bias'"),
        ("head.", "'head/bias', 'head/kernel'"),
        ("encoder.layers.0", "'encoder/layers/0/attention/bias'"),
        ("scal", "'norm/scale'"),
    ],
)
def test_the_nearest_paths_are_listed(word, first):
    """A word is compared with each part of a path, also if it is written with dots."""
    text = paths.no_match("the glob", NAMES, [word])

    assert text.startswith(f"the glob matches no leaf. The nearest paths are {first}")
    assert text.endswith(", of 5. A path joins the keys of a leaf with '/', as in 'encoder/0/bias'")


def test_few_paths_are_listed_in_their_order():
    """Up to four paths are all listed; without a word, the first four."""
    assert paths.nearest(NAMES[3:], ["scale"]) == "The paths are 'head/kernel', 'norm/scale'"
    assert paths.nearest(NAMES) == f"The paths are {str(NAMES[:4])[1:-1]} and 1 more"
    assert paths.nearest(NAMES[:1], kind="names") == f"The names are {NAMES[0]!r}"


def test_the_words_of_a_predicate():
    """Strings of the code, of nested functions, of the closure and of a partial are words."""
    prefix = "head"

    def predicate(name: str) -> bool:
        """This is no word."""
        return name.startswith(prefix) or any(name.endswith(x) for x in ("bias", "scale"))

    bound = functools.partial(lambda end, name: name.endswith(end), "kernel")

    assert {"head", "bias", "scale"} == {*paths.words_of(predicate)}
    assert paths.words_of(bound) == ["kernel"] and paths.words_of(str.isupper) == []


def test_a_leaf_of_an_argument():
    """An argument that is a leaf itself has no path."""
    assert paths.of_argument(1, "a/b") == "'a/b' of argument 1"
    assert paths.of_argument(0, "") == "argument 0"
