"""Run one operator's record in torch and in JAX, and describe each disagreement."""

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


PERTURBED_RUNS = 8  # reruns of torch with the inputs perturbed by one ULP
GRAIN = float(np.finfo(np.float64).eps / np.finfo(np.float32).eps)


class Outcome(NamedTuple):
    """The result of a record's run: problems, table rows, and the number of compared values."""

    problems: list[str]
    rows: list[ConventionRow]
    samples: int
    leaves: int


def check(record: Operator, every: int = 1) -> Outcome:
    """Compare an operator with torch on the jobs of its record.

    Args:
        record: The record.
        every: Of the drawn calls, each `every`-th runs. Those written by hand all run.
    """
    with warnings.catch_warnings():
        # torch or JAX may warn about a drawn call, but must still agree on it.
        warnings.simplefilter("ignore")
        return _check(record, every)


def _check(record: Operator, every: int) -> Outcome:
    import torch

    jax_fun, torch_fun = jax_side(record), torch_side(record)
    with torch.random.fork_rng():
        chosen, truths, rejected = _truths(record, torch_fun, every)
    raises = [*record.raises, *rejected]
    points = [i for i, j in enumerate(chosen) if j.label.startswith("point")]
    idioms = [(form, i) for form in record.jax_idioms for i in points]
    idiom_jobs = [dataclasses.replace(chosen[i], second_order=False, options=()) for _, i in idioms]
    results = jax_program.run(
        [*(jax_fun for _ in chosen), *(record.jax_idioms[form] for form, _ in idioms)],
        [*chosen, *idiom_jobs],
        [*(t.cotangents for t in truths), *(truths[i].cotangents for _, i in idioms)],
        [*(t.directions for t in truths), *([] for _ in idioms)],
        name=record.name if record.jit else None,
    )
    problems, leaves, contradicts = [], 0, False
    for j, truth, outputs in zip(chosen, truths, results[: len(chosen)], strict=True):
        if isinstance(outputs, jax_program.Raised):
            problems.append(f"{j.label}: JAX raises {outputs.type}: {outputs.text}")
            continue
        pins = next((d for d in record.differences if j.label == f"pinned {d.sample}"), None)
        if record.forward_mode and not isinstance(truth.observed.get("tangent"), type(None)):
            both = zip(truth.observed.pop("tangent"), outputs["tangent"], strict=True)
            contradicts |= any(t is not None and not np.all(_close(t, x)) for t, x in both)
        texts, count = _disagreements(record, torch_fun, j, truth, outputs, pins)
        problems += [f"{j.label}: {text}" for text in texts]
        leaves += count
    if record.forward_mode and not contradicts and not fuzz_seed() and every == 1:
        problems.append("`forward_mode=` is stale: torch's forward mode agrees with its gradient")
    for raised in raises:
        problems += _raises(jax_fun, torch_fun, raised)
    rows = [
        row
        for (form, i), outputs in zip(idioms, results[len(chosen) :], strict=True)
        for row in _rows(record, form, chosen[i], truths[i].observed, outputs)
    ]
    return Outcome(problems, rows, len(chosen) + len(raises), leaves)


def _truths(
    record: Operator, torch_fun: Callable[..., Any], every: int
) -> tuple[list[Job], list[torch_program.Truth], list[RaisesFor]]:
    """Return the accepted jobs, torch's results, and the calls that torch rejects in other dtypes.

    JAX must raise for the rejected calls.
    """
    chosen, truths, rejected = [], [], []
    for j in jobs(record, every):
        try:
            truths.append(torch_program.observe(torch_fun, j, ones=record.elementwise))
            chosen.append(j)
        except Exception:
            if j.dtype in ("", record.dtypes[0]):
                raise  # the record claims that torch accepts its first dtype
            rejected.append(RaisesFor(Sample(*j.rebuild(j.arrays)), Exception))
    return chosen, truths, rejected


def _disagreements(
    record: Operator,
    torch_fun: Callable[..., Any],
    job: Job,
    truth: Any,
    outputs: dict[str, Any],
    pins: PinnedDifference | None,
) -> tuple[list[str], int]:
    """Describe each leaf that neither agrees nor is pinned, and count the compared leaves."""
    left, right = _paired(truth.observed, outputs)
    if job.infinite_cotangents:
        return _kept_finite(left, right)
    for path in [path for path in left if job.point and path.startswith("transpose")]:
        # torch masks the product, so its derivative with respect to the cotangent has 0 * inf
        # where JAX has 0.
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
        # After cancellation a value is only as accurate as torch's own rounding allows.
        judged = compare(left, right, zeros=True, **_judges(torch_fun, job, left))
        plain = {leaf.path for leaf in failed}
        failed = [x for x in judged.leaves if x.verdict == "fail" and x.path in plain]
    return texts + [f"{leaf.path}: {leaf.text}" for leaf in failed], len(left)


def _kept_finite(torch: dict[str, Any], jax: dict[str, Any]) -> tuple[list[str], int]:
    """Describe the elements for which JAX's gradient is infinite or NaN but torch's is finite."""
    texts = []
    paths = [path for path in torch if path.startswith("gradient") and path in jax]
    for path in paths:
        lost = np.isfinite(torch[path]) & ~np.isfinite(jax[path])
        if np.any(lost):
            at = np.argwhere(lost)[0].tolist()
            texts.append(
                f"{path}: at {at} torch has {torch[path][lost][0]} and JAX {jax[path][lost][0]}"
            )
    return texts, len(paths)


def _paired(torch: dict[str, Any], jax: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Flatten both observations by path, without leaves that are None in torch and 0 in JAX."""
    left, right = flatten(torch), flatten(jax)
    for path in [path for path in left if left[path] is None]:
        if path not in right or right[path] is None or not np.any(right[path]):
            left.pop(path)
            right.pop(path, None)
    absent = {"second", "tangent", "transpose"} - set(torch)
    right = {p: x for p, x in right.items() if p.split("/")[0] not in absent}
    return left, right


def _judges(torch_fun: Callable[..., Any], low: Job, paths: Mapping[str, Any]) -> dict[str, Any]:
    """Return torch's results in float64, and reruns that show how rounding changes them.

    The reruns perturb inputs, cotangents and directions by one ULP of the job's dtype. A float64
    job has no wider dtype, so its rounding is also estimated from a float32 run of torch, scaled
    down: perturbing the input does not reveal every error (1 - y near y = 1, say).
    """

    rng = np.random.default_rng(0)

    def nudge(x: np.ndarray) -> np.ndarray:
        if not is_inexact_dtype(x.dtype) or x.dtype.kind == "c":
            return x
        step = rng.choice([-1.0, 1.0], x.shape)
        return np.asarray(np.nextafter(x, (np.inf * step).astype(x.dtype)))

    def run(arrays: list[np.ndarray], **options: Any) -> dict[str, Any]:
        perturbed = dataclasses.replace(low, arrays=arrays, dtype=options.pop("dtype", low.dtype))
        results = flatten(torch_program.observe(torch_fun, perturbed, **options).observed)
        return {path: results[path] for path in paths if results.get(path) is not None}

    oracle = run(interop.cast(low.arrays, np.float64))
    reruns = [run([nudge(x) for x in low.arrays], perturb=nudge) for _ in range(PERTURBED_RUNS)]
    if low.second_order:
        single = interop.cast(low.arrays, np.float32)
        for _ in range(PERTURBED_RUNS):
            single = [nudge(x) for x in single]
            exact = run(interop.cast(single, np.float64), dtype="float32")
            rounded = run(single, dtype="float32")
            error = {path: (wide(rounded[path]) - exact[path]) * GRAIN for path in rounded}
            reruns.append({path: oracle[path] + error[path] for path in oracle if path in error})
    return {"oracle": oracle, "reruns": reruns}


def _elements(path: str, torch: Any, jax: Any) -> list[str]:
    """Compare each element by its relative error above `FLOOR`."""
    if not is_array(torch) or not is_array(jax):
        return [f"{path}: torch has {torch}, JAX has {jax}"]
    if torch.shape != jax.shape or torch.dtype != jax.dtype:
        text = f"{torch.dtype}{list(torch.shape)}, JAX {jax.dtype}{list(jax.shape)}"
        return [f"{path}: torch has {text}"]
    differs = ~_close(torch, jax)
    return [
        f"{path}: at {np.argwhere(differs)[:, 0].tolist() if differs.ndim else 0} "
        f"torch has {torch[differs].tolist()}, JAX has {jax[differs].tolist()}"
        for _ in range(int(np.any(differs)))
    ]


def _close(torch: np.ndarray, jax: np.ndarray) -> np.ndarray:
    if not is_inexact_dtype(torch.dtype):
        return torch == jax
    size = np.abs(wide(torch))
    bound = np.where(np.isfinite(size), FLOAT64_RTOL * size, 0.0) + FLOOR
    return distance(torch, jax) <= bound


def _same(pin: np.ndarray, value: np.ndarray) -> bool:
    """Whether a value equals its pin, element by element to ten digits."""
    if pin.shape not in ((), value.shape):
        return False
    scale = np.abs(wide(np.asarray(pin)))
    bound = np.where(np.isfinite(scale), 1e-10 * scale, 0.0) + FLOOR
    return bool(np.all(distance(np.broadcast_to(pin, value.shape), value) <= bound))


def _raises(
    jax_fun: Callable[..., Any], torch_fun: Callable[..., Any], raised: RaisesFor
) -> list[str]:
    """Describe each framework that does not raise as recorded, when run eagerly."""
    import jax
    import jax.numpy as jnp

    def forward_torch(j: Job) -> Any:
        args, kwargs = j.rebuild(interop.to_torch(j.arrays))
        return torch_fun(*args, **kwargs)

    def forward_jax(arrays: list[Any]) -> Any:
        args, kwargs = at.rebuild(arrays)
        return jax_fun(*args, **kwargs)

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
            (lambda: torch_program.observe(torch_fun, dataclasses.replace(at, second_order=False)))
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
    record: Operator, form: str, job: Job, torch: dict[str, Any], outputs: Any
) -> list[ConventionRow]:
    """Return the rows of arguments for which a JAX expression's gradient is not torch's."""
    if isinstance(outputs, jax_program.Raised):
        return [raising(record, form, job, outputs.type)]
    rows = []
    for name, expected in torch["gradient"].items():
        actual = outputs["gradient"].get(name)
        if expected is None or actual is None or expected.shape != actual.shape:
            continue
        differs = ~_close(expected, actual)
        if np.any(differs):
            rows += measured(record, form, job, name, (expected, actual), differs)
    return rows
