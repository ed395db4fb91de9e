"""Run one case in one cell of the grid (dtype, mode, device, seed) and return the verdict.

inputs (float64, rounded to the cell's dtype) ──► torch reference ──► observation ──────┐
          │                                  └──► in float64: oracle                    ├─► verdict
          │                                  └──► perturbed by 1 ULP: torch's own error │
          └──────────► JAX twin, eager or jit ──► observation ──────────────────────────┘
                                         └──► negative control without its tool: must not pass
"""

import contextlib
import dataclasses
import functools
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.parity import interop
from jaxgrad.parity.compare import ABSENT, PASSED, Comparison, Leaf, Raises, compare, flatten
from jaxgrad.parity.compiling import QUICK
from jaxgrad.parity.ulp import epsilon
from parity_tests.case import Case
from parity_tests.inputs import perturbations
from parity_tests.runner.jax_side import JaxProgram
from parity_tests.runner.settings import OPTIMIZED
from parity_tests.runner.torch_side import TorchRun, nudged_inputs, run_torch, split


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of one cell; pytest, the runner, the page and the notebooks only display it."""

    id: str
    theme: str
    claim: str
    source: tuple[str, ...]
    idiom: tuple[str, str]
    dtype: str
    mode: str
    device: str
    seed: int
    verdict: str  # bitwise | close | deviation | fail | error | blind
    control: str  # tool | perturbation
    seconds: float
    text: str = ""
    leaves: tuple[Leaf, ...] = ()
    why: str = ""  # the reason for a deviation or a tolerance
    shown: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    without: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # leaf -> without the tool
    changed: tuple[Leaf, ...] = ()  # the leaves that differ without the tool
    redraws: int = 0
    phases: Mapping[str, float] = dataclasses.field(default_factory=dict)  # seconds by phase

    @property
    def passed(self) -> bool:
        return self.verdict in PASSED

    @property
    def max_ulp_at_scale(self) -> float:
        compared = [leaf.ulp_at_scale for leaf in self.leaves if not leaf.structural_zero]
        return max(compared, default=0.0)

    @property
    def max_rel(self) -> float:
        return max((leaf.max_rel for leaf in self.leaves if not leaf.structural_zero), default=0.0)

    @property
    def oracle_ratio(self) -> float | None:
        ratios = [leaf.oracle_ratio for leaf in self.leaves if leaf.oracle_ratio is not None]
        return max(ratios, default=None)

    @property
    def command(self) -> str:
        """The command that runs only this cell."""
        parts = [
            f"python -m parity_tests {self.id}",
            f"--dtype {self.dtype}",
            f"--mode {self.mode}",
        ]
        if self.device != "cpu":
            parts.append(f"--device {self.device}")
        if self.seed:
            parts.append(f"--seed {self.seed}")
        return " ".join(parts)

    def __str__(self) -> str:
        cell = f"{self.dtype} {self.mode} {self.device}"
        lines = [f"{self.verdict.upper()} {self.id} ({cell})", f"  claim  {self.claim}"]
        if self.text:
            lines.append(f"  cause  {self.text}")
        if not self.passed:
            lines.append(f"  rerun  {self.command}")
        return "\n".join(lines)


def run(
    case: Case, dtype: str = "float64", mode: str = "eager", *, seed: int = 0, device: str = "cpu"
) -> Result:
    """Run one cell and judge it.

    Args:
        case: A case from `parity_tests.case.load()`.
        dtype: The dtype of every floating input: "float64", "float32", "bfloat16" or "float16".
        mode: How the JAX program runs: "eager" or "jit".
        seed: With 0, use the source documents' inputs where the case gives any; else sample.
        device: "cpu", "gpu" (for both frameworks) or "tpu" (JAX only; torch runs on the CPU).

    Returns:
        The verdict with its details. A case that raises gives the verdict "error".
    """
    start = time.perf_counter()
    phases: dict[str, float] = {}
    try:
        verdict = _judge(case, dtype, mode, seed, device, functools.partial(_phase, phases))
    except Exception as error:  # a broken case must not stop the other cells
        verdict = _Verdict("error", f"{_describe(error)}\n{_tail(error)}")
    why = case.deviation.why if verdict.name == "deviation" and case.deviation else ""
    tolerance = case.tolerance_in(dtype)
    if tolerance is not None:
        why = f"tolerance {tolerance.rtol:g} of scale: {tolerance.why}"
    return Result(
        id=case.id,
        theme=case.theme,
        claim=case.claim,
        source=case.source,
        idiom=case.idiom,
        dtype=dtype,
        mode=mode,
        device=device,
        seed=seed,
        verdict=verdict.name,
        control=case.control_kind,
        seconds=time.perf_counter() - start,
        text=verdict.text,
        leaves=verdict.leaves,
        why=why,
        shown=verdict.shown,
        without=verdict.without,
        changed=verdict.changed,
        redraws=verdict.redraws,
        phases=phases,
    )


@contextlib.contextmanager
def _phase(phases: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        phases[name] = phases.get(name, 0.0) + time.perf_counter() - start


@dataclasses.dataclass(frozen=True)
class _Verdict:
    name: str
    text: str = ""
    leaves: tuple[Leaf, ...] = ()
    shown: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    without: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    changed: tuple[Leaf, ...] = ()
    redraws: int = 0


def _judge(
    case: Case, dtype: str, mode: str, seed: int, device: str, phase: Callable[[str], Any]
) -> _Verdict:
    if jax.dtypes.canonicalize_dtype(dtype) != jnp.dtype(dtype):
        raise ValueError(
            "the cell needs float64, but 64-bit types are disabled in JAX; set "
            'JAX_ENABLE_X64=1 or call jax.config.update("jax_enable_x64", True) first'
        )
    with phase("torch"):
        torch_run = run_torch(case, dtype, seed, device)
    twin = JaxProgram(case.fun, mode, device, OPTIMIZED if case.heavy else None)
    with phase("jax"):
        jax_value, jax_shown = split(twin(torch_run.inputs))
    torch_value, torch_shown = split(torch_run.observed)
    shown = {"torch": torch_shown, "jax": jax_shown} if torch_shown or jax_shown else {}

    rules = {
        "oracle": torch_run.oracle,
        "reruns": torch_run.reruns,
        "tolerance": case.tolerance_in(dtype),
        "zeros": case.zeros,
    }
    judge = functools.partial(compare, torch_value, **rules)
    if case.deviation is None:
        for side, value in (("the torch reference", torch_value), ("the JAX case", jax_value)):
            if isinstance(value, BaseException):
                return _Verdict("error", f"{side} raised {_describe(value)}\n{_tail(value)}")
        comparison = judge(jax_value)
    else:
        direct = _side_by_side(torch_value, jax_value, **rules)
        judge = _pinned(case, dtype, torch_run, case.deviation.jax_is)
        comparison = _judge_pins(case, dtype, torch_run, torch_value, judge(jax_value), direct)
    verdict = functools.partial(
        _Verdict, leaves=comparison.leaves, shown=shown, redraws=torch_run.redraws
    )
    if comparison.verdict not in PASSED:
        return verdict(comparison.verdict, comparison.text)
    missed = _unexpected(case, seed, dtype, torch_value, jax_value)
    if missed:
        return verdict("fail", missed)
    with phase("control"):
        blind = _blind(case, twin, judge, torch_run.inputs, dtype, seed, device)
    if blind:
        return verdict("blind", blind)
    if case.control is None:
        return verdict(comparison.verdict)
    observed = _without_tool(case, dtype, seed, device)
    return verdict(
        comparison.verdict,
        without=at_leaves(observed, comparison.leaves),
        changed=tuple(leaf for leaf in judge(observed).leaves if leaf.differs),
    )


def at_leaves(observed: Any, leaves: Iterable[Leaf]) -> dict[str, Any]:
    """Return an observation by the path of each leaf, at the element that the leaf reports."""
    flat = flatten(observed)
    values = {}
    for leaf in leaves:
        value = flat.get(leaf.path, ABSENT)
        if leaf.index and isinstance(value, np.ndarray) and value.ndim == len(leaf.index):
            inside = all(i < n for i, n in zip(leaf.index, value.shape, strict=True))
            value = value[leaf.index] if inside else value
        values[leaf.path] = value
    return values


def _judge_pins(
    case: Case,
    dtype: str,
    torch_run: TorchRun,
    torch_value: Any,
    jax_found: Comparison,
    direct: Comparison,
) -> Comparison:
    """Accept a deviation while both frameworks match their pins and disagree with each other.

    The leaves of an accepted deviation show torch beside JAX (`direct`), without the pins.
    """
    assert case.deviation is not None
    torch_found = _pinned(case, dtype, torch_run, case.deviation.torch_is)(torch_value)
    for side, comparison in (("torch", torch_found), ("JAX", jax_found)):
        if comparison.verdict not in PASSED:
            text = comparison.text.replace("torch has", "the pin has").replace(
                "JAX has", f"{side} has"
            )
            return comparison._replace(text=f"{side} no longer matches its pin: {text}")
    if direct.verdict in PASSED:
        text = "stale deviation: torch and JAX now agree; remove deviation= from the case"
        return jax_found._replace(verdict="fail", text=text)
    return direct._replace(verdict="deviation")


def _side_by_side(torch_value: Any, jax_value: Any, **rules: Any) -> Comparison:
    """Compare torch with JAX; pair an exception of one with every value of the other there."""
    torch, jax = flatten(torch_value), flatten(jax_value)
    return compare(_spread(torch, jax), _spread(jax, torch), **rules)


def _spread(leaves: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Replace an exception by one for each leaf that the other side has below its path."""
    spread = dict(leaves)
    for path, leaf in leaves.items():
        below = [name for name in other if name.startswith(f"{path}/" if path else "") and name]
        if isinstance(leaf, BaseException) and path not in other and below:
            del spread[path]
            spread |= dict.fromkeys(below, leaf)
    return spread


def _pinned(case: Case, dtype: str, torch_run: TorchRun, pin: Any) -> Callable[[Any], Comparison]:
    """Return a function that compares an observation with a pin as if torch had returned it."""
    if isinstance(pin, Raises):
        return functools.partial(compare, pin)
    wide = interop.cast(torch_run.inputs, np.float64)
    return functools.partial(
        compare,
        _as_arrays(pin(**torch_run.inputs)),
        oracle=None if dtype == "float64" else _as_arrays(pin(**wide)),
        reruns=[_as_arrays(pin(**near)) for near in nudged_inputs(case, torch_run.inputs)],
        zeros=case.zeros,
    )


def _blind(
    case: Case,
    twin: JaxProgram,
    judge: Callable[[Any], Comparison],
    inputs: Any,
    dtype: str,
    seed: int,
    device: str,
) -> str:
    """Run the negative control; return why the cell proves nothing, or "" if it can fail."""
    if case.control is not None:
        observed = _without_tool(case, dtype, seed, device)
        if isinstance(observed, BaseException):
            raise RuntimeError(f"the control of {case.id} raised {_describe(observed)}")
        if any(leaf.differs for leaf in judge(observed).leaves):
            return ""
        return f"the case still passes with {', '.join(case.control)} removed"
    for variant in perturbations(case.inputs, inputs):
        if any(leaf.differs for leaf in judge(split(twin(variant))[0]).leaves):
            return ""
    return "perturbing the inputs does not change the observation; give the case a control="


@functools.lru_cache(maxsize=2)
def _without_tool(case: Case, dtype: str, seed: int, device: str) -> Any:
    """Return the observation of the program without its tool, which eager and jit share.

    It must differ from torch by more than rounding, so it runs in whichever mode takes less time. A
    small program is compiled with the options that compile fastest. A heavy one jits its layers
    itself, and most of them are already compiled for the eager cell.
    """
    mode = "eager" if case.heavy else "jit"
    mode = mode if mode in case.modes else case.modes[0]
    program = JaxProgram(case.without_tool(), mode, device, QUICK)
    return split(program(run_torch(case, dtype, seed, device).inputs))[0]


def _unexpected(case: Case, seed: int, dtype: str, torch_value: Any, jax_value: Any) -> str:
    """Describe the first value that differs from the case's `expect`, or return ""."""
    if seed != 0:
        return ""
    for side, tree in (("torch", torch_value), ("JAX", jax_value)):
        leaves = flatten(tree)
        for path, want in (case.expect or {}).items():
            if path not in leaves:
                return f"expect= names {path!r}, but {side} returns {sorted(leaves)}"
            got, rtol = leaves[path], 16 * epsilon(dtype)
            if (got is None) == (want is None):
                if want is None:
                    continue
                have, should = np.asarray(got, np.float64), np.asarray(want, np.float64)
                if have.shape == should.shape and np.allclose(have, should, rtol=rtol, atol=0):
                    continue
            return f"{path}: expect= states {want}, {side} has {got}"
    return ""


def _as_arrays(tree: Any) -> Any:
    """Convert numpy scalars to arrays; pins are written in numpy and may return scalars."""
    return interop.map_leaves(lambda x: np.asarray(x) if isinstance(x, np.generic) else x, tree)


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _tail(error: BaseException) -> str:
    """Return the last frames of a traceback, which show the failing line of the program."""
    return "".join(traceback.format_tb(error.__traceback__)[-3:]).rstrip()
