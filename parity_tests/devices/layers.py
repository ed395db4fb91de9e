"""The layers of `jaxgrad.nnx` and its initialisers as programs that can be lowered."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxgrad import nnx as layers
from parity_tests.devices.program import Call


INDICES, LABELS = "indices", "labels"  # instead of a shape: a matrix or vector of whole numbers
Shape = tuple[int, ...] | str
# The positional arguments of each layer's constructor, and the shapes of a call's arguments.
LAYERS: Mapping[str, tuple[tuple[Any, ...], tuple[Shape, ...]]] = {
    "Linear": ((3, 4), ((5, 3),)),
    "Bilinear": ((3, 2, 4), ((5, 3), (5, 2))),
    "Embedding": ((5, 2), (INDICES,)),
    "EmbeddingBag": ((5, 2), (INDICES,)),
    **{f"Conv{n}d": ((3, 4, 3, 2, 1), ((2, 3) + (6,) * n,)) for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": ((3, 4, 3, 2, 1), ((2, 3) + (4,) * n,)) for n in (1, 2, 3)},
    **{f"BatchNorm{n}d": ((3,), ((2, 3) + (4,) * n,)) for n in (1, 2, 3)},
    **{f"InstanceNorm{n}d": ((3,), ((2, 3) + (4,) * n,)) for n in (1, 2, 3)},
    "GroupNorm": ((3, 6), ((2, 6, 4),)),
    "LayerNorm": ((3,), ((4, 3),)),
    "RMSNorm": ((3,), ((4, 3),)),
    **{f"Dropout{n}d": ((0.5,), ((2, 3) + (4,) * n,)) for n in (1, 2, 3)},
    **dict.fromkeys(("Dropout", "AlphaDropout", "FeatureAlphaDropout"), ((0.5,), ((2, 3, 4),))),
    **dict.fromkeys(("RNN", "GRU", "LSTM"), ((3, 4, 2), ((5, 2, 3),))),
    **{f"{name}Cell": ((3, 4), ((2, 3),)) for name in ("RNN", "GRU", "LSTM")},
    "MultiheadAttention": ((6, 2), ((4, 2, 6),) * 3),
    "TransformerEncoderLayer": ((6, 2, 5), ((4, 2, 6),)),
    "TransformerDecoderLayer": ((6, 2, 5), ((4, 2, 6),) * 2),
    "TransformerEncoder": ((6, 2, 5), ((4, 2, 6),)),
    "TransformerDecoder": ((6, 2, 5), ((4, 2, 6),) * 2),
    "Transformer": ((6, 2, 1, 1, 5), ((4, 2, 6),) * 2),
    "PReLU": ((), ((2, 3),)),
    "RReLU": ((), ((2, 3),)),
    **{f"FractionalMaxPool{n}d": ((2, 2), ((1, 2) + (5,) * n,)) for n in (2, 3)},
    "AdaptiveLogSoftmaxWithLoss": ((8, 9, [3, 5], 2.0), ((3, 8), LABELS)),
    "LinearCrossEntropyLoss": ((8, 9), ((3, 8), LABELS)),
    "weight_norm": ((3, 4), ((5, 3),)),
    "spectral_norm": ((3, 4), ((5, 3),)),
}
# The arguments of each initialiser.
INITIALISERS: Mapping[str, tuple[Any, ...]] = {
    "constant": (0.3,),
    "sparse": (0.5,),
    **dict.fromkeys(("zeros", "ones", "eye", "dirac", "uniform", "normal", "trunc_normal"), ()),
    **dict.fromkeys(("xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal"), ()),
    "orthogonal": (),
}


def calls() -> dict[str, Callable[[str], Iterator[Call]]]:
    """Return a training call of each layer, with its new state, as a function of its arrays."""
    return {name: functools.partial(_layer, name) for name in LAYERS}


def _layer(name: str, dtype: str) -> Iterator[Call]:
    arguments, shapes = LAYERS[name]
    # The values are never computed.
    graph, state = nnx.split(nnx.eval_shape(lambda: _construct(name, arguments, dtype)))
    leaves, treedef = jax.tree.flatten(state)

    def fun(leaves: Any, *inputs: Any) -> Any:
        module = nnx.merge(graph, jax.tree.unflatten(treedef, leaves))
        return module(*inputs), jax.tree.leaves(nnx.state(module))

    yield (
        fun,
        (leaves, *(_input(shape, dtype) for shape in shapes)),
    )


def _input(shape: Shape, dtype: str) -> jax.Array:
    if isinstance(shape, str):
        return jnp.ones((3, 4) if shape == INDICES else 3, int)
    return jnp.ones(shape, dtype)


def plain() -> dict[str, type]:
    """Return the layers that only call one function of `jaxgrad.functional`, or other layers.

    They have no parameters and draw nothing, and the function has programs of its own.
    """
    classes = {n: x for n, x in vars(layers).items() if inspect.isclass(x) and n not in LAYERS}
    return {n: x for n, x in classes.items() if issubclass(x, nnx.Module)}


def _construct(name: str, arguments: tuple[Any, ...], dtype: str) -> Any:
    """Construct a layer; a parametrization is one of a linear layer's weight."""
    make, options = getattr(layers, name), {"dtype": jnp.dtype(dtype), "rngs": nnx.Rngs(0)}
    if name in ("TransformerEncoder", "TransformerDecoder"):
        return make(_construct(f"{name}Layer", arguments, dtype), 2)
    if isinstance(make, type):
        known = inspect.signature(make.__init__).parameters
    else:
        known = inspect.signature(make).parameters.keys() - {"dtype"}
        arguments = (_construct("Linear", arguments, dtype),)
    return make(*arguments, **{key: value for key, value in options.items() if key in known})


def initialisers() -> dict[str, Callable[[str], Iterator[Call]]]:
    """Return a call of each initialiser."""
    return {name: functools.partial(_initialiser, name) for name in INITIALISERS}


def _initialiser(name: str, dtype: str) -> Iterator[Call]:
    make = getattr(layers.init, name)(*INITIALISERS[name])
    shape = (4, 3, 2) if name == "dirac" else (4, 3)
    yield lambda key: make(key, shape, jnp.dtype(dtype)), (jax.random.key(0),)
