"""flax's own layers load torch's state dicts, and then compute what torch's layers compute."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx

from jaxgrad import nnx as layers
from jaxgrad.nnx.flax_layers import tensors_of
from jaxgrad.nnx.loading import named_tensors
from jaxgrad.parity.interop import to_torch
from tests.jaxgrad.nnx._helpers import draw, rngs


F64 = torch.float64
DTYPE = {"dtype": jnp.float64, "param_dtype": jnp.float64}


class FlaxCase(NamedTuple):
    """A layer in both frameworks, and calls of both with the same input and output layouts."""

    torch: Callable[[], Any]
    flax: Callable[[], Any]
    x: np.ndarray
    call_torch: Callable[[Any, Any], Any] = lambda layer, x: layer(x)
    call_flax: Callable[[Any, Any], Any] = lambda layer, x: layer(x)
    prepare: Callable[[Any], Any] = lambda layer: layer


def flax_layer(name: str, *args: Any, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(nnx, name)(*args, **options, **DTYPE, rngs=rngs())


def channels_last(layer: Any, x: Any) -> Any:
    """Call a layer of flax with torch's input, whose channels come first."""
    return jnp.moveaxis(layer(jnp.moveaxis(x, 1, -1)), -1, 1)


def convolution(name: str, flax_name: str, rank: int, **options: Any) -> FlaxCase:
    """Return a convolution with as many input as output channels and a kernel of that size."""
    return FlaxCase(
        lambda: getattr(torch.nn, name)(3, 3, 3, dtype=F64),
        flax_layer(flax_name, 3, 3, (3,) * rank, padding="VALID", **options),
        draw(2, 3, *range(5, 5 + rank)),
        call_flax=channels_last,
    )


def attend(layer: Any, x: Any) -> Any:
    return layer(x, x[..., :3], x[..., :3], need_weights=False)[0]


def attended(heads: int = 2, **options: Any) -> Callable[[], Any]:
    return flax_layer("MultiHeadAttention", heads, 4, decode=False, **options)


def without_new_bias(module: Any) -> Any:
    """Set the bias that flax's GRU lacks to zero."""
    for key, p in module.named_parameters():
        if "bias_hh" in key:
            p.data[8:] = 0
    return module


def output(layer: Any, x: Any) -> Any:
    out = layer(x)
    return out[0] if isinstance(out, tuple) else out


def step(cell: Any, x: Any) -> Any:
    return cell(cell.initialize_carry((2, 3), rngs()), x)[1]


def cells(name: str, cell: str, prepare: Callable[[Any], Any] = lambda x: x) -> dict[str, FlaxCase]:
    """Return the cases of a recurrent cell, of its loop, and of its loop in both directions."""
    make = flax_layer(cell, 3, 4)

    def both() -> Any:
        return nnx.Bidirectional(nnx.RNN(make()), nnx.RNN(make()))

    def loop(**options: Any) -> Callable[[], Any]:
        return lambda: getattr(torch.nn, name)(3, 4, batch_first=True, dtype=F64, **options)

    def one() -> Any:
        return getattr(torch.nn, f"{name}Cell")(3, 4, dtype=F64)

    return {
        cell: FlaxCase(one, make, X[:, 0], output, step, prepare),
        f"RNN of {cell}": FlaxCase(loop(), lambda: nnx.RNN(make()), X, output, prepare=prepare),
        f"Bidirectional of {cell}": FlaxCase(
            loop(bidirectional=True), both, X, output, prepare=prepare
        ),
    }


def shifted(module: Any) -> Any:
    """Add different numbers to all parameters and buffers: norms begin as ones and zeros."""
    for x in module.state_dict().values():
        if x.is_floating_point():
            x.add_(torch.linspace(0.1, 0.4, x.numel(), dtype=F64).reshape(x.shape))
    return module


X = draw(2, 5, 3)
CASES = {
    "Linear": FlaxCase(
        lambda: torch.nn.Linear(3, 3, dtype=F64), flax_layer("Linear", 3, 3), draw(2, 3)
    ),
    "Linear without bias": FlaxCase(
        lambda: torch.nn.Linear(3, 2, bias=False, dtype=F64),
        flax_layer("Linear", 3, 2, use_bias=False),
        draw(2, 3),
    ),
    "LinearGeneral": FlaxCase(
        lambda: torch.nn.Linear(6, 6, dtype=F64),
        flax_layer("LinearGeneral", (2, 3), (3, 2), axis=(-2, -1)),
        draw(4, 6),
        call_flax=lambda layer, x: layer(x.reshape(4, 2, 3)).reshape(4, 6),
    ),
    "Conv of one dimension": convolution("Conv1d", "Conv", 1),
    "Conv of two dimensions": convolution("Conv2d", "Conv", 2),
    "Conv with groups": FlaxCase(
        lambda: torch.nn.Conv2d(4, 6, (2, 3), groups=2, dtype=F64),
        flax_layer("Conv", 4, 6, (2, 3), feature_group_count=2, padding="VALID"),
        draw(2, 4, 5, 6),
        call_flax=channels_last,
    ),
    "ConvTranspose": convolution("ConvTranspose2d", "ConvTranspose", 2),
    "ConvTranspose with flax's transposed kernel": convolution(
        "ConvTranspose2d", "ConvTranspose", 2, transpose_kernel=True
    ),
    "Embed": FlaxCase(
        lambda: torch.nn.Embedding(4, 4, dtype=F64), flax_layer("Embed", 4, 4), np.arange(4)
    ),
    "PReLU": FlaxCase(
        lambda: torch.nn.PReLU(dtype=F64),
        lambda: nnx.PReLU(param_dtype=jnp.float64),
        draw(2, 3),
    ),
    "LayerNorm": FlaxCase(
        lambda: torch.nn.LayerNorm(3, dtype=F64),
        flax_layer("LayerNorm", 3, epsilon=1e-5, use_fast_variance=False),
        X,
    ),
    "RMSNorm": FlaxCase(
        lambda: torch.nn.RMSNorm(3, eps=1e-6, dtype=F64), flax_layer("RMSNorm", 3), X
    ),
    "GroupNorm": FlaxCase(
        lambda: torch.nn.GroupNorm(2, 4, dtype=F64),
        flax_layer("GroupNorm", 4, 2, epsilon=1e-5, use_fast_variance=False),
        draw(2, 4, 5),
        call_flax=channels_last,
    ),
    "InstanceNorm": FlaxCase(
        lambda: torch.nn.InstanceNorm1d(4, affine=True, dtype=F64),
        flax_layer("InstanceNorm", 4, epsilon=1e-5, use_fast_variance=False),
        draw(2, 4, 5),
        call_flax=channels_last,
    ),
    "BatchNorm": FlaxCase(
        lambda: torch.nn.BatchNorm1d(3, dtype=F64).eval(),
        flax_layer("BatchNorm", 3, use_running_average=True, epsilon=1e-5),
        draw(4, 3),
    ),
    "MultiHeadAttention": FlaxCase(
        lambda: torch.nn.MultiheadAttention(4, 2, batch_first=True, dtype=F64),
        attended(),
        draw(2, 5, 4),
        lambda layer, x: layer(x, x, x, need_weights=False)[0],
    ),
    "MultiHeadAttention without bias": FlaxCase(
        lambda: torch.nn.MultiheadAttention(4, 2, bias=False, batch_first=True, dtype=F64),
        attended(use_bias=False),
        draw(2, 5, 4),
        lambda layer, x: layer(x, x, x, need_weights=False)[0],
    ),
    "MultiHeadAttention with other keys": FlaxCase(
        lambda: torch.nn.MultiheadAttention(4, 2, kdim=3, vdim=3, batch_first=True, dtype=F64),
        attended(in_kv_features=3),
        draw(2, 5, 4),
        attend,
        lambda layer, x: layer(x, x[..., :3], x[..., :3]),
    ),
    **cells("LSTM", "LSTMCell"),
    **cells("LSTM", "OptimizedLSTMCell"),
    **cells("RNN", "SimpleCell"),
    **cells("GRU", "GRUCell", without_new_bias),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_a_layer_of_flax_computes_what_torchs_computes(name):
    """A loaded layer has torch's output, and `state_dict` returns torch's keys and layouts."""
    case = CASES[name]
    torch.manual_seed(0)
    reference, layer = case.prepare(shifted(case.torch())), case.flax()
    assert layers.load_state_dict(layer, reference.state_dict()) == ([], [])

    wanted = case.call_torch(reference, torch.tensor(case.x)).detach().numpy()
    got = case.call_flax(layer, jnp.asarray(case.x))
    np.testing.assert_allclose(got, wanted, 1e-6, 1e-6)  # some layers of flax round to float32

    other = case.torch()
    other.load_state_dict(to_torch(layers.state_dict(layer)))
    again = case.call_torch(other, torch.tensor(case.x)).detach().numpy()
    np.testing.assert_allclose(again, wanted, 1e-6, 1e-6)


WITHOUT_COUNTERPART = {"Einsum", "LoRA", "LoRALinear", "SpectralNorm", "WeightNorm"}
WITHOUT_TENSORS = {"Dropout", "Dict", "List", "Module", "RNNCellBase", "RoPE", "Sequential"}


def test_every_layer_of_flax_is_compared_or_has_no_counterpart():
    """A new layer of flax needs a case here, or an entry in one of the two sets."""
    kinds = {
        name
        for name in dir(nnx)
        if isinstance(kind := getattr(nnx, name), type) and issubclass(kind, nnx.Module)
    }
    compared = {name for name in kinds if any(name in case.split() for case in CASES)}
    assert kinds == compared | (WITHOUT_COUNTERPART & kinds) | (WITHOUT_TENSORS & kinds)


class Net(nnx.Module):
    """A model of flax's layers, with torch's names."""

    def __init__(self) -> None:
        self.layers = nnx.Sequential(
            nnx.Linear(3, 4, rngs=rngs()), jnp.tanh, nnx.BatchNorm(4, rngs=rngs())
        )
        self.head = Head(4, 2, rngs=rngs())


class Head(nnx.Linear):
    """A subclass stores its kernel as its base class does."""


class TorchNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.BatchNorm1d(4)
        )
        self.head = torch.nn.Linear(4, 2)


def test_a_model_of_flaxs_layers_has_torchs_keys():
    """Keys of nested layers are torch's; the counter of BatchNorm, which flax lacks, is ignored."""
    wanted = TorchNet().state_dict()
    model = Net()
    assert layers.load_state_dict(model, wanted) == ([], [])
    saved = layers.state_dict(model)
    assert list(saved) == [key for key in wanted if not key.endswith("num_batches_tracked")]
    assert all(x.tobytes() == wanted[key].numpy().tobytes() for key, x in saved.items())
    trained = {key for key, tensor in named_tensors(model) if tensor.is_parameter}
    assert trained == {key for key, _ in TorchNet().named_parameters()}


def test_an_abstract_model_has_shapes():
    """A model without arrays, as `nnx.eval_shape` returns it, has torch's keys and shapes."""
    tensors = dict(named_tensors(nnx.eval_shape(Net)))
    wanted = TorchNet().state_dict()
    assert tensors.keys() == wanted.keys()
    assert all(tensor.shape == wanted[key].shape for key, tensor in tensors.items() if tensor.parts)


def test_a_wrong_shape_is_reported_in_both_layouts():
    """The message has the key, the checkpoint's shape and the layer's in torch's and in flax's."""
    with pytest.raises(RuntimeError) as error:
        layers.load_state_dict(Net(), TorchNet().state_dict() | {"head.weight": np.ones((4, 2))})
    assert (
        "size mismatch for head.weight: copying a param with shape torch.Size([4, 2]) from "
        "checkpoint, the shape in current model is torch.Size([2, 4]) (in flax's layout: [4, 2])."
    ) in str(error.value)


def test_a_bias_without_a_place_is_refused():
    """flax's GRU has no bias in the term that the reset gate scales, so torch's must be zero."""
    cell = nnx.GRUCell(3, 4, rngs=rngs())
    before = layers.state_dict(cell)
    state = torch.nn.GRUCell(3, 4).state_dict()
    state["bias_hh"][:] = 0.25
    with pytest.raises(RuntimeError) as error:
        layers.load_state_dict(cell, state)
    assert (
        "bias_hh: its last 4 elements must be zero, because flax's nnx.GRUCell has no bias in the "
        "term that the reset gate scales; the largest is 0.25: use jaxgrad.nnx.GRU or GRUCell"
    ) in str(error.value)
    assert all((x == before[key]).all() for key, x in layers.state_dict(cell).items())


def test_one_of_two_biases_may_be_missing():
    """With `strict=False`, the bias of a cell is that of the two biases which is there."""
    cell = nnx.OptimizedLSTMCell(3, 4, rngs=rngs())
    for key in ("bias_ih", "bias_hh"):
        result = layers.load_state_dict(cell, {key: np.arange(16.0)}, strict=False)
        assert key not in result.missing_keys
        assert (cell.dense_h.bias[...] == np.arange(16)).all()  # pyright: ignore[reportOptionalSubscript]


def test_layers_without_a_counterpart_have_flaxs_keys():
    """A layer with batch axes, and loops over other cells, have no tensors of torch."""
    batched = nnx.LinearGeneral(2, 2, batch_axis={0: 3}, rngs=rngs())
    assert tensors_of(batched) is None
    assert tensors_of(nnx.List([])) is None
    own: Any = nnx.Module()
    assert tensors_of(nnx.RNN(own)) is None
    assert tensors_of(nnx.Bidirectional(nnx.RNN(own), nnx.RNN(own))) is None
    assert tensors_of(nnx.Bidirectional(own, own)) is None
