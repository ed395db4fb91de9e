"""A proof opens a module, or the path of a dump."""

import pathlib
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import ProofError, dump
from jaxgrad.parity.prove.record.torch_side.factory import open_torch_side
from jaxgrad.parity.prove.request import Request


INPUTS = (np.ones((2, 3)),)


@pytest.fixture(scope="module")
def path(tmp_path_factory: Any) -> pathlib.Path:
    path = tmp_path_factory.mktemp("dumps") / "model.npz"
    dump(nn.Linear(3, 2), INPUTS, path)
    return path


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_a_path_opens_a_dump(path, kind):
    """A dump has no module to run again, and contains its inputs."""
    side = open_torch_side(Request(kind(path), None))

    assert side.module is None
    np.testing.assert_array_equal(side.inputs[0], INPUTS[0])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"inputs": INPUTS}, "already contains the inputs: leave inputs= out"),
        ({"outputs": (lambda y: y, None)}, "torch's outputs are selected when the dump is written"),
    ],
    ids=["inputs", "outputs"],
)
def test_a_dump_takes_no_inputs_and_no_outputs_of_torch(path, options, text):
    """Inputs and outputs are refused with a dump, because they were given when it was written."""
    with pytest.raises(ProofError, match=text):
        open_torch_side(Request(path, None, **options))


def test_a_module_is_run_with_the_requests_functions():
    """torch's functions of the pairs, the inputs and the seed are the request's."""
    module = nn.Linear(3, 2)
    request = Request(
        module, None, None, INPUTS, outputs=(lambda y: y[:, :1], None),
        loss=(lambda y: y.sum(), None), seed=3,
    )  # fmt: skip
    side = open_torch_side(request)
    try:
        assert side.seed == 3
        assert side.has_loss
        assert side.module is module
        (run,) = [d.run for d in side.drawn(["weight", "bias"])[:1]]
        assert [x.shape for x in run.outputs.values()] == [(2, 1), ()]
    finally:
        side.close()
    assert module.weight.dtype == torch.float32


@pytest.mark.parametrize(("name", "text"), [("torch", "prove runs the torch module"), ("sth", "x")])
def test_a_missing_torch_is_explained(monkeypatch, name, text):
    """Another missing module is not torch's."""
    import builtins

    real = builtins.__import__

    def missing(module: str, *rest: Any) -> Any:
        if module.endswith("torch_side.live"):
            raise ModuleNotFoundError("x", name=name)
        return real(module, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ModuleNotFoundError, match=text):
        open_torch_side(Request(nn.Linear(3, 2), None, None, INPUTS))
