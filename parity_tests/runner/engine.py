"""Run one case in one cell of the grid: dtype, mode, device, seed. Pure; prints nothing.

inputs (float64, rounded to the cell's dtype) ──► torch reference ──► observation ─┐
          │                                  └──► in float64: oracle               ├─► verdict
          │                                  └──► moved by 1 ULP: torch's error    │
          └──────────► JAX twin, eager or jit ──► observation ─────────────────────┘
                                         └──► without its tool: must not pass
"""

import contextlib
import dataclasses
import functools
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.parity import interop
from jaxgrad.parity.compare import PASSED, Comparison, Leaf, Raises, compare, flatten
from jaxgrad.parity.ulp import epsilon
from parity_tests.case import Case
from parity_tests.inputs import perturbations
from parity_tests.runner.jax_side import Program
from parity_tests.runner.torch_side import Witness, nudged, split, witness


@dataclasses.dataclass(frozen=True)
class Result:
    """What one cell showed; pytest, the runner, the page and the notebooks only display it."""

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
    why: str = ""  # of a deviation or of a tolerance
    shown: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    redraws: int = 0
    phases: Mapping[str, float] = dataclasses.field(default_factory=dict)  # seconds by what for

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
        """The command that runs this one cell."""
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
            lines.append(f"  what   {self.text}")
        if not self.passed:
            lines.append(f"  rerun  {self.command}")
        return "\n".join(lines)


def run(
    case: Case, dtype: str = "float64", mode: str = "eager", *, seed: int = 0, device: str = "cpu"
) -> Result:
    """Run one cell and judge it.

    Args:
      case: From `parity_tests.case.load()`.
      dtype: "float64", "float32", "bfloat16" or "float16", of every floating input.
      mode: "eager" or "jit", of the JAX side.
      seed: 0 is the document's own inputs where it gives any; others draw.
      device: "cpu", "gpu" (both frameworks there) or "tpu" (JAX there, torch on the CPU).

    Returns:
      The verdict with everything a reader needs; it never raises for a wrong case.
    """
    start = time.perf_counter()
    phases: dict[str, float] = {}
    try:
        verdict = _judge(case, dtype, mode, seed, device, functools.partial(_phase, phases))
    except Exception as error:  # a broken case must not take the other cells with it
        verdict = _Verdict("error", f"{_describe(error)}\n{_tail(error)}")
    why = case.deviation.why if verdict.name == "deviation" and case.deviation else ""
    if case.tolerance is not None:
        why = f"tolerance {case.tolerance.rtol:g} of scale: {case.tolerance.why}"
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
    redraws: int = 0


def _judge(
    case: Case, dtype: str, mode: str, seed: int, device: str, phase: Callable[[str], Any]
) -> _Verdict:
    if jax.dtypes.canonicalize_dtype(dtype) != jnp.dtype(dtype):
        raise ValueError(
            "a float64 cell was asked for, but 64-bit values are switched off in JAX; set "
            'JAX_ENABLE_X64=1 or call jax.config.update("jax_enable_x64", True) first'
        )
    with phase("torch"):
        seen = witness(case, dtype, seed, device)
    twin = Program(case.fun, mode, device)
    with phase("jax"):
        ours, jax_shown = split(twin(seen.inputs))
    theirs, torch_shown = split(seen.observed)
    shown = {"torch": torch_shown, "jax": jax_shown} if torch_shown or jax_shown else {}

    judge = functools.partial(
        compare,
        theirs,
        oracle=seen.oracle,
        reruns=seen.reruns,
        tolerance=case.tolerance,
        zeros=case.zeros,
    )
    if case.deviation is None:
        for side, value in (("the torch reference", theirs), ("the JAX case", ours)):
            if isinstance(value, BaseException):
                return _Verdict("error", f"{side} raised {_describe(value)}\n{_tail(value)}")
        found = judge(ours)
    else:
        agree = judge(ours).verdict in ("bitwise", "close")
        judge = _pinned(case, dtype, seen, case.deviation.jax_is)
        found = _judge_pins(case, dtype, seen, theirs, judge(ours), agree)
    verdict = functools.partial(_Verdict, leaves=found.leaves, shown=shown, redraws=seen.redraws)
    if found.verdict not in PASSED:
        return verdict(found.verdict, found.text)
    missed = _unexpected(case, seed, dtype, theirs, ours)
    if missed:
        return verdict("fail", missed)
    with phase("control"):
        blind = _blind(case, twin, judge, seen.inputs, mode, device)
    if blind:
        return verdict("blind", blind)
    return verdict(found.verdict)


def _judge_pins(
    case: Case, dtype: str, seen: Witness, theirs: Any, jax_found: Comparison, agree: bool
) -> Comparison:
    """A deviation holds while both sides are where they were pinned, and apart."""
    assert case.deviation is not None
    torch_found = _pinned(case, dtype, seen, case.deviation.torch_is)(theirs)
    for side, found in (("torch", torch_found), ("JAX", jax_found)):
        if found.verdict not in PASSED:
            text = found.text.replace("torch has", "the pin has").replace("JAX has", f"{side} has")
            return found._replace(text=f"{side} moved away from its pin: {text}")
    if agree:
        text = "stale deviation: torch and JAX agree now; remove deviation= from the case"
        return jax_found._replace(verdict="fail", text=text)
    return jax_found._replace(verdict="deviation")


def _pinned(case: Case, dtype: str, seen: Witness, pin: Any) -> Callable[[Any], Comparison]:
    """Compares an observation with a pin, which stands in torch's place with its own oracle."""
    if isinstance(pin, Raises):
        return functools.partial(compare, pin)
    wide = interop.cast(seen.inputs, np.float64)
    return functools.partial(
        compare,
        _as_arrays(pin(**seen.inputs)),
        oracle=None if dtype == "float64" else _as_arrays(pin(**wide)),
        reruns=[_as_arrays(pin(**near)) for near in nudged(case, seen.inputs)],
        zeros=case.zeros,
    )


def _blind(
    case: Case,
    twin: "Program",
    judge: Callable[[Any], Comparison],
    inputs: Any,
    mode: str,
    device: str,
) -> str:
    """Why the cell proves nothing, or an empty string if it can be red."""
    if case.control is not None:
        observed, _ = split(Program(case.without_tool(), mode, device)(inputs))
        if isinstance(observed, BaseException):
            raise RuntimeError(f"the control of {case.id} raised {_describe(observed)}")
        if any(leaf.differs for leaf in judge(observed).leaves):
            return ""
        return f"the case passes without its tool too ({', '.join(case.control)} taken out)"
    for variant in perturbations(case.inputs, inputs):
        if any(leaf.differs for leaf in judge(split(twin(variant))[0]).leaves):
            return ""
    return "no input changes what is observed; give the case a control= of its own"


def _unexpected(case: Case, seed: int, dtype: str, theirs: Any, ours: Any) -> str:
    """Where the document's own numbers are missed, on either side."""
    if seed != 0:
        return ""
    for side, tree in (("torch", theirs), ("JAX", ours)):
        leaves = flatten(tree)
        for path, want in (case.expect or {}).items():
            if path not in leaves:
                return f"expect names {path!r}, {side} has {sorted(leaves)}"
            got, rtol = leaves[path], 16 * epsilon(dtype)
            if (got is None) == (want is None):
                if want is None:
                    continue
                have, should = np.asarray(got, np.float64), np.asarray(want, np.float64)
                if have.shape == should.shape and np.allclose(have, should, rtol=rtol, atol=0):
                    continue
            return f"{path}: the document has {want}, {side} has {got}"
    return ""


def _as_arrays(tree: Any) -> Any:
    """Pins are written in numpy, whose scalars are arrays here."""
    return interop.map_leaves(lambda x: np.asarray(x) if isinstance(x, np.generic) else x, tree)


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _tail(error: BaseException) -> str:
    """The last frames of a traceback, where the program stands."""
    return "".join(traceback.format_tb(error.__traceback__)[-3:]).rstrip()
