"""Guess which porting mistake changed a value: rerun torch's call with common mistakes in it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.align.fingerprint import fingerprint, is_constant, print_distance
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.jax_side.program import Key
from jaxgrad.parity.prove.torch_side.values import TorchRun


SAME = 1e-9  # the largest distance between the fingerprints of a guess and of a JAX value
_EPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-12, 0.0)


class Guess(NamedTuple):
    """A mistake with which torch computes a value that occurs in the JAX program."""

    value: int  # number of the torch value
    key: Key | None  # the JAX value
    text: str


class Variant(NamedTuple):
    """A torch call with one mistake in it."""

    text: str  # describes the mistake
    func: Callable[..., Any]
    args: Sequence[Any]
    kwargs: dict[str, Any]
    setting: str = "this change"


class TorchCall(NamedTuple):
    """A call that torch made."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    op: str

    @property
    def bound(self) -> dict[str, Any]:
        """The arguments by name, or nothing if the function has no signature."""
        try:
            return dict(inspect.signature(self.func).bind(*self.args, **self.kwargs).arguments)
        except (TypeError, ValueError):
            return {}

    def replaced(self, text: str, setting: str = "this change", **arguments: Any) -> Variant:
        """Return the call with some arguments replaced."""
        return Variant(text, self.func, (), {**self.bound, **arguments}, setting)


def guess(evidence: Evidence, draw: int, starts: Sequence[int], limit: int = 12) -> Guess | None:
    """Repeat torch's first unmatched calls with mistakes until a result occurs in JAX."""
    alignment = evidence.alignment
    run = evidence.torch_side.run(evidence.draws[draw], keep=True)  # with the calls of this module
    spots, prints = jax_program.spots(evidence.jax_runs[draw].prints)
    known = {k for i in range(len(alignment.first)) for k in alignment.matches(i)}
    new = np.array([k for k in range(len(spots)) if k not in known], np.int64)
    for i in starts[:limit]:
        value = run.values[i]
        if value.call is None or value.data is None:
            continue
        for variant, x in _results(TorchCall(*value.call, value.op)):
            at = _find(x, prints[new])
            if at is not None and not np.array_equal(x, value.data):
                rerun = f"rerunning torch with {variant.setting} reproduces JAX's value"
                return Guess(i, spots[int(new[at])].key, f"{variant.text} ({rerun})")
        multiple = _multiple(value.data, prints[new])
        if multiple is not None:
            text = f"JAX's value is torch's times {_number(multiple[1])}"
            return Guess(i, spots[int(new[multiple[0]])].key, text)
        at = _skipped(run, i, prints[new])
        if at is not None:
            text = f"torch's {value.op} is missing (skipping it in torch reproduces JAX's value)"
            return Guess(i, spots[int(new[at])].key, text)
    return None


def _results(call: TorchCall) -> Iterator[tuple[Variant, np.ndarray]]:
    """Yield the results of torch's call with each mistake that applies to it."""
    for mistakes in (_eps, *GUESSES.get(call.op, ())):
        for variant in mistakes(call):
            try:
                with torch.no_grad():
                    out = variant.func(*variant.args, **variant.kwargs)
            except Exception:  # the mistake does not apply to this call
                continue
            if isinstance(out, tuple | list):
                out = out[0]
            if isinstance(out, Tensor) and out.is_floating_point():
                yield variant, to_numpy(out)


def _eps(call: TorchCall) -> Iterator[Variant]:
    used = call.bound.get("eps")
    for eps in _EPS if used is not None else ():
        if eps != used:
            yield call.replaced(f"eps is {eps:g}, torch uses {used:g}", f"{eps:g}", eps=eps)


def _gelu(call: TorchCall) -> Iterator[Variant]:
    forms = {"none": "the exact form", "tanh": "the tanh approximation"}
    used = "tanh" if call.bound.get("approximate", "none") == "tanh" else "none"
    other = "none" if used == "tanh" else "tanh"
    text = f"GELU is {forms[other]}, torch uses {forms[used]}"
    yield Variant(text, functional.gelu, (call.args[0],), {"approximate": other})


def _activation(call: TorchCall) -> Iterator[Variant]:
    for other in (
        functional.relu,
        functional.silu,
        torch.tanh,
        functional.gelu,
        functional.relu6,
        functional.leaky_relu,
        functional.elu,
    ):
        text = f"the activation is {other.__name__}, torch uses {call.op}"
        yield Variant(text, other, (call.args[0],), {})


def _linear(call: TorchCall) -> Iterator[Variant]:
    x, *rest = call.args
    w, b = rest[0] if rest else call.kwargs["weight"], call.kwargs.get("bias", *rest[1:2])
    if w.shape[0] == w.shape[1]:
        yield Variant("the square weight is transposed", functional.linear, (x, w.T, b), {})
    if b is not None:
        yield Variant("the bias is missing", functional.linear, (x, w), {})


def _convolution(call: TorchCall) -> Iterator[Variant]:
    weight = call.args[1] if len(call.args) > 1 else call.kwargs["weight"]
    kernels = {"the kernel is flipped": weight.flip(tuple(range(2, weight.ndim)))}
    if weight.shape[0] == weight.shape[1]:
        kernels["the kernel's channels are swapped"] = weight.transpose(0, 1)
    if weight.ndim == 4:
        kernels["the kernel's height and width are swapped"] = weight.transpose(2, 3)
    for text, kernel in kernels.items():
        yield Variant(text, call.func, (call.args[0], kernel, *call.args[2:]), call.kwargs)


def _softmax(call: TorchCall) -> Iterator[Variant]:
    for dim in range(call.args[0].ndim):
        yield Variant(f"{call.op} is over dim {dim}", call.func, (call.args[0], dim), {})


def _attention(call: TorchCall) -> Iterator[Variant]:
    d = call.args[0].shape[-1]
    for text, scale in (("1", 1.0), ("1/d", 1 / d), ("1/sqrt(d)", d**-0.5)):
        kwargs = {**call.kwargs, "scale": scale}
        yield Variant(f"the scale is {text}", call.func, call.args, kwargs)
    yield Variant("the attention mask is missing", call.func, call.args[:3], {})
    yield Variant("there is a causal mask", call.func, call.args[:3], {"is_causal": True})


def _variance(call: TorchCall) -> Iterator[Variant]:
    rest = {k: v for k, v in call.kwargs.items() if k not in ("unbiased", "correction")}
    for n, divisor in enumerate(("N", "N - 1")):
        kwargs = {**rest, "correction": n}
        yield Variant(f"{call.op} divides by {divisor}", call.func, (call.args[0],), kwargs)


def _interpolate(call: TorchCall) -> Iterator[Variant]:
    used, mode = bool(call.bound.get("align_corners")), call.bound.get("mode", "nearest")
    text = f"align_corners is {not used}, torch uses {used}"
    yield call.replaced(text, align_corners=not used)
    text = f"the mode is 'nearest', torch uses {mode!r}"
    yield call.replaced(text, mode="nearest", align_corners=None)


def _average_pool(call: TorchCall) -> Iterator[Variant]:
    used = bool(call.bound.get("count_include_pad", True))
    text = f"count_include_pad is {not used}, torch uses {used}"
    yield call.replaced(text, count_include_pad=not used)


def _embedding(call: TorchCall) -> Iterator[Variant]:
    ids, *rest = call.args
    for shift in (1, -1):
        text = f"the indices are shifted by {shift}"
        yield Variant(text, call.func, (ids + shift, *rest), call.kwargs)
        text = f"the indices are rolled by {shift}"
        yield Variant(text, call.func, (ids.roll(shift, -1), *rest), call.kwargs)


def _addition(call: TorchCall) -> Iterator[Variant]:
    if len(call.args) != 2:
        return
    x, y = call.args
    for eps in _EPS if isinstance(y, float) else ():
        if eps != y:
            yield Variant(f"{eps:g} is added, torch adds {y:g}", call.func, (x, eps), {})
    yield Variant("the operands are subtracted, torch adds them", torch.sub, call.args, {})


def _mean_or_sum(call: TorchCall) -> Iterator[Variant]:
    other = torch.sum if call.op == "mean" else torch.mean
    text = f"the reduction is {other.__name__}, torch uses {call.op}"
    yield Variant(text, other, call.args, call.kwargs)


def _masked_fill(call: TorchCall) -> Iterator[Variant]:
    x, mask, *value = call.args
    if isinstance(mask, Tensor):
        for fill in (-1.0, -1e4, -1e9, -100.0):
            yield Variant(f"masked elements are {fill:g}", call.func, (x, mask, fill), {})
        yield Variant("the mask is inverted", call.func, (x, ~mask.bool(), *value), {})


# Each mistake is tried in this order, after other values of eps.
GUESSES: dict[str, tuple[Callable[[TorchCall], Iterator[Variant]], ...]] = {
    "gelu": (_gelu, _activation),
    **dict.fromkeys(
        ("silu", "relu", "sigmoid", "tanh", "leaky_relu", "elu", "softplus", "relu6"),
        (_activation,),
    ),
    "linear": (_linear,),
    **{
        f"conv{transposed}{n}d": (_convolution,)
        for transposed in ("", "_transpose")
        for n in (1, 2, 3)
    },
    "softmax": (_softmax,),
    "log_softmax": (_softmax,),
    "scaled_dot_product_attention": (_attention,),
    "std": (_variance,),
    "var": (_variance,),
    "interpolate": (_interpolate,),
    **{f"avg_pool{n}d": (_average_pool,) for n in (1, 2, 3)},
    "embedding": (_embedding,),
    "add": (_addition,),
    "radd": (_addition,),
    "mean": (_mean_or_sum,),
    "sum": (_mean_or_sum,),
    "masked_fill": (_masked_fill,),
}


def _skipped(run: TorchRun, i: int, prints: np.ndarray) -> int | None:
    """Find the results of a value's consumers in JAX, if each is given the value's own inputs."""
    value = run.values[i]
    assert value.call is not None and value.data is not None
    data = value.data
    _, args, kwargs = value.call
    inputs = [x for x in _tensors((args, kwargs)) if tuple(x.shape) == value.shape]
    for consumer in run.values[i + 1 :]:
        if i not in consumer.inputs or consumer.call is None:
            continue
        func, args, kwargs = consumer.call
        for x in inputs:

            def swap(y: Any, x: Tensor = x) -> Any:
                if isinstance(y, list | tuple):
                    return type(y)(map(swap, y)) if type(y) in (list, tuple) else y
                same = isinstance(y, Tensor) and y.shape == x.shape and y.is_floating_point()
                return x if same and np.array_equal(to_numpy(y), data) else y

            try:
                with torch.no_grad():
                    out = func(*swap(args), **{k: swap(v) for k, v in kwargs.items()})
            except Exception:  # the call rejects the input
                continue
            if isinstance(out, Tensor) and out.is_floating_point():
                at = _find(to_numpy(out), prints)
                if at is not None:
                    return at
    return None


def _tensors(tree: Any) -> list[Tensor]:
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    if isinstance(tree, list | tuple):
        return [x for branch in tree for x in _tensors(branch)]
    return [tree] if isinstance(tree, Tensor) and tree.is_floating_point() else []


def _find(x: np.ndarray, prints: np.ndarray) -> int | None:
    """The row of `prints` that is the fingerprint of `x`, if there is one."""
    print_ = fingerprint(x)
    if not len(prints) or is_constant(print_):
        return None
    off = print_distance(print_, prints)
    best = int(np.argmin(off))
    return best if off[best] < SAME else None


def _multiple(data: np.ndarray, prints: np.ndarray) -> tuple[int, float] | None:
    """The row of a JAX value that is a multiple of torch's, and the factor."""
    if not len(prints) or data.size < 2:
        return None
    mean = float(np.mean(np.abs(data)))
    if not mean or not math.isfinite(mean) or is_constant(fingerprint(data)):
        return None
    for at in np.flatnonzero(prints[:, 0] == data.size):
        factor = float(prints[at, 6]) / mean
        for signed in (factor, -factor):
            if factor and abs(signed - 1) > 1e-9:
                if print_distance(fingerprint(data * signed), prints[at]) < SAME:
                    return int(at), signed
    return None


def _number(x: float) -> str:
    """Write a number as a person would: 1/sqrt(8)."""
    for n in range(2, 4097):
        if math.isclose(x, 1 / math.sqrt(n), rel_tol=1e-9):
            return f"1/sqrt({n})"
        if math.isclose(x, math.sqrt(n), rel_tol=1e-9):
            return f"sqrt({n})"
        if math.isclose(x, 1 / n, rel_tol=1e-9):
            return f"1/{n}"
    return f"{x:.6g}"


def ratio(expected: np.ndarray | None, actual: np.ndarray | None) -> str:
    """Describe how JAX's gradient of a parameter relates to torch's."""
    if expected is None or actual is None:
        return ""
    if not np.any(actual):
        return "JAX's gradient is zero: there may be an extra stop_gradient or a mask"
    size = float(np.vdot(expected, expected).real)
    factor = float(np.vdot(expected, actual).real) / size if size else 0.0
    miss = float(np.linalg.norm(actual - factor * expected))
    if factor and miss < 1e-9 * float(np.linalg.norm(actual)):
        return f"JAX's gradient is torch's times {_number(factor)}"
    rest = actual - expected
    rows = np.flatnonzero(np.any(rest.reshape(len(rest), -1) != 0, 1)) if rest.ndim > 1 else ()
    wrong = [int(r) for r in rows if np.max(np.abs(rest[r])) > 1e-9 * np.max(np.abs(expected))]
    if 0 < len(wrong) <= max(1, len(rest) // 4):
        return f"only rows {wrong[:4]} differ, which may be padding or masked"
    return ""
