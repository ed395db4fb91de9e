"""Before any number: what is there on each side, and what trains."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import compat
from jaxgrad.parity.interop import map_leaves, to_numpy
from jaxgrad.parity.prove import adapters as front
from jaxgrad.parity.prove.adapters import ProofError
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.jax_side.flow import leaf_key, place
from jaxgrad.parity.prove.jax_side.program import JaxProgram
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.torch_side.values import TorchRun
from jaxgrad.parity.prove.weights.given import WeightsError, from_mapping
from jaxgrad.parity.prove.weights.infer import infer
from jaxgrad.parity.prove.weights.likeness import likeness
from jaxgrad.parity.prove.weights.map import WeightMap


if TYPE_CHECKING:
    from jaxgrad.parity.prove.evidence import Proof
    from jaxgrad.parity.prove.jax_side.port import Port
    from jaxgrad.parity.prove.torch_side.side import TorchSide


def check_inputs(inputs: Any) -> Any:
    """The inputs as numpy arrays, floats as float64."""
    if inputs is None:
        raise ProofError("no inputs were given: a tuple of numpy arrays, one for each argument")
    if hasattr(inputs, "__array__"):
        inputs = (inputs,)
    if isinstance(inputs, list):
        inputs = tuple(inputs)
    inputs = map_leaves(
        lambda x: jax_program.widened(to_numpy(x)) if hasattr(x, "dtype") else x, inputs
    )
    for path, x in zip(*jax_program.flat(inputs)[:2], strict=True):
        if np.issubdtype(x.dtype, np.inexact) and np.isnan(x).any():
            raise ProofError(f"input {path} of shape {x.shape} has {int(np.isnan(x).sum())} NaN")
    return inputs


def _arrays(inputs: Any) -> list[np.ndarray]:
    return jax_program.flat(inputs)[1]


def traced(given: front.Given, inputs: Any, pick: Any, loss: Any, has_state: bool) -> JaxProgram:
    """The JAX side as a jaxpr; what keeps it from being one is said in a sentence."""

    def trace() -> JaxProgram:
        return jax_program.program(given.fn, given.params, inputs, pick, loss, has_state)

    made = guarded(trace, inputs)
    try:
        with jax.checking_leaks():
            trace()
    except Exception as error:
        if "Leaked" in str(error):
            raise ProofError(
                "fn is not pure: a traced value outlives it (kept in a list, a global or an "
                f"attribute). {_short(error)}"
            ) from error
    if not any(jnp.issubdtype(a.dtype, jnp.inexact) for a in made.jaxpr.out_avals):
        raise ProofError("fn's outputs hold no floating values, so nothing has a gradient")
    return made


def guarded(run: Callable[[], Any], inputs: Any = ()) -> Any:
    """Run the JAX side; an exception of the user's code becomes a sentence."""
    try:
        return run()
    except ProofError:
        raise
    except compat.NEEDS_NUMBERS as error:
        raise ProofError(
            "fn cannot be traced: it uses numpy, float(), bool() or a Python `if` on a traced "
            f"value{_where(error)}. Use jax.numpy, jnp.where or lax.cond. {_short(error)}"
        ) from error
    except jax.errors.UnexpectedTracerError as error:
        raise ProofError(
            f"fn is not pure: a traced value outlives its transformation. {_short(error)}"
        ) from error
    except Exception as error:
        given = f"fn called with {len(_arrays(inputs))} inputs" if inputs else "fn"
        raise ProofError(
            f"JAX: {given} raised {type(error).__name__}{_where(error)}: {_short(error)}"
        ) from error


def _where(error: BaseException) -> str:
    """The innermost line of the user's in a traceback."""
    import traceback

    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "site-packages" not in f.filename and "/jaxgrad/" not in f.filename
    ]
    return f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _short(error: BaseException) -> str:
    return str(error).strip().split("\n")[0][:300]


def check_outputs(run: TorchRun, made: JaxProgram, ours: list[np.ndarray]) -> None:
    """Both sides give the same number of outputs, of the same shapes."""
    theirs = run.outputs
    if len(theirs) != len(made.out_paths):
        names = ", ".join(n or "output" for n in made.out_paths)
        raise ProofError(
            f"torch gives {len(theirs)} outputs ({_shown(theirs)}), JAX gives "
            f"{len(made.out_paths)} ({names}); say which are compared with "
            "outputs=(torch_pick, jax_pick)"
        )
    for (name, x), path, y in zip(theirs.items(), made.out_paths, ours, strict=False):
        if x.shape != y.shape and not (name == "loss" and x.size == y.size):
            raise ProofError(
                f"output {name or path or 0}: torch gives shape {x.shape}, JAX gives {y.shape}; "
                "if one is a transpose of the other, say so with outputs=(torch_pick, jax_pick)"
            )


def _shown(outputs: Mapping[str, np.ndarray]) -> str:
    return ", ".join(f"{name or 'output'}{list(x.shape)}" for name, x in outputs.items())


def weight_map(side: TorchSide, fn: Any, params: Any, given: Any) -> tuple[Any, WeightMap]:
    """Where each torch weight is in params; and params, if a converter made them."""
    tensors = {
        name: np.asarray(x)
        for name, x in side.state.items()
        if np.issubdtype(np.asarray(x).dtype, np.inexact)
    }
    values = tensors
    if callable(given):
        params, values = _converted(given, side, tensors, 0)
    made = front.normalise(fn, params)
    paths, leaves, _, _ = jax_program.flat(made.params)
    if not leaves:
        raise ProofError("params holds no array: give the port's parameters, or weights=")
    bad = [p for p, x in zip(paths, leaves, strict=True) if _not_finite(x)]
    if bad:
        raise ProofError(f"the JAX weights are not finite: {bad[0]!r} has NaN")
    if isinstance(given, Mapping):
        try:
            found = from_mapping(given, tensors, leaves, paths)
        except WeightsError as error:
            raise ProofError(str(error)) from error
        mapped = {p.leaf for p in found.pieces}
        extra = [paths[i] for i in range(len(leaves)) if i not in mapped and _floating(leaves[i])]
        missing = [n for n in tensors if not found.leaves_of(n)]
    else:
        found, missing, extra = infer(values, leaves, paths)
    if callable(given) and not extra:
        again, second = _converted(given, side, tensors, 1)
        expected = found.to_jax(second)
        got = jax_program.flat(front.normalise(fn, again).params)[1]
        off = [p for p, x, y in zip(paths, expected, got, strict=True) if not _near(x, y)]
        if off:
            raise ProofError(
                f"weights= does more than rearrange: leaf {off[0]!r} is no arrangement"
            )
        found = dataclasses.replace(found, tensors=tensors)
    _check_map(side, found, missing, extra, leaves, paths)
    return params, found


def _converted(given: Any, side: TorchSide, tensors: Any, salt: int) -> tuple[Any, Any]:
    """The converter's params for weights that are all different."""
    rng = np.random.default_rng([17, salt])
    values = {
        n: np.asarray(rng.standard_normal(x.shape), np.float32).astype(np.float64)
        for n, x in tensors.items()
    }
    state = side.state_dict(values)
    try:
        return given(state), values
    except (TypeError, AttributeError):
        return given({name: to_numpy(x) for name, x in state.items()}), values
    except KeyError as error:
        raise ProofError(f"weights= asks for {error}, the state_dict has {list(state)}") from error


def _near(x: Any, y: Any) -> bool:
    x, y = np.asarray(x), np.asarray(y)
    return not _floating(x) or (x.shape == y.shape and np.allclose(x, y, rtol=1e-6, atol=1e-6))


def _floating(x: Any) -> bool:
    return np.issubdtype(np.asarray(x).dtype, np.inexact)


def _not_finite(x: Any) -> bool:
    return _floating(x) and bool(np.isnan(x).any())


def _check_map(
    side: TorchSide,
    found: WeightMap,
    missing: list[str],
    extra: list[str],
    leaves: list[np.ndarray],
    paths: list[str],
) -> None:
    parameters = set(side.flags)
    used = {name for name in missing if name in parameters and not _same_elsewhere(found, name)}
    if not extra:
        # A weight that torch does not use either needs no leaf; the caller finds out by running.
        return
    shapes = dict(zip(paths, leaves, strict=True))
    lines = []
    for path in extra[:8]:
        near = max(missing, key=lambda n: likeness(n, path), default=None)
        hint = ""
        if near is not None and found.tensors[near].size == shapes[path].size:
            hint = f"; torch's {near!r} has as many, but other numbers"
        lines.append(f"  JAX leaf {path!r} {list(shapes[path].shape)} holds no torch tensor{hint}")
    lines += [
        f"  torch's {name!r} {list(found.tensors[name].shape)} is in no JAX leaf"
        for name in sorted(used)[:8]
    ]
    raise ProofError(
        "the map between the weights is not known:\n"
        + "\n".join(lines)
        + "\nConvert the same checkpoint for both sides, or give weights= (the converter, or names)"
    )


def _same_elsewhere(found: WeightMap, name: str) -> str | None:
    """Another torch tensor with the same numbers that a leaf does hold."""
    x = found.tensors[name]
    for other, y in found.tensors.items():
        same = other != name and y.shape == x.shape and found.leaves_of(other)
        if same and np.array_equal(x, y) and x.size > 1 and np.any(x != x.flat[0]):
            return other
    return None


def other_pairings(found: WeightMap, limit: int = 200) -> Iterator[WeightMap]:
    """The maps in which two constant leaves of one size have changed places."""
    guessed = [i for i, piece in enumerate(found.pieces) if piece.guessed]
    pairs = [
        (i, k)
        for i, k in itertools.combinations(guessed, 2)
        if found.pieces[i].index.size == found.pieces[k].index.size
        and found.tensors[found.pieces[i].name].flat[0]
        == found.tensors[found.pieces[k].name].flat[0]
    ]
    for i, k in pairs[:limit]:
        pieces = list(found.pieces)
        one, two = pieces[i], pieces[k]
        pieces[i] = dataclasses.replace(
            one, name=two.name, index=two.index.reshape(one.index.shape)
        )
        pieces[k] = dataclasses.replace(
            two, name=one.name, index=one.index.reshape(two.index.shape)
        )
        yield dataclasses.replace(found, pieces=tuple(pieces))


def surface(proof: Proof) -> Surface:
    """What trains, what is None, what is tied."""
    port, run = proof.port, proof.runs[0]
    found: list[Finding] = []

    def differ(torch_name: str, jax_name: str, text: str, cause: str = "") -> None:
        found.append(Finding("structure", torch_name, jax_name, text, cause=cause))

    flags = proof.side.flags
    live = dict(enumerate(port.live))
    missing = []
    for name, trains in flags.items():
        leaves = port.weights.leaves_of(name)
        where = port.weights.place_of(name)
        if not leaves:
            other = _same_elsewhere(port.weights, name)
            if other is not None:
                differ(name, port.weights.place_of(other),
                       f"two parameters in torch ({other}, {name}), one leaf in JAX: tied there "
                       "alone")  # fmt: skip
            elif run.grads[name] is not None and np.any(run.grads[name]):
                missing.append(name)
            continue
        alive = any(live[i] for i in leaves)
        said = proof.train
        chosen = alive if said is None else any(said[i] for i in leaves)
        theirs = run.grads[name]
        if not trains and chosen and alive:
            differ(
                name,
                where,
                "frozen in torch (requires_grad is False), it trains in JAX",
                "stop_gradient missing; or say with trainable= what the optimizer moves",
            )
        elif trains and said is not None and not chosen and theirs is not None:
            differ(name, where, "it trains in torch, trainable= says that it does not in JAX")
        elif trains and theirs is None and alive and not _all_zero(proof, leaves):
            differ(
                name,
                where,
                "torch has no gradient (None), JAX has one",
                "detach missing: a stop_gradient that torch has and JAX has not",
            )
        elif trains and theirs is not None:
            dead = _dead(port, name, theirs)
            if dead:
                where = ", ".join(port.program.param_paths[i] for i in dead)
                stop = _stop(proof, dead)
                cause = f"an extra stop_gradient at {stop}" if stop else "a weight that is not used"
                differ(name, where, "torch has a gradient, in JAX no path leads to it (None)",
                       cause)  # fmt: skip
        copies = _copies(port, name)
        if copies:
            differ(name, where, f"one parameter in torch, {len(copies)} leaves in JAX: not tied",
                   "each copy gets a part of the gradient and they drift apart")  # fmt: skip
    buffers = set(proof.side.state) - set(flags)
    for i, path in enumerate(port.program.param_paths):
        names = port.weights.names_of(i)
        held = [name for name in names if name in buffers]
        if held and proof.train is not None and proof.train[i]:
            differ(held[0], path, "a buffer in torch, it trains in JAX")
    for name in missing if proof.forward_fails is None else ():
        differ(name, "no leaf", "torch trains it, and it is in no JAX leaf",
               "params lacks a leaf, or holds other numbers; give weights= if they are rearranged "
               "beyond recognition")  # fmt: skip
    if missing:
        proof.notes.append(f"torch trains {', '.join(missing[:4])}, which no JAX leaf holds")
    none = sum(run.grads[name] is None for name in flags)
    guessed = len({p.name for p in port.weights.pieces if p.guessed})
    text = f"{len(flags)} parameters"
    if none:
        text += f", {none} without gradient"
    if guessed:
        text += f"; {guessed} constant ones paired by name"
    if found:
        return Surface("structure", "fail", f"{len(found)} differ of {text}", findings=tuple(found))
    return Surface("structure", "pass", text)


def _stop(proof: Proof, leaves: Sequence[int]) -> str:
    """Where the JAX program stops the gradient of some leaves last, if it does."""
    made, flow = proof.port.program, proof.flow
    goal = {key for keys in flow.outputs for key in keys}
    stops = flow.between([leaf_key(i) for i in leaves], goal, set(), "stop_gradient")
    return place(made, stops[0]) if stops else ""


def _dead(port: Port, name: str, grad: np.ndarray) -> list[int]:
    """The leaves that no derivative reaches, of a torch weight whose gradient is not zero there.

    A converter may write a tied weight twice and the port use one copy: the other is no fault.
    """
    pieces = [piece for piece in port.weights.pieces if piece.name == name]
    left = np.array(grad.ravel())
    for piece in pieces:
        if port.live[piece.leaf]:
            left[piece.index] = 0
    dead = [p.leaf for p in pieces if not port.live[p.leaf] and np.any(left[p.index])]
    return list(dict.fromkeys(dead))


def _all_zero(proof: Proof, leaves: list[int]) -> bool:
    if proof.forward_fails is not None:
        return False
    grads = proof.differentiated[0].leaves
    return all(grads[i] is None or not np.any(grads[i]) for i in leaves)


def _copies(port: Port, name: str) -> list[int]:
    """The leaves that hold the same elements of a tensor, and are used."""
    pieces = [p for p in port.weights.pieces if p.name == name and p.index.size]
    pieces = [p for p in pieces if port.live[p.leaf]]
    if len({p.leaf for p in pieces}) < 2:
        return []
    total = sum(p.index.size for p in pieces)
    distinct = len(np.unique(np.concatenate([p.index.ravel() for p in pieces])))
    return [p.leaf for p in pieces] if distinct < total else []
