"""`jaxgrad.hooks` against torch: what a hook sees, what it may return, where it is called again."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import jaxgrad
from jaxgrad.parity.interop import cast, to_jax, to_torch
from tests._helpers import same


V, W, K = np.array([0.5, 1.5, -2.0]), np.array([3.0, -1.0, 0.25]), np.array([2, 0, 1])
DTYPES = ("float64", "float32")


def clamp(g: Any) -> Any:
    return g.clip(-1.0, 1.0)


HOOKS = {
    "watch": lambda g: None,
    "clamp": clamp,
    "negate": lambda g: -g,
    "square": lambda g: g * g,
    "constant": lambda g: g * 0.0 + 1.0,
    "mean": lambda g: g - g.mean(),
}


def eager(fun: Any, **_: Any) -> Any:
    return fun


# --- what a hook sees, and what becomes of its answer ---------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", HOOKS)
def test_first_and_second_derivative(name, dtype):
    """A hook sees the sum over all uses; a second derivative goes through it and meets it again."""
    x = to_torch(V.astype(dtype)).requires_grad_()
    y = x * x
    y.register_hook(HOOKS[name])
    (first,) = torch.autograd.grad((y**3 + y * 2.0).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), x)

    def loss(x):
        y = jaxgrad.hook(x * x, HOOKS[name])
        return (y**3 + y * 2.0).sum()

    for mode in (eager, jax.jit):
        grad = mode(jax.grad(mode(loss)))
        again = mode(jax.grad(lambda x, grad=grad: (grad(x) ** 2).sum()))
        same((first, second), (grad(to_jax(V.astype(dtype))), again(to_jax(V.astype(dtype)))))


def test_third_derivative():
    """And so on: the third derivative is torch's too."""
    x = to_torch(V).requires_grad_()
    y = x * x
    y.register_hook(lambda g: g * g)
    (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)

    def loss(x):
        return (jaxgrad.hook(x * x, lambda g: g * g) ** 3).sum()

    def total(fun):
        return lambda x: jax.grad(fun)(x).sum()

    same(third, jax.grad(total(total(loss)))(to_jax(V)))


def test_two_hooks_are_called_in_torch_s_order():
    """What torch registers first is what is applied last."""
    x = to_torch(V).requires_grad_()
    y = x * 2.0
    y.register_hook(lambda g: g + 1.0)
    y.register_hook(lambda g: g * 10.0)
    y.sum().backward()

    def loss(x):
        y = jaxgrad.hook(x * 2.0, lambda g: g * 10.0)
        return jaxgrad.hook(y, lambda g: g + 1.0).sum()

    same(x.grad, jax.grad(loss)(to_jax(V)))


def test_a_value_without_gradient_is_never_seen():
    """As in torch, the hook of a value that the loss does not use is not called."""
    x = to_torch(V).requires_grad_()
    (x * x).register_hook(torch.ones_like)
    (x * 3.0).sum().backward()

    def loss(x):
        jaxgrad.hook(x * x, jnp.ones_like)
        return (x * 3.0).sum()

    same(x.grad, jax.grad(loss)(to_jax(V)))
    same(x.grad, jax.jit(jax.grad(jax.jit(loss)))(to_jax(V)))


def test_closed_over_values_are_differentiated():
    """A hook may use any value; a second derivative reaches it."""

    def torch_side():
        x = to_torch(V).requires_grad_()
        y = x * x
        y.register_hook(lambda g: g * x)
        (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
        return first, torch.autograd.grad(first.sum(), x)[0]

    def loss(x):
        return (jaxgrad.hook(x * x, lambda g: g * x) ** 3).sum()

    def both(x):
        return jax.grad(loss)(x), jax.grad(lambda x: jax.grad(jax.jit(loss))(x).sum())(x)

    same(torch_side(), both(to_jax(V)))
    same(torch_side(), jax.jit(both)(to_jax(V)))


def test_a_tree_is_hooked_at_once():
    """`fn` sees all cotangents, None for integers; None in its answer leaves a leaf alone."""
    seen = []

    def fn(g):
        seen.append(jax.tree.structure(g, is_leaf=lambda x: x is None))
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        return {"a": g["a"] / norm, "b": None, "k": g["k"]}

    def loss(a, b):
        t = jaxgrad.hook({"a": a, "b": b, "k": jnp.array([1, 2])}, fn)
        return (t["a"] * 3.0 + t["b"] * 4.0).sum() + t["k"].sum()

    a, b = jax.grad(loss, (0, 1))(jnp.float64(1.0), jnp.float64(2.0))
    assert float(a) == 3.0 / 5.0 and float(b) == 4.0
    assert seen == [jax.tree.structure({"a": 0, "b": 0, "k": None}, is_leaf=lambda x: x is None)]


# --- under transformations ------------------------------------------------------------------------


def per_row(hook):
    def loss(x):
        return (hook(x * x, lambda g: g / (1.0 + jnp.abs(g).sum())) ** 2).sum()

    return loss


ROWS = np.stack([V, W])


def test_vmap_of_grad_and_grad_of_vmap():
    """Mapped, each row has its own cotangent, whichever way round."""
    loss = per_row(jaxgrad.hook)
    expected = jnp.stack([jax.grad(loss)(row) for row in to_jax(ROWS)])
    for grad in (
        jax.vmap(jax.grad(loss)),
        jax.grad(lambda rows: jax.vmap(loss)(rows).sum()),
        jax.jit(jax.grad(lambda rows: jax.vmap(jax.checkpoint(loss))(rows).sum())),
        lambda rows: jax.grad(lambda rows: jax.vmap(loss, in_axes=1)(rows).sum())(rows.T).T,
    ):
        np.testing.assert_allclose(grad(to_jax(ROWS)), expected, rtol=1e-14)


def test_vmap_where_only_the_hook_is_mapped():
    """The value is shared and the hook closes over a mapped one: each row has its own hook."""

    def loss(x, scale):
        return (jaxgrad.hook(x, lambda g: g * scale) * 3.0).sum()

    scales = jnp.array([1.0, -2.0])
    out = jax.vmap(jax.grad(loss), (None, 0))(to_jax(V), scales)
    np.testing.assert_array_equal(out, np.full((2, 3), 3.0) * scales[:, None])
    total = jax.grad(lambda x: jax.vmap(loss, (None, 0))(x, scales).sum())(to_jax(V))
    np.testing.assert_array_equal(total, np.full(3, -3.0))


def test_what_is_not_mapped_stays_so():
    """A hooked program that does not use the mapped value is computed once, not for each row."""

    def grad(scale):
        del scale
        return jax.grad(lambda x: jaxgrad.hook(x * x, clamp).sum())(to_jax(V))

    def tangent(scale):
        del scale
        return jax.jvp(lambda x: jaxgrad.hook(x * x, clamp), (to_jax(V),), (to_jax(W),))[1]

    np.testing.assert_array_equal(jax.vmap(grad, out_axes=None)(jnp.ones(2)), 2.0 * V)
    np.testing.assert_array_equal(jax.vmap(tangent, out_axes=None)(jnp.ones(2)), 2.0 * V * W)


@pytest.mark.parametrize("inside", (True, False))
def test_collective_in_a_hook(inside):
    """A hook may speak to the other rows of a named axis: an all-reduce of gradients."""

    def loss(x):
        return (jaxgrad.hook(x, lambda g: lax.pmean(g, "rows")) * x).sum()

    if inside:
        out = jax.vmap(jax.grad(loss), axis_name="rows")(to_jax(ROWS))
    else:
        out = jax.grad(lambda rows: jax.vmap(loss, axis_name="rows")(rows).sum())(to_jax(ROWS))
    np.testing.assert_allclose(out, ROWS + ROWS.mean(0), rtol=1e-14)


def test_in_a_scan_at_every_turn():
    """In a loop the hook clamps at each turn, as a hook registered in each turn does."""
    x = to_torch(V).requires_grad_()
    y = x
    for k in range(1, 4):
        y = y * float(k)
        y.register_hook(clamp)
    (y * 3.0).sum().backward()

    def loss(x, wrap):
        def turn(y, k):
            return jaxgrad.hook(y * k, clamp), None

        return (lax.scan(wrap(turn), x, jnp.arange(1.0, 4.0))[0] * 3.0).sum()

    for wrap in (eager, jax.checkpoint):
        same(x.grad, jax.grad(loss)(to_jax(V), wrap))
        same(x.grad, jax.jit(jax.grad(loss), static_argnums=1)(to_jax(V), wrap))


def test_in_a_scan_closing_over_each_turn_s_value():
    """What the hook closes over is that turn's, in the second derivative as well."""

    def torch_side():
        x = to_torch(V).requires_grad_()
        y = x
        for k in range(1, 4):
            z = y * float(k)
            z.register_hook(lambda g, y=y: g * y)
            y = z
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return first, torch.autograd.grad(first.sum(), x)[0]

    def loss(x):
        def turn(y, k):
            return jaxgrad.hook(y * k, lambda g: g * y), None

        return lax.scan(turn, x, jnp.arange(1.0, 4.0))[0].sum()

    first = jax.grad(loss)
    same(torch_side(), (first(to_jax(V)), jax.grad(lambda x: first(x).sum())(to_jax(V))))


def test_in_both_branches_of_a_cond():
    """Only the hook of the branch that was taken is called."""

    def loss(x):
        return lax.cond(
            x.sum() > 0,
            lambda x: jaxgrad.hook(x, lambda g: g * 10.0).sum(),
            lambda x: jaxgrad.hook(x, lambda g: -g).sum(),
            x,
        )

    np.testing.assert_array_equal(jax.grad(loss)(jnp.ones(2)), [10.0, 10.0])
    np.testing.assert_array_equal(jax.jit(jax.grad(loss))(-jnp.ones(2)), [-1.0, -1.0])


def test_forward_mode_passes_by():
    """Tangents know no hooks: jvp and jacfwd work, and hessian, which is forward over reverse."""

    def loss(x):
        return (jaxgrad.hook(x * x, lambda g: -g) ** 2).sum()

    def plain(x):
        return (x**4).sum()

    x = to_jax(V)
    np.testing.assert_allclose(jax.jacfwd(loss)(x), jax.grad(plain)(x), rtol=1e-14)
    np.testing.assert_allclose(jax.hessian(loss)(x), -jax.hessian(plain)(x), rtol=1e-14)
    np.testing.assert_allclose(
        jax.jit(jax.hessian(jax.jit(loss)))(x), -jax.hessian(plain)(x), rtol=1e-14
    )


def test_forward_mode_with_an_input_that_stands_still():
    """The tangents are those of the function without the hook."""
    hooked = jaxgrad.backward_hook(lambda a, b: (a * b, a - b), lambda gi, go: None)
    for mode in (eager, jax.jit):
        out, moved = jax.jvp(mode(lambda a: hooked(a, to_jax(W))), (to_jax(V),), (to_jax(K * 1.0),))
        same((V * W, V - W), out)
        same((K * W, K * 1.0), moved)


def test_no_cotangent_arrives():
    """Beyond a rule that sends none back the hook is not called; torch refuses a replacement."""

    class Stops(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, grad):  # type: ignore[override] # torch's own idiom
            return None

    @jax.custom_vjp
    def stops(x):
        return x * 1.0

    stops.defvjp(lambda x: (x, None), lambda _, g: (None,))
    x = to_torch(V).requires_grad_()
    y = x * x
    y.register_hook(lambda g: g + 1.0 if g is not None else None)
    (Stops.apply(y) + x).sum().backward()
    grad = jax.grad(lambda x: (stops(jaxgrad.hook(x * x, lambda g: g + 1.0)) + x).sum())
    same(x.grad, grad(to_jax(V)))


def test_a_value_that_is_not_mapped_is_hooked_once():
    """Inside `vmap` a shared value's hook sees the sum over the rows, as JAX's custom rules do."""

    def total(x, scales):
        return jax.vmap(lambda s: (jaxgrad.hook(x, clamp) * s).sum())(scales).sum()

    grad = jax.grad(total)(to_jax(V), jnp.array([0.25, 0.5]))
    np.testing.assert_array_equal(grad, np.full(3, 0.75))
    grad = jax.grad(total)(to_jax(V), jnp.array([3.0, -2.5]))
    np.testing.assert_array_equal(grad, np.full(3, 0.5))


def test_under_shard_map():
    """Per-device code may hook, and reduce in the hook."""
    mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("d")

    def local(x):
        y = jaxgrad.hook(x * 2.0, lambda g: lax.psum(g, "d") + 0.0 * g)
        return jaxgrad.backward_hook(jnp.sin, lambda gi, go: (gi[0] * 3.0,))(y)

    mapped = jax.shard_map(local, mesh=mesh, in_specs=spec, out_specs=spec)
    out = jax.grad(lambda x: mapped(x).sum())(to_jax(V))
    np.testing.assert_allclose(out, np.cos(2.0 * V) * 6.0, rtol=1e-14)


@pytest.mark.parametrize("dtype", (*DTYPES, "bfloat16"))
def test_watching_changes_no_bit(dtype):
    """The value, its gradient and every other gradient are the same bits with a watching hook."""
    rng = np.random.default_rng(0)
    x, w = (jnp.asarray(rng.normal(size=s), dtype) for s in ((5, 7), (7, 3)))

    def loss(x, w, hook):
        y = hook(jnp.tanh(x @ w))
        z = hook((y * y, y * 0.3, -0.0 * y))
        return sum(jnp.sum(leaf) for leaf in z)

    for mode in (eager, jax.jit):
        run = mode(jax.value_and_grad(loss, (0, 1)), static_argnums=2)
        plain = run(x, w, lambda y: y)
        hooked = run(x, w, lambda y: jaxgrad.hook(y, lambda g: None))
        for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(hooked), strict=True):
            assert a.tobytes() == b.tobytes() and a.dtype == b.dtype


def test_a_watching_hook_costs_nothing():
    """The compiled gradient has the flops and bytes of the program without it."""

    def cost(hook):
        grad = jax.grad(lambda x: (jnp.sin(hook(x * x)) ** 2).sum())
        analysis = jax.jit(grad).lower(jnp.ones(1000)).compile().cost_analysis()
        assert analysis
        return {key: analysis[key] for key in ("flops", "bytes accessed", "transcendentals")}

    plain = cost(lambda y: y)
    assert cost(lambda y: jaxgrad.hook(y, lambda g: None)) == plain
    assert cost(jaxgrad.backward_hook(lambda y: y, lambda gi, go: None)) == plain


def test_weak_types_stay_weak():
    """A hook does not change how the value is promoted later."""
    assert jaxgrad.hook(jnp.asarray(2.0), lambda g: None).weak_type
    out = jax.grad(lambda x: jaxgrad.hook(x, lambda g: g * 2.0) * jnp.float32(3.0))(1.0)
    assert float(out) == 6.0


# --- answers that are refused ---------------------------------------------------------------------


def torch_error(answer) -> str:
    x = to_torch(V).requires_grad_()
    y = x * 2.0
    y.register_hook(answer)
    with pytest.raises((RuntimeError, TypeError)) as raised:
        y.sum().backward()
    return str(raised.value)


@pytest.mark.parametrize(
    "torch_s, jax_s, kind, words, detail",
    (
        (
            lambda g: g[:1],
            lambda g: g[:1],
            ValueError,
            "has changed the size of value",
            "the cotangent is float64[3], the replacement float64[1]; return None",
        ),
        (
            lambda g: g.sum(),
            lambda g: g.sum(),
            ValueError,
            "has changed the size of value",
            "the cotangent is float64[3], the replacement float64[]",
        ),
        (
            lambda g: g.float(),
            lambda g: g.astype("float32"),
            TypeError,
            "has changed the type of value",
            "the cotangent is float64[3], the replacement float32[3]; return None",
        ),
        (
            lambda g: g.long(),
            lambda g: g.astype(int),
            TypeError,
            "has changed the type of value",
            "the cotangent is float64[3], the replacement int64[3]",
        ),
        (lambda g: 3.0, lambda g: 3.0, TypeError, "returned", "return None or an array"),
        (lambda g: (g,), lambda g: (g,), TypeError, "returned", "return None or an array"),
    ),
    ids=("shorter", "scalar", "narrower", "integer", "number", "tuple"),
)
def test_wrong_replacements(torch_s, jax_s, kind, words, detail):
    """torch's words, the user's name for the hook, and both types; already where it is set."""
    assert words in torch_error(torch_s)
    jax_s.__name__ = "mine"
    with pytest.raises(kind, match=f"hook 'mine'.*{words}") as raised:
        jaxgrad.hook(to_jax(V), jax_s)
    assert detail in str(raised.value)


def test_wrong_structure_of_a_replacement():
    """A tree has to come back in the structure in which it was given."""
    with pytest.raises(
        TypeError, match="'<lambda>' should return None or cotangents in the struct"
    ):
        jaxgrad.hook({"a": to_jax(V)}, lambda g: g["a"])


def test_a_value_that_has_no_gradient_is_refused():
    """torch's words again."""
    words = "cannot register a hook on a (tensor|value) that"
    with pytest.raises(RuntimeError, match=words):
        torch.tensor([1, 2]).register_hook(lambda g: g)
    with pytest.raises(TypeError, match=words + r" has no gradient: hook got int64\[2\]; a flo"):
        jaxgrad.hook(jnp.array([1, 2]), lambda g: g)


# --- backward_hook --------------------------------------------------------------------------------


class Module(torch.nn.Module):
    def __init__(self, fun):
        super().__init__()
        self.fun = fun

    def forward(self, *args, **kwargs):
        return self.fun(*args, **kwargs)


def torch_hooked(fun, answer, loss, args, moving):
    seen = []

    def hook(module, grad_inputs, grad_outputs):
        seen.append((grad_inputs, grad_outputs))
        return answer(grad_inputs, grad_outputs)

    module = Module(fun)
    module.register_full_backward_hook(hook)
    args = [to_torch(a) for a in args]
    for place in moving:
        args[place].requires_grad_()
    loss(module(*args)).backward()
    return seen, [args[place].grad for place in moving]


def jax_hooked(fun, answer, loss, args, moving):
    seen = []

    def hook(grad_inputs, grad_outputs):
        flat, structure = jax.tree.flatten((grad_inputs, grad_outputs))
        jax.debug.callback(lambda *leaves: seen.append(leaves), *flat)
        seen.append(structure)
        return answer(grad_inputs, grad_outputs)

    hooked = jaxgrad.backward_hook(fun, hook)
    grads = jax.grad(lambda *args: loss(hooked(*args)), tuple(moving))(*map(to_jax, args))
    jax.effects_barrier()
    structures = [s for s in seen if not isinstance(s, tuple)]
    calls = [s for s in seen if isinstance(s, tuple)]
    return [structures[0].unflatten(leaves) for leaves in calls], list(grads)


MODULES = {
    "one": (lambda a: a * 2.0, [V], [0]),
    "two": (lambda a, b: a * b, [V, W], [0, 1]),
    "an input that needs none": (lambda a, b: a * b, [V, W], [0]),
    "the first needs none": (lambda a, b: a * b, [V, W], [1]),
    "an integer input": (lambda a, k: a[k], [V, K], [0]),
    "a number and a string": (lambda a, b, c: a * b, [V, 3.0, "s"], [0]),
    "two outputs": (lambda a: (a * 2.0, a * a), [V], [0]),
    "three and three": (lambda a, b, c: (a * b, b * c, c * a), [V, W, V + W], [0, 1, 2]),
    "one in a tuple": (lambda a: (a * a,), [V], [0]),
    "an input it does not use": (lambda a, b: a * 2.0, [V, W], [0, 1]),
    "the same thing back": (lambda a: a, [V], [0]),
}
ANSWERS = {
    "watch": lambda gi, go: None,
    "change": lambda gi, go: (None if gi[0] is None else gi[0] * 10.0, *gi[1:]),
    "list": lambda gi, go: [None if g is None else g + 1 for g in gi],
    "use the outputs": lambda gi, go: (gi[0] * go[0] + go[-1], *gi[1:]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", MODULES)
def test_backward_hook_sees_and_changes_what_torch_s_does(name, answer, dtype):
    """The tuples that the hook is given, their Nones and zeros, and the gradients it leaves."""
    fun, args, moving = MODULES[name]
    args = cast(args, dtype)

    def loss(out):
        outs = out if isinstance(out, tuple) else (out,)
        return sum((o * (i + 2.0)).sum() for i, o in enumerate(outs))

    same(
        torch_hooked(fun, ANSWERS[answer], loss, args, moving),
        jax_hooked(fun, ANSWERS[answer], loss, args, moving),
    )


def test_an_integer_output_has_no_cotangent():
    """`grad_outputs` has None in its place."""

    def loss(out):
        return out[0].sum()

    theirs = torch_hooked(lambda a: (a * 2.0, a.long()), ANSWERS["watch"], loss, [V], [0])
    ours = jax_hooked(lambda a: (a * 2.0, a.astype(int)), ANSWERS["watch"], loss, [V], [0])
    same(theirs, ours)


def test_an_output_that_is_not_used():
    """The documented difference: torch shows None, here there are zeros."""
    fun, loss = (lambda a: (a * 2.0, a * a)), (lambda out: out[0].sum())
    (torch_seen, torch_grads) = torch_hooked(fun, ANSWERS["watch"], loss, [V], [0])
    (jax_seen, jax_grads) = jax_hooked(fun, ANSWERS["watch"], loss, [V], [0])
    same(torch_grads, jax_grads)
    assert torch_seen[0][1][1] is None
    np.testing.assert_array_equal(jax_seen[0][1][1], np.zeros(3))


def test_none_in_an_answer():
    """torch's `.grad` is then None, here it is zero."""
    fun, answer = (lambda a, b: a * b), (lambda gi, go: (gi[0] * 10.0, None))
    _, torch_grads = torch_hooked(fun, answer, torch.sum, [V, W], [0, 1])
    _, jax_grads = jax_hooked(fun, answer, jnp.sum, [V, W], [0, 1])
    assert torch_grads[1] is None
    same(torch_grads[0], jax_grads[0])
    np.testing.assert_array_equal(jax_grads[1], np.zeros(3))


@pytest.mark.parametrize("answer", ("watch", "change", "use the outputs"))
@pytest.mark.parametrize("after", (lambda z: z, lambda z: z * z), ids=("linear", "square"))
def test_second_derivative_of_a_hooked_module(answer, after):
    """The hook is met again only by a cotangent that comes through the module's output."""
    change = ANSWERS[answer]
    module = Module(lambda p: p**3)
    module.register_full_backward_hook(lambda m, gi, go: change(gi, go))
    x = to_torch(V).requires_grad_()
    (first,) = torch.autograd.grad(after(module(x * x)).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)

    def loss(x):
        return after(jaxgrad.backward_hook(lambda p: p**3, change)(x * x)).sum()

    for mode in (eager, jax.jit):
        grad = jax.grad(mode(loss))
        again = jax.grad(lambda x, grad=grad: grad(x).sum())
        same((first, second), (grad(to_jax(V)), mode(again)(to_jax(V))))


def test_parameters_keyword_arguments_and_other_uses_are_not_touched():
    """Only what goes through the positional inputs is changed."""

    def program(hooked, a, w, k):
        return (hooked(a, k=k) * w).sum() + (a * 100.0).sum()

    a, w, k = (to_torch(v).requires_grad_() for v in (V, W, V + W))
    module = Module(lambda a, *, k: a * w * k)
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * 0.5,))
    program(module, a, w, k).backward()

    def loss(a, w, k):
        hooked = jaxgrad.backward_hook(lambda a, *, k: a * w * k, lambda gi, go: (gi[0] * 0.5,))
        return program(hooked, a, w, k)

    same((a.grad, w.grad, k.grad), jax.grad(loss, (0, 1, 2))(to_jax(V), to_jax(W), to_jax(V + W)))


def test_two_backward_hooks_are_called_in_the_order_of_wrapping():
    """torch's order of registration."""
    a = to_torch(V).requires_grad_()
    module = Module(lambda a: a * 2.0)
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] + 1.0,))
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10.0 * go[0],))
    (module(a) * 3.0).sum().backward()
    fun = jaxgrad.backward_hook(lambda a: a * 2.0, lambda gi, go: (gi[0] + 1.0,))
    fun = jaxgrad.backward_hook(fun, lambda gi, go: (gi[0] * 10.0 * go[0],))
    same(a.grad, jax.grad(lambda a: (fun(a) * 3.0).sum())(to_jax(V)))


def test_backward_hook_in_vmap_scan_and_remat():
    """It is an ordinary function afterwards."""

    def loss(fun):
        def one(x):
            return (lax.scan(lambda c, _: (fun(c), None), x, None, length=3)[0]).sum()

        return one

    fun = jaxgrad.backward_hook(jnp.sin, lambda gi, go: (gi[0] * 2.0,))
    plain = jax.vmap(jax.grad(loss(jnp.sin)))(to_jax(ROWS)) * 8.0
    np.testing.assert_allclose(jax.vmap(jax.grad(loss(fun)))(to_jax(ROWS)), plain, rtol=1e-14)
    total = jax.jit(jax.grad(lambda rows: jax.vmap(loss(jax.checkpoint(fun)))(rows).sum()))
    np.testing.assert_allclose(total(to_jax(ROWS)), plain, rtol=1e-14)


def test_backward_hook_of_a_tree():
    """A dict of parameters has a dict of gradients, in `grad_inputs` and in the answer."""

    def layer(params, x):
        return {"out": params["w"] * x + params["b"], "count": params["n"]}

    def halve_w(grad_inputs, grad_outputs):
        (params, x), (out,) = grad_inputs, grad_outputs
        assert out["count"] is None and params["n"].dtype == int
        return {**params, "w": params["w"] * 0.5}, x

    def loss(w, b, x, fun):
        return (fun({"w": w, "b": b, "n": jnp.array(3)}, x)["out"] * 2.0).sum()

    args = to_jax(V), to_jax(W), to_jax(V + W)
    plain = jax.grad(loss, (0, 1, 2))(*args, layer)
    w, b, x = jax.grad(loss, (0, 1, 2))(*args, jaxgrad.backward_hook(layer, halve_w))
    same((plain[0] * 0.5, *plain[1:]), (w, b, x))


def test_backward_hook_of_a_function_that_branches_on_values():
    """Outside jit a Python `if` on a value works, as it does without the hook."""
    fun = jaxgrad.backward_hook(
        lambda x: x * 2.0 if x.sum() > 0 else -x, lambda gi, go: (gi[0] * 3.0,)
    )
    for sign, slope in ((1.0, 6.0), (-1.0, -3.0)):
        out = jax.grad(lambda x: fun(x).sum())(sign * jnp.ones(2))
        np.testing.assert_array_equal(out, [slope, slope])


def test_none_for_a_whole_tree():
    """Leaves zeros in all of it."""
    fun = jaxgrad.backward_hook(
        lambda t, b: t["a"] * t["c"] * b, lambda gi, go: (None, gi[1] * 2.0)
    )
    t = {"a": to_jax(V), "c": to_jax(W)}
    tree, b = jax.grad(lambda t, b: fun(t, b).sum(), (0, 1))(t, jnp.ones(3))
    same((np.zeros(3), np.zeros(3), 2.0 * V * W), (tree["a"], tree["c"], b))


@pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning")  # what is compared
def test_outputs_and_inputs_that_stand_still():
    """An output that does not depend on the inputs, and a parameter where no input needs one."""

    def loss(out):
        return (out[0] * out[1]).sum()

    def still(a):
        return a * 2.0, lax.stop_gradient(a) * 3.0

    theirs = torch_hooked(lambda a: (a * 2.0, a.detach() * 3.0), ANSWERS["change"], loss, [V], [0])
    hooked = jaxgrad.backward_hook(still, ANSWERS["change"])
    same(theirs[1], [jax.grad(lambda a: loss(hooked(a)))(to_jax(V))])

    x, w = to_torch(V), to_torch(W).requires_grad_()
    module = Module(lambda a: a * w)
    module.register_full_backward_hook(lambda m, gi, go: None)
    (module(x) ** 2).sum().backward()

    def with_parameter(w):
        hooked = jaxgrad.backward_hook(lambda a: a * w, lambda gi, go: (gi[0] * 7.0,))
        return (hooked(to_jax(V)) ** 2).sum()

    same(w.grad, jax.grad(with_parameter)(to_jax(W)))


def test_nothing_to_hook():
    """Without a floating point input or output the function is as it was."""
    fun = jaxgrad.backward_hook(lambda a, b: a + 1, lambda gi, go: None)
    assert fun(jnp.array(1), "s") == 2
    assert jaxgrad.backward_hook(lambda a: a > 0, lambda gi, go: None)(1.5)
    assert jaxgrad.backward_hook(lambda: jnp.ones(2), lambda gi, go: None)().shape == (2,)


@pytest.mark.parametrize("count", (1, 3))
def test_wrong_number_of_grad_inputs(count):
    """torch's words."""
    words = f"returned an invalid number of grad_input, got {count}, but expected 2"

    def answer(gi, go):
        return (gi[0],) * count

    with pytest.raises(RuntimeError, match="Backward hook " + words):
        torch_hooked(lambda a, b: a * b, answer, torch.sum, [V, W], [0, 1])
    with pytest.raises(ValueError, match=f"backward hook 'answer' {words}: return None or a tuple"):
        jaxgrad.backward_hook(lambda a, b: a * b, answer)(to_jax(V), to_jax(W))


def test_wrong_replacement_by_a_backward_hook():
    """As with `hook`: size, type, and a bare array in the place of the tuple."""
    fun, x = (lambda a: a * 2.0), to_jax(V)
    with pytest.raises(ValueError, match="has changed the size of value.*float64.3.*float64.1."):
        jaxgrad.backward_hook(fun, lambda gi, go: (gi[0][:1],))(x)
    with pytest.raises(TypeError, match="has changed the type of value.*float64.3.*float32.3."):
        jaxgrad.backward_hook(fun, lambda gi, go: (gi[0].astype("float32"),))(x)
    with pytest.raises(ValueError, match=re.escape("expected 1: return None or a tuple")):
        jaxgrad.backward_hook(fun, lambda gi, go: gi[0])(x)
    with pytest.raises(TypeError, match="should return None or cotangents in the structure"):
        jaxgrad.backward_hook(lambda t: t["a"], lambda gi, go: (go[0],))({"a": x})


def test_under_autocast():
    """A cotangent may come in another dtype than the hook was traced for: it is cast, and back."""

    def loss(x, w):
        y = jaxgrad.hook(x @ w, lambda g: g * x.sum())
        return jaxgrad.backward_hook(jnp.tanh, lambda gi, go: (gi[0] * go[0],))(y).sum()

    x, w = jnp.full((2, 3), 0.5, "float32"), jnp.full((3, 4), 0.25, "float32")
    low = jax.grad(jaxgrad.autocast(loss), 1)(x, w)
    assert low.dtype == jnp.float32
    np.testing.assert_allclose(low, jax.grad(loss, 1)(x, w), rtol=0.03)
