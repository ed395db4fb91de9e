"""Classes ported with `from_function` give torch's values and gradients, including None."""

# ruff: noqa: N803  # Base is a class

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import jaxgrad
from jaxgrad.parity.interop import cast, to_jax, to_torch
from tests.jaxgrad._core.functions import (
    CASES,
    CONSTANT,
    DTYPES,
    NEITHER,
    K,
    V,
    W,
    eager,
    first_only,
    jax_side,
    product,
    returns,
    same,
    saves,
    several,
    torch_side,
    total,
)


MODES = eager, jax.jit


@pytest.mark.sampled(9)
@pytest.mark.parametrize(("name", "mode", "dtype"), list(itertools.product(CASES, MODES, DTYPES)))
def test_ports_without_a_change(name, mode, dtype):
    """One class body gives torch's value, gradient and second derivative in both frameworks."""
    maker, args, moving, loss = CASES[name]
    args = [cast(a, dtype) if isinstance(a, np.ndarray) else a for a in args]
    second = name not in NEITHER | CONSTANT
    same(
        torch_side(maker, args, moving, loss, second),
        jax_side(maker, args, moving, loss, second, mode),
    )


@pytest.mark.parametrize("name", sorted(NEITHER))
def test_other_saved_values_are_constants_in_a_second_derivative(name):
    """Saved values that are neither inputs nor outputs are constants in a second derivative."""
    maker, args, _, _ = CASES[name]
    x = to_torch(args[0]).requires_grad_()
    y = maker(torch, torch.autograd.Function).apply(x)
    (first,) = torch.autograd.grad((y * x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    function = jaxgrad.from_function(maker(jnp, object))

    def grad(x):
        return jax.grad(lambda x: (function(x) * x).sum())(x)

    same((first, second), (grad(to_jax(V)), jax.grad(lambda x: grad(x).sum())(to_jax(V))))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name", ("saved output", "both", "several outputs", "unmaterialized second")
)
def test_under_vmap_scan_and_remat(name):
    """A ported class gives the same derivatives under `vmap`, `scan` and remat."""
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


def test_unmapped_inputs_get_the_summed_gradient():
    """Under `vmap`, an unmapped input gets the gradient summed over the batch."""
    function = jaxgrad.from_function(product(jnp, object))

    def loss(x, w):
        return jax.vmap(function, (0, None))(x, w).sum()

    x = jnp.stack([to_jax(V), to_jax(W)])
    grad_x, grad_w = jax.grad(loss, (0, 1))(x, to_jax(W))
    np.testing.assert_allclose(grad_x, np.stack([2 * W, 2 * W]))
    np.testing.assert_allclose(grad_w, 3 * (V + W))


@pytest.mark.parametrize("wrap", (eager, jax.jit, jax.checkpoint), ids=("eager", "jit", "remat"))
def test_a_none_of_backward_is_none(wrap):
    """If `backward` returns None, torch's `.grad` and the gradient in `value_and_grad` are None."""
    x, w = (to_torch(v).requires_grad_() for v in (V, W))
    first_only(torch, torch.autograd.Function).apply(x, w).sum().backward()
    function = jaxgrad.from_function(first_only(jnp, object))

    def loss(args):
        return wrap(lambda x, w: function(x, w).sum())(*args)

    _, (grad_x, grad_w) = jaxgrad.value_and_grad(loss)((to_jax(V), to_jax(W)))
    assert w.grad is None and grad_w is None
    same(x.grad, grad_x)


def test_a_none_is_none_only_in_the_first_derivative():
    """A saved input whose first gradient is None still has a second derivative."""
    x, w = (to_torch(v).requires_grad_() for v in (V, W))
    y = first_only(torch, torch.autograd.Function).apply(x, w)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    expected = torch.autograd.grad(first.sum(), [x, w], allow_unused=True)
    function = jaxgrad.from_function(first_only(jnp, object))

    def slope(args):
        return jax.grad(lambda x: function(x, args[1]).sum())(args[0]).sum()

    grads = jaxgrad.value_and_grad(slope)((to_jax(V), to_jax(W)))[1]
    assert expected[0] is None and grads[0] is None
    same(expected[1], grads[1])


def test_captured_values_have_no_gradient():
    """As in torch, captured values get a gradient in the second derivative but not in the first."""

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


def test_a_saved_value_computed_from_captured_values_is_constant():
    """A saved value computed from captured values is a constant, as in torch."""

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
    """`backward` may capture values of a loop iteration or of an inner `jit`."""

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
    inside = jax.jit(lambda x, k: make(k * 2)(x).sum())  # `k * 2` is a tracer of the inner jit
    np.testing.assert_array_equal(jax.grad(inside)(to_jax(V), 7), np.full(3, 14.0))


def test_needs_input_grad_follows_what_is_differentiated():
    """`needs_input_grad` matches torch's in `backward`; in `forward` every float array has True."""
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


@pytest.mark.sampled(3)
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
    """A gradient larger than its input is summed to the input's shape, as if broadcast."""
    values = np.random.default_rng(0).normal(size=wide)
    maker = returns(lambda xp, grad: xp.asarray(values))
    args = [np.ones(shape)], [0], lambda out: out.sum(), False
    same(torch_side(maker, *args)[1], jax_side(maker, *args, eager)[1])


@pytest.mark.parametrize("given", ("float64", "float32", "int64"))
@pytest.mark.parametrize("dtype", (*DTYPES, "bfloat16"))
def test_a_gradient_is_cast_to_the_input(given, dtype):
    """A gradient is cast to its input's dtype, whatever dtype `backward` computes in."""
    kinds = {"float64": torch.float64, "float32": torch.float32, "int64": torch.int64}

    def answer(xp, grad):
        return xp.ones_like(grad, dtype=kinds[given] if xp is torch else given) * 3

    values = jnp.ones(3, dtype)
    x = torch.ones(3, dtype=getattr(torch, dtype), requires_grad=True)
    returns(answer)(torch, torch.autograd.Function).apply(x).sum().backward()
    function = jaxgrad.from_function(returns(answer)(jnp, object))
    same(x.grad, jax.grad(lambda x: function(x).sum())(values))


def test_complex_classes_port_as_they_are():
    """A complex class receives torch's cotangent, and its caller gets JAX's, the conjugate."""

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


def test_the_value_is_what_forward_returns():
    """Outputs of every type are bit-identical to those of `forward`, differentiated or not."""
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
def test_outputs_that_torch_ignores(out):
    """Lists, dicts and non-arrays are returned without a gradient, as in torch."""

    def make(xp, Base):
        class Odd(Base):
            @staticmethod
            def forward(ctx, x):
                outputs = {"list": [x * 2.0], "dict": {"k": x * 2.0}, "number": 3, "none": None}
                return outputs.get(out, (x * 2.0,))

            @staticmethod
            def backward(ctx, *grads):
                return grads[0]

        return Odd

    x = to_torch(V).requires_grad_()
    expected = make(torch, torch.autograd.Function).apply(x)
    actual = jaxgrad.from_function(make(jnp, object))(to_jax(V))
    assert type(expected) is type(actual)
    same(expected, actual)
    if out in ("list", "dict"):
        leaf = jax.tree.leaves(expected)[0]
        assert not leaf.requires_grad
        grad = jax.grad(
            lambda x: jax.tree.leaves(jaxgrad.from_function(make(jnp, object))(x))[0].sum()
        )
        np.testing.assert_array_equal(grad(to_jax(V)), np.zeros(3))


def test_a_python_number_is_returned_as_it_is():
    """torch does not record a number either, so `backward` is not called."""

    class Reverse:
        @staticmethod
        def forward(ctx, x):
            del ctx
            return x

        @staticmethod
        def backward(ctx, grad):
            del ctx
            return -grad

    function = jaxgrad.from_function(Reverse)
    assert type(function(3.0)) is float and function(3.0) == 3.0
    assert jax.grad(function)(3.0) == -1.0


def test_a_list_of_arrays_is_not_an_input():
    """Arrays inside a list argument get no gradient, as in torch."""

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
    """Outside jit, `forward` and `backward` may use a Python `if` on values."""

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


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # torch triggers it
def test_forward_mode():
    """A class with `jvp` supports `jax.jvp`, forward- and reverse-mode Jacobians, and Hessians."""

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
    """Return the tangent at 2 that torch's forward mode computes for the same class."""
    from torch.autograd import forward_ad

    methods = {name: cls.__dict__[name] for name in ("forward", "backward", "jvp")}
    base = type("Cube", (torch.autograd.Function,), methods)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.tensor(2.0), torch.tensor(1.0))
        return float(forward_ad.unpack_dual(base.apply(dual, 2.0)[0])[1])  # pyright: ignore[reportArgumentType]


def test_only_saved_values_are_kept():
    """Only the values that `forward` saves are kept for the backward pass."""
    x = jnp.ones(1000)

    def kept(make):
        function = jaxgrad.from_function(make(jnp, object))
        return jaxgrad.saved_bytes(lambda x: function(jnp.cos(x) * 1.0).sum(), x)

    without = kept(returns(lambda xp, grad: grad))
    assert kept(saves("input")) - without == kept(saves("neither")) - without == x.nbytes
