"""Every class of `torch.nn` is offered or has a reason, and the alternatives are equal."""

import re

import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx

from jaxgrad import nnx as layers
from parity_tests.site.torch_names import layers as page


def test_every_layer_of_torch_is_offered_or_has_one_reason():
    """A layer that a new torch adds must be offered, or listed with what to use instead."""
    found = {name: len(reasons) for name, reasons in page.lacking().items()}
    wrong = [name for name, count in found.items() if count != 1]
    assert not wrong, (
        f"offer {wrong} in jaxgrad.nnx, or give each one reason in {page.__name__}.REASONS"
    )


def test_every_reason_covers_a_class():
    """A reason whose classes have all been added or removed is stale."""
    used = {reasons[0] for reasons in page.lacking().values()}
    assert [r.text for r in page.REASONS if r not in used] == []


def test_the_page_of_layers_is_up_to_date():
    """`docs/torch_layers.md` has the text that the lists give for the pinned torch."""
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), (
        "run python -m parity_tests.site.torch_names.layers"
    )


def test_lists_and_dicts_of_parameters_have_torchs_keys():
    """`nnx.List` and `nnx.Dict` of `nnx.Param` load the state dicts of torch's classes."""
    tensors = [torch.ones(2), torch.zeros(3)]
    wanted = torch.nn.ParameterList(map(torch.nn.Parameter, tensors)).state_dict()
    model = nnx.List([nnx.Param(np.full(x.shape, 9.0)) for x in tensors])
    assert layers.load_state_dict(model, wanted) == ([], [])
    np.testing.assert_array_equal(model[1][...], np.zeros(3))
    wanted = torch.nn.ParameterDict({"a": torch.nn.Parameter(tensors[0])}).state_dict()
    assert layers.load_state_dict(nnx.Dict(a=nnx.Param(np.zeros(2))), wanted) == ([], [])


def test_torchs_legacy_normalisation_keeps_the_first_channel():
    """`CrossMapLRN2d` agrees with `LocalResponseNorm` until the window has left channel 0."""
    x = np.random.default_rng(0).normal(size=(2, 5, 3, 3))
    options = (3, 0.1, 0.6, 2.0)
    legacy = torch.nn.CrossMapLRN2d(*options)(torch.tensor(x)).numpy()
    ours = np.asarray(layers.LocalResponseNorm(*options)(jnp.asarray(x)))
    wanted = torch.nn.LocalResponseNorm(*options)(torch.tensor(x)).numpy()
    np.testing.assert_allclose(ours, wanted, rtol=1e-12)
    np.testing.assert_allclose(ours[:, :2], legacy[:, :2], rtol=1e-12)
    assert (abs(ours[:, 2:] - legacy[:, 2:]) > 1e-9).all()


def test_the_example_of_the_page_runs():
    """The model of the page has torch's outputs, and its state dict goes both ways."""
    (block,) = re.findall(r"```python\n(.*?)```", page.PAGE.read_text(), re.DOTALL)

    exec(compile(block, "torch_layers.md", "exec"), {"__name__": "page"})
