"""Run one operator's record on both sides and say where they disagree."""

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxgrad.parity import interop
from jaxgrad.parity.compare import FLOAT64_RTOL, compare, flatten
from jaxgrad.parity.ulp import distance, is_array, is_inexact_dtype, wide
from parity_tests.operators import (
    Operator,
    PinnedDifference,
    RaisesFor,
    Sample,
    jax_side,
    torch_side,
)
from parity_tests.operators._harness import jax_side as jax_program
from parity_tests.operators._harness import torch_side as torch_program
from parity_tests.operators._harness.draw import fuzz_seed
from parity_tests.operators._harness.jobs import Job, job, jobs
from parity_tests.operators._harness.rows import FLOOR, ConventionRow, measured, raising


MOVED = 8  # runs of torch with the inputs moved by one ULP
GRAIN = float(np.finfo(np.float64).eps / np.finfo(np.float32).eps)


class Outcome(NamedTuple):
    """What a record's run found: problems in words, rows of the table, how much was compared."""

    problems: list[str]
    rows: list[ConventionRow]
    samples: int
    leaves: int


def check(record: Operator) -> Outcome:
    """Compare an operator with torch on every job of its record."""
    with warnings.catch_warnings():
        # A drawn call may be one that torch or its twin advises against; both must still agree.
        warnings.simplefilter("ignore")
        return _check(record)


def _check(record: Operator) -> Outcome:
    import torch

    ours, theirs = jax_side(record), torch_side(record)
    with torch.random.fork_rng():
        todo, truths, refused = _truths(record, theirs)
    raises = [*record.raises, *refused]
    points = [i for i, j in enumerate(todo) if j.label.startswith("point")]
    natural = [(form, i) for form in record.jax_idioms for i in points]
    plain = [dataclasses.replace(todo[i], second_order=False, options=()) for _, i in natural]
    seen = jax_program.run(
        [*(ours for _ in todo), *(record.jax_idioms[form] for form, _ in natural)],
        [*todo, *plain],
        [*(t.cotangents for t in truths), *(truths[i].cotangents for _, i in natural)],
        [*(t.directions for t in truths), *([] for _ in natural)],
        name=record.name if record.jit else None,
    )
    problems, leaves, contradicts = [], 0, False
    for j, truth, found in zip(todo, truths, seen[: len(todo)], strict=True):
        if isinstance(found, jax_program.Raised):
            problems.append(f"{j.label}: JAX raises {found.type}: {found.text}")
            continue
        pins = next((d for d in record.differences if j.label == f"pinned {d.sample}"), None)
        if record.forward_mode and not isinstance(truth.observed.get("tangent"), type(None)):
            both = zip(truth.observed.pop("tangent"), found["tangent"], strict=True)
            contradicts |= any(t is not None and not np.all(_close(t, x)) for t, x in both)
        texts, count = _disagreements(record, theirs, j, truth, found, pins)
        problems += [f"{j.label}: {text}" for text in texts]
        leaves += count
    if record.forward_mode and not contradicts and not fuzz_seed():
        problems.append(f"forward_mode={record.forward_mode!r} is no longer so: torch's agrees")
    for raised in raises:
        problems += _raises(ours, theirs, raised)
    rows = [
        row
        for (form, i), found in zip(natural, seen[len(todo) :], strict=True)
        for row in _rows(record, form, todo[i], truths[i].observed, found)
    ]
    return Outcome(problems, rows, len(todo) + len(raises), leaves)


def _truths(
    record: Operator, theirs: Callable[..., Any]
) -> tuple[list[Job], list[torch_program.Truth], list[RaisesFor]]:
    """Jobs and what torch has for them; and those in another dtype that it refuses: so must we."""
    todo, truths, refused = [], [], []
    for j in jobs(record):
        try:
            truths.append(torch_program.observe(theirs, j, ones=record.elementwise))
            todo.append(j)
        except Exception:
            if j.dtype in ("", record.dtypes[0]):
                raise  # the record's own dtype
            refused.append(RaisesFor(Sample(*j.rebuild(j.arrays)), Exception))
    return todo, truths, refused


def _disagreements(
    record: Operator,
    theirs: Callable[..., Any],
    job: Job,
    truth: Any,
    found: dict[str, Any],
    pins: PinnedDifference | None,
) -> tuple[list[str], int]:
    """Every leaf that is neither the same nor pinned, in words; and how many were compared."""
    left, right = _paired(truth.observed, found)
    if job.infinite_cotangents:
        return _kept_finite(left, right)
    for path in [path for path in left if job.point and path.startswith("transpose")]:
        # torch masks the product, so by the cotangent it has 0 * inf where ours has the 0.
        broken = np.isnan(left[path]) if path in right else False
        right[path] = np.where(broken, left[path], right.get(path))
    texts = []
    for path, (torch_is, jax_is) in (pins.at if pins else {}).items():
        for side, pin, have in (("torch", torch_is, left), ("JAX", jax_is, right)):
            if path not in have:
                texts.append(f"{path} is pinned, but {side} has only {sorted(have)}")
                continue
            value = have.pop(path)
            if not _same(np.asarray(pin, value.dtype), value):
                texts.append(f"{path}: {side} is pinned to {pin} and has {value.tolist()}")
        if _same(np.asarray(torch_is), np.asarray(jax_is)):
            texts.append(f"{path} is pinned as a deviation, but both pins are {torch_is}")
    if not left:
        return texts, len(left)
    if job.point and record.elementwise:
        texts += [text for path in left for text in _elements(path, left[path], right.get(path))]
        return texts, len(left)
    tolerance = record.tolerance.get(job.dtype)
    result = compare(left, right, tolerance=tolerance, zeros=True)
    failed = [leaf for leaf in result.leaves if leaf.verdict == "fail"]
    if failed and not (job.point and job.second_order):
        # What cancels is known no better than torch's own rounding lets it be.
        judged = compare(left, right, zeros=True, **_judges(theirs, job, left))
        plain = {leaf.path for leaf in failed}
        failed = [x for x in judged.leaves if x.verdict == "fail" and x.path in plain]
    return texts + [f"{leaf.path}: {leaf.text}" for leaf in failed], len(left)


def _kept_finite(torch: dict[str, Any], jax: dict[str, Any]) -> tuple[list[str], int]:
    """Where torch's gradient is finite although a cotangent is not, ours must be."""
    texts = []
    paths = [path for path in torch if path.startswith("gradient") and path in jax]
    for path in paths:
        lost = np.isfinite(torch[path]) & ~np.isfinite(jax[path])
        if np.any(lost):
            at = np.argwhere(lost)[0].tolist()
            texts.append(f"{path}: at {at} torch has {torch[path][lost][0]} and JAX none")
    return texts, len(paths)


def _paired(torch: dict[str, Any], jax: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both observations by path. Where torch has none, JAX's zeros say the same: both go."""
    left, right = flatten(torch), flatten(jax)
    for path in [path for path in left if left[path] is None]:
        if path not in right or right[path] is None or not np.any(right[path]):
            left.pop(path)
            right.pop(path, None)
    absent = {"second", "tangent", "transpose"} - set(torch)
    right = {p: x for p, x in right.items() if p.split("/")[0] not in absent}
    return left, right


def _judges(theirs: Callable[..., Any], low: Job, paths: Mapping[str, Any]) -> dict[str, Any]:
    """torch in float64 on the rounded inputs, and on inputs moved by one ULP in the job's dtype.

    So are cotangents and directions. Of a float64 job there is nothing above: its rounding is also
    seen from torch in float32, in float64's grain. 1 - y near y = 1 has an error that no move of
    the input shows.
    """

    rng = np.random.default_rng(0)

    def nudge(x: np.ndarray) -> np.ndarray:
        if not is_inexact_dtype(x.dtype) or x.dtype.kind == "c":
            return x
        step = rng.choice([-1.0, 1.0], x.shape)
        return np.asarray(np.nextafter(x, (np.inf * step).astype(x.dtype)))

    def run(arrays: list[np.ndarray], **options: Any) -> dict[str, Any]:
        moved = dataclasses.replace(low, arrays=arrays, dtype=options.pop("dtype", low.dtype))
        seen = flatten(torch_program.observe(theirs, moved, **options).observed)
        return {path: seen[path] for path in paths if seen.get(path) is not None}

    oracle = run(interop.cast(low.arrays, np.float64))
    reruns = [run([nudge(x) for x in low.arrays], move=nudge) for _ in range(MOVED)]
    if low.second_order:
        single = interop.cast(low.arrays, np.float32)
        for _ in range(MOVED):
            single = [nudge(x) for x in single]
            exact = run(interop.cast(single, np.float64), dtype="float32")
            rounded = run(single, dtype="float32")
            error = {path: (wide(rounded[path]) - exact[path]) * GRAIN for path in rounded}
            reruns.append({path: oracle[path] + error[path] for path in oracle if path in error})
    return {"oracle": oracle, "reruns": reruns}


def _elements(path: str, torch: Any, jax: Any) -> list[str]:
    """Each element by itself: relative, above the floor; subnormals are zero, as XLA has them."""
    if not is_array(torch) or not is_array(jax):
        return [f"{path}: torch has {torch}, JAX has {jax}"]
    if torch.shape != jax.shape or torch.dtype != jax.dtype:
        text = f"{torch.dtype}{list(torch.shape)}, JAX {jax.dtype}{list(jax.shape)}"
        return [f"{path}: torch has {text}"]
    apart = ~_close(torch, jax)
    return [
        f"{path}: at {np.argwhere(apart)[:, 0].tolist() if apart.ndim else 0} "
        f"torch has {torch[apart].tolist()}, JAX has {jax[apart].tolist()}"
        for _ in range(int(np.any(apart)))
    ]


def _close(torch: np.ndarray, jax: np.ndarray) -> np.ndarray:
    if not is_inexact_dtype(torch.dtype):
        return torch == jax
    size = np.abs(wide(torch))
    bound = np.where(np.isfinite(size), FLOAT64_RTOL * size, 0.0) + FLOOR
    return distance(torch, jax) <= bound


def _same(pin: np.ndarray, value: np.ndarray) -> bool:
    """Whether a value is what was pinned: to ten digits, element by element."""
    if pin.shape not in ((), value.shape):
        return False
    scale = np.abs(wide(np.asarray(pin)))
    bound = np.where(np.isfinite(scale), 1e-10 * scale, 0.0) + FLOOR
    return bool(np.all(distance(np.broadcast_to(pin, value.shape), value) <= bound))


def _raises(ours: Callable[..., Any], theirs: Callable[..., Any], raised: RaisesFor) -> list[str]:
    """Both sides, eagerly: what does not raise what the record says, in words."""
    import jax
    import jax.numpy as jnp

    def forward_torch(j: Job) -> Any:
        args, kwargs = j.rebuild(interop.to_torch(j.arrays))
        return theirs(*args, **kwargs)

    def forward_jax(arrays: list[Any]) -> Any:
        args, kwargs = at.rebuild(arrays)
        return ours(*args, **kwargs)

    def backward_jax(arrays: list[Any]) -> Any:
        def total(inputs: list[Any]) -> Any:
            filled = list(arrays)
            for i, x in zip(at.differentiable, inputs, strict=True):
                filled[i] = x
            leaves = jax.tree.leaves(forward_jax(filled))
            return sum(jnp.sum(y) for y in leaves if jnp.issubdtype(y.dtype, jnp.floating))

        return jax.grad(total)([arrays[i] for i in at.differentiable])

    at = job(f"raises {raised.sample}", raised.sample, None)
    back = raised.when == "backward"
    sides = {
        "torch": (
            raised.torch or raised.words,
            (lambda: torch_program.observe(theirs, dataclasses.replace(at, second_order=False)))
            if back
            else (lambda: forward_torch(at)),
        ),
        "JAX": (
            raised.jax or raised.words,
            lambda: (backward_jax if back else forward_jax)(interop.to_jax(at.arrays)),
        ),
    }
    problems = []
    for side, (words, run) in sides.items():
        try:
            result = run()
        except Exception as error:
            if not isinstance(error, raised.type) or words not in str(error):
                text = f"{type(error).__name__}: {error}"
                problems.append(
                    f"{at.label}: {side} should raise {raised.type.__name__} with the words "
                    f"{words!r} and raises {text}"
                )
        else:
            problems.append(f"{at.label}: {side} should raise {raised.type.__name__}, has {result}")
    return problems


def _rows(
    record: Operator, form: str, job: Job, torch: dict[str, Any], found: Any
) -> list[ConventionRow]:
    """Where a natural form's gradient is not torch's, by each differentiated argument."""
    if isinstance(found, jax_program.Raised):
        return [raising(record, form, job, found.type)]
    rows = []
    for name, theirs in torch["gradient"].items():
        natural = found["gradient"].get(name)
        if theirs is None or natural is None or theirs.shape != natural.shape:
            continue
        apart = ~_close(theirs, natural)
        if np.any(apart):
            rows += measured(record, form, job, name, (theirs, natural), apart)
    return rows
