"""`jaxgrad.backward` against torch: where `.grad` is None, where it is zeros, and what it is."""

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


X, Y, N = [0.5, 1.5, -2.0], [3.0, -1.0, 0.25], [1, 2, 0]


# --- straight-through and friends, in both frameworks ---------------------------------------------


class TorchStep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override] # torch's own idiom
        return grad


class TorchSecondOnly(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override] # torch's own idiom
        return None, 2 * grad


@jax.custom_jvp
def step(x):
    return (x > 0).astype(x.dtype)


@step.defjvp
def _(primals, tangents):
    return step(*primals), tangents[0]


@jax.custom_jvp
def second_only(x, y):
    return x * y


@second_only.defjvp
def _(primals, tangents):
    return second_only(*primals), 2 * tangents[1]


@jax.custom_jvp
def calls_itself(x, y):
    return jnp.exp(x) + sg(y)


@calls_itself.defjvp
def _(primals, tangents):
    x, y = primals
    run = jax.jit(lambda x, y, t: (calls_itself(x, y), t * (calls_itself(x, y) - y)))
    value, tangent = run(x, y, tangents[0])
    _, turned = lax.scan(lambda c, t: (c, t * calls_itself(c, y)), x, tangent[None])
    return value, turned[0] / value


@jax.custom_vjp
def twice(x):
    return 2 * x


twice.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))


def root(a):
    def newton(f, x):
        return lax.fori_loop(0, 30, lambda _, x: x - f(x) / (2 * x), x)

    return lax.custom_root(
        lambda x: x * x - a, jnp.ones(3), newton, lambda g, y: y / g(jnp.ones(3))
    )


def torch_loop(step, carry, xs):
    for x in xs:
        carry = step(carry, x)
    return carry


def scanned(step, carry, xs):
    return lax.scan(lambda c, x: (step(c, x), None), carry, xs)[0]


def torch_inner(f, x):
    """`torch.autograd.grad` inside a program."""
    return torch.autograd.grad(f(x).sum(), x, create_graph=True)[0]


def rotate(c, x):
    """A chain through the carry: a reaches the first place only after two turns."""
    a, b, d = c
    return b, d, a * x


sg, det = lax.stop_gradient, torch.Tensor.detach
T, J = torch, jnp
M = {"dim": 0}

# name: (torch, jax), functions of x and y (floating point) and n (integers).
PROGRAMS: dict[str, tuple[Any, Any]] = {
    # plain
    "product": (lambda x, y, n: (x * y).sum(), lambda x, y, n: (x * y).sum()),
    "one unused": (lambda x, y, n: (x * x).sum(), lambda x, y, n: (x * x).sum()),
    "all unused": (lambda x, y, n: T.ones(()), lambda x, y, n: J.ones(())),
    "integer factor": (lambda x, y, n: (x * n).sum(), lambda x, y, n: (x * n).sum()),
    "integers only": (lambda x, y, n: (n * 2.0).sum(), lambda x, y, n: (n * 2.0).sum()),
    "index": (lambda x, y, n: x[n].sum(), lambda x, y, n: x[n].sum()),
    "index put": (
        lambda x, y, n: (x.index_put((n,), y) * x).sum(),
        lambda x, y, n: (x.at[n].set(y) * x).sum(),
    ),
    "overwritten": (
        lambda x, y, n: x.index_put((T.arange(3),), y).sum(),
        lambda x, y, n: x.at[J.arange(3)].set(y).sum(),
    ),
    "shape only": (
        lambda x, y, n: (y * x.shape[0]).sum(),
        lambda x, y, n: (y * x.shape[0]).sum(),
    ),
    "zeros like": (
        lambda x, y, n: (T.zeros_like(x) + y).sum(),
        lambda x, y, n: (J.zeros_like(x) + y).sum(),
    ),
    "concatenate": (
        lambda x, y, n: T.cat([x, y])[:3].sum(),
        lambda x, y, n: J.concatenate([x, y])[:3].sum(),
    ),
    "empty slice": (lambda x, y, n: x[:0].sum() + y.sum(), lambda x, y, n: x[:0].sum() + y.sum()),
    "sizes (1,)": (lambda x, y, n: x[:1] * 3, lambda x, y, n: x[:1] * 3),
    "sizes (1, 1)": (lambda x, y, n: x[:1, None] * 3, lambda x, y, n: x[:1, None] * 3),
    "real of complex": (
        lambda x, y, n: T.complex(x, y).real.sum(),
        lambda x, y, n: lax.complex(x, y).real.sum(),
    ),
    "sort by": (
        lambda x, y, n: (y[x.argsort()] * T.arange(3)).sum(),
        lambda x, y, n: (lax.sort((x, y), num_keys=1)[1] * J.arange(3)).sum(),
    ),
    "sorted": (
        lambda x, y, n: (x.sort()[0] * y).sum(),
        lambda x, y, n: (J.sort(x) * y).sum(),
    ),
    # zeros, not None
    "times zero": (lambda x, y, n: (x * 0 + y).sum(), lambda x, y, n: (x * 0 + y).sum()),
    "masked": (
        lambda x, y, n: T.where(T.zeros(3, dtype=T.bool), x, y).sum(),
        lambda x, y, n: J.where(J.zeros(3, bool), x, y).sum(),
    ),
    "where": (
        lambda x, y, n: T.where(x > 0, x * x, y).sum(),
        lambda x, y, n: J.where(x > 0, x * x, y).sum(),
    ),
    "where of a comparison": (
        lambda x, y, n: T.where(x > 0, y, 2 * y).sum(),
        lambda x, y, n: J.where(x > 0, y, 2 * y).sum(),
    ),
    "floor": (lambda x, y, n: (x.floor() * y).sum(), lambda x, y, n: (J.floor(x) * y).sum()),
    "ceil": (lambda x, y, n: x.ceil().sum(), lambda x, y, n: J.ceil(x).sum()),
    "round": (lambda x, y, n: x.round().sum(), lambda x, y, n: J.round(x).sum()),
    "trunc": (lambda x, y, n: x.trunc().sum(), lambda x, y, n: J.trunc(x).sum()),
    "sign": (lambda x, y, n: (x.sign() * y).sum(), lambda x, y, n: (J.sign(x) * y).sum()),
    "power 0": (lambda x, y, n: (x**0).sum(), lambda x, y, n: (x**0).sum()),
    "clamp": (lambda x, y, n: x.clamp(0, 1).sum(), lambda x, y, n: J.clip(x, 0, 1).sum()),
    "relu of negative": (
        lambda x, y, n: T.relu(-x.abs()).sum(),
        lambda x, y, n: jax.nn.relu(-J.abs(x)).sum(),
    ),
    "remainder": (lambda x, y, n: (x % 2).sum(), lambda x, y, n: (x % 2).sum()),
    # None, not zeros
    "detach": (lambda x, y, n: (x.detach() * y).sum(), lambda x, y, n: (sg(x) * y).sum()),
    "detach one path": (lambda x, y, n: (x.detach() * x).sum(), lambda x, y, n: (sg(x) * x).sum()),
    "detach later": (
        lambda x, y, n: ((x * y).detach() + y).sum(),
        lambda x, y, n: (sg(x * y) + y).sum(),
    ),
    "detach all": (lambda x, y, n: det(x * y).sum(), lambda x, y, n: sg(x * y).sum()),
    "comparison": (
        lambda x, y, n: ((x > y).double() * y).sum(),
        lambda x, y, n: ((x > y).astype(y.dtype) * y).sum(),
    ),
    "through integers": (
        lambda x, y, n: (x.int().double() + y).sum(),
        lambda x, y, n: (x.astype(int).astype(y.dtype) + y).sum(),
    ),
    "argmax": (lambda x, y, n: y[x.argmax()], lambda x, y, n: y[J.argmax(x)]),
    "argsort": (lambda x, y, n: y[x.argsort()][0], lambda x, y, n: y[J.argsort(x)][0]),
    "max": (lambda x, y, n: x.max() * y.sum(), lambda x, y, n: J.max(x) * y.sum()),
    "isnan": (
        lambda x, y, n: T.where(x.isnan(), 0.0, y).sum(),
        lambda x, y, n: J.where(J.isnan(x), 0.0, y).sum(),
    ),
    "one hot": (
        lambda x, y, n: (T.nn.functional.one_hot(n, 3) * y).sum(),
        lambda x, y, n: (jax.nn.one_hot(n, 3) * y).sum(),
    ),
    # structure
    "jit": (
        lambda x, y, n: (x.detach() * y).sum(),
        lambda x, y, n: jax.jit(lambda x, y: (sg(x) * y).sum())(x, y),
    ),
    "jit with an unused input": (
        lambda x, y, n: (y * y).sum(),
        lambda x, y, n: jax.jit(lambda x, y: (x * 2, y * y))(x, y)[1].sum(),
    ),
    "scan": (
        lambda x, y, n: torch_loop(lambda c, a: c * a, y.sum(), x),
        lambda x, y, n: scanned(lambda c, a: c * a, y.sum(), x),
    ),
    "scan, detached carry": (
        lambda x, y, n: torch_loop(lambda c, a: c.detach() + a, y.sum(), x),
        lambda x, y, n: scanned(lambda c, a: sg(c) + a, y.sum(), x),
    ),
    "scan, rotating carry": (
        lambda x, y, n: torch_loop(rotate, (y[0], *T.ones(2).double()), x)[0],
        lambda x, y, n: scanned(rotate, (y[0], *J.ones(2)), x)[0],
    ),
    "scan, one turn of the rotation": (
        lambda x, y, n: torch_loop(rotate, (y[0], *T.ones(2).double()), x[:1])[0] + x[0],
        lambda x, y, n: scanned(rotate, (y[0], *J.ones(2)), x[:1])[0] + x[0],
    ),
    "scan, four turns of the rotation": (
        lambda x, y, n: torch_loop(rotate, (y[0], *T.ones(2).double()), T.cat([x, x])[:4])[1],
        lambda x, y, n: scanned(rotate, (y[0], *J.ones(2)), J.concatenate([x, x])[:4])[1],
    ),
    "scan, six turns of the rotation": (
        lambda x, y, n: torch_loop(rotate, (y[0], *T.ones(2).double()), T.cat([x, x]))[0],
        lambda x, y, n: scanned(rotate, (y[0], *J.ones(2)), J.concatenate([x, x]))[0],
    ),
    "scan of no turns": (
        lambda x, y, n: torch_loop(lambda c, a: c * a, y.sum(), x[:0]),
        lambda x, y, n: scanned(lambda c, a: c * a, y.sum(), x[:0]),
    ),
    "scan, carry that is not read": (
        lambda x, y, n: torch_loop(lambda c, a: (c[0] + a, c[1] * 2), (0 * x.detach()[0], y), x)[0],
        lambda x, y, n: scanned(lambda c, a: (c[0] + a, c[1] * 2), (J.zeros(()), y), x)[0],
    ),
    "scan, constant": (
        lambda x, y, n: torch_loop(lambda c, a: c + a * y.sum(), T.zeros(()), x.detach()),
        lambda x, y, n: scanned(lambda c, a: c + a * y.sum(), J.zeros(()), sg(x)),
    ),
    "scan, integers": (
        lambda x, y, n: torch_loop(lambda c, a: c + (a > 0).int(), T.tensor(0), x) * y.sum(),
        lambda x, y, n: scanned(lambda c, a: c + (a > 0), 0, x) * y.sum(),
    ),
    "fori": (
        lambda x, y, n: torch_loop(lambda c, _: c * y, x, range(3)).sum(),
        lambda x, y, n: lax.fori_loop(0, 3, lambda _, c: c * y, x).sum(),
    ),
    "while, not differentiated": (
        lambda x, y, n: torch_loop(lambda c, _: c * 2, x.detach(), range(3)).sum() * y.sum(),
        lambda x, y, n: (
            lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, sg(x)))[1].sum()
            * y.sum()
        ),
    ),
    "while, counting": (
        lambda x, y, n: 5 * y.sum(),
        lambda x, y, n: (
            lax.while_loop(lambda i: i < J.abs(x).sum() + 1, lambda i: i + 1, 0) * y.sum()
        ),
    ),
    "cond, both branches": (
        lambda x, y, n: (x if n[0] > 0 else x * 2).sum(),
        lambda x, y, n: lax.cond(n[0] > 0, lambda: x, lambda: x * 2).sum(),
    ),
    "cond on x": (
        lambda x, y, n: (y if x[0] > 0 else y * 2).sum(),
        lambda x, y, n: lax.cond(x[0] > 0, lambda: y, lambda: y * 2).sum(),
    ),
    "cond, detached inside": (
        lambda x, y, n: (x.detach() * y).sum(),
        lambda x, y, n: lax.cond(n[0] > 0, lambda: sg(x) * y, lambda: y).sum(),
    ),
    "python if": (
        lambda x, y, n: (x if x[0] > 0 else y).sum(),
        lambda x, y, n: (x if x[0] > 0 else y).sum(),
    ),
    "boolean mask": (lambda x, y, n: x[y > 0].sum(), lambda x, y, n: x[y > 0].sum()),
    "checkpoint": (
        lambda x, y, n: (x.detach().sin() * y).sum(),
        lambda x, y, n: jax.checkpoint(lambda x, y: J.sin(sg(x)) * y)(x, y).sum(),
    ),
    "vmap": (
        lambda x, y, n: (x.detach() * y).sum(),
        lambda x, y, n: jax.vmap(lambda x, y: sg(x) * y)(x, y).sum(),
    ),
    "vmap of scan": (
        lambda x, y, n: (x * 8).sum() + 0 * y.sum(),
        lambda x, y, n: (
            jax.vmap(lambda a: lax.fori_loop(0, 3, lambda _, c: c * 2, a))(x).sum() + 0 * y.sum()
        ),
    ),
    "straight through": (
        lambda x, y, n: (TorchStep.apply(x) * y).sum(),
        lambda x, y, n: (step(x) * y).sum(),
    ),
    "straight through, vmap and jit": (
        lambda x, y, n: (TorchStep.apply(x) * y).sum(),
        lambda x, y, n: jax.jit(jax.vmap(lambda x, y: step(x) * y))(x, y).sum(),
    ),
    "straight through, in scan": (
        lambda x, y, n: torch_loop(lambda c, a: c + TorchStep.apply(a), y.sum(), x),
        lambda x, y, n: scanned(lambda c, a: c + step(a), y.sum(), x),
    ),
    "rule for one input": (
        lambda x, y, n: TorchSecondOnly.apply(x, y).sum(),
        lambda x, y, n: second_only(x, y).sum(),
    ),
    "rule that calls itself": (
        lambda x, y, n: (x.exp() + y.detach()).sum(),
        lambda x, y, n: jax.vmap(calls_itself)(x, y).sum(),
    ),
    "custom_root": (
        lambda x, y, n: y.abs().sqrt().sum(),
        lambda x, y, n: root(J.abs(y)).sum(),
    ),
    "custom_vjp": (lambda x, y, n: (2 * x).sum(), lambda x, y, n: twice(x).sum()),
    "custom_jvp of jax": (
        lambda x, y, n: T.nn.functional.silu(x).sum(),
        lambda x, y, n: jax.nn.silu(x).sum(),
    ),
    "logsumexp": (
        lambda x, y, n: T.logsumexp(x, 0) * y[0],
        lambda x, y, n: jax.nn.logsumexp(x) * y[0],
    ),
    "solve": (
        lambda x, y, n: T.linalg.solve(T.eye(3).double() * 2, x).sum(),
        lambda x, y, n: J.linalg.solve(J.eye(3) * 2, x).sum(),
    ),
    # gradients of gradients
    "inner gradient": (
        lambda x, y, n: torch_inner(lambda x: x**3 * y, x).sum(),
        lambda x, y, n: jaxgrad.grad(lambda x: (x**3 * y).sum())(x).sum(),
    ),
    "inner gradient, linear": (
        lambda x, y, n: torch_inner(lambda x: x * y, x).sum(),
        lambda x, y, n: jaxgrad.grad(lambda x: (x * y).sum())(x).sum(),
    ),
    "inner gradient, detached": (
        lambda x, y, n: torch_inner(lambda x: x * x, x).detach().sum() + y.sum(),
        lambda x, y, n: sg(jaxgrad.grad(lambda x: (x * x).sum())(x)).sum() + y.sum(),
    ),
    "inner gradient in scan": (
        lambda x, y, n: torch_inner(lambda x: x**3 * y, x).sum(),
        lambda x, y, n: lax.map(lambda a: jaxgrad.grad(lambda x: x**3 * a[1])(a[0]), (x, y)).sum(),
    ),
}


def torch_gradients(program: Any) -> tuple[Any, list[Any]]:
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (X, Y))
    n = torch.tensor(N)
    loss = program(x, y, n)
    if loss.requires_grad:
        loss.backward()
    else:
        with pytest.raises(RuntimeError, match="does not require grad"):
            loss.backward()
    return loss.detach().numpy(), [None if v.grad is None else v.grad.numpy() for v in (x, y, n)]


def arguments() -> tuple[jax.Array, jax.Array, jax.Array]:
    return jnp.array(X), jnp.array(Y), jnp.array(N)


def same(ours: Any, torchs: Any) -> None:
    assert (ours is None) == (torchs is None), f"jaxgrad {ours}, torch {torchs}"
    if ours is not None:
        np.testing.assert_allclose(ours, torchs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_none_where_torch_has_none(name: str) -> None:
    """A gradient is None exactly where torch's `.grad` is None, zeros where it has zeros."""
    theirs, program = PROGRAMS[name]
    value, expected = torch_gradients(theirs)
    got, grads = jaxgrad.value_and_grad(program, (0, 1, 2))(*arguments())
    assert jnp.shape(got) == value.shape
    same(got, value)
    for ours, torchs in zip(grads, expected, strict=True):
        same(ours, torchs)


NEED_NUMBERS = ("python if", "boolean mask")


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in NEED_NUMBERS])
def test_none_under_jit(name: str) -> None:
    """Under jit the Nones are the same."""
    run = jaxgrad.value_and_grad(PROGRAMS[name][1], (0, 1, 2))
    (_, eager), (_, jitted) = run(*arguments()), jax.eval_shape(run, *arguments())
    assert jax.tree.structure(eager) == jax.tree.structure(jitted)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in NEED_NUMBERS])
def test_depends_on_is_the_same_question(name: str) -> None:
    """`depends_on` is True exactly where there is a gradient."""
    program = PROGRAMS[name][1]
    grads = jax.eval_shape(jaxgrad.grad(program, (0, 1, 2)), *arguments())
    assert jaxgrad.depends_on(program, *arguments()) == tuple(g is not None for g in grads)


@pytest.mark.parametrize("name", PROGRAMS)
def test_zeros_is_jax(name: str) -> None:
    """With unused="zeros" every gradient has the bits of `jax.grad`."""

    def loss(x: Any, y: Any, n: Any) -> Any:
        return jnp.sum(PROGRAMS[name][1](x, y, n))

    ours = jaxgrad.grad(loss, (0, 1), unused="zeros")(*arguments())
    none = jaxgrad.grad(loss, (0, 1))(*arguments())
    jaxs = jax.grad(loss, (0, 1))(*arguments())
    for a, b, c in zip(ours, jaxs, none, strict=True):
        assert a.tobytes() == b.tobytes()
        assert c is None or c.tobytes() == b.tobytes()
        assert c is not None or not np.any(b)


# One instruction of a random program: its torch and its JAX form, of one or two numbers.
INSTRUCTIONS: list[tuple[int, Any, Any]] = [
    (2, T.add, J.add),
    (2, T.mul, J.multiply),
    (1, T.sin, J.sin),
    (1, T.floor, J.floor),
    (1, det, sg),
    (1, lambda a: a.int().double(), lambda a: a.astype("int32").astype("float64")),
    (2, lambda a, b: (a > b).double(), lambda a, b: (a > b).astype("float64")),
    (2, lambda a, b: T.where(a > b, a, b), lambda a, b: J.where(a > b, a, b)),
    (1, TorchStep.apply, step),
    (2, TorchSecondOnly.apply, second_only),
    (1, lambda a: a * 0, lambda a: a * 0),
    (1, T.relu, jax.nn.relu),
]


def random_program(rng: np.random.Generator, size: int, n: int) -> list[Any]:
    """`n` instructions on a list of `size` numbers: which one, on which, into which place."""
    return [(rng.integers(len(INSTRUCTIONS)), *rng.integers(size, size=3)) for _ in range(n)]


def interpret(program: list[Any], which: int, values: list[Any]) -> list[Any]:
    values = list(values)
    for op, a, b, to in program:
        arity, *forms = INSTRUCTIONS[op]
        values[to] = forms[which](*[values[a], values[b]][:arity])
    return values


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    """Random programs with a loop, a branch and remat inside have torch's Nones and gradients."""
    rng = np.random.default_rng(seed)
    before, inside, branch, after = (random_program(rng, 4, n) for n in (3, 3, 2, 3))
    turns, start = int(rng.integers(1, 5)), rng.normal(size=4)

    def theirs(values: list[Any]) -> Any:
        values = interpret(before, 0, values)
        for _ in range(turns):
            values = interpret(branch, 0, interpret(inside, 0, values))
        return interpret(after, 0, values)[0]

    def ours(values: list[Any]) -> Any:
        values = jax.jit(functools.partial(interpret, before, 1))(values)
        body = jax.checkpoint(functools.partial(interpret, inside, 1))

        def turn(values: list[Any], _: Any) -> tuple[list[Any], None]:
            values = body(values)
            into = functools.partial(interpret, branch, 1)  # both branches are one program
            return lax.cond(values[0] > 0, into, into, values), None

        values, _ = lax.scan(turn, values, length=turns)
        return interpret(after, 1, values)[0]

    leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in start]
    loss = theirs(leaves)
    if loss.requires_grad:
        loss.backward()
    value, grads = jaxgrad.value_and_grad(ours)([jnp.array(v) for v in start])
    same(value, loss.detach())
    for a, leaf in zip(grads, leaves, strict=True):
        same(a, leaf.grad)


def test_pinned_branch_not_taken() -> None:
    """A leaf that only an untaken `cond` branch uses has zeros; torch has None."""
    theirs = lambda x, y, n: (x if n[0] > 0 else y).sum()  # noqa: E731 # reads as the other programs
    _, (_, torchs, _) = torch_gradients(theirs)
    ours = jaxgrad.grad(lambda x, y, n: lax.cond(n[0] > 0, lambda: x, lambda: y).sum(), 1)
    assert torchs is None
    assert not np.any(ours(*arguments()))


def test_pinned_custom_vjp_none() -> None:
    """A leaf for which a raw `custom_vjp` returns None has zeros; torch has None."""

    @jax.custom_vjp
    def product(x: Any, y: Any) -> Any:
        return x * y

    product.defvjp(lambda x, y: (x * y, None), lambda _, g: (None, 2 * g))
    _, torchs = torch_gradients(lambda x, y, n: TorchSecondOnly.apply(x, y).sum())
    grads = jaxgrad.grad(lambda x, y, n: product(x, y).sum(), (0, 1))(*arguments())
    assert torchs[0] is None
    assert not np.any(grads[0])
    same(grads[1], torchs[1])


def test_corner_of_programs_that_need_numbers() -> None:
    """Where a program cannot be traced, a leaf that only `floor` uses is None; torch has zeros."""
    theirs = lambda x, y, n: (x.floor() + y).sum() if n[0] > 0 else y.sum()  # noqa: E731 # a program
    _, (torchs, _, _) = torch_gradients(theirs)
    ours = jaxgrad.grad(lambda x, y: (jnp.floor(x) + y).sum() if x[0] > 0 else y.sum(), (0, 1))
    assert not np.any(torchs)
    assert ours(*arguments()[:2])[0] is None


def test_trees_and_paths() -> None:
    """Gradients have the tree of the parameters; "error" names leaves by path."""
    params = {"a": {"w": 2.0, "b": 1.0}, "n": 3}

    def loss(p: Any, scale: float) -> Any:
        return p["a"]["w"] ** 2 * scale

    value, grads = jaxgrad.value_and_grad(loss)(params, scale=2.0)
    assert float(value) == 8.0
    assert grads == {"a": {"w": 8.0, "b": None}, "n": None}
    text = (
        "the loss of loss has no differentiable path to argument 0['a']['b'], "
        "argument 0['n'] (int64). Use it, leave it out of what is differentiated, "
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
def test_what_is_not_a_loss(fun: Any, text: str, unused: Any) -> None:
    """A result that has no gradient is an error that says what to do."""
    with pytest.raises(TypeError, match=re.escape(text)):
        jaxgrad.grad(fun, unused=unused)(jnp.ones(3))


def test_arguments_that_are_not_there() -> None:
    """`argnums` out of range, and has_aux without a pair, say so."""
    with pytest.raises(TypeError, match="argnums=2 asks for argument 2 of <lambda>, .* with 1 "):
        jaxgrad.grad(lambda x: x, 2)(1.0)
    with pytest.raises(TypeError, match=re.escape("<lambda> must return (loss, aux), got")):
        jaxgrad.grad(lambda x: x, has_aux=True)(1.0)


def test_aux_may_be_anything() -> None:
    """The second of the pair comes back as it is, and is differentiable itself."""
    run = jaxgrad.value_and_grad(lambda x: (x**2, {"twice": 2 * x, "none": None}), has_aux=True)
    (value, aux), grads = run(3.0)
    assert (float(value), float(aux["twice"]), aux["none"], float(grads)) == (9.0, 6.0, None, 6.0)
    assert float(jax.grad(lambda x: run(x)[0][1]["twice"])(3.0)) == 2.0
    assert float(jax.grad(lambda x: run(x)[0][0])(3.0)) == 6.0


def test_negative_argnums_and_static_arguments() -> None:
    """Arguments that are not differentiated may be anything."""
    grads = jaxgrad.grad(lambda how, x: getattr(jnp, how)(x), argnums=-1)("sin", 0.0)
    assert float(grads) == 1.0


def test_orders_and_transformations() -> None:
    """grad of grad, vmap, jacobian, scan and closed-over tracers give jax.grad's numbers."""
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
    """Collectives inside `vmap(axis_name=...)` and `shard_map` are traced where they are named."""

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
    """The rule of a function like relu is asked with what lies on the mesh as it lies there."""
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


def test_costs_nothing() -> None:
    """The compiled program is the one of `jax.value_and_grad`."""

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

    def theirs(p: Any, x: Any) -> Any:
        return jax.value_and_grad(loss)(p, x)

    def ours(p: Any, x: Any) -> Any:
        return jaxgrad.value_and_grad(loss)(p, x)

    assert "dot" in compiled(theirs)
    assert compiled(ours) == compiled(theirs)


# --- retained gradients ---------------------------------------------------------------------------


def test_retained_against_torch() -> None:
    """`retain_grad` gives torch's `.grad` of an intermediate, summed over its uses."""
    w, x = (
        torch.tensor(X, dtype=torch.float64, requires_grad=True),
        torch.tensor(Y, dtype=torch.float64),
    )
    h = w * x
    h.retain_grad()
    a = h.exp()
    a.retain_grad()
    unused = w * 3
    unused.retain_grad()
    ((a + h * 2) * h.detach()).sum().backward()

    def loss(w: Any) -> Any:
        h = jaxgrad.retain_grad(w * jnp.array(Y), "h")
        a = jaxgrad.retain_grad(jnp.exp(h), "a")
        jaxgrad.retain_grad(w * 3, "unused")
        jaxgrad.retain_grad(lax.stop_gradient(h), "detached")
        return ((a + h * 2) * lax.stop_gradient(h)).sum()

    for run in (
        jaxgrad.value_and_retained_grads(loss),
        jax.jit(jaxgrad.value_and_retained_grads(loss)),
    ):
        _, grads, retained = run(jnp.array(X))
        same(grads, w.grad)
        same(retained["h"], h.grad)
        same(retained["a"], a.grad)
        assert unused.grad is None
        assert retained["unused"] is None
        assert retained["detached"] is None


@jax.custom_jvp
def smooth(x):
    return 2 * x


smooth.defjvps(lambda t, ans, x: 3 * t)


def tagged_sin(x: Any) -> Any:
    return jaxgrad.retain_grad(jnp.sin(x), "s") * 2


def along(f: Any, **options: Any) -> Any:
    return lambda x: lax.scan(lambda c, a: (c, f(a)), 0, x, **options)[1]


INSIDE = {
    "nothing": (lambda f: f, (2, 3)),
    "jit": (jax.jit, (2, 3)),
    "remat": (jax.checkpoint, (2, 3)),
    "jit of remat of jit": (lambda f: jax.jit(jax.checkpoint(jax.jit(f))), (2, 3)),
    "vmap": (jax.vmap, (2, 3)),
    "vmap of columns": (lambda f: jax.vmap(f, in_axes=1, out_axes=1), (3, 2)),
    "vmap of vmap": (lambda f: jax.vmap(jax.vmap(f)), (2, 3)),
    "scan": (along, (2, 3)),
    "scan of scan": (lambda f: along(along(f)), (2, 3)),
    "reverse scan": (lambda f: along(f, reverse=True), (2, 3)),
    "vmap of scan": (lambda f: jax.vmap(along(f), in_axes=1, out_axes=1), (2, 3)),
    "remat of scan of remat": (lambda f: jax.checkpoint(along(jax.checkpoint(f))), (2, 3)),
    "cond": (lambda f: lambda x: lax.cond(x[0, 0] > 0, f, lambda x: x, x), (2, 3)),
    "both branches": (
        lambda f: lambda x: lax.cond(x[0, 0] > 0, f, lambda x: tagged_sin(x) * 1, x),
        (2, 3),
    ),
    "cond in scan": (
        lambda f: along(lambda a: lax.cond(a[0] > -9, f, lambda a: a, a)),
        (2, 3),
    ),
    "a custom rule": (lambda f: lambda x: smooth(f(x)), (2, 3)),
    "an inner gradient": (
        lambda f: lambda x: jax.value_and_grad(lambda x: f(x).sum())(x)[0],
        (2, 3),
    ),
}


@pytest.mark.parametrize(("wrap", "shape"), INSIDE.values(), ids=INSIDE)
def test_retained_inside(wrap: Any, shape: tuple[int, ...]) -> None:
    """Inside scan, vmap, cond, remat, jit gradients are stacked on axis 0; no bit changes."""
    x = jnp.linspace(0.1, 2.0, 6, dtype=jnp.float64).reshape(2, 3)
    loss = lambda x: (wrap(tagged_sin)(x) ** 2).sum()  # noqa: E731 # the program
    value, grads, retained = jaxgrad.value_and_retained_grads(loss)(x)
    plain_value, plain = jaxgrad.value_and_grad(loss)(x)
    assert value.tobytes() == plain_value.tobytes()
    assert grads.tobytes() == plain.tobytes()
    assert retained["s"].shape == shape
    inside = grads / jnp.cos(x)  # each element of x goes through one sine
    np.testing.assert_allclose(retained["s"].sum(), inside.sum(), rtol=1e-12)


def test_retained_order_in_scan() -> None:
    """Entry i of a stacked gradient belongs to element i of the scanned array, also in reverse."""
    for reverse in (False, True):

        def loss(x: Any, reverse: bool = reverse) -> Any:
            def body(c: Any, a: Any) -> Any:
                h = jaxgrad.retain_grad(c * a, "h")
                return h, h * a

            return lax.scan(body, 1.0, x, reverse=reverse)[1].sum()

        xs = [2.0, 3.0, 5.0]
        _, _, retained = jaxgrad.value_and_retained_grads(loss)(jnp.array(xs))
        carry, kept = torch.ones((), dtype=torch.float64, requires_grad=True), {}
        total = torch.zeros((), dtype=torch.float64)
        for i in reversed(range(3)) if reverse else range(3):
            carry = kept[i] = carry * xs[i]
            carry.retain_grad()
            total = total + carry * xs[i]
        total.backward()
        same(retained["h"], [float(kept[i].grad) for i in range(3)])


def test_retained_under_transformations() -> None:
    """vmap, jit and grad of `value_and_retained_grads` itself."""
    run = jaxgrad.value_and_retained_grads(lambda x: jaxgrad.retain_grad(x**2, "h") ** 2)
    _, _, retained = jax.jit(jax.vmap(run))(jnp.array([1.0, 2.0]))
    same(retained["h"], [2.0, 8.0])
    assert float(jax.grad(lambda x: run(x)[2]["h"])(3.0)) == 12.0  # d (2 x^2) / dx
    assert float(jaxgrad.grad(lambda x: run(x)[1])(2.0)) == 48.0  # d (4 x^3) / dx
    (value, aux), grads, _ = jaxgrad.value_and_retained_grads(
        lambda x, y: (jaxgrad.retain_grad(x * y, "h"), {"y": y}), argnums=(0, 1), has_aux=True
    )(2.0, 3.0)
    assert (float(value), float(aux["y"]), *map(float, grads)) == (6.0, 3.0, 3.0, 2.0)


POLICIES = {
    "none": None,
    "everything": jax.checkpoint_policies.everything_saveable,
    "dots": jax.checkpoint_policies.dots_saveable,
    "all names but one": jax.checkpoint_policies.save_any_names_but_these("big"),
    "one name": jax.checkpoint_policies.save_only_these_names("small"),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_tags_disturb_no_policy(policy: Any) -> None:
    """A tag inside remat leaves what a policy saves as it is."""

    def body(x: Any, tag: Any) -> Any:
        return jnp.sin(tag(jnp.sin(x), "s")) * 2

    def kept(tag: Any) -> int:
        f = jax.checkpoint(lambda x: body(x, tag), policy=policy)
        return jaxgrad.saved_bytes(lambda x: f(x).sum(), jnp.ones(10))

    if policy is not jax.checkpoint_policies.everything_saveable:
        assert kept(jaxgrad.retain_grad) == kept(lambda x, name: x)
    x = jnp.ones(10)
    f = jax.checkpoint(lambda x: body(x, jaxgrad.retain_grad), policy=policy)
    _, grads, retained = jaxgrad.value_and_retained_grads(lambda x: f(x).sum())(x)
    assert grads.tobytes() == jax.grad(lambda x: f(x).sum())(x).tobytes()
    same(retained["s"], 2 * jnp.cos(jnp.sin(x)))


def python_if(x):
    return jaxgrad.retain_grad(x, "h") if x > 0 else x


def test_retained_errors() -> None:
    """Integers, one name twice, and a tag where no derivative is taken are errors that say so."""
    with pytest.raises(TypeError, match=r"retain_grad\('n'\): only floating point .* got int64"):
        jaxgrad.retain_grad(jnp.arange(3), "n")
    with pytest.raises(RuntimeError, match="can't retain_grad"):
        torch.arange(3).retain_grad()
    twice = lambda x: jaxgrad.retain_grad(jaxgrad.retain_grad(x, "h"), "h")  # noqa: E731 # a program
    text = r"retain_grad\('h'\) is used twice, at .*test_backward.py:\d+.* and at .*give"
    with pytest.raises(ValueError, match=text):
        jaxgrad.value_and_retained_grads(twice)(1.0)
    with pytest.raises(TypeError, match=r"value_and_retained_grads traces python_if, .* lax.cond"):
        jaxgrad.value_and_retained_grads(python_if)(1.0)
    rule = jax.custom_jvp(lambda x: jaxgrad.retain_grad(x, "h"))
    rule.defjvps(lambda t, ans, x: t)
    with pytest.raises(ValueError, match=r"\('h'\) at .* is inside custom_jvp_call, .* outside"):
        jaxgrad.value_and_retained_grads(rule)(1.0)


def test_tags_are_identity_without_a_listener() -> None:
    """A tag changes no value, dtype or gradient under any transformation."""
    x = jnp.arange(6, dtype=jnp.bfloat16).reshape(2, 3)
    tag = lambda x: jaxgrad.retain_grad(x, "h")  # noqa: E731 # the identity
    for f in (tag, jax.jit(tag), jax.vmap(tag), jax.checkpoint(tag), lambda x: lax.map(tag, x)):
        assert f(x).tobytes() == x.tobytes()
        assert f(x).dtype == x.dtype
        assert jax.grad(lambda x, f=f: f(x).sum())(x).tobytes() == jnp.ones_like(x).tobytes()
    assert jax.jvp(tag, (1.0,), (2.0,))[1] == 2.0
    assert jax.linear_transpose(tag, 1.0)(3.0) == (3.0,)


# --- accumulation ---------------------------------------------------------------------------------


def test_accumulate_is_backward_twice() -> None:
    """Two gradients add up as two `backward()` calls do; None waits for the first."""
    w = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    v = torch.tensor(Y, dtype=torch.float64, requires_grad=True)
    (w**2).sum().backward()
    first = {"w": w.grad.clone(), "v": v.grad}  # type: ignore[union-attr] # it has one
    (w * v).sum().backward()
    p = {"w": jnp.array(X), "v": jnp.array(Y)}
    total = jaxgrad.accumulate(None, jaxgrad.grad(lambda p: (p["w"] ** 2).sum())(p))
    assert first["v"] is None
    assert total["v"] is None
    same(total["w"], first["w"])
    total = jaxgrad.accumulate(total, jaxgrad.grad(lambda p: (p["w"] * p["v"]).sum())(p))
    same(total["w"], w.grad)
    same(total["v"], v.grad)


def test_accumulate_errors() -> None:
    """Trees or shapes that do not fit are named."""
    with pytest.raises(ValueError, match=r"\['w'\].*\(2,\).*\(3,\)"):
        jaxgrad.accumulate({"w": jnp.ones(2)}, {"w": jnp.ones(3)})
    with pytest.raises(ValueError, match="b"):
        jaxgrad.accumulate({"w": None}, {"w": 1.0, "b": 2.0})
