"""Run JAX's program equation by equation: its forward pass with residuals, then its VJP.

The lines of the function run in named scopes. JAX keeps the name of a scope on the equations of
the VJP, so each equation is known to belong to a line.
"""

import re
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex_core

import jaxgrad
from jaxgrad._core import compat
from parity_tests.site.stepper.frame import Frame, numbers
from parity_tests.site.stepper.program import LEAVES, SteppedProgram


SYMBOLS = {"gt": "{0} > {1}", "mul": "{0} · {1}"}
_SCOPE = re.compile(r"@(\w+)@")


class Step(NamedTuple):
    """The equations of one step of the VJP, in the order in which they run."""

    row: str
    equations: list[str]
    computed: dict[str, Any]  # "row.gradient" or "weight.arrived" -> array


class _Traced(NamedTuple):
    values: dict[str, Any]  # what each line computes
    kept: dict[str, list[dict[str, Any]]]  # the residuals of each row
    steps: list[Step]
    results: tuple[Any, ...]  # the gradient of each weight


def run(program: SteppedProgram) -> list[Frame]:
    """Return the state after each step of the program."""
    names: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax, "jaxgrad": jaxgrad}
    for line in program.lines:
        if line.key in LEAVES:
            exec(line.text, names)
    traced = _trace(program, names)
    cells = {f"{name}.value": numbers(names[name]) for name in LEAVES}
    frames = [Frame("start", "start", dict(cells))]
    for row, value in traced.values.items():
        cells[f"{row}.value"] = numbers(value)
        if row in traced.kept:
            cells[f"{row}.kept"] = traced.kept[row]
        frames.append(Frame(row, row, dict(cells)))
    grads: tuple[Any, ...] = ()
    for line in program.lines:
        if line.key in "12":
            grads = tuple(map(jnp.add, grads, traced.results)) if grads else traced.results
            cells = {k: v for k, v in cells.items() if not k.endswith((".gradient", ".ran"))}
            cells["loss.gradient"] = 1.0
            frames.append(Frame(line.key, line.key, dict(cells)))
            for step in traced.steps:
                cells |= {name: numbers(value) for name, value in step.computed.items()}
                if step.row != "return":
                    cells[f"{step.row}.ran"] = step.equations
                    frames.append(Frame(f"{line.key}:{step.row}", step.row, dict(cells)))
            for name, grad in zip(program.weights, grads, strict=True):
                del cells[f"{name}.arrived"]
                cells[f"{name}.grad"] = numbers(grad)
            frames.append(Frame(f"{line.key}:return", line.key, dict(cells)))
    _check_that_residuals_die(program)
    for name in [name for name in cells if name.endswith(".kept")]:
        cells[name] = [{"name": kept["name"], "state": "freed"} for kept in cells[name]]
    return [*frames, Frame("del", "del", cells)]


def _trace(program: SteppedProgram, names: dict[str, Any]) -> _Traced:
    """Trace the function with its VJP, and evaluate every equation of both."""
    body = [line for line in program.lines if line.within]

    def f(*weights: Any) -> tuple[Any, dict[str, Any]]:
        local = {**names, **dict(zip(program.weights, weights, strict=True))}
        values = {}
        for line in body:
            with jax.named_scope(f"@{line.key}@"):
                exec(line.text.replace("return ", "loss = "), local)
            values[line.key] = local[line.name]
        return values["loss"], values

    weights = [names[name] for name in program.weights]
    traced, shape = jax.make_jaxpr(
        lambda *weights: jax.vjp(f, *weights, has_aux=True), return_shape=True
    )(*weights)
    _, vjp, values = jax.tree.unflatten(jax.tree.structure(shape), traced.jaxpr.outvars)
    env = dict(zip(traced.jaxpr.constvars, traced.consts, strict=True))
    env |= dict(zip(traced.jaxpr.invars, weights, strict=True))
    maker = {var: eqn for eqn in traced.jaxpr.eqns for var in eqn.outvars}
    _evaluate(traced.jaxpr, env)
    label = {var: name for var in env for name in LEAVES if env[var] is names[name]}
    label |= {values[line.key]: line.name for line in body}
    residuals, tree = jax.tree.flatten(vjp)
    back = jax.make_jaxpr(lambda kept, seed: jax.tree.unflatten(tree, kept)(seed))(
        [env[var] for var in residuals], 1.0
    )
    steps, readers, results = _backward(back, [env[var] for var in residuals], program)
    kept: dict[str, list[dict[str, Any]]] = {}
    for place, var in enumerate(residuals):
        row = readers.get(place) or _row(maker[var])
        name = _label(var, maker, label) if np.any(env[var]) else "zeros"
        entry = {"name": name, "state": "kept", "value": numbers(env[var])}
        kept.setdefault(row, []).append(entry)
    computed = {line.key: env[values[line.key]] for line in body}
    return _Traced(computed, kept, steps, results)


def _backward(
    back: jex_core.ClosedJaxpr, residuals: Sequence[Any], program: SteppedProgram
) -> tuple[list[Step], dict[int, str], tuple[Any, ...]]:
    """Evaluate the VJP: its steps, the row that reads each residual, and the gradients."""
    jaxpr = back.jaxpr
    env = dict(zip(jaxpr.constvars, back.consts, strict=True))
    env |= dict(zip(jaxpr.invars, [*residuals, 1.0], strict=True))
    _evaluate(jaxpr, env)
    steps: list[Step] = []
    readers: dict[int, str] = {}
    maker: dict[Any, Step] = {}
    for eqn in jaxpr.eqns:
        row = _row(eqn)
        if not steps or steps[-1].row != row:
            assert row not in {step.row for step in steps}, f"{row} runs in two parts"
            steps.append(Step(row, [], {}))
        steps[-1].equations.append(eqn.primitive.name)
        for var in eqn.invars:
            if not isinstance(var, jex_core.Var):
                continue
            if var in jaxpr.invars[:-1]:
                readers.setdefault(jaxpr.invars.index(var), row)
            elif var in maker and maker[var].row != row:
                maker[var].computed[f"{row}.gradient"] = env[var]
        maker |= dict.fromkeys(eqn.outvars, steps[-1])
    for name, var in zip(program.weights, jaxpr.outvars, strict=True):
        maker[var].computed[f"{name}.arrived"] = env[var]
    return steps, readers, tuple(env[var] for var in jaxpr.outvars)


def _evaluate(jaxpr: Any, env: dict[Any, Any]) -> None:
    """Run every equation, and add its results to `env`."""
    for eqn in jaxpr.eqns:
        inputs = [env[v] if isinstance(v, jex_core.Var) else v.val for v in eqn.invars]
        env.update(zip(eqn.outvars, compat.bind(eqn, inputs), strict=True))


def _row(eqn: jex_core.JaxprEqn) -> str:
    """Return the key of the line that an equation belongs to; zeros of the result have none."""
    scope = _SCOPE.search(str(eqn.source_info.name_stack))
    return scope.group(1) if scope else "return"


def _label(var: Any, maker: dict[Any, Any], label: dict[Any, str]) -> str:
    """Name a residual after its variable, or after the equation that computes it."""
    if var in label:
        return label[var]
    eqn = maker[var]
    inputs = [
        _label(v, maker, label) if isinstance(v, jex_core.Var) else f"{v.val:g}" for v in eqn.invars
    ]
    return SYMBOLS[eqn.primitive.name].format(*inputs)


def _check_that_residuals_die(program: SteppedProgram) -> None:
    """Run the script: after `del vjp`, only the program's own variables are alive."""
    names: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax, "jaxgrad": jaxgrad}
    script, _, last = program.script.strip().rpartition("\n")
    exec(script, names)
    inputs = [names[name] for name in LEAVES]
    alive = [
        weakref.ref(x)
        for x in jax.tree.leaves(names["vjp"])
        if not any(x is leaf for leaf in inputs)
    ]
    exec(last, names)
    assert all(ref() is None for ref in alive)
