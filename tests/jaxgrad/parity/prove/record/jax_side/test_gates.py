"""Gates change the backward pass of a port alone, inside jit and scan as well."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxgrad import functional
from jaxgrad.functional.pointwise.clamp_maximum import KERNELS
from jaxgrad.parity.lint.rules import RULES
from jaxgrad.parity.prove.record.jax_side import gates
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.flow import Flow, leaf_key
from jaxgrad.parity.prove.record.jax_side.gates import Gate, Gated


X = np.array([1.0, 0.0, -2.0])


class OneLeaf:
    """A port of one leaf whose objective is the sum of its output."""

    def __init__(self, fun: Any):
        self.program = jax_program.program(lambda p, x: fun(p) + 0 * x, X, (X,))
        self.flow = Flow(self.program)

    def leaves(self, draw: Any) -> Any:
        return [X, draw]

    def stopped(self, leaves: Any) -> Any:
        return leaves

    def noise(self, draw: Any) -> Any:
        del draw
        return {}

    def cotangents(self, draw: Any) -> Any:
        del draw
        return [np.ones(3)]

    def objective(self, outputs: Any, cotangents: Any) -> Any:
        return jnp.sum(outputs[0] * cotangents[0])


def gradient(port: Any, chosen: list[Gate], settings: dict[Gate, float]) -> np.ndarray:
    result = Gated(port, chosen).gradients(np.zeros(3), settings)  # pyright: ignore[reportArgumentType]
    np.testing.assert_array_equal(result.outputs[0], port.program.fun(X, np.zeros(3))[0])
    assert result.leaves[0] is not None
    return result.leaves[0]


@pytest.mark.parametrize(
    "wrap", [lambda f: f, jax.jit, jax.checkpoint], ids=["eager", "jit", "remat"]
)
def test_a_stop_gradient_can_be_opened(wrap):
    """An opened stop_gradient passes the gradient, and values do not change."""
    port = OneLeaf(wrap(lambda x: x * lax.stop_gradient(x)))
    chosen = gates.stops(port.flow)

    assert len(chosen) == 1
    np.testing.assert_allclose(gradient(port, chosen, {}), X)
    np.testing.assert_allclose(gradient(port, chosen, {chosen[0]: 1.0}), 2 * X)


@pytest.mark.parametrize(("written", "torch"), [("2.13", "2.15"), ("2.15", "2.13")])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_an_operator_can_follow_another_version_of_torch(wrap, written, torch):
    """An operator gets the gradient that it has in the other version, and keeps its value."""
    port = OneLeaf(wrap(lambda x: functional.at(written).clamp(x, 0.0, 1.0)))
    chosen = gates.versions(port.flow, torch)
    jacobians = [jax.jacobian(lambda x, v=v: functional.at(v).clamp(x, 0.0, 1.0))(X).sum(0)
                 for v in (written, torch)]  # fmt: skip

    assert gates.versions(port.flow, written) == []
    assert [gate.kind for gate in chosen] == ["version"]
    np.testing.assert_array_equal(gradient(port, chosen, {}), jacobians[0])
    np.testing.assert_array_equal(gradient(port, chosen, {chosen[0]: 1.0}), jacobians[1])
    assert np.any(jacobians[0] != jacobians[1])


def test_every_kernel_that_lint_knows_in_two_versions_has_a_gate():
    """`lint` and `prove` recognize the same operators of other versions, by kernel."""
    kernels = {f.__name__ for _, since, before in KERNELS for f in (since, before)}
    of_lint = {name.partition(".")[2] for name in RULES if name.startswith("functional._")}

    assert of_lint | {"_clamp_by_arrays"} == kernels


def test_a_stop_gradient_that_hides_a_value_without_derivative_stays_closed():
    """The stop_gradient before a reduction of values with their indices is dropped, no other."""

    def larger(one: Any, two: Any) -> Any:
        first = one[0] > two[0]
        return jnp.where(first, one[0], two[0]), jnp.where(first, one[1], two[1])

    def fun(x: Any) -> Any:
        index = jnp.arange(3, dtype=jnp.int32)
        initial = np.asarray(-np.inf, x.dtype), np.int32(0)
        _, at = lax.reduce_window(
            (lax.stop_gradient(x), index), initial, larger, (3,), (1,), "VALID"
        )
        return x * lax.stop_gradient(x) + x[at]

    port = OneLeaf(fun)
    every = gates.stops(port.flow)
    gated = Gated(port, every).differentiable(np.zeros(3))  # pyright: ignore[reportArgumentType]

    assert len(every) == 2
    assert gated.gates == (every[1],)
    opened = gradient(port, list(gated.gates), {every[1]: 1.0})
    np.testing.assert_allclose(opened, 2 * X + [3.0, 0.0, 0.0])


def test_each_use_of_a_leaf_can_be_closed():
    """A leaf that is read twice has two gates; closing one leaves the other's gradient."""
    port = OneLeaf(lambda x: 3 * x + jnp.sin(x))
    chosen = gates.uses(port.flow, [leaf_key(0)])

    assert len(chosen) == 2
    np.testing.assert_allclose(gradient(port, chosen, {}), 3 + np.cos(X))
    np.testing.assert_allclose(gradient(port, chosen, {chosen[0]: 0.0}), np.cos(X))
    np.testing.assert_allclose(gradient(port, chosen, {chosen[1]: 0.0}), np.full(3, 3.0))


def test_a_use_inside_a_loop_is_closed_in_every_iteration():
    """A gate inside a scan changes the gradient of all iterations."""

    def fun(x: Any) -> Any:
        return lax.scan(lambda c, _: (c + x * x, None), jnp.zeros(3), None, length=4)[0]

    port = OneLeaf(fun)
    chosen = gates.uses(port.flow, [leaf_key(0)])

    assert len(chosen) == 2
    np.testing.assert_allclose(gradient(port, chosen, {}), 8 * X)
    np.testing.assert_allclose(gradient(port, chosen, {chosen[0]: 0.0}), 4 * X)


def test_ties_can_be_resolved_otherwise():
    """At a tie `maximum` passes one half; a gate gives none or all, and leaves the rest alone."""
    port = OneLeaf(lambda x: jnp.maximum(x, 0.0))
    chosen = gates.ties(port.flow)

    assert len(chosen) == 1
    np.testing.assert_allclose(gradient(port, chosen, {}), [1, 0.5, 0])
    np.testing.assert_allclose(gradient(port, chosen, {chosen[0]: 0.0}), [1, 0, 0])
    np.testing.assert_allclose(gradient(port, chosen, {chosen[0]: 2.0}), [1, 1, 0])


def test_each_operand_of_a_tie_has_its_own_gate():
    """The elements in which both operands are equal are the same for both."""
    port = OneLeaf(lambda x: jnp.minimum(x * 2, x * 3))
    chosen = gates.ties(port.flow)

    np.testing.assert_allclose(gradient(port, chosen, {}), [2, 2.5, 3])
    np.testing.assert_allclose(gradient(port, chosen, {chosen[0]: 0.0}), [2, 1.5, 3])
    np.testing.assert_allclose(gradient(port, chosen, {chosen[1]: 0.0}), [2, 1.0, 3])


@pytest.mark.parametrize(
    "wrap", [lambda f: f, jax.jit, jax.checkpoint], ids=["eager", "jit", "remat"]
)
def test_a_gradient_can_pass_straight_through(wrap):
    """The rounded value passes its gradient to a value before it, or to the leaf; values stay."""
    port = OneLeaf(wrap(lambda x: 3 * jnp.round(2 * x) ** 2))
    equations = port.program.equations.items()
    before, after = (
        next((path, 0) for path, eqn in equations if eqn.primitive.name == name)
        for name in ("mul", "round")
    )

    for x, expected in ((before, 24 * X), (leaf_key(0), 12 * X)):
        (chosen,) = gates.straight(port.flow, [x], [after])
        np.testing.assert_allclose(gradient(port, [chosen], {}), 0 * X)
        np.testing.assert_allclose(gradient(port, [chosen], {chosen: 1.0}), expected)


def test_a_gradient_passes_only_to_a_value_of_the_same_shape():
    """Another value is left alone."""
    port = OneLeaf(lambda x: jnp.round(x[:, None] * 2)[:, 0] * x)
    after = next(k for k, e in port.program.equations.items() if e.primitive.name == "round")
    (chosen,) = gates.straight(port.flow, [leaf_key(0)], [(after, 0)])

    np.testing.assert_allclose(gradient(port, [chosen], {chosen: 1.0}), 2 * X)


def test_elements_that_are_not_finite_can_be_dropped():
    """The root's derivative is infinite at 0 and NaN below; the other elements keep theirs."""
    port = OneLeaf(lambda x: jnp.sqrt(x) + jnp.floor_divide(jnp.arange(3), 2))
    chosen, *_ = gates.unbounded(port.flow)

    np.testing.assert_allclose(gradient(port, [chosen], {}), [0.5, np.inf, np.nan])
    np.testing.assert_allclose(gradient(port, [chosen], {chosen: 1.0}), [0.5, 0, 0])


def test_the_inside_of_a_custom_rule_and_integers_have_no_gates():
    """A custom derivative does not differentiate the calls inside its function."""

    @jax.custom_vjp
    def custom(x: Any) -> Any:
        return jnp.sqrt(jnp.maximum(x, -x))

    custom.defvjp(lambda x: (custom(x), x), lambda x, g: (g * x,))
    port = OneLeaf(lambda x: custom(x) + jnp.maximum(jnp.arange(3), 1 - jnp.arange(3)))

    names = {port.program.equations[g.path].primitive.name for g in gates.unbounded(port.flow)}
    assert not gates.ties(port.flow) and names == {"mul"}  # that of `OneLeaf`


def test_integers_are_not_differentiated():
    """Integer leaves are passed to the program unchanged, and have no gradient."""

    class Indexed(OneLeaf):
        def __init__(self):
            self.program = jax_program.program(lambda p, i: p[i] ** 2, X, (np.array([2, 0, 0]),))
            self.flow = Flow(self.program)

        def leaves(self, draw: Any) -> Any:
            del draw
            return [X, np.array([2, 0, 0])]

    result = Gated(Indexed(), []).gradients(np.zeros(3), {})  # pyright: ignore[reportArgumentType]
    assert result.leaves[1] is None
    np.testing.assert_allclose(np.asarray(result.leaves[0]), [4, 0, -4])
