"""Cases and checks shared by the tests of `jaxgrad.nnx`.

A case is the same layer in torch and in `jaxgrad.nnx`. `check_training` loads torch's state dict
into the JAX layer and then requires equal outputs, gradients and states for several calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx

from jaxgrad import nnx as layers
from jaxgrad.nnx.loading import named_tensors
from jaxgrad.parity.compare import compare
from jaxgrad.parity.compiling import QUICK
from jaxgrad.parity.interop import to_jax, to_numpy, to_torch


F64 = torch.float64


class LayerCase(NamedTuple):
    """Constructors of one layer in torch and JAX, with the arguments of a call."""

    torch: Callable[[], Any]
    jax: Callable[[], Any]
    inputs: list[Any]
    options: dict[str, Any] = {}  # noqa: RUF012


class Net(nnx.Module):
    """A small model with a list, a batch norm and a dropout."""

    def __init__(self) -> None:
        options = {"dtype": jnp.float64, "rngs": rngs()}
        self.layers = nnx.List([layers.Linear(3, 4, **options), layers.BatchNorm1d(4)])
        self.drop = layers.Dropout(0.5, rngs=rngs())
        self.head = layers.Linear(4, 2, **options)


class WithKeys:
    """`jaxgrad.nnx` with `rngs=` passed to every constructor that takes it."""

    def __getattr__(self, name: str) -> Any:
        make = getattr(layers, name)
        takes = "rngs" in inspect.signature(make.__init__).parameters
        return lambda *args, **kw: make(*args, **kw, **({"rngs": rngs()} if takes else {}))


def rngs() -> Any:
    return nnx.Rngs(0)


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def index(*shape: int, high: int = 5) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(0, high, size=shape)


def layer_case(
    name: str, inputs: Any, *args: Any, call: Any = None, drawn: bool = True, **kw: Any
) -> LayerCase:
    """Return the case that passes the same arguments to both constructors of a layer.

    Args:
        name: The name of the layer in `torch.nn` and `jaxgrad.nnx`.
        inputs: One array, or the list of the positional arguments of a call.
        *args: Positional arguments of the constructor.
        call: Keyword arguments of a call.
        drawn: Whether the JAX constructor needs `rngs=`.
        **kw: Keyword arguments of the constructor.
    """
    keys = {"rngs": rngs()} if drawn else {}
    return LayerCase(
        lambda: getattr(torch.nn, name)(*args, **kw, dtype=F64),
        lambda: getattr(layers, name)(*args, **kw, dtype=jnp.float64, **keys),
        inputs if isinstance(inputs, list) else [inputs],
        call or {},
    )


def plain_case(name: str, inputs: Any, *args: Any, call: Any = None, **kw: Any) -> LayerCase:
    """Return the case of a layer without parameters, whose constructor takes no dtype."""
    return LayerCase(
        lambda: getattr(torch.nn, name)(*to_torch(args), **to_torch(kw)),
        lambda: getattr(layers, name)(*to_jax(args), **to_jax(kw)),
        inputs if isinstance(inputs, list) else [inputs],
        call or {},
    )


def runs(cases: Mapping[str, LayerCase], eager: tuple[str, ...] = ()) -> list[Any]:
    """Return pytest parameters: every case under `jit`, and the cases in `eager` without it too."""
    compiled = [pytest.param(name, True, id=f"{name}-jit") for name in cases]
    return compiled + [pytest.param(name, False, id=f"{name}-eager") for name in eager]


def check_training(case: LayerCase, jit: bool) -> None:
    """Require torch's outputs, gradients and states in three training steps and one evaluation."""
    torch.manual_seed(0)
    reference, layer = case.torch(), case.jax()
    with torch.no_grad():  # norms are initialised to ones and zeros, which would hide mistakes
        for p in reference.parameters():
            p.add_(torch.linspace(0.1, 0.3, p.numel(), dtype=F64).reshape(p.shape))
    assert layers.load_state_dict(layer, reference.state_dict()) == ([], [])
    compiled: dict[bool, Any] = {}
    for step in range(4):
        if step == 3:
            reference.eval()
            layer.eval()
        inputs = _inputs_of_step(case.inputs, step)
        wanted = _torch_step(reference, inputs, case.options)
        got = _jax_step(layer, inputs, case.options, compiled, jit)
        result = compare(_none_as_zeros(wanted, got), got)
        assert result.verdict in ("bitwise", "close"), (step, result.first)


def check_call(case: LayerCase, dtype: Any = np.float64) -> None:
    """Require torch's output and gradients of one call, and torch's state dict."""
    reference, layer = case.torch(), case.jax()
    assert layers.load_state_dict(layer, reference.state_dict()) == ([], [])
    inputs = jax.tree.map(lambda x: x.astype(dtype) if x.dtype == np.float64 else x, case.inputs)
    wanted = _torch_step(reference, inputs, case.options)
    exact = None
    if dtype != np.float64:
        widened = jax.tree.map(lambda x: x.astype(np.float64) if _is_floating(x) else x, inputs)
        exact = _torch_step(reference.double(), widened, case.options)
    got = _jax_step(layer, inputs, case.options, {}, jit=True)
    result = compare(_none_as_zeros(wanted, got), got, oracle=exact)
    assert result.verdict in ("bitwise", "close"), result.first


def check_round_trip(case: LayerCase) -> None:
    """Require a state dict to survive torch -> JAX -> torch: same keys, order, dtypes and bits."""
    torch.manual_seed(1)
    layer, wanted = case.jax(), case.torch().state_dict()
    layers.load_state_dict(layer, wanted)
    saved = layers.state_dict(layer)
    assert list(saved) == list(wanted)
    for key, x in saved.items():
        assert x.dtype == wanted[key].numpy().dtype
        assert x.tobytes() == wanted[key].numpy().tobytes()
    case.torch().load_state_dict(to_torch(saved))


def check_initial_distribution(name: str, *args: int, bounded: bool = True) -> None:
    """Require fresh parameters to have the mean, spread and bounds of those in torch's layer."""
    torch.manual_seed(0)
    wanted = getattr(torch.nn, name)(*args).state_dict()
    for key, x in layers.state_dict(getattr(layers, name)(*args, rngs=rngs())).items():
        t = wanted[key].numpy()
        assert x.dtype == t.dtype and x.shape == t.shape
        scale = max(np.abs(t).max(), 1e-9)
        tolerance = 0.5 if x.size < 1000 else 0.1  # statistics of few samples vary more
        spread = [np.std(t), np.std(x)]
        assert abs(np.mean(x) - np.mean(t)) < tolerance * scale
        assert abs(spread[0] - spread[1]) <= tolerance * max(spread)
        if bounded:
            assert np.abs(x).max() <= scale * 1.1


def check_constructor_error(construct: Callable[[Any], Any], message: str) -> None:
    """Require a constructor to raise in both frameworks, and in JAX with this message.

    Args:
        construct: A function taking the layers' package, such as `lambda nn: nn.Linear(3, -1)`.
        message: A part of JAX's error message.
    """
    with pytest.raises((ValueError, AssertionError)) as error:
        construct(WithKeys())
    assert message in str(error.value)
    with pytest.raises((ValueError, AssertionError)):
        construct(torch.nn)


def check_call_error(
    construct: Callable[[Any], Any], shape: tuple[int, ...], kind: Any, message: str
) -> None:
    """Require a call with an input of this shape to raise the same message in both frameworks."""
    for package, ones in ((torch.nn, torch.ones), (WithKeys(), jnp.ones)):
        with pytest.raises(kind) as error:
            construct(package)(ones(shape))
        assert message in str(error.value)


def _inputs_of_step(inputs: Any, step: int) -> Any:
    """Scale floating inputs by a factor that depends on the step; indices stay as they are."""
    return jax.tree.map(lambda x: x * (1 + 0.3 * step) if x.dtype == np.float64 else x, inputs)


def _weighted_loss(out: Any, arange: Any) -> Any:
    """Return a loss that weights every element of every output differently."""
    total = 0.0
    for leaf in jax.tree.leaves(out):
        count = arange(leaf)
        total = total + (leaf.reshape(-1) * count).sum() + (leaf.reshape(-1) ** 2 * count).sum()
    return total


def _torch_step(module: Any, inputs: Any, options: Any) -> Any:
    tensors = to_torch(inputs)
    leaves = [t for t in jax.tree.leaves(tensors) if t.is_floating_point()]
    for t in leaves:
        t.requires_grad_()
    module.zero_grad()
    out = module(*tensors, **to_torch(options))
    _weighted_loss(out, lambda x: torch.arange(1, x.numel() + 1, dtype=F64)).backward()
    grads = {name: p.grad for name, p in module.named_parameters()}
    return to_numpy(
        {
            "out": [t.detach() for t in jax.tree.leaves(out)],
            "params": grads,
            "inputs": [t.grad for t in leaves],
            "state": dict(module.state_dict()),
        }
    )


def _gradient_program(graph: Any, inputs: Any, options: Any) -> Callable[..., Any]:
    """Return `(params, state, floating inputs) -> (gradients, (output, new state))`."""
    leaves, treedef = jax.tree.flatten(inputs)

    def run(params: Any, rest: Any, floating: list[Any]) -> Any:
        def loss(params: Any, floating: list[Any]) -> Any:
            remaining = iter(floating)
            full = [next(remaining) if _is_floating(x) else x for x in leaves]
            model = nnx.merge(graph, params, rest, copy=True)
            out = model(*jax.tree.unflatten(treedef, full), **options)
            state = nnx.split(model, nnx.Param, ...)[2]
            return _weighted_loss(out, lambda x: jnp.arange(1.0, x.size + 1)), (out, state)

        return jax.grad(loss, (0, 1), has_aux=True)(params, floating)

    return run


def _is_floating(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def _jax_step(module: Any, inputs: Any, options: Any, compiled: dict[bool, Any], jit: bool) -> Any:
    """Run one step; `compiled` keeps one program for training and one for evaluation."""
    inputs, options = to_jax(inputs), to_jax(options)
    graph, params, rest = nnx.split(module, nnx.Param, ...)
    training = all(m.training for _, m in nnx.iter_graph(module) if hasattr(m, "training"))
    if training not in compiled:
        run = _gradient_program(graph, inputs, options)
        compiled[training] = jax.jit(run, compiler_options=QUICK) if jit else run
    floating = [x for x in jax.tree.leaves(inputs) if _is_floating(x)]
    (grads, input_grads), (out, state) = compiled[training](params, rest, floating)
    nnx.update(module, state)
    named = layers.state_dict(nnx.merge(graph, grads, rest))
    trainable = {key for key, x in named_tensors(module) if x.is_parameter}
    return to_numpy(
        {
            "out": list(jax.tree.leaves(out)),
            "params": {key: x for key, x in named.items() if key in trainable},
            "inputs": input_grads,
            "state": layers.state_dict(module),
        }
    )


def _none_as_zeros(wanted: Any, got: Any) -> Any:
    """Replace torch's None for an unused input by zeros, which `jax.grad` returns."""
    pairs = zip(wanted["inputs"], got["inputs"], strict=True)
    wanted["inputs"] = [np.zeros_like(j) if t is None else t for t, j in pairs]
    return wanted
