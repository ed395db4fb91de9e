"""Tensors in the arguments and results of a module, in JAX's order."""

import collections
import dataclasses
from typing import Any, NamedTuple

import pytest
import torch

from jaxgrad.parity.prove.record.torch_side import trees


A, B = torch.zeros(1), torch.ones(1)


class Pair(NamedTuple):
    second: Any
    first: Any


@dataclasses.dataclass
class Output:
    logits: Any
    extra: Any


@pytest.mark.parametrize(
    ("tree", "paths"),
    [
        (A, [""]),
        ((A, [B, A]), ["0", "1/0", "1/1"]),
        ({"b": A, "a": B}, ["a", "b"]),
        ({10: A, 9: B}, ["10", "9"]),
        (collections.OrderedDict(b=A, a=B), ["b", "a"]),
        (Pair(A, (B,)), ["second", "first/0"]),
        (Output(A, {"x": B}), ["extra/x", "logits"]),
        ((Output, None, "text", 3.0), []),
        (torch.distributions.Categorical(probs=B), ["probs"]),
        (
            torch.distributions.Independent(torch.distributions.Normal(A, B), 1),
            ["base_dist/loc", "base_dist/scale"],
        ),
        (torch.distributions.Beta(B, B), ["_dirichlet/concentration"]),
    ],
)
def test_the_tensors_of_an_output_have_paths(tree, paths):
    """A dict is sorted as JAX sorts it, and so is a dataclass; other mappings keep their order."""
    assert [path for path, _ in trees.flat_outputs(tree)] == paths


def test_the_leaves_of_arguments_are_in_jaxs_order():
    """Every mapping is sorted, and anything that is not a container is a leaf."""
    tree = ({"b": 1, "a": [2, (3,)]}, collections.OrderedDict(z=4, y=None), Output(5, 6))

    assert list(trees.leaves(tree))[:-1] == [2, 3, 1, None, 4]
    assert isinstance(list(trees.leaves(tree))[-1], Output)


@pytest.mark.parametrize(
    ("dtype", "inexact"),
    [(torch.float16, True), (torch.complex64, True), (torch.int64, False), (torch.bool, False)],
)
def test_floating_and_complex_tensors_are_inexact(dtype, inexact):
    """Integers and booleans have no gradient."""
    assert trees.is_inexact(torch.zeros(1, dtype=dtype)) == inexact
