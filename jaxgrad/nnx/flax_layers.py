"""torch's keys and layouts for flax's own layers, such as `flax.nnx.Linear`.

The class of a layer decides how its tensors are arranged, and never their shapes: the square kernel
of a `flax.nnx.Linear` is transposed like any other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from flax import nnx


Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Layout:
    """How torch arranges the elements of an array of flax, and the way back."""

    to_torch: Callable[[np.ndarray], np.ndarray]
    to_flax: Callable[[np.ndarray, Shape], np.ndarray]  # of a tensor and the shape of the array


def _matrix(axes: int) -> Layout:
    """Return the layout of a kernel whose first `axes` axes are inputs, and the others outputs."""
    return Layout(
        lambda x: x.reshape(int(np.prod(x.shape[:axes])), -1).T, lambda x, shape: x.T.reshape(shape)
    )


_SAME = Layout(lambda x: x, lambda x, _: x)
_FLAT = Layout(lambda x: x.reshape(-1), lambda x, shape: x.reshape(shape))
# flax: spatial axes, inputs, outputs; torch: outputs, inputs, spatial axes.
_KERNEL = Layout(
    lambda x: np.moveaxis(x, (-1, -2), (0, 1)), lambda x, _: np.moveaxis(x, (0, 1), (-1, -2))
)
# torch: inputs, outputs, spatial axes, which are reversed.
_MIRRORED = Layout(
    lambda x: np.moveaxis(np.flip(x, tuple(range(x.ndim - 2))), (-2, -1), (0, 1)),
    lambda x, _: np.flip(np.moveaxis(x, (0, 1), (-2, -1)), tuple(range(x.ndim - 2))),
)


@dataclasses.dataclass(frozen=True)
class Part:
    """A variable of a module, and its layout in torch."""

    variable: Any
    layout: Layout = _SAME

    @property
    def shape(self) -> Shape:
        """The shape in torch; the variable may hold the shape of an array alone."""
        return self.layout.to_torch(np.broadcast_to(False, self.variable.get_value().shape)).shape


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor in torch's state dict: variables of a module, concatenated along the first axis.

    Attributes:
        parts: The variables. There is none for a counter that flax does not keep.
        added: Whether the tensor is added to another one, whose variables hold the sum.
        zero_from: Flax's layer has no place for the elements from this index on, so they must be
            zero.
    """

    parts: tuple[Part, ...]
    added: bool = False
    zero_from: int | None = None

    @property
    def shape(self) -> Shape:
        """The shape in torch."""
        first, *others = [part.shape for part in self.parts]
        return (first[0] + sum(shape[0] for shape in others), *first[1:]) if others else first

    @property
    def is_parameter(self) -> bool:
        """Whether the tensor is a parameter, and not a buffer."""
        return any(isinstance(part.variable, nnx.Param) for part in self.parts)

    def saved(self) -> np.ndarray:
        """Return the elements in torch's layout; zeros if the variables hold a sum of two."""
        arrays = [part.layout.to_torch(np.asarray(part.variable[...])) for part in self.parts]
        whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        return np.zeros_like(whole) if self.added else whole

    def split(self, x: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield each variable with its elements of a tensor `x`, in flax's layout."""
        if len(self.parts) > 1:
            ends = np.cumsum([part.shape[0] for part in self.parts])
            pieces = np.split(x, ends[:-1])
        else:
            pieces = [x]
        for part, piece in zip(self.parts, pieces, strict=True):
            yield part.variable, part.layout.to_flax(piece, part.variable[...].shape)


Tensors = dict[str, Tensor]


def tensors_of(layer: nnx.Module) -> Tensors | None:
    """Return the tensors of one of flax's own layers by torch's keys; None for other modules."""
    for kind in type(layer).__mro__:
        if kind in _LAYERS:
            return _LAYERS[kind](layer)
    return None


def _tensor(*variables: Any, layout: Layout = _SAME, **options: Any) -> Tensor:
    return Tensor(tuple(Part(variable, layout) for variable in variables), **options)


def _present(tensors: Mapping[str, Tensor]) -> Tensors:
    """Leave out the tensors that flax's layer was made without, such as its bias."""
    return {
        key: tensor
        for key, tensor in tensors.items()
        if all(part.variable is not None for part in tensor.parts)
    }


def _affine(layer: Any, layout: Layout = _KERNEL, bias: Layout = _SAME) -> Tensors:
    return _present(
        {"weight": _tensor(layer.kernel, layout=layout), "bias": _tensor(layer.bias, layout=bias)}
    )


def _general(layer: Any) -> Tensors | None:
    """Return the tensors of a linear layer whose inputs and outputs may have several axes."""
    return None if layer.batch_axis else _affine(layer, _matrix(len(layer.in_features)), _FLAT)


def _transposed(layer: Any) -> Tensors:
    return _affine(layer, _KERNEL if layer.transpose_kernel else _MIRRORED)


def _norm(layer: Any) -> Tensors:
    bias = getattr(layer, "bias", None)
    return _present({"weight": _tensor(layer.scale), "bias": _tensor(bias)})


def _batch_norm(layer: Any) -> Tensors:
    statistics = {"running_mean": _tensor(layer.mean), "running_var": _tensor(layer.var)}
    return _norm(layer) | statistics | {"num_batches_tracked": Tensor(())}


def _attention(layer: Any) -> Tensors:
    """Return the tensors of attention, whose three projections torch stores in one tensor.

    They are apart if the keys or values have another number of features than the queries.
    """
    projections = {"q": layer.query, "k": layer.key, "v": layer.value}
    kernels = {name: Part(x.kernel, _matrix(1)) for name, x in projections.items()}
    if layer.in_kv_features == layer.in_features:
        weights = {"in_proj_weight": Tensor(tuple(kernels.values()))}
    else:
        weights = {f"{name}_proj_weight": Tensor((part,)) for name, part in kernels.items()}
    bias = _tensor(*(x.bias for x in projections.values()), layout=_FLAT)
    out = {f"out_proj.{key}": tensor for key, tensor in (_general(layer.out) or {}).items()}
    return _present(weights | {"in_proj_bias": bias} | out)


def _recurrent(
    inputs: list[Any], hidden: list[Any], biased: list[Any], zero_from: int | None = None
) -> Tensors:
    """Return the tensors of a cell with a linear layer, or several, for its input and its state.

    torch adds one bias to each of the two terms. Flax has one bias, which holds their sum.
    """
    biases = [layer.bias for layer in biased]
    return _present({
        "weight_ih": _tensor(*(layer.kernel for layer in inputs), layout=_KERNEL),
        "weight_hh": _tensor(*(layer.kernel for layer in hidden), layout=_KERNEL),
        "bias_ih": _tensor(*biases),
        "bias_hh": _tensor(*biases, added=True, zero_from=zero_from),
    })  # fmt: skip


def _lstm_cell(cell: Any) -> Tensors:
    hidden = [cell.hi, cell.hf, cell.hg, cell.ho]
    return _recurrent([cell.ii, cell.if_, cell.ig, cell.io], hidden, hidden)


def _gru_cell(cell: Any) -> Tensors:
    """Return the tensors of a GRU cell; flax has no bias in the term that the reset gate scales."""
    return _recurrent([cell.dense_i], [cell.dense_h], [cell.dense_i], 2 * cell.hidden_features)


def _rnn(layer: Any, suffix: str = "_l0") -> Tensors | None:
    tensors = tensors_of(layer.cell)
    return tensors and {f"{key}{suffix}": tensor for key, tensor in tensors.items()}


def _bidirectional(layer: Any) -> Tensors | None:
    tensors: Tensors = {}
    for suffix, rnn in (("_l0", layer.forward_rnn), ("_l0_reverse", layer.backward_rnn)):
        found = _rnn(rnn, suffix) if isinstance(rnn, nnx.RNN) else None
        if found is None:
            return None
        tensors |= found
    return tensors


_LAYERS: dict[type, Callable[[Any], Tensors | None]] = {
    nnx.Linear: _affine,
    nnx.LinearGeneral: _general,
    nnx.Conv: _affine,
    nnx.ConvTranspose: _transposed,
    nnx.Embed: lambda layer: {"weight": _tensor(layer.embedding)},
    nnx.PReLU: lambda layer: {"weight": _tensor(layer.negative_slope, layout=_FLAT)},
    nnx.LayerNorm: _norm,
    nnx.RMSNorm: _norm,
    nnx.GroupNorm: _norm,
    nnx.InstanceNorm: _norm,
    nnx.BatchNorm: _batch_norm,
    nnx.MultiHeadAttention: _attention,
    nnx.LSTMCell: _lstm_cell,
    nnx.OptimizedLSTMCell: lambda x: _recurrent([x.dense_i], [x.dense_h], [x.dense_h]),
    nnx.SimpleCell: lambda x: _recurrent([x.dense_i], [x.dense_h], [x.dense_i]),
    nnx.GRUCell: _gru_cell,
    nnx.RNN: _rnn,
    nnx.Bidirectional: _bidirectional,
}
