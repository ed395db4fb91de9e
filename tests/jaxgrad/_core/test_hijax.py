"""Under JAX's flags for its next autodiff, each tool gives the same result or raises an error."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend import core as jex_core

import jaxgrad
from jaxgrad._core import compat, hijax
from jaxgrad.parity import lint


ROOT = pathlib.Path(__file__).parents[3]
FLAGS = ("jax_remat3", "jax_custom_vjp3", "jax_custom_jvp3", "jax_scan3")
# The tools that need `jax.linearize` to work under a flag; the others need only `jax.grad`.
NEEDS = {"packed": "linearized", "linearized": "linearized"}
X = jnp.asarray([0.5, 1.0, 2.0], jnp.float32)


@functools.cache
def results(switched_on: str = "") -> dict[str, Any]:
    """Run `flag_programs.py` in a process with one flag, or with none."""
    flags = {flag.upper(): str(int(flag == switched_on)) for flag in FLAGS}
    flags["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # the programs run once
    command = [sys.executable, "-m", "tests.jaxgrad._core.flag_programs"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | flags, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def failed(result: Any) -> bool:
    return isinstance(result, dict) and "error" in result


def test_the_programs_use_what_the_flags_change() -> None:
    """Without a flag no program fails, and each result has something that a flag could hide."""
    without = results()

    assert not [x for tools in without.values() for x in tools.values() if failed(x)]
    assert without["stopped"]["gradients"]["b"] is None
    assert without["stopped"]["ignored"] == [True, False]
    assert without["stopped"]["proved"]["structure"] == "fail"
    assert len(without["clipped"]["linted"][1]["findings"]) > 1
    assert without["named"]["saved"] == {"tanh": 24}


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_changes_no_result(flag: str) -> None:
    """Every tool returns the same result with and without the flag; if JAX fails, it raises.

    If JAX cannot differentiate the program, the error of a tool that reads the jaxpr names the
    flag.
    """
    if not hasattr(jax.config, flag):
        pytest.skip(f"JAX {jax.__version__} has no flag {flag}")
    actual = results(flag)
    for name, tools in results().items():
        for tool, expected in tools.items():
            result = actual[name][tool]
            if not failed(actual[name][NEEDS.get(tool, "plain")]):
                assert result == expected, f"{tool} of {name}"
                continue
            assert failed(result), f"{tool} of {name} returned {result}"
            if tool in ("gradients", "autocast", "graph", "linted", "paths", "proved"):
                assert f'`jax.config.update("{flag}", False)`' in result["error"]


@pytest.fixture
def _remat3() -> Iterator[None]:
    if not hasattr(jax.config, "jax_remat3"):
        pytest.skip(f"JAX {jax.__version__} has no flag jax_remat3")
    jax.config.update("jax_remat3", True)
    yield
    jax.config.update("jax_remat3", False)


@pytest.mark.usefixtures("_remat3")
def test_a_high_level_equation_has_its_older_name_and_runs_as_before() -> None:
    """The renamed jaxpr is built once, names the older primitive, and binds the new one."""
    jaxpr = jax.make_jaxpr(jax.checkpoint(jnp.sin))(X)
    (opened, consts), (again, _) = compat.open_jaxpr(jaxpr), compat.open_jaxpr(jaxpr)
    (eqn,) = opened.eqns

    assert again is opened
    assert eqn.primitive.name in compat.REMAT
    assert eqn.params["policy"] is None
    assert hijax.is_renamed(eqn)
    assert compat.contains_jaxpr(eqn)
    np.testing.assert_array_equal(compat.bind(eqn, [X])[0], jnp.sin(X))
    closed = jex_core.ClosedJaxpr(opened, list(consts))
    (traced,) = jax.make_jaxpr(jex_core.jaxpr_as_fun(closed))(X).eqns
    assert traced.primitive.name == hijax.CALL


def test_a_program_without_high_level_equations_is_not_copied() -> None:
    jaxpr = jax.make_jaxpr(jnp.sin)(X)
    opened, _ = compat.open_jaxpr(jaxpr)

    assert opened is jaxpr.jaxpr


try:
    from jax.experimental import hijax as jax_hijax
except ImportError:  # before JAX 0.9
    jax_hijax = None
HIGH: Any = getattr(jax_hijax, "HiPrim", getattr(jax_hijax, "VJPHiPrimitive", object))


class RematTraced(HIGH):
    """A user's primitive with the name of one of JAX's classes; it doubles its input."""

    def __init__(self, aval: Any) -> None:
        self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        super().__init__()

    def expand(self, x: Any) -> Any:
        return 2 * x


@pytest.mark.skipif(HIGH is object, reason="this JAX has no high-level primitives")
def test_a_users_high_level_primitive_is_refused() -> None:
    """Its object holds no jaxpr but methods, and its class is not one of JAX's."""

    def doubled(x: jax.Array) -> jax.Array:
        return RematTraced(jax.typeof(x))(x)

    text = r"call_hi_primitive \(RematTraced\) at .*test_hijax.py:\d+ runs a program that jaxgrad "
    with pytest.raises(NotImplementedError, match=text + ".*call the function inside it directly"):
        jaxgrad.depends_on(doubled, X)


def root(guess: Any, a: Any) -> Any:
    """Return the square root of `a`, whose derivative does not depend on the guess."""
    solve = lambda f, x: x - f(x) / (2 * x)  # noqa: E731 # one step of Newton's method
    return lax.custom_root(lambda x: x * x - a, guess, solve, lambda g, y: y / g(jnp.ones_like(y)))


INTS = jnp.asarray([1, 2, 3])
# Some of these functions are high-level primitives in JAX 0.12.
FUNCTIONS: dict[str, Any] = {
    "custom_root": (root, (jnp.float32(1.4), jnp.float32(2.0)), (False, True)),
    "ldexp": (jnp.ldexp, (X, INTS), (True, False)),
    "frexp": (lambda x: jnp.frexp(x)[0], (X,), True),
    "exponent": (lambda x: jnp.frexp(x)[1] * 1.0, (X,), False),
    "nonzero": (lambda x, y: y[jnp.nonzero(x, size=2)], (X, X), (False, True)),
    "searchsorted": (lambda x, y: y[jnp.searchsorted(x, 1.0)], (X, X), (False, True)),
    "einsum": (lambda x, y: jnp.einsum("i,i->", x, y), (X, X), (True, True)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_jax_writes_as_high_level_primitives(name: str) -> None:
    """Their dependence, residuals and findings do not depend on how JAX writes them."""
    fun, args, paths = FUNCTIONS[name]
    low = jaxgrad.autocast(fun)(*args)

    assert jaxgrad.depends_on(fun, *args) == paths
    np.testing.assert_allclose(low, fun(*args), rtol=1e-2)
    assert not lint(fun, *args).findings
