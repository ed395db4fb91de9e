"""`jaxgrad.custom` against torch: one class, run as an autograd.Function and by `from_function`."""

# ruff: noqa: N803  # Base is a class

from __future__ import annotations

import functools
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
from tests import _helpers


V, W, K = np.array([0.5, 1.5, -2.0]), np.array([3.0, -1.0, 0.25]), np.array([2, 0, 1])
DTYPES = ("float64", "float32")


same = functools.partial(_helpers.same, absolute=True)


# --- classes: the body is the same text for both, `xp` is torch or jax.numpy ----------------------


def saves(what: str, as_attribute: bool = False) -> Any:
    def make(xp, Base):
        class Saves(Base):
            """exp, with a gradient that is made of one saved value."""

            @staticmethod
            def forward(ctx, x):
                y, between = xp.exp(x), xp.sin(x)
                value = {"input": x, "output": y, "neither": between}[what]
                if as_attribute:
                    ctx.held = {"value": [value], "name": what}
                else:
                    ctx.save_for_backward(None, value)
                return y

            @staticmethod
            def backward(ctx, grad):
                value = ctx.held["value"][0] if as_attribute else ctx.saved_tensors[1]
                return grad * value * value

        return Saves

    return make


def product(xp, Base):
    class Product(Base):
        """Two inputs, one of which may need no gradient."""

        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            grad_x = grad * w * 2.0 if ctx.needs_input_grad[0] else None
            grad_w = grad * x * (3.0 if ctx.needs_input_grad[0] else 5.0)
            return grad_x, grad_w

    return Product


def first_only(xp, Base):
    class FirstOnly(Base):
        """No gradient for the second input, which is saved nevertheless."""

        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, grad):
            _, w = ctx.saved_tensors
            return grad * w * w, None

    return FirstOnly


def several(xp, Base):
    class Several(Base):
        """A tuple of outputs, one of them an integer, one not differentiable, one no tensor."""

        @staticmethod
        def forward(ctx, x, w):
            s, p = x + w, x * w
            marked, order = x * 7.0, xp.argsort(x)
            ctx.mark_non_differentiable(marked)
            ctx.save_for_backward(x, w, p)
            return s, p, marked, order, "name", None

        @staticmethod
        def backward(ctx, grad_s, grad_p, grad_marked, grad_order, grad_name, grad_none):
            x, w, p = ctx.saved_tensors
            assert grad_name is None and grad_none is None
            assert grad_order.shape == x.shape and "int64" in str(grad_order.dtype)
            nothing = grad_marked + grad_order
            return grad_s + grad_p * w + nothing, grad_s * p + grad_p * x

    return Several


def unmaterialized(xp, Base):
    class Unmaterialized(Base):
        """None instead of zeros for an output that has no gradient."""

        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            marked = x * 7.0
            ctx.mark_non_differentiable(marked)
            return x * 2.0, x * 3.0, marked

        @staticmethod
        def backward(ctx, first, second, marked):
            assert marked is None
            if first is None:
                return second * 100.0
            return first if second is None else first + second

    return Unmaterialized


def power(xp, Base):
    class Power(Base):
        """Arguments that are no tensors, by position and with a default."""

        @staticmethod
        def forward(ctx, x, n, how="plus", shift=1.0):
            ctx.save_for_backward(x)
            ctx.n, ctx.how = n, how
            return x**n + shift if how == "plus" else x**n - shift

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.n * x ** (ctx.n - 1), None, None, None

    return Power


def split(xp, Base):
    class Split(Base):
        """The newer style: forward without ctx, and a default that counts as an input."""

        @staticmethod
        def forward(x, n, shift=1.0):
            return x**n + shift, x * 3.0

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, n, shift = inputs
            y, _ = output
            ctx.save_for_backward(x, y)
            ctx.n, ctx.shift = n, shift

        @staticmethod
        def backward(ctx, grad_y, grad_z):
            x, y = ctx.saved_tensors
            return grad_y * ctx.n * (y - ctx.shift) / x + grad_z * 3.0, None, None

    return Split


def gather(xp, Base):
    class Gather(Base):
        """An integer input; the gradient given for it is ignored, whatever its shape."""

        @staticmethod
        def forward(ctx, x, index):
            ctx.save_for_backward(index)
            return x[index]

        @staticmethod
        def backward(ctx, grad):
            (index,) = ctx.saved_tensors
            return grad[xp.argsort(index)], grad.sum()

    return Gather


def identity(xp, Base):
    class Identity(Base):
        """The output is the input."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    return Identity


def huber(xp, Base):
    class Huber(Base):
        """S4-12."""

        @staticmethod
        def forward(ctx, prediction, target, delta):
            error = prediction - target
            ctx.save_for_backward(error)
            ctx.delta = delta
            small = 0.5 * error**2
            return xp.where(abs(error) <= delta, small, delta * (abs(error) - 0.5 * delta)).mean()

        @staticmethod
        def backward(ctx, grad):
            (error,) = ctx.saved_tensors
            slope = xp.clip(error, -ctx.delta, ctx.delta) / error.shape[0]
            return grad * slope, -grad * slope, None

    return Huber


def total(out: Any) -> Any:
    outs = out if isinstance(out, tuple) else (out,)
    return sum(
        (o * o * (i + 1.0)).sum()
        for i, o in enumerate(outs)
        if "float" in str(getattr(o, "dtype", ""))
    )


CASES = {  # maker, arguments, which of them need a gradient, loss
    "saved input": (saves("input"), [V], [0], total),
    "saved output": (saves("output"), [V], [0], total),
    "saved neither": (saves("neither"), [V], [0], total),
    "input in an attribute": (saves("input", True), [V], [0], total),
    "output in an attribute": (saves("output", True), [V], [0], total),
    "neither in an attribute": (saves("neither", True), [V], [0], total),
    "both": (product, [V, W], [0, 1], total),
    "needs the first": (product, [V, W], [0], total),
    "needs the second": (product, [V, W], [1], total),
    "the same twice": (product, [V, V], [0, 1], total),
    "None for the second": (first_only, [V, W], [0], total),
    "several outputs": (several, [V, W], [0, 1], total),
    "of several one": (several, [V, W], [0, 1], lambda out: out[1].sum()),
    "of several one that has no gradient": (several, [V, W], [0], lambda o: (o[0] * o[2]).sum()),
    "unmaterialized both": (unmaterialized, [V], [0], lambda out: (out[0] * out[1]).sum()),
    "unmaterialized first": (unmaterialized, [V], [0], lambda out: (out[0] * out[2]).sum()),
    "unmaterialized second": (unmaterialized, [V], [0], lambda out: (out[1] ** 2).sum()),
    "static arguments": (power, [V, 3, "minus", 0.5], [0], total),
    "defaults": (power, [V, 2], [0], total),
    "setup_context": (split, [V, 3], [0], total),
    "setup_context, all given": (split, [V, 2, 0.25], [0], total),
    "integer": (gather, [V, K], [0], total),
    "the input itself": (identity, [V], [0], total),
    "huber": (huber, [V, W, 0.75], [0, 1], lambda out: out),
}
NEITHER = {"saved neither", "neither in an attribute"}
CONSTANT = {"unmaterialized first", "huber", "of several one that has no gradient"}  # for torch


def torch_side(maker, args, moving, loss, second):
    function = maker(torch, torch.autograd.Function)
    args = [to_torch(a) for a in args]
    for place in moving:
        args[place].requires_grad_()
    wanted = [args[place] for place in moving]
    value = loss(function.apply(*args))
    first = torch.autograd.grad(value, wanted, create_graph=second)
    if not second:
        return value, list(first)
    again = torch.autograd.grad(torch.cat([g.flatten() for g in first]).square().sum(), wanted)
    return value, list(first), list(again)


def jax_side(maker, args, moving, loss, second, mode):
    function = jaxgrad.from_function(maker(jnp, object))
    static = {i: a for i, a in enumerate(args) if i not in moving}

    def value(*moved):
        full = iter(moved)
        given = [to_jax(static[i]) if i in static else next(full) for i in range(len(args))]
        return loss(function(*given))

    wanted = [to_jax(args[place]) for place in moving]
    places = tuple(range(len(moving)))
    inner = mode(jax.value_and_grad(mode(value), places))
    out, first = inner(*wanted)
    if not second:
        return out, list(first)
    again = mode(jax.grad(lambda *a: sum((g * g).sum() for g in inner(*a)[1]), places))(*wanted)
    return out, list(first), list(again)


def eager(fun: Any, **_: Any) -> Any:
    return fun


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", (eager, jax.jit), ids=("eager", "jit"))
@pytest.mark.parametrize("name", CASES)
def test_ports_without_a_change(name, mode, dtype):
    """Value, gradient and the gradient's gradient are torch's, for one and the same class body."""
    maker, args, moving, loss = CASES[name]
    args = [cast(a, dtype) if isinstance(a, np.ndarray) else a for a in args]
    second = name not in NEITHER | CONSTANT
    same(
        torch_side(maker, args, moving, loss, second),
        jax_side(maker, args, moving, loss, second, mode),
    )


@pytest.mark.parametrize("name", sorted(NEITHER))
def test_a_second_derivative_takes_other_saved_values_for_constants(name):
    """What is saved and is neither input nor output has no history in torch, and here."""
    maker, args, _, _ = CASES[name]
    x = to_torch(args[0]).requires_grad_()
    y = maker(torch, torch.autograd.Function).apply(x)
    (first,) = torch.autograd.grad((y * x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    function = jaxgrad.from_function(maker(jnp, object))

    def grad(x):
        return jax.grad(lambda x: (function(x) * x).sum())(x)

    same((first, second), (grad(to_jax(V)), jax.grad(lambda x: grad(x).sum())(to_jax(V))))


@pytest.mark.parametrize(
    "name", ("saved output", "both", "several outputs", "unmaterialized second")
)
def test_under_vmap_scan_and_remat(name):
    """Mapped, looped and recomputed it is the same function, also in the second derivative."""
    maker, args, _, loss = CASES[name]
    function = jaxgrad.from_function(maker(jnp, object))

    def one(*args):
        return loss(function(*args))

    def grads(*args):
        return jax.grad(lambda a: one(*a))(args)

    def second(*args):
        return jax.grad(lambda a: sum((g * g).sum() for g in jax.grad(lambda a: one(*a))(a)))(args)

    rows = [jnp.stack([to_jax(a), to_jax(a) * 0.5]) for a in args]
    for derivative in (grads, second):
        expected = [derivative(*(r[i] for r in rows)) for i in range(2)]
        expected = jax.tree.map(lambda *leaves: jnp.stack(leaves), *expected)
        same(expected, jax.vmap(derivative)(*rows))
        same(expected, lax.map(lambda a, d=derivative: d(*a), tuple(rows)))
        same(expected, jax.vmap(derivative, in_axes=1)(*(r.T for r in rows)))

    def whole(wrap):
        def body(carry, row):
            return carry + wrap(one)(*row), None

        return lambda rows: lax.scan(body, jnp.zeros(()), rows)[0]

    def mapped(rows):
        return jax.vmap(one)(*rows).sum()

    def again(fun):
        return jax.grad(lambda r: sum((g * g).sum() for g in jax.grad(fun)(r)))

    rows = tuple(rows)
    for fun in (whole(eager), whole(jax.checkpoint), jax.jit(whole(eager)), mapped):
        same(jax.vmap(grads)(*rows), jax.grad(fun)(rows))
        same(jax.vmap(second)(*rows), again(fun)(rows))


def test_half_mapped():
    """Under vmap an input that is not mapped gets the sum over the rows."""
    function = jaxgrad.from_function(product(jnp, object))

    def loss(x, w):
        return jax.vmap(function, (0, None))(x, w).sum()

    x = jnp.stack([to_jax(V), to_jax(W)])
    grad_x, grad_w = jax.grad(loss, (0, 1))(x, to_jax(W))
    np.testing.assert_allclose(grad_x, np.stack([2 * W, 2 * W]))
    np.testing.assert_allclose(grad_w, 3 * (V + W))


# --- None -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", (eager, jax.jit, jax.checkpoint), ids=("eager", "jit", "remat"))
def test_a_none_of_backward_is_none(wrap):
    """Where `backward` returns None, `.grad` is None, and so is the gradient of value_and_grad."""
    x, w = (to_torch(v).requires_grad_() for v in (V, W))
    first_only(torch, torch.autograd.Function).apply(x, w).sum().backward()
    function = jaxgrad.from_function(first_only(jnp, object))

    def loss(args):
        return wrap(lambda x, w: function(x, w).sum())(*args)

    _, (grad_x, grad_w) = jaxgrad.value_and_grad(loss)((to_jax(V), to_jax(W)))
    assert w.grad is None and grad_w is None
    same(x.grad, grad_x)


def test_a_none_is_none_only_at_first():
    """A second derivative reaches the saved input all the same."""
    x, w = (to_torch(v).requires_grad_() for v in (V, W))
    y = first_only(torch, torch.autograd.Function).apply(x, w)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    expected = torch.autograd.grad(first.sum(), [x, w], allow_unused=True)
    function = jaxgrad.from_function(first_only(jnp, object))

    def slope(args):
        return jax.grad(lambda x: function(x, args[1]).sum())(args[0]).sum()

    found = jaxgrad.value_and_grad(slope)((to_jax(V), to_jax(W)))[1]
    assert expected[0] is None and found[0] is None
    same(expected[1], found[1])


def test_what_is_closed_over_has_no_gradient():
    """torch's `.grad` of it is None after the first, its value after the second derivative."""

    def maker(b):
        def make(xp, Base):
            class Closes(Base):
                @staticmethod
                def forward(ctx, x):
                    return x * b

                @staticmethod
                def backward(ctx, grad):
                    return grad * b * b

            return Closes

        return make

    x, c = (to_torch(v).requires_grad_() for v in (V, W))
    y = maker(c * c)(torch, torch.autograd.Function).apply(x)
    first = torch.autograd.grad(y.sum(), [x, c], create_graph=True, allow_unused=True)
    second = torch.autograd.grad(first[0].sum(), [x, c], allow_unused=True)
    assert first[1] is None and second[0] is None

    def loss(args):
        x, c = args
        return jaxgrad.from_function(maker(c * c)(jnp, object))(x).sum()

    args = to_jax(V), to_jax(W)
    for wrap in (eager, jax.jit, jax.checkpoint):
        grads = jaxgrad.value_and_grad(wrap(loss))(args)[1]
        again = jaxgrad.value_and_grad(lambda a, w=wrap: jax.grad(w(loss))(a)[0].sum())(args)[1]
        assert grads[1] is None and again[0] is None
        same((first[0], second[1]), (grads[0], again[1]))


def test_a_saved_value_that_was_made_of_what_is_closed_over():
    """Is a constant too: torch runs `forward` without a graph."""

    def maker(b):
        def make(xp, Base):
            class Closes(Base):
                @staticmethod
                def forward(ctx, x):
                    ctx.save_for_backward(xp.sin(x) * b)
                    return x * 1.0

                @staticmethod
                def backward(ctx, grad):
                    return grad * ctx.saved_tensors[0]

            return Closes

        return make

    x, c = (to_torch(v).requires_grad_() for v in (V, W))
    y = maker(c * c)(torch, torch.autograd.Function).apply(x)
    (first,) = torch.autograd.grad((y * x).sum(), x, create_graph=True)
    second = torch.autograd.grad(first.sum(), [x, c], allow_unused=True)

    def loss(x, c):
        return (jaxgrad.from_function(maker(c * c)(jnp, object))(x) * x).sum()

    def slope(args):
        return jax.grad(jax.jit(loss))(*args).sum()

    _, again = jaxgrad.value_and_grad(slope)((to_jax(V), to_jax(W)))
    same(second, tuple(again))


def test_closing_over_a_value_of_a_loop_or_of_jit():
    """The backward pass runs when the loop is over: what it closes over travels with it."""

    def make(scale):
        class Scaled:
            @staticmethod
            def forward(ctx, x):
                return x * 1.0

            @staticmethod
            def backward(ctx, grad):
                return grad * scale

        return jaxgrad.from_function(Scaled)

    def loop(x):
        def body(carry, k):
            return make(k)(carry), None

        return lax.scan(body, x, jnp.array([2.0, 3.0, 5.0]))[0].sum()

    np.testing.assert_array_equal(jax.grad(loop)(to_jax(V)), np.full(3, 30.0))
    np.testing.assert_array_equal(jax.grad(jax.jit(loop))(to_jax(V)), np.full(3, 30.0))
    inside = jax.jit(lambda x, k: make(k * 2)(x).sum())  # an integer of the inner jit
    np.testing.assert_array_equal(jax.grad(inside)(to_jax(V), 7), np.full(3, 14.0))


def test_needs_input_grad_follows_what_is_differentiated():
    """In backward it is torch's; in forward it is True for every floating point array."""
    seen = {}

    def make(xp, Base, side):
        class Flags(Base):
            @staticmethod
            def forward(ctx, x, k, w, n):
                seen[side, "forward"] = ctx.needs_input_grad
                return x * w

            @staticmethod
            def backward(ctx, grad):
                seen[side, "backward"] = ctx.needs_input_grad
                return grad, None, grad, None

        return Flags

    x, k, w = to_torch(V), to_torch(K), to_torch(W).requires_grad_()
    make(torch, torch.autograd.Function, "torch").apply(x, k, w, 3).sum().backward()
    function = jaxgrad.from_function(make(jnp, object, "jax"))
    for wrap in (eager, jax.jit, jax.checkpoint):
        seen["jax", "backward"] = None
        jax.grad(wrap(lambda w: function(to_jax(V), to_jax(K), w, 3).sum()))(to_jax(W))
        assert seen["jax", "backward"] == seen["torch", "backward"] == (False, False, True, False)
    assert seen["torch", "forward"] == (False, False, True, False)
    assert seen["jax", "forward"] == (True, False, True, False)


# --- gradients of other shapes and dtypes ---------------------------------------------------------


def returns(answer: Any, count: int = 1) -> Any:
    def make(xp, Base):
        class Returns(Base):
            @staticmethod
            def forward(ctx, *args):
                return args[0] * 2.0

            @staticmethod
            def backward(ctx, grad):
                return answer(xp, grad)

        return Returns

    return make


@pytest.mark.parametrize(
    "shape, wide",
    (
        ((), (4, 3)),
        ((3,), (4, 3)),
        ((3, 1), (3, 4)),
        ((1,), (5,)),
        ((1, 1), (2, 5, 3)),
        ((2, 0), (2, 0)),
    ),
)
def test_a_larger_gradient_is_summed_to_the_input(shape, wide):
    """As if the input had been broadcast."""
    values = np.random.default_rng(0).normal(size=wide)
    maker = returns(lambda xp, grad: xp.asarray(values))
    args = [np.ones(shape)], [0], lambda out: out.sum(), False
    same(torch_side(maker, *args)[1], jax_side(maker, *args, eager)[1])


@pytest.mark.parametrize("given", ("float64", "float32", "int64"))
@pytest.mark.parametrize("dtype", (*DTYPES, "bfloat16"))
def test_a_gradient_is_cast_to_the_input(given, dtype):
    """To the dtype of the input, whatever `backward` computes in."""
    kinds = {"float64": torch.float64, "float32": torch.float32, "int64": torch.int64}

    def answer(xp, grad):
        return xp.ones_like(grad, dtype=kinds[given] if xp is torch else given) * 3

    values = jnp.ones(3, dtype)
    x = torch.ones(3, dtype=getattr(torch, dtype), requires_grad=True)
    returns(answer)(torch, torch.autograd.Function).apply(x).sum().backward()
    function = jaxgrad.from_function(returns(answer)(jnp, object))
    same(x.grad, jax.grad(lambda x: function(x).sum())(values))


def test_complex_classes_port_as_they_are():
    """torch's gradient is the conjugate of JAX's: the class sees torch's, the caller JAX's."""

    def make(xp, Base):
        class Turn(Base):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x * w

            @staticmethod
            def backward(ctx, grad):
                x, w = ctx.saved_tensors
                return grad * w.conj(), grad * x.conj()

        return Turn

    z, u = V + 1j * W, W - 0.5j * V
    x, w = (to_torch(v).requires_grad_() for v in (z, u))
    (make(torch, torch.autograd.Function).apply(x, w).abs() ** 2).sum().backward()
    function = jaxgrad.from_function(make(jnp, object))
    grads = jax.grad(lambda a: (abs(function(*a)) ** 2).sum())((to_jax(z), to_jax(u)))
    same((x.grad.conj().resolve_conj(), w.grad.conj().resolve_conj()), grads)
    plain = jax.grad(lambda a: (abs(a[0] * a[1]) ** 2).sum())((to_jax(z), to_jax(u)))
    same(plain, grads)


# --- what is refused ------------------------------------------------------------------------------


COUNT = "ReturnsBackward returned an incorrect number of gradients"
SHAPE = "ReturnsBackward returned an invalid gradient at index 0"


@pytest.mark.parametrize(
    "answer, args, kind, words",
    (
        (
            lambda xp, g: g,
            [V, W],
            ValueError,
            f"function {COUNT} (expected 2, got 1)",
        ),
        (
            lambda xp, g: (g, g),
            [V],
            ValueError,
            f"function {COUNT} (expected 1, got 2)",
        ),
        (
            lambda xp, g: [g, g],
            [V, W],
            ValueError,
            f"function {COUNT} (expected 2, got 1)",
        ),
        (
            lambda xp, g: (g, g),
            [V, 3],
            ValueError,
            "function ReturnsBackward returned a gradient different than None at position 2, but "
            "the corresponding forward input was not a",
        ),
        (
            lambda xp, g: g[:2],
            [V],
            ValueError,
            f"Function {SHAPE} - got [2] but expected shape compatible with [3]",
        ),
        (
            lambda xp, g: g.sum(),
            [V],
            ValueError,
            f"Function {SHAPE} - got [] but expected shape compatible with [3]",
        ),
        (lambda xp, g: 2.0, [V], TypeError, "or None (got float)"),
    ),
    ids=("few", "many", "list", "static", "short", "scalar", "number"),
)
def test_wrong_gradients(answer, args, kind, words):
    """torch's words, where the function is called."""
    x = to_torch(args[0]).requires_grad_()
    function = returns(answer)(torch, torch.autograd.Function)
    with pytest.raises(RuntimeError, match=re.escape(words)):
        function.apply(x, *map(to_torch, args[1:])).sum().backward()
    with pytest.raises(kind, match=re.escape(words)):
        jaxgrad.from_function(returns(answer)(jnp, object))(*map(to_jax, args))


def test_more_nones_than_inputs():
    """Are allowed, in torch as well."""
    maker = returns(lambda xp, grad: (grad, None, None))
    args = [V], [0], total, False
    same(torch_side(maker, *args), jax_side(maker, *args, eager))


def test_a_complex_gradient_of_a_real_input_is_refused():
    """It says which dtypes, and what to do."""
    maker = returns(lambda xp, grad: grad * (1.0 + 2.0j))
    with pytest.raises(RuntimeError):
        torch_side(maker, [V], [0], total, False)
    with pytest.raises(
        TypeError, match="got complex128 for an input of float64; take its real part"
    ):
        jaxgrad.from_function(maker(jnp, object))(to_jax(V))


def test_saving_what_is_no_array():
    """torch's words, and what to do instead."""

    def make(xp, Base):
        class Saves(Base):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x, 3)
                return x

            @staticmethod
            def backward(ctx, grad):
                return grad

        return Saves

    x = to_torch(V).requires_grad_()
    with pytest.raises(TypeError, match="but argument 1 is of type int"):
        make(torch, torch.autograd.Function).apply(x)
    with pytest.raises(
        TypeError, match="but argument 1 is of type int; make it an attribute of ctx"
    ):
        jaxgrad.from_function(make(jnp, object))(to_jax(V))


def test_attributes_that_were_never_set():
    """An AttributeError that names them."""

    class Missing:
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.nothing

    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        jaxgrad.from_function(Missing)(to_jax(V))


class ForwardOnly:
    @staticmethod
    def forward(ctx, x):
        return x * 2.0


def test_without_backward():
    """The function can be called; differentiating it raises torch's error."""
    function = jaxgrad.from_function(ForwardOnly)
    np.testing.assert_array_equal(function(to_jax(V)), 2.0 * V)
    words = "You must implement .*backward.* vjp .* to use it with backward mode AD"
    x = to_torch(V).requires_grad_()
    base = type("ForwardOnly", (torch.autograd.Function,), {"forward": ForwardOnly.forward})
    with pytest.raises(NotImplementedError, match=words):
        base.apply(x).sum().backward()
    with pytest.raises(NotImplementedError, match=words.replace("vjp .*", "vjp in ForwardOnly")):
        jax.grad(lambda x: function(x).sum())(to_jax(V))


def test_keyword_arguments():
    """By name or by position; one that has no position is refused."""
    function = jaxgrad.from_function(power(jnp, object))
    np.testing.assert_array_equal(
        function(to_jax(V), n=3, shift=0.5, how="minus"), function(to_jax(V), 3, "minus", 0.5)
    )
    with pytest.raises(TypeError, match="missing a required argument: 'n'"):
        function(to_jax(V))

    class Keyword:
        @staticmethod
        def forward(ctx, x, *, k):
            return x * k

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(TypeError, match=r"Keyword.forward\(\) got keyword-only arguments \['k'\]"):
        jaxgrad.from_function(Keyword)(to_jax(V), k=2.0)


# --- forms of the call ----------------------------------------------------------------------------


def test_apply_decorator_and_name():
    """`F.apply(x)` of a ported call site works; so does `from_function` as a decorator."""

    @jaxgrad.from_function
    class Square:
        """Its own docstring."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 7.0 * grad * ctx.saved_tensors[0]

    assert (Square.__name__, Square.__doc__) == ("Square", "Its own docstring.")
    np.testing.assert_array_equal(jax.grad(lambda x: Square(x).sum())(to_jax(V)), 7.0 * V)
    np.testing.assert_array_equal(jax.grad(lambda x: Square.apply(x).sum())(to_jax(V)), 7.0 * V)


def test_the_value_is_what_forward_returns():
    """Bit for bit, for every kind of output, differentiated or not."""
    function = jaxgrad.from_function(several(jnp, object))

    class Ctx:
        save_for_backward = mark_non_differentiable = staticmethod(lambda *_: None)

    args = to_jax(V), to_jax(W)
    plain = several(jnp, object).forward(Ctx(), *args)
    assert function(*args)[4:] == plain[4:] == ("name", None)
    for outs in (function(*args)[:4], jax.vjp(lambda *a: function(*a)[:4], *args)[0]):
        for a, b in zip(outs, plain[:4], strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("out", ("list", "dict", "number", "none", "one-tuple"))
def test_outputs_that_torch_passes_by(out):
    """A list or a dict is handed through without gradient, as is what is no tensor."""

    def make(xp, Base):
        class Odd(Base):
            @staticmethod
            def forward(ctx, x):
                made = {"list": [x * 2.0], "dict": {"k": x * 2.0}, "number": 3, "none": None}
                return made.get(out, (x * 2.0,))

            @staticmethod
            def backward(ctx, *grads):
                return grads[0]

        return Odd

    x = to_torch(V).requires_grad_()
    theirs = make(torch, torch.autograd.Function).apply(x)
    ours = jaxgrad.from_function(make(jnp, object))(to_jax(V))
    assert type(theirs) is type(ours)
    same(theirs, ours)
    if out in ("list", "dict"):
        leaf = jax.tree.leaves(theirs)[0]
        assert not leaf.requires_grad
        grad = jax.grad(
            lambda x: jax.tree.leaves(jaxgrad.from_function(make(jnp, object))(x))[0].sum()
        )
        np.testing.assert_array_equal(grad(to_jax(V)), np.zeros(3))


def test_a_list_of_arrays_is_no_input():
    """torch does not look into lists: what is in them has no gradient."""

    def make(xp, Base):
        class Listed(Base):
            @staticmethod
            def forward(ctx, items, x):
                ctx.items = items
                return items[0] * x

            @staticmethod
            def backward(ctx, grad):
                return None, grad * ctx.items[0]

        return Listed

    a, x = (to_torch(v).requires_grad_() for v in (V, W))
    make(torch, torch.autograd.Function).apply([a], x).sum().backward()
    function = jaxgrad.from_function(make(jnp, object))
    grads = jaxgrad.value_and_grad(lambda t: function([t[0]], t[1]).sum())((to_jax(V), to_jax(W)))[
        1
    ]
    assert a.grad is None and grads[0] is None
    same(x.grad, grads[1])
    jitted = jax.grad(jax.jit(lambda t: function([t[0]], t[1]).sum()))((to_jax(V), to_jax(W)))
    same(x.grad, jitted[1])


def test_branching_on_values():
    """Outside jit `forward` and `backward` may branch on values, as in torch."""

    def make(xp, Base):
        class Branch(Base):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2.0 if x.sum() > 0 else -x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return grad * 2.0 if x.sum() > 0 else -grad

        return Branch

    for values in (V, -V):
        args = [values], [0], total, False
        same(
            torch_side(make(torch, torch.autograd.Function) and make, *args),
            jax_side(make, *args, eager),
        )


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # torch's own import
def test_forward_mode():
    """With `jvp` in the class, forward mode is its; jacobians by both modes, and a Hessian."""

    class Cube:
        @staticmethod
        def forward(ctx, x, n):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x**3, x * n

        @staticmethod
        def backward(ctx, grad, other):
            return grad * 3.0 * ctx.saved_tensors[0] ** 2 + other * 2.0, None

        @staticmethod
        def jvp(ctx, moved, n):
            assert n is None
            return moved * 3.0 * ctx.saved_tensors[0] ** 2, moved * 2.0

    function, x = jaxgrad.from_function(Cube), to_jax(V)
    forward = jax.jacfwd(lambda x: function(x, 2.0))(x)
    same(forward, jax.jacrev(lambda x: function(x, 2.0))(x))
    same(forward, jax.jit(jax.jacfwd(lambda x: function(x, 2.0)))(x))
    same(jax.hessian(lambda x: function(x, 2.0)[0].sum())(x), jnp.diag(6.0 * x))
    assert torch_jvp(Cube) == jax.jvp(lambda x: function(x, 2.0)[0], (2.0,), (1.0,))[1] == 12.0


def torch_jvp(cls) -> float:
    """The same class under torch's forward mode, at 2."""
    from torch.autograd import forward_ad

    methods = {name: cls.__dict__[name] for name in ("forward", "backward", "jvp")}
    base = type("Cube", (torch.autograd.Function,), methods)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.tensor(2.0), torch.tensor(1.0))
        return float(forward_ad.unpack_dual(base.apply(dual, 2.0)[0])[1])  # pyright: ignore[reportArgumentType]


def test_forward_mode_without_jvp():
    """torch's error."""
    function = jaxgrad.from_function(product(jnp, object))
    words = "You must implement jvp in Product to use it with forward mode AD"
    for mode in (eager, jax.jit):
        with pytest.raises(NotImplementedError, match=words):
            jax.jvp(mode(lambda x: function(x, x)), (to_jax(V),), (to_jax(V),))


def test_only_what_is_saved_is_kept():
    """The bytes kept for the backward pass are those of the saved values."""
    x = jnp.ones(1000)

    def kept(make):
        function = jaxgrad.from_function(make(jnp, object))
        return jaxgrad.saved_bytes(lambda x: function(jnp.cos(x) * 1.0).sum(), x)

    without = kept(returns(lambda xp, grad: grad))
    assert kept(saves("input")) - without == kept(saves("neither")) - without == x.nbytes


# --- reverse_gradient, straight_through -----------------------------------------------------------


class TorchReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, scale: Any) -> Any:
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override] # torch's own idiom
        return -ctx.scale * grad, None


class TorchThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, fun: Any) -> Any:
        return fun(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override] # torch's own idiom
        return grad, None


ESTIMATORS = {
    "reverse": (lambda x: TorchReverse.apply(x, 1.0), jaxgrad.reverse_gradient),
    "reverse, scaled": (
        lambda x: TorchReverse.apply(x, 0.3),
        lambda x: jaxgrad.reverse_gradient(x, 0.3),
    ),
    "round": (lambda x: TorchThrough.apply(x, torch.round), jaxgrad.straight_through(jnp.round)),
    "step": (
        lambda x: TorchThrough.apply(x, lambda x: (x > 0).to(x.dtype)),
        jaxgrad.straight_through(lambda x: (x > 0).astype(x.dtype)),
    ),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators(name, dtype):
    """First and second derivative, straight, jitted, looped, mapped and recomputed."""
    theirs, ours = ESTIMATORS[name]
    x = to_torch(V.astype(dtype)).requires_grad_()
    value = (theirs(x * x) ** 2 * x).sum()
    (first,) = torch.autograd.grad(value, x, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), x)

    def loss(x):
        return (ours(x * x) ** 2 * x).sum()

    def looped(x):
        return lax.scan(lambda c, _: (ours(c * c) ** 2 * c, None), x, None, length=1)[0].sum()

    def mapped(x):
        return jax.vmap(loss)(x[:, None]).sum()

    def branched(x):
        return lax.cond(x.sum() > -100, loss, lambda x: x.sum(), x)

    for fun in (loss, jax.jit(loss), looped, jax.checkpoint(loss), mapped, branched):
        grad = jax.grad(fun)
        again = jax.grad(lambda x, grad=grad: (grad(x) ** 2).sum())
        args = to_jax(V.astype(dtype))
        same((value, first, second), (fun(args), grad(args), again(args)))
        same((value, first, second), (fun(args), jax.jit(grad)(args), jax.jit(again)(args)))
        same(jax.jacrev(grad)(args), jax.jacfwd(grad)(args))


def test_the_catalogue_s_second_derivatives():
    """P165 and P166: 2 and 2."""
    second = jax.grad(jax.grad(lambda x: jaxgrad.reverse_gradient(x) ** 2))(1.0)
    assert float(second) == 2.0
    second = jax.grad(jax.grad(lambda x: jaxgrad.straight_through(jnp.round)(x) ** 2))(2.6)
    assert float(second) == 2.0


def test_estimators_keep_every_bit():
    """The value is `fun`'s, where `x + stop_gradient(fun(x) - x)` rounds."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=1000) * 1e3, "float32")
    out = jax.jit(jaxgrad.straight_through(lambda x: jnp.round(x * 10.0) / 10.0))(x)
    assert out.tobytes() == jax.jit(lambda x: jnp.round(x * 10.0) / 10.0)(x).tobytes()
    assert jaxgrad.reverse_gradient(x, 3.0).tobytes() == x.tobytes()


def test_estimators_of_trees_and_other_arguments():
    """Trees of arrays; integers pass; a traced scale, and further arguments, get no gradient."""

    def loss(p):
        t = jaxgrad.reverse_gradient({"a": p["a"], "k": jnp.array(3)}, p["scale"])
        q = jaxgrad.straight_through(lambda x, s, *, shift: jnp.floor(x / s) * s + shift)
        return (q(t["a"], p["step"], shift=p["shift"]) * t["k"]).sum()

    p = {"a": to_jax(V), "scale": jnp.array(0.5), "step": jnp.array(0.4), "shift": jnp.array(0.1)}
    grads = jaxgrad.value_and_grad(loss)(p)[1]
    np.testing.assert_array_equal(grads.pop("a"), np.full(3, -1.5))
    assert grads == {"scale": None, "step": None, "shift": None}


def test_a_leaf_that_stands_still():
    """Of a tree of which only a part is differentiated, the rest stays undifferentiated."""
    tree = jax.jvp(
        lambda a: jaxgrad.reverse_gradient({"a": a, "b": jnp.ones(2)}), (to_jax(V),), (to_jax(W),)
    )
    same((V, np.ones(2)), (tree[0]["a"], tree[0]["b"]))
    same((-W, np.zeros(2)), (tree[1]["a"], tree[1]["b"]))


def test_straight_through_of_what_has_no_derivative():
    """`fun` is never differentiated, in none of its arguments: it may be a callback."""

    def quantize(x, *, step):
        def on_host(x, step):
            return (np.round(np.asarray(x) / np.asarray(step)) * np.asarray(step)).astype(x.dtype)

        return jax.pure_callback(on_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, step)

    def loss(x, s, wrap):
        return wrap(lambda x, s: jaxgrad.straight_through(quantize)(x, step=s).sum())(x, s)

    def positional(x, s):
        return jaxgrad.straight_through(lambda x, s: quantize(x, step=s))(x, s).sum()

    for wrap in (eager, jax.jit):
        for argnums in (0, 1):
            grad = jax.grad(loss, argnums)(to_jax(V), jnp.array(0.4), wrap)
            np.testing.assert_array_equal(grad, np.ones(3) if argnums == 0 else 0.0)
            grad = jax.grad(wrap(positional), argnums)(to_jax(V), jnp.array(0.4))
            np.testing.assert_array_equal(grad, np.ones(3) if argnums == 0 else 0.0)


def test_straight_through_needs_a_result_like_its_argument():
    """It says what was given and what came out."""
    words = re.escape(
        "straight_through(<lambda>) passes its cotangent on to its first argument, so"
    )
    with pytest.raises(TypeError, match=words + r".*given float64\[3\], it returned bool\[3\]"):
        jaxgrad.straight_through(lambda x: x > 0)(to_jax(V))
    with pytest.raises(TypeError, match=words + r".*given float64\[3\], it returned float64\[\]"):
        jaxgrad.straight_through(lambda x: x.sum())(to_jax(V))
