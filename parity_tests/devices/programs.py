"""Every public function of jaxgrad as a program that can be lowered for a GPU and a TPU."""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad import optim
from jaxgrad.optim import lr_scheduler as lr
from jaxgrad.parity import interop
from parity_tests import case as _case
from parity_tests import operators as _operators
from parity_tests.audits.optimizers import OPTIMIZERS
from parity_tests.devices import layers
from parity_tests.devices.program import Call, LoweredProgram
from parity_tests.inputs import draw
from parity_tests.operators.calls import calls
from parity_tests.runner.jax_side import Spec


DTYPES = ("float32", "bfloat16")
SHAPES = ((4, 3), (3, 5))  # matrices, which every optimizer accepts

_LR = 0.3
SCHEDULES: Mapping[str, Callable[[], Any]] = {
    "chained_scheduler": lambda: lr.chained_scheduler(
        [lr.constant_lr(_LR), lr.exponential_lr(_LR, 0.9)]
    ),
    "constant_lr": lambda: lr.constant_lr(_LR),
    "cosine_annealing_lr": lambda: lr.cosine_annealing_lr(_LR, 10),
    "cosine_annealing_warm_restarts": lambda: lr.cosine_annealing_warm_restarts(_LR, 3, 2),
    "cyclic_lr": lambda: lr.cyclic_lr(_LR, 0.1, 1.0, mode="exp_range", gamma=0.9),
    "exponential_lr": lambda: lr.exponential_lr(_LR, 0.9),
    "lambda_lr": lambda: lr.lambda_lr(_LR, lambda epoch: 0.9**epoch),
    "linear_lr": lambda: lr.linear_lr(_LR),
    "multi_step_lr": lambda: lr.multi_step_lr(_LR, [3, 5]),
    "multiplicative_lr": lambda: lr.multiplicative_lr(_LR, lambda epoch: 0.9),
    "one_cycle_lr": lambda: lr.one_cycle_lr(_LR, 1.0, total_steps=10),
    "polynomial_lr": lambda: lr.polynomial_lr(_LR),
    "sequential_lr": lambda: lr.sequential_lr(
        _LR, [lr.constant_lr(_LR), lr.exponential_lr(_LR, 0.9)], [3]
    ),
    "step_lr": lambda: lr.step_lr(_LR, 3),
    "swalr": lambda: lr.swalr(_LR, 0.05),
}


def _averages(dtype: str) -> Iterator[Call]:
    for make in (optim.swa_utils.get_swa_multi_avg_fn, optim.swa_utils.get_ema_multi_avg_fn):
        model = optim.swa_utils.averaged_model(multi_avg_fn=make())
        yield lambda p, model=model: model.update(model.init(p), p), (jnp.ones(3, dtype),)


def _clipped_values(dtype: str) -> Iterator[Call]:
    tx = optim.clip_grad_value(0.5)
    yield lambda grads: tx.update(grads, tx.init(grads)), (jnp.ones(3, dtype),)


# What no case uses.
AROUND_OPTIMIZERS = {"averages of lists": _averages, "clip_grad_value": _clipped_values}


def programs() -> list[LoweredProgram]:
    """Return every program, without tracing any."""
    complex_alone = _complex_alone()
    return [
        LoweredProgram(group, name, dtype, functools.partial(calls, dtype), differentiate)
        for group, family, differentiate in (
            ("operators", _operators_calls(), True),
            # These contain their own gradients.
            ("helpers", _cases_calls(), False),
            ("optimizers", {**_optimizers_calls(), **AROUND_OPTIMIZERS}, False),
            ("layers", layers.calls(), True),
            ("initialisers", layers.initialisers(), False),
        )
        for name, calls in family.items()
        for dtype in (("complex64",) if group == "operators" and name in complex_alone else DTYPES)
    ] + [
        # A schedule has one dtype: that of JAX's default floating numbers.
        LoweredProgram("schedules", name, "float32", functools.partial(_schedule_calls, make))
        for name, make in {**SCHEDULES, "reduce_lr_on_plateau": lr.reduce_lr_on_plateau}.items()
    ]


def _complex_alone() -> set[str]:
    """Return the operators that accept only complex arrays."""
    real = set(_operators.REAL)
    return {name for name, record in _operators.load().items() if real.isdisjoint(record.dtypes)}


def _operators_calls() -> dict[str, Callable[[str], Iterator[Call]]]:
    """Return the drawn calls of each operator's record; their shapes and options differ."""
    return {name: functools.partial(calls, record) for name, record in _operators.load().items()}


def _cases_calls() -> dict[str, Callable[[str], Iterator[Call]]]:
    """Return the JAX program of each case; they use the helpers, autocast, scaler and hooks."""

    def calls(case: _case.Case, dtype: str) -> Iterator[Call]:
        inputs = interop.cast(draw(case.inputs, case.seed_name), jnp.dtype(dtype))
        spec = Spec(interop.to_jax(inputs))

        def fun(*leaves: Any) -> Any:
            found: list[Any] = []
            out = case.fun(**spec.fill(list(leaves)))
            interop.map_leaves(found.append, out)
            return found

        yield fun, tuple(spec.arrays)

    return {
        id: functools.partial(calls, case)
        for id, case in _case.load().items()
        if "jit" in case.modes
        and not (case.deviation and isinstance(case.deviation.jax_is, _case.Raises))
    }


def _optimizers_calls() -> dict[str, Callable[[str], Iterator[Call]]]:
    """Return two steps of each configuration of an optimizer, fast and exact."""

    def calls(name: str, dtype: str) -> Iterator[Call]:
        params = [jnp.ones(shape, dtype) for shape in SHAPES]
        for configuration in OPTIMIZERS[name].configurations:
            for exact in (False, True):
                tx = OPTIMIZERS[name].make(**{"lr": 0.1, **configuration}, exact=exact)
                yield functools.partial(_two_steps, name, tx), (params,)

    return {name: functools.partial(calls, name) for name in OPTIMIZERS}


def _two_steps(name: str, tx: optim.Transformation, params: Any) -> Any:
    """Take two steps, by `step` and by `update`, from gradients of a loss."""

    def loss(params: Any) -> Any:
        return sum(jnp.sum((p - 0.5) ** 4) for p in params)

    extra: dict[str, Any] = {"value_fn": loss} if name == "lbfgs" else {}
    if name == "sparse_adam":
        extra = {"rows": [jnp.arange(len(p)) % 2 == 0 for p in params]}
    state = tx.init(params)
    params, state = tx.step(jax.grad(loss)(params), state, params, **extra)
    return tx.update(jax.grad(loss)(params), state, params, **extra), params


def _schedule_calls(make: Callable[..., Any]) -> Iterator[Call]:
    if make is lr.reduce_lr_on_plateau:
        plateau = make(_LR)
        yield lambda metric: plateau.update(plateau.init(), metric), (jnp.float32(1.0),)
    else:
        schedule = make()
        yield schedule, (jnp.int32(7),)
        if hasattr(schedule, "momentum"):
            yield schedule.momentum, (jnp.int32(7),)
