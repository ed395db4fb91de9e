"""`value_and_grad`, `grad` and `accumulate`: arguments, errors, transformations and cost."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import torch
from jax import lax

import jaxgrad
from tests._helpers import close_or_none


X, Y, N = [0.5, 1.5, -2.0], [3.0, -1.0, 0.25], [1, 2, 0]


def test_trees_and_paths() -> None:
    """Gradients have the structure of the parameters, and `unused="error"` names leaves by path."""
    params = {"a": {"w": 2.0, "b": 1.0}, "n": 3}

    def loss(p: Any, scale: float) -> Any:
        return p["a"]["w"] ** 2 * scale

    value, grads = jaxgrad.value_and_grad(loss)(params, scale=2.0)
    assert float(value) == 8.0
    assert grads == {"a": {"w": 8.0, "b": None}, "n": None}
    text = (
        "the loss of loss has no differentiable path to 'a/b' of argument 0, "
        "'n' of argument 0 (int64). Use it, do not differentiate with respect to it, "
        'or pass unused="none"'
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        jaxgrad.grad(loss, unused="error")(params, 2.0)
    with pytest.raises(ValueError, match=re.escape(text)):
        jaxgrad.value_and_retained_grads(loss, unused="error")(params, 2.0)
    with pytest.raises(ValueError, match="unused must be .* got 'nothing'"):
        jaxgrad.grad(loss, unused="nothing")  # type: ignore[arg-type] # the mistake that is tested


NO_LOSS = {
    "vector": (
        lambda x: x,
        r"<lambda> returned shape (3,): only a loss of one element has a gradient",
    ),
    "vector, what to do": (lambda x: x, r"grads = pullback(cotangent)"),
    "empty": (lambda x: x[:0], r"returned shape (0,)"),
    "complex": (lambda x: x.sum() * 1j, "returned complex128: only a real number has a gradient"),
    "integer": (
        lambda x: (x > 0).sum(),
        "returned int64: only a floating point loss has a gradient",
    ),
    "pair": (lambda x: (x.sum(), x), "got tuple; return (loss, aux) needs has_aux=True"),
    "nothing": (lambda x: None, "must return the loss, one floating point number, got NoneType"),
}


@pytest.mark.parametrize(("fun", "text"), NO_LOSS.values(), ids=NO_LOSS)
@pytest.mark.parametrize("unused", ["none", "zeros", "error"])
def test_results_that_are_not_a_loss(fun: Any, text: str, unused: Any) -> None:
    """A function whose result has no gradient raises a TypeError that says what to return."""
    with pytest.raises(TypeError, match=re.escape(text)):
        jaxgrad.grad(fun, unused=unused)(jnp.ones(3))


def test_missing_arguments() -> None:
    """An out-of-range `argnums`, or `has_aux` without a returned pair, raises a TypeError."""
    with pytest.raises(TypeError, match="argnums=2 asks for argument 2 of <lambda>, .* with 1 "):
        jaxgrad.grad(lambda x: x, 2)(1.0)
    with pytest.raises(TypeError, match=re.escape("<lambda> must return (loss, aux), got")):
        jaxgrad.grad(lambda x: x, has_aux=True)(1.0)


def test_aux_may_be_anything() -> None:
    """Auxiliary output is returned unchanged and stays differentiable."""
    run = jaxgrad.value_and_grad(lambda x: (x**2, {"twice": 2 * x, "none": None}), has_aux=True)
    (value, aux), grads = run(3.0)
    assert (float(value), float(aux["twice"]), aux["none"], float(grads)) == (9.0, 6.0, None, 6.0)
    assert float(jax.grad(lambda x: run(x)[0][1]["twice"])(3.0)) == 2.0
    assert float(jax.grad(lambda x: run(x)[0][0])(3.0)) == 6.0


def test_negative_argnums_and_static_arguments() -> None:
    """Arguments that are not differentiated may be of any type, and `argnums` may be negative."""
    grads = jaxgrad.grad(lambda how, x: getattr(jnp, how)(x), argnums=-1)("sin", 0.0)
    assert float(grads) == 1.0


def test_orders_and_transformations() -> None:
    """Nested `grad`, `vmap`, jacobians, `lax.map` and captured tracers give `jax.grad`'s bits."""
    f = lambda x: jnp.sin(x) * x**2  # noqa: E731 # a formula
    third = lambda grad: grad(grad(grad(f)))(0.7)  # noqa: E731 # the same for both
    assert third(jaxgrad.grad).tobytes() == third(jax.grad).tobytes()
    xs = jnp.arange(3.0)
    assert jax.vmap(jaxgrad.grad(f))(xs).tobytes() == jax.vmap(jax.grad(f))(xs).tobytes()
    for transform in (jax.jacfwd, jax.jacrev):
        a, b = (transform(g)(0.7) for g in (jaxgrad.grad(f), jax.grad(f)))
        assert a.tobytes() == b.tobytes()
    outer = jax.grad(lambda y: jaxgrad.grad(lambda x: x * y * y)(1.0))
    assert float(outer(3.0)) == 6.0
    rows = lax.map(lambda x: jaxgrad.grad(lambda p: f(p["x"]))({"x": x, "unused": x}), xs)
    assert rows["unused"] is None
    assert rows["x"].tobytes() == lax.map(jax.grad(f), xs).tobytes()
    saved = jax.checkpoint(jaxgrad.grad(f))
    assert jax.grad(saved)(0.7).tobytes() == jax.grad(jax.grad(f))(0.7).tobytes()


def test_axis_names() -> None:
    """Collectives inside `vmap(axis_name=...)` and `shard_map` can be differentiated."""

    def loss(w: Any, x: Any) -> Any:
        return lax.pmean(w["a"] * x, "i").sum()

    w = {"a": 2.0, "b": 1.0}
    run = jax.vmap(jaxgrad.grad(loss), in_axes=(None, 0), axis_name="i")
    assert run(w, jnp.arange(4.0))["b"] is None
    assert run(w, jnp.arange(4.0))["a"].shape == (4,)
    kinds = (jax.sharding.AxisType.Auto,)
    mesh, spec = jax.make_mesh((1,), ("i",), axis_types=kinds), jax.sharding.PartitionSpec
    sharded = jax.shard_map(
        jaxgrad.grad(loss), mesh=mesh, in_specs=(spec(), spec("i")), out_specs=spec()
    )
    assert jax.tree.map(float, sharded(w, jnp.arange(4.0))) == {"a": 6.0, "b": None}

    def outside(w: Any, x: Any) -> Any:
        inside = jax.shard_map(loss, mesh=mesh, in_specs=(spec(), spec("i")), out_specs=spec())
        return inside(w, x)

    grads = jaxgrad.grad(outside)(w, jnp.arange(4.0))
    assert jax.tree.map(float, grads) == {"a": 6.0, "b": None}


@pytest.mark.parametrize("axis", list(jax.sharding.AxisType), ids=lambda kind: kind.name)
def test_custom_rules_on_a_mesh(axis: Any) -> None:
    """Custom rules such as that of `relu` work for arrays sharded over a mesh axis of any type."""
    mesh, spec = jax.make_mesh((1,), ("i",), axis_types=(axis,)), jax.sharding.PartitionSpec
    if axis == jax.sharding.AxisType.Manual:
        mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    p, x = {"w": jnp.ones((3, 2)), "b": jnp.ones(2)}, jnp.ones((4, 3))
    loss = lambda p, x: jnp.mean(jax.nn.relu(x @ p["w"]))  # noqa: E731

    def local(p: Any, x: Any) -> Any:
        mine = lax.pcast(p, "i", to="varying")
        return lax.pmean(jaxgrad.grad(loss)(mine, x), "i")

    run: Any = jaxgrad.grad(loss)
    if axis == jax.sharding.AxisType.Manual:
        run = jax.shard_map(local, mesh=mesh, in_specs=(spec(), spec("i")), out_specs=spec())
    with jax.set_mesh(mesh):
        laid = jax.device_put(x, jax.sharding.NamedSharding(mesh, spec("i")))
        grads = jax.jit(run)(p, laid)

    assert grads["b"] is None
    assert grads["w"].tolist() == jax.grad(loss)(p, x)["w"].tolist()


def test_value_and_grad_costs_nothing() -> None:
    """`value_and_grad` with an ignored tag compiles to the program of `jax.value_and_grad`."""

    def loss(p: Any, x: Any) -> Any:
        h = jaxgrad.retain_grad(jax.nn.relu(x @ p["w"] + p["b"]), "h")
        return (lax.stop_gradient(p["w"]).sum() + h).mean()

    p = {"w": jnp.ones((4, 3)), "b": jnp.ones(3)}

    def compiled(run: Any) -> str:
        text = jax.jit(run).lower(p, jnp.ones((5, 4))).compile().as_text() or ""
        text = re.sub(r", metadata=\{[^}]*\}", "", text)
        text = re.sub(
            r"^(FileNames|FunctionNames|FileLocations|StackFrames).*?(?=^\S*HloModule|^%|^ENTRY)",
            "",
            text,
            flags=re.S | re.M,
        )
        return re.sub(r"jit_\w+|retain_grad|value_and_grad\w*", "_", text)

    def of_jax(p: Any, x: Any) -> Any:
        return jax.value_and_grad(loss)(p, x)

    def of_jaxgrad(p: Any, x: Any) -> Any:
        return jaxgrad.value_and_grad(loss)(p, x)

    assert "dot" in compiled(of_jax)
    assert compiled(of_jaxgrad) == compiled(of_jax)


def test_accumulate_is_backward_twice() -> None:
    """Accumulated gradients equal those of two `backward()` calls; None adds nothing."""
    w = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    v = torch.tensor(Y, dtype=torch.float64, requires_grad=True)
    (w**2).sum().backward()
    first = {"w": w.grad.clone(), "v": v.grad}  # type: ignore[union-attr] # it has one
    (w * v).sum().backward()
    p = {"w": jnp.array(X), "v": jnp.array(Y)}
    total = jaxgrad.accumulate(None, jaxgrad.grad(lambda p: (p["w"] ** 2).sum())(p))
    assert first["v"] is None
    assert total["v"] is None
    close_or_none(total["w"], first["w"])
    total = jaxgrad.accumulate(total, jaxgrad.grad(lambda p: (p["w"] * p["v"]).sum())(p))
    close_or_none(total["w"], w.grad)
    close_or_none(total["v"], v.grad)


def test_accumulate_errors() -> None:
    """Trees or shapes that do not match raise errors that name the leaf."""
    with pytest.raises(ValueError, match=r"gradients of 'w' have shapes \(2,\) and \(3,\)"):
        jaxgrad.accumulate({"w": jnp.ones(2)}, {"w": jnp.ones(3)})
    with pytest.raises(ValueError, match="b"):
        jaxgrad.accumulate({"w": None}, {"w": 1.0, "b": 2.0})
