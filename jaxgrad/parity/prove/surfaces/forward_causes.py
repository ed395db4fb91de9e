"""Guesses at what a porting person did, each tried: torch's call again with the mistake in it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.align.fingerprint import apart, fingerprint, is_constant
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.jax_side.program import Key


if TYPE_CHECKING:
    from jaxgrad.parity.prove.evidence import Proof
    from jaxgrad.parity.prove.torch_side.run import TorchRun


SAME = 1e-9  # a guess fits when its fingerprint is found this near
_EPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-12, 0.0)


class Guess(NamedTuple):
    """A mistake with which torch makes a value that the JAX program has."""

    value: int  # of torch's run
    key: Key | None  # the JAX value
    text: str


def forward(proof: Proof, draw: int, starts: Sequence[int], limit: int = 12) -> Guess | None:
    """Repeat the first lost calls with a mistake in each; the one that JAX has is the guess."""
    seen = proof.seen
    run = proof.side.run(proof.draws[draw], keep=True)  # the calls hold the module's own weights
    spots, prints = jax_program.spots(proof.watched[draw][1])
    known = {k for i in range(len(seen.first)) for k in seen.matches(i)}
    new = np.array([k for k in range(len(spots)) if k not in known], np.int64)
    for i in starts[:limit]:
        value = run.values[i]
        if value.call is None or value.data is None:
            continue
        for what, x in _variants(value.call, value.op):
            at = _find(x, prints[new])
            if at is not None and not np.array_equal(x, value.data):
                text = f"{what}: repeated so, torch gives JAX's value"
                return Guess(i, spots[int(new[at])].key, text)
        guess = _multiple(value.data, prints[new])
        if guess is not None:
            text = f"JAX's value is torch's times {_number(guess[1])}"
            return Guess(i, spots[int(new[guess[0]])].key, text)
        at = _skipped(run, i, prints[new])
        if at is not None:
            text = f"torch's {value.op} is missing: what follows, without it, gives JAX's value"
            return Guess(i, spots[int(new[at])].key, text)
    return None


def _skipped(run: TorchRun, i: int, prints: np.ndarray) -> int | None:
    """Whether JAX has what comes after a call made of what came before it."""
    value = run.values[i]
    assert value.call is not None and value.data is not None
    data = value.data
    _, args, kwargs = value.call
    before = [x for x in _tensors((args, kwargs)) if tuple(x.shape) == value.shape]
    for after in run.values[i + 1 :]:
        if i not in after.inputs or after.call is None:
            continue
        func, args, kwargs = after.call
        for x in before:

            def swap(y: Any, x: Tensor = x) -> Any:
                if isinstance(y, list | tuple):
                    return type(y)(map(swap, y)) if type(y) in (list, tuple) else y
                same = isinstance(y, Tensor) and y.shape == x.shape and y.is_floating_point()
                return x if same and np.array_equal(to_numpy(y), data) else y

            try:
                with torch.no_grad():
                    out = func(*swap(args), **{k: swap(v) for k, v in kwargs.items()})
            except Exception:  # the call does not take what came before
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
        return [x for part in tree for x in _tensors(part)]
    return [tree] if isinstance(tree, Tensor) and tree.is_floating_point() else []


def _find(x: np.ndarray, prints: np.ndarray) -> int | None:
    mine = fingerprint(x)
    if not len(prints) or is_constant(mine):
        return None
    off = apart(mine, prints)
    best = int(np.argmin(off))
    return best if off[best] < SAME else None


def _multiple(data: np.ndarray | None, prints: np.ndarray) -> tuple[int, float] | None:
    """A JAX value that is a multiple of torch's."""
    if data is None or not len(prints) or data.size < 2:
        return None
    mean = float(np.mean(np.abs(data)))
    if not mean or not math.isfinite(mean) or is_constant(fingerprint(data)):
        return None
    for at in np.flatnonzero(prints[:, 0] == data.size):
        factor = float(prints[at, 6]) / mean
        for signed in (factor, -factor):
            if factor and abs(signed - 1) > 1e-9:
                if apart(fingerprint(data * signed), prints[at]) < SAME:
                    return int(at), signed
    return None


def _number(x: float) -> str:
    """As a person would write it: 1/sqrt(8)."""
    for n in range(2, 4097):
        if math.isclose(x, 1 / math.sqrt(n), rel_tol=1e-9):
            return f"1/sqrt({n})"
        if math.isclose(x, math.sqrt(n), rel_tol=1e-9):
            return f"sqrt({n})"
        if math.isclose(x, 1 / n, rel_tol=1e-9):
            return f"1/{n}"
    return f"{x:.6g}"


def _variants(call: tuple[Any, Any, Any], op: str) -> Iterator[tuple[str, np.ndarray]]:
    """What torch's function gives with one thing done as a port often does it."""
    func, args, kwargs = call
    for what, new_func, new_args, new_kwargs in _calls(func, args, kwargs, op):
        try:
            with torch.no_grad():
                out = new_func(*new_args, **new_kwargs)
        except Exception:  # this mistake does not apply to this call
            continue
        if isinstance(out, tuple | list):
            out = out[0]
        if isinstance(out, Tensor) and out.is_floating_point():
            yield what, to_numpy(out)


def _calls(func: Any, args: Any, kwargs: Any, op: str) -> Iterator[tuple[str, Any, Any, Any]]:
    bound = _bound(func, args, kwargs)

    def again(what: str, **new: Any) -> tuple[str, Any, Any, Any]:
        return what, func, (), {**bound, **new}

    if "eps" in bound:
        for eps in _EPS:
            if eps != bound["eps"]:
                yield again(f"eps {eps:g} where torch has {bound['eps']:g}", eps=eps)
    if op == "gelu":
        other = "none" if bound.get("approximate", "none") == "tanh" else "tanh"
        names = {"none": "the exact GELU", "tanh": "the tanh GELU"}
        yield (
            "{} where torch has {}".format(
                names[other], names["none" if other == "tanh" else "tanh"]
            ),
            functional.gelu,
            (args[0],),
            {"approximate": other},
        )
    if op in ("gelu", "silu", "relu", "sigmoid", "tanh", "leaky_relu", "elu", "softplus", "relu6"):
        for other in (
            functional.relu,
            functional.silu,
            torch.tanh,
            functional.gelu,
            functional.relu6,
            functional.leaky_relu,
            functional.elu,
        ):
            yield f"{other.__name__} where torch has {op}", other, (args[0],), {}
    if op == "linear":
        x, w = args[0], args[1] if len(args) > 1 else kwargs["weight"]
        b = args[2] if len(args) > 2 else kwargs.get("bias")
        if w.shape[0] == w.shape[1]:
            yield "the square weight is transposed", functional.linear, (x, w.T, b), {}
        if b is not None:
            yield "the bias is missing", functional.linear, (x, w), {}
    if op.startswith("conv"):
        weight = args[1] if len(args) > 1 else kwargs["weight"]
        spatial = tuple(range(2, weight.ndim))
        yield "the kernel is turned round", func, (args[0], weight.flip(spatial), *args[2:]), kwargs
        if weight.shape[0] == weight.shape[1]:
            swapped = weight.transpose(0, 1)
            yield "the kernel's channels are swapped", func, (args[0], swapped, *args[2:]), kwargs
        if weight.ndim == 4:
            turned = weight.transpose(2, 3)
            yield "height and width are swapped", func, (args[0], turned, *args[2:]), kwargs
    if op in ("softmax", "log_softmax"):
        x = args[0]
        for dim in range(x.ndim):
            yield f"over axis {dim}", func, (x, dim), {}
    if op == "scaled_dot_product_attention":
        d = args[0].shape[-1]
        for what, scale in (("no scale", 1.0), ("scale 1/d", 1 / d), ("scale 1/sqrt(d)", d**-0.5)):
            yield what, func, args, {**kwargs, "scale": scale}
        yield "no causal mask", func, args[:3], {}
        yield "a causal mask", func, args[:3], {"is_causal": True}
    if op in ("std", "var"):
        for n in (0, 1):
            yield f"divided by N - {n}", func, (args[0],), {**_without(kwargs), "correction": n}
    if op == "interpolate":
        flag = not bound.get("align_corners")
        yield again(f"align_corners={flag}", align_corners=flag)
        yield again("nearest", mode="nearest", align_corners=None)
    if op.startswith("avg_pool"):
        flag = not bound.get("count_include_pad", True)
        yield again(f"count_include_pad={flag}", count_include_pad=flag)
    if op == "embedding":
        ids = args[0]
        for shift in (1, -1):
            yield f"indices shifted by {shift}", func, (ids + shift, *args[1:]), kwargs
            yield "rows rolled by one", func, (ids.roll(shift, -1), *args[1:]), kwargs
    if op in ("add", "radd") and len(args) == 2 and isinstance(args[1], float):
        for eps in _EPS:
            if eps != args[1]:
                yield f"{eps:g} added where torch adds {args[1]:g}", func, (args[0], eps), {}
    if op in ("add", "radd") and len(args) == 2:
        yield "subtracted, not added", torch.sub, args, {}
    if op in ("mean", "sum"):
        other = torch.sum if op == "mean" else torch.mean
        yield f"{other.__name__} where torch has {op}", other, args, kwargs
    if op == "masked_fill" and isinstance(args[1], Tensor):
        for fill in (-1.0, -1e4, -1e9, -10000.0, -100.0):
            yield f"masked with {fill:g}", func, (args[0], args[1], fill), {}
        yield "the mask the other way round", func, (args[0], ~args[1].bool(), *args[2:]), {}


def _without(kwargs: Any) -> dict[str, Any]:
    return {k: v for k, v in kwargs.items() if k not in ("unbiased", "correction")}


def _bound(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    try:
        return dict(inspect.signature(func).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return {}


def ratio(proof: Proof, draw: int, name: str) -> str:
    """What JAX's gradient of a parameter is to torch's."""
    theirs = proof.theirs(proof.runs[draw])[name]
    ours = proof.named(proof.differentiated[draw])[name]
    if theirs is None or ours is None:
        return ""
    if not np.any(ours):
        return "JAX's gradient is zero: an extra stop_gradient, or a mask"
    size = float(np.vdot(theirs, theirs).real)
    factor = float(np.vdot(theirs, ours).real) / size if size else 0.0
    miss = float(np.linalg.norm(ours - factor * theirs))
    if factor and miss < 1e-9 * float(np.linalg.norm(ours)):
        return f"JAX's gradient is torch's times {_number(factor)}"
    rest = ours - theirs
    rows = np.flatnonzero(np.any(rest.reshape(len(rest), -1) != 0, 1)) if rest.ndim > 1 else ()
    far = [r for r in rows if np.max(np.abs(rest[r])) > 1e-9 * np.max(np.abs(theirs))]
    if 0 < len(far) <= max(1, len(rest) // 4):
        return f"only rows {far[:4]} differ: a padding row, or a mask?"
    return ""
