"""`state_dict` and `load_state_dict` have torch's keys, dtypes, strictness and error messages."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx

from jaxgrad import nnx as layers
from jaxgrad.parity.interop import to_numpy, to_torch
from tests.jaxgrad.nnx._helpers import Net, rngs


class TorchNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)])
        self.drop = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(4, 2)


def test_keys_of_nested_modules_are_torchs():
    """Keys contain list indices and skip dropouts, and batch counters are saved as int64."""
    saved = layers.state_dict(Net())
    wanted = TorchNet().state_dict()
    assert list(saved) == list(wanted)
    assert saved["layers.1.num_batches_tracked"].dtype == np.int64
    layers.load_state_dict(Net(), wanted)


PROBLEMS = {
    "missing": {"weight": np.zeros((4, 3))},
    "unexpected": {"weight": np.zeros((4, 3)), "bias": np.zeros(4), "kernel": np.zeros(2)},
    "shape": {"weight": np.zeros((3, 4)), "bias": np.zeros(4)},
    "all": {"weight": np.zeros((3, 4)), "kernel": np.zeros(2), "scale": np.zeros(1)},
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_strict_load_that_fails_has_torchs_message_and_writes_nothing(name):
    """A state dict with wrong keys or shapes raises torch's message and changes no parameter."""
    layer = layers.Linear(3, 4, rngs=rngs())
    before = layers.state_dict(layer)
    with pytest.raises(RuntimeError) as error:
        layers.load_state_dict(layer, PROBLEMS[name])
    with pytest.raises(RuntimeError) as torch_error:
        torch.nn.Linear(3, 4).load_state_dict(to_torch(PROBLEMS[name]))
    assert sorted(str(error.value).split("\n")) == sorted(str(torch_error.value).split("\n"))
    assert all((x == before[k]).all() for k, x in layers.state_dict(layer).items())


def test_a_load_that_is_not_strict_returns_missing_and_unexpected_keys():
    """With `strict=False`, mismatched keys are skipped and returned, but shapes must match."""
    layer = layers.Linear(3, 4, rngs=rngs())
    result = layers.load_state_dict(layer, {"bias": np.ones(4), "more": np.ones(1)}, strict=False)
    assert result == (["weight"], ["more"])
    assert (layers.state_dict(layer)["bias"] == 1).all()
    with pytest.raises(RuntimeError, match="size mismatch for bias"):
        layers.load_state_dict(layer, {"bias": np.ones(3)}, strict=False)


def test_a_state_dict_without_metadata_may_lack_the_batch_counter():
    """As in torch, a state dict without metadata may lack `num_batches_tracked`."""
    old = {k: v.numpy() for k, v in torch.nn.BatchNorm1d(3).state_dict().items()}
    del old["num_batches_tracked"]
    assert layers.load_state_dict(layers.BatchNorm1d(3), old) == ([], [])
    torch.nn.BatchNorm1d(3).load_state_dict(to_torch(old))


def test_loading_keeps_the_dtype_of_the_module():
    """A bfloat16 layer stays bfloat16 after loading, and bfloat16 tensors load bit for bit."""
    layer = layers.Linear(3, 4, dtype=jnp.bfloat16, rngs=rngs())
    layers.load_state_dict(layer, torch.nn.Linear(3, 4).state_dict())
    assert layer.weight[...].dtype == jnp.bfloat16
    reference = torch.nn.Linear(3, 4, dtype=torch.bfloat16)
    layers.load_state_dict(layer, reference.state_dict())
    saved = layers.state_dict(layer)["weight"]
    assert saved.tobytes() == to_numpy(reference.weight).tobytes()


def test_a_cache_is_not_in_the_state_dict():
    """`nnx.Cache` stands for a buffer that torch does not save."""
    layer = nnx.List([nnx.Param(jnp.ones(2)), nnx.Cache(jnp.ones(2))])
    assert list(layers.state_dict(layer)) == ["0"]


MISUSES = {
    "module": (
        lambda layer: layers.load_state_dict(layer, torch.nn.Linear(3, 4)),  # pyright: ignore[reportArgumentType]
        "state_dict must be a dict of tensors by key, but got Linear: pass its state_dict()",
    ),
    "list": (
        lambda layer: layers.load_state_dict(layer, [1]),  # pyright: ignore[reportArgumentType]
        "state_dict must be a dict of tensors by key, but got list",
    ),
    "swapped": (
        lambda layer: layers.load_state_dict({}, layer),  # pyright: ignore[reportArgumentType]
        "must be a flax nnx module, but got dict: call load_state_dict(model, torch_model.state",
    ),
    "torch": (
        lambda layer: layers.state_dict(torch.nn.Linear(3, 4)),  # pyright: ignore[reportArgumentType]
        "must be a flax nnx module, but got Linear: a torch module has a method state_dict()",
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MISUSES)
def test_unusable_arguments_are_named(name):
    """A module in the place of a state dict, and the reverse, raise an error that says so."""
    run, message = MISUSES[name]
    with pytest.raises(TypeError) as error:
        run(layers.Linear(3, 4, rngs=rngs()))
    assert message in str(error.value)


def test_flaxs_layers_without_a_counterpart_are_named_if_their_keys_are_missing():
    """A failed load names the layers of flax that torch lacks, and only these."""
    einsum = nnx.Einsum("ab,bc->ac", (2, 2), (2,), rngs=rngs())
    model = nnx.List([layers.Linear(2, 2, rngs=rngs()), einsum, nnx.Linear(2, 2, rngs=rngs())])
    linear = torch.nn.Linear(2, 2)
    wanted = torch.nn.Sequential(linear, linear, linear).state_dict()
    hint = (
        "flax's nnx.Einsum has no counterpart in torch.nn, so its keys are flax's: set its "
        "variables yourself, or use a layer of jaxgrad.nnx."
    )
    with pytest.raises(RuntimeError) as error:
        layers.load_state_dict(model, wanted)
    assert hint in str(error.value)
    with pytest.raises(RuntimeError) as error:
        layers.load_state_dict(nnx.List([einsum, *model]), {})
    assert str(error.value).count("flax's nnx.Einsum") == 1
    assert "nnx.Linear" not in str(error.value)


KEYS = {
    "seed": (0, "Linear: rngs=0 is a seed; pass rngs=nnx.Rngs(0)"),
    "other": ("abc", "Linear: rngs must be an nnx.Rngs, but got str"),
    "none": (None, "Linear draws its parameters; pass rngs=nnx.Rngs(seed)"),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_must_be_flaxs_rngs(name):
    """A seed, another object and no keys at all raise an error that says what to pass."""
    keys, message = KEYS[name]
    with pytest.raises(TypeError) as error:
        layers.Linear(2, 2, rngs=keys)
    assert str(error.value) == message
    for make in (layers.Dropout, layers.RReLU):
        with pytest.raises(TypeError, match="rngs=0 is a seed"):
            make(rngs=0)  # pyright: ignore[reportArgumentType]
