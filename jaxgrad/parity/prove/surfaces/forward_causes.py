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
    """A mistake that makes torch compute a value that occurs in the JAX program."""

    value: int  # index of the torch value
    key: Key | None  # the JAX value
    text: str


class TorchCall(NamedTuple):
    """A call that torch made, possibly changed by a mistake."""

    func: Callable[..., Any]
    args: Sequence[Any]
    kwargs: dict[str, Any]
    op: str
    mistake: str = ""
    setting: str = "this change"  # how to correct the mistake

    @property
    def bound(self) -> dict[str, Any]:
        """The arguments by name, empty if the function has no signature."""
        try:
            return dict(inspect.signature(self.func).bind(*self.args, **self.kwargs).arguments)
        except (TypeError, ValueError):
            return {}

    def called(self, mistake: str, /, *args: Any, **kwargs: Any) -> TorchCall:
        """Return a call of the same function with different arguments."""
        return self._replace(mistake=mistake, args=args, kwargs=kwargs)

    def replaced(self, mistake: str, setting: str = "this change", /, **new: Any) -> TorchCall:
        """Return the call with some arguments replaced by name."""
        return self.called(mistake, **{**self.bound, **new})._replace(setting=setting)


Mistakes = Iterator[TorchCall]


def guess(evidence: Evidence, draw: int, starts: Sequence[int], limit: int = 12) -> Guess | None:
    """Rerun the first unmatched torch calls with mistakes until a result occurs in JAX."""
    alignment = evidence.alignment
    run = evidence.torch_side.run(evidence.draws[draw], keep=True)  # also stores the calls
    spots, prints = jax_program.spots(evidence.jax_runs[draw].prints)
    known = {k for i in range(len(alignment.first)) for k in alignment.matches(i)}
    new = np.array([k for k in range(len(spots)) if k not in known], np.int64)
    for i in starts[:limit]:
        value = run.values[i]
        if value.call is None or value.data is None:
            continue
        for call, x in results(TorchCall(*value.call, value.op)):
            at = _find(x, prints[new])
            if at is not None and not np.array_equal(x, value.data):
                rerun = f"rerunning torch with {call.setting} reproduces JAX's value"
                return Guess(i, spots[int(new[at])].key, f"{call.mistake} ({rerun})")
        multiple = find_multiple(value.data, prints[new])
        if multiple is not None:
            text = f"JAX's value is torch's times {as_written(multiple[1])}"
            return Guess(i, spots[int(new[multiple[0]])].key, text)
        at = _skipped(run, i, prints[new])
        if at is not None:
            text = f"torch's {value.op} is missing (skipping it in torch reproduces JAX's value)"
            return Guess(i, spots[int(new[at])].key, text)
    return None


def results(call: TorchCall) -> Iterator[tuple[TorchCall, np.ndarray]]:
    """Yield the result of torch's call with each mistake that applies to it."""
    for mistakes in (_eps, *GUESSES.get(call.op, ())):
        for wrong in mistakes(call):
            try:
                with torch.no_grad():
                    out = wrong.func(*wrong.args, **wrong.kwargs)
            except Exception:  # the mistake does not apply to this call
                continue
            if isinstance(out, tuple | list):
                out = out[0]
            if isinstance(out, Tensor) and out.is_floating_point():
                yield wrong, to_numpy(out)


def _eps(call: TorchCall) -> Mistakes:
    used = call.bound.get("eps")
    for eps in _EPS if used is not None else ():
        if eps != used:
            yield call.replaced(f"eps is {eps:g}, torch uses {used:g}", f"{eps:g}", eps=eps)


def _gelu(call: TorchCall) -> Mistakes:
    forms = {"none": "the exact form", "tanh": "the tanh approximation"}
    used = "tanh" if call.bound.get("approximate", "none") == "tanh" else "none"
    other = "none" if used == "tanh" else "tanh"
    text = f"GELU is {forms[other]}, torch uses {forms[used]}"
    yield call.called(text, call.args[0], approximate=other)


def _activation(call: TorchCall) -> Mistakes:
    for name in ("relu", "silu", "tanh", "gelu", "relu6", "leaky_relu", "elu"):
        func = getattr(torch if name == "tanh" else functional, name)
        text = f"the activation is {name}, torch uses {call.op}"
        yield call.called(text, call.args[0])._replace(func=func)


def _linear(call: TorchCall) -> Mistakes:
    x, *rest = call.args
    w, b = rest[0] if rest else call.kwargs["weight"], call.kwargs.get("bias", *rest[1:2])
    if w.shape[0] == w.shape[1]:
        yield call.called("the square weight is transposed", x, w.T, b)
    if b is not None:
        yield call.called("the bias is missing", x, w)


def _convolution(call: TorchCall) -> Mistakes:
    x, *rest = call.args
    weight = rest[0] if rest else call.kwargs["weight"]
    kernels = {"the kernel is flipped": weight.flip(tuple(range(2, weight.ndim)))}
    if weight.shape[0] == weight.shape[1]:
        kernels["the kernel's channels are swapped"] = weight.transpose(0, 1)
    if weight.ndim == 4:
        kernels["the kernel's height and width are swapped"] = weight.transpose(2, 3)
    for text, kernel in kernels.items():
        yield call.called(text, x, kernel, *rest[1:], **call.kwargs)


def _softmax(call: TorchCall) -> Mistakes:
    for dim in range(call.args[0].ndim):
        yield call.called(f"{call.op} is over dim {dim}", call.args[0], dim)


def _attention(call: TorchCall) -> Mistakes:
    qkv, d = call.args[:3], call.args[0].shape[-1]
    for text, scale in (("1", 1.0), ("1/d", 1 / d), ("1/sqrt(d)", d**-0.5)):
        yield call.called(f"the scale is {text}", *call.args, **{**call.kwargs, "scale": scale})
    yield call.called("the attention mask is missing", *qkv)
    yield call.called("there is a causal mask", *qkv, is_causal=True)


def _variance(call: TorchCall) -> Mistakes:
    rest = {k: v for k, v in call.kwargs.items() if k not in ("unbiased", "correction")}
    for n, divisor in enumerate(("N", "N - 1")):
        yield call.called(f"{call.op} divides by {divisor}", call.args[0], correction=n, **rest)


def _interpolate(call: TorchCall) -> Mistakes:
    used, mode = bool(call.bound.get("align_corners")), call.bound.get("mode", "nearest")
    yield call.replaced(f"align_corners is {not used}, torch uses {used}", align_corners=not used)
    text = f"the mode is 'nearest', torch uses {mode!r}"
    yield call.replaced(text, mode="nearest", align_corners=None)


def _average_pool(call: TorchCall) -> Mistakes:
    used = bool(call.bound.get("count_include_pad", True))
    text = f"count_include_pad is {not used}, torch uses {used}"
    yield call.replaced(text, count_include_pad=not used)


def _embedding(call: TorchCall) -> Mistakes:
    ids, *rest = call.args
    for by in (1, -1):
        yield call.called(f"the indices are shifted by {by}", ids + by, *rest, **call.kwargs)
        yield call.called(f"the indices are rolled by {by}", ids.roll(by, -1), *rest, **call.kwargs)


def _addition(call: TorchCall) -> Mistakes:
    if len(call.args) != 2:
        return
    x, y = call.args
    for eps in _EPS if isinstance(y, float) else ():
        if eps != y:
            yield call.called(f"{eps:g} is added, torch adds {y:g}", x, eps)
    text = "the operands are subtracted, torch adds them"
    yield call.called(text, x, y)._replace(func=torch.sub)


def _mean_or_sum(call: TorchCall) -> Mistakes:
    other = "sum" if call.op == "mean" else "mean"
    text = f"the reduction is {other}, torch uses {call.op}"
    yield call._replace(mistake=text, func=getattr(torch, other))


def _masked_fill(call: TorchCall) -> Mistakes:
    x, mask, *value = call.args
    if isinstance(mask, Tensor):
        for fill in (-1.0, -1e4, -1e9, -100.0):
            yield call.called(f"masked elements are {fill:g}", x, mask, fill)
        yield call.called("the mask is inverted", x, ~mask.bool(), *value)


_ACTIVATIONS = ("silu", "relu", "sigmoid", "tanh", "leaky_relu", "elu", "softplus", "relu6")
# The mistakes of each call, in the order in which they are tried after other values of eps.
GUESSES: dict[str, tuple[Callable[[TorchCall], Mistakes], ...]] = {
    **dict.fromkeys(_ACTIVATIONS, (_activation,)),
    **{f"conv{kind}{n}d": (_convolution,) for kind in ("", "_transpose") for n in (1, 2, 3)},
    **{f"avg_pool{n}d": (_average_pool,) for n in (1, 2, 3)},
    **dict.fromkeys(("softmax", "log_softmax"), (_softmax,)),
    **dict.fromkeys(("std", "var"), (_variance,)),
    **dict.fromkeys(("add", "radd"), (_addition,)),
    **dict.fromkeys(("mean", "sum"), (_mean_or_sum,)),
    "gelu": (_gelu, _activation),
    "linear": (_linear,),
    "scaled_dot_product_attention": (_attention,),
    "interpolate": (_interpolate,),
    "embedding": (_embedding,),
    "masked_fill": (_masked_fill,),
}


def _skipped(run: TorchRun, i: int, prints: np.ndarray) -> int | None:
    """Return the JAX row equal to a consumer's result when the value's own call is skipped."""
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
    """Return the row of `prints` that equals the fingerprint of `x`, or None."""
    print_ = fingerprint(x)
    if not len(prints) or is_constant(print_):
        return None
    off = print_distance(print_, prints)
    best = int(np.argmin(off))
    return best if off[best] < SAME else None


def find_multiple(data: np.ndarray, prints: np.ndarray) -> tuple[int, float] | None:
    """Return the row of a JAX value that is a multiple of torch's, and the factor, or None."""
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


def as_written(x: float) -> str:
    """Format a number as a person would write it: 1/sqrt(8)."""
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
        return f"JAX's gradient is torch's times {as_written(factor)}"
    rest = actual - expected
    rows = np.flatnonzero(np.any(rest.reshape(len(rest), -1) != 0, 1)) if rest.ndim > 1 else ()
    wrong = [int(r) for r in rows if np.max(np.abs(rest[r])) > 1e-9 * np.max(np.abs(expected))]
    if 0 < len(wrong) <= max(1, len(rest) // 4):
        return f"only rows {wrong[:4]} differ, which may be padding or masked"
    return ""
