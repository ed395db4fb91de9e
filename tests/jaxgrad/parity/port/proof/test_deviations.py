"""The docstring of a port lists the documented deviations that apply to the module."""

import pathlib
import re

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof.deviations import DEVIATIONS
from jaxgrad.parity.port.source.refusals import PortError


X = np.ones((2, 3), np.float32)
DOCS = pathlib.Path(__file__).parents[5] / "docs" / "behaviours.md"
NOT_IN_A_PORT = {
    "autograd/integer_input": "the port does not take the gradient",
    "autograd/per_sample_dropout": "a draw in torch's vmap is refused",
    "backward/non_scalar_without_cotangent": "the port does not take the gradient",
    "distributed/ddp_pmean_of_grads": "the wrapper is refused",
    "distributed/unused_parameters": "the wrapper is refused",
    "grad_modes/numpy": "`numpy()` is refused",
    "grad_modes/detach_backward": "the port does not take the gradient",
    "graph/grad_fn": "a module that reads its graph is refused",
    "graph/saved_derivative": "a module that reads its graph is refused",
    "graph/flag_on_non_leaf": "a module that sets flags is refused",
    "higher_order/no_create_graph": "an inner gradient is stopped as in torch",
    "mutation/leaked_activation": "a module that keeps a value is refused",
    "none_or_zero/rule_returns_none": "`from_function` returns None as torch does",
    "none_or_zero/unused_raises": "the port does not take the gradient",
    "retain_graph/second_backward": "the module makes no backward pass",
    "retain_graph/loop_outside": "the module makes no backward pass",
    "retain_graph/slices_outside": "the module makes no backward pass",
}


class InPlace(nn.Module):
    def forward(self, x):
        y = x * 2
        y.add_(1)
        return y.detach() + x


def header(module: nn.Module) -> str:
    return " ".join(port(module, (X,), prove=False).source.split('"""')[1].split())


def test_every_deviation_of_the_suite_is_listed_or_cannot_occur():
    """The table has the deviations in docs/behaviours.md that a port can have."""
    rows = re.findall(r"^\| (\S+) \|.*\| deviation \|$", DOCS.read_text(), re.M)
    listed = {name for d in DEVIATIONS for name in d.behaviours}
    assert listed | set(NOT_IN_A_PORT) == set(rows)
    assert not listed & set(NOT_IN_A_PORT)


def test_the_docstring_lists_what_applies_to_the_module():
    """A module that detaches and changes values in place has these deviations, a plain one not."""
    lines = {d.behaviours[0]: d.text for d in DEVIATIONS}
    changed, plain = header(InPlace()), header(nn.Linear(3, 2))
    for behaviour in ("mutation/inplace_saved", "grad_modes/detach_shares_storage"):
        assert lines[behaviour] in changed and lines[behaviour] not in plain
    assert "Differences from torch" not in plain


def test_layers_of_torch_do_not_count():
    """BatchNorm counts its batches in place, which is not the user's change of a saved value."""
    text = header(nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)))
    assert "changed in place" not in text


class PerSample(nn.Module):
    """Draws in torch's vmap."""

    def forward(self, x):
        def drop(row):
            return nn.functional.dropout(nn.functional.dropout(row, 0.5), 0.5)

        return torch.vmap(drop, randomness="different")(x)


def test_the_draws_of_vmap_concern_no_port():
    """A draw in torch's vmap is refused, and a module with dropout alone has no remark on it."""
    with pytest.raises(PortError, match="dropout raised RuntimeError: vmap: called random"):
        port(PerSample(), (X,), prove=False)
    assert "vmap" not in header(nn.Sequential(nn.Dropout(0.2), nn.Dropout(0.5)))


class Harmless(nn.Module):
    """Has an argument with the name of an attribute, a flag that is set, and a detached value."""

    def forward(self, data):
        x = data.detach().requires_grad_(True)
        return x * 2


def test_a_difference_is_listed_only_where_it_can_occur():
    """Shared memory shows in a change in place alone, and a flag is no such change."""
    text = header(Harmless())
    assert "through .data" not in text and "shares the memory" not in text
    assert "changed in place" not in text
