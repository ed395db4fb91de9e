"""The port has the views of a library function that only rearranges an array."""

import importlib
import sys
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from tests.jaxgrad.parity.port._ports import proves, source


LIBRARY = '''
"""Heads by words, as einops writes them: every size is computed, and then the views are made."""

import functools


@functools.lru_cache
def recipe(words, ndim):
    left, right = (side.split() for side in words.split("->"))
    if len(left) != ndim:
        raise ValueError("another number of dimensions")
    return [left.index(word) for word in right]


def sizes(shape, parts):
    found = []
    for n, part in enumerate(parts):
        length = shape[n]
        if length % part != 0:
            raise ValueError(f"{length} is no multiple of {part}")
        inferred = length // part
        found.append(inferred)
        if part != 1:
            found.append(part)
    return found


def rearrange(x, words, parts):
    """Split each dimension into parts, and order them by words."""
    lengths = sizes(x.shape, parts)
    x = x.reshape(lengths)
    order = recipe(words, ndim=len(x.shape))
    x = x.permute(order)
    return x


def scaled(x):
    """It computes, so it stays a function."""
    return (x * 2).reshape(x.shape)
'''
X = np.random.default_rng(0).standard_normal((2, 3, 8)).astype(np.float32)


@pytest.fixture(params=["site-packages"])
def library(tmp_path, monkeypatch, request):
    """A package that is neither torch nor the one of the module, in a folder of this name."""
    folder = tmp_path / request.param
    folder.mkdir()
    (folder / "wordwise.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module("wordwise")
    del sys.modules["wordwise"]


class Heads(nn.Module):
    def __init__(self, library: ModuleType):
        super().__init__()
        self.fc, self.library = nn.Linear(8, 8), library

    def forward(self, x):
        q, k = (self.split(t) for t in (self.fc(x), x))
        return torch.tanh(self.library.scaled(q) + k)

    def split(self, x):
        return self.library.rearrange(x, "b n h d -> b h n d", (1, 1, 4))


def test_the_views_are_written_where_the_function_is_called(library):
    """No function of the library is left but the one that computes."""
    text = source(Heads(library), X)
    assert "def rearrange" not in text and "def sizes" not in text and "recipe" not in text
    assert "x.reshape(x.shape[0] // 1, x.shape[1] // 1, x.shape[2] // 4, 4)" in text
    assert "def scaled" in text
    assert "no multiple" not in text and "assert " in text  # the number of dimensions


@pytest.mark.parametrize("library", ["project"], indirect=True)
def test_the_functions_of_the_author_stay_functions(library):
    """A helper in another file of the user is not a library."""
    text = source(Heads(library), X)
    assert "def sizes(shape):" in text


def test_the_views_have_torch_s_gradients(library):
    assert proves(Heads(library), X)


def test_another_size_is_proved(library):
    other = np.random.default_rng(1).standard_normal((4, 5, 8)).astype(np.float32)
    ported = port(Heads(library), (X,), also=[(other,)])
    assert ported.report is not None and ported.report.verdict == "pass"
