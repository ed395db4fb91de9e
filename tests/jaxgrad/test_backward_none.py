"""Gradients are None where torch leaves `.grad` None, and zeros where it has zeros."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import jaxgrad
from tests._helpers import close_or_none


X, Y, N = [0.5, 1.5, -2.0], [3.0, -1.0, 0.25], [1, 2, 0]


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
    """Return the gradient that `torch.autograd.grad` computes inside a program."""
    return torch.autograd.grad(f(x).sum(), x, create_graph=True)[0]


def rotate(c, x):
    """Rotate the carry: `a` reaches the first position only after two iterations."""
    a, b, d = c
    return b, d, a * x


sg, det = lax.stop_gradient, torch.Tensor.detach
T, J = torch, jnp
M = {"dim": 0}
# Maps a name to a torch and a JAX function of x, y (floating point) and n (integers).
PROGRAMS: dict[str, tuple[Any, Any]] = {
    # plain programs
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
    # gradients of zeros, not None
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
    # gradients of None, not zeros
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
    # control flow and transformations
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
    "scan, one iteration of the rotation": (
        lambda x, y, n: torch_loop(rotate, (y[0], *T.ones(2).double()), x[:1])[0] + x[0],
        lambda x, y, n: scanned(rotate, (y[0], *J.ones(2)), x[:1])[0] + x[0],
    ),
    "scan, four iterations of the rotation": (
        lambda x, y, n: torch_loop(rotate, (y[0], *T.ones(2).double()), T.cat([x, x])[:4])[1],
        lambda x, y, n: scanned(rotate, (y[0], *J.ones(2)), J.concatenate([x, x])[:4])[1],
    ),
    "scan, six iterations of the rotation": (
        lambda x, y, n: torch_loop(rotate, (y[0], *T.ones(2).double()), T.cat([x, x]))[0],
        lambda x, y, n: scanned(rotate, (y[0], *J.ones(2)), J.concatenate([x, x]))[0],
    ),
    "scan of no iterations": (
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


NEED_NUMBERS = ("python if", "boolean mask")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_none_where_torch_has_none(name: str) -> None:
    """In these programs a gradient is None where torch's `.grad` is None, and zeros where it is."""
    torch_program, program = PROGRAMS[name]
    value, expected = torch_gradients(torch_program)
    got, grads = jaxgrad.value_and_grad(program, (0, 1, 2))(*arguments())
    assert jnp.shape(got) == value.shape
    close_or_none(got, value)
    for grad, torch_grad in zip(grads, expected, strict=True):
        close_or_none(grad, torch_grad)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in NEED_NUMBERS])
def test_none_under_jit(name: str) -> None:
    """The same gradients are None under `jit` as in eager mode."""
    run = jaxgrad.value_and_grad(PROGRAMS[name][1], (0, 1, 2))
    (_, eager), (_, jitted) = run(*arguments()), jax.eval_shape(run, *arguments())
    assert jax.tree.structure(eager) == jax.tree.structure(jitted)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in NEED_NUMBERS])
def test_depends_on_agrees_with_the_gradients(name: str) -> None:
    """`depends_on` is True exactly for the arguments whose gradient is not None."""
    program = PROGRAMS[name][1]
    grads = jax.eval_shape(jaxgrad.grad(program, (0, 1, 2)), *arguments())
    assert jaxgrad.depends_on(program, *arguments()) == tuple(g is not None for g in grads)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_unused_zeros_is_jax_grad(name: str) -> None:
    """With `unused="zeros"` every gradient is bit-identical to that of `jax.grad`."""

    def loss(x: Any, y: Any, n: Any) -> Any:
        return jnp.sum(PROGRAMS[name][1](x, y, n))

    functions = jaxgrad.grad(loss, (0, 1), unused="zeros"), jax.grad(loss, (0, 1))
    functions += (jaxgrad.grad(loss, (0, 1)),)
    mode = (lambda fun: fun) if name in NEED_NUMBERS else jax.jit
    zeros, jax_grads, none = (mode(fun)(*arguments()) for fun in functions)
    for a, b, c in zip(zeros, jax_grads, none, strict=True):
        assert a.tobytes() == b.tobytes()
        assert c is None or c.tobytes() == b.tobytes()
        assert c is not None or not np.any(b)


# Instructions for random programs: the arity, the torch form and the JAX form.
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
    """Draw `n` instructions on `size` numbers: an operation, its operands and its target."""
    return [(rng.integers(len(INSTRUCTIONS)), *rng.integers(size, size=3)) for _ in range(n)]


def interpret(program: list[Any], which: int, values: list[Any]) -> list[Any]:
    values = list(values)
    for op, a, b, to in program:
        arity, *forms = INSTRUCTIONS[op]
        values[to] = forms[which](*[values[a], values[b]][:arity])
    return values


@pytest.mark.sampled(9)
@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    """Random programs with a loop, a branch and remat have torch's Nones and gradients."""
    rng = np.random.default_rng(seed)
    before, inside, branch, after = (random_program(rng, 4, n) for n in (3, 3, 2, 3))
    length, start = int(rng.integers(1, 5)), rng.normal(size=4)

    def torch_program(values: list[Any]) -> Any:
        values = interpret(before, 0, values)
        for _ in range(length):
            values = interpret(branch, 0, interpret(inside, 0, values))
        return interpret(after, 0, values)[0]

    def jax_program(values: list[Any]) -> Any:
        values = jax.jit(functools.partial(interpret, before, 1))(values)
        body = jax.checkpoint(functools.partial(interpret, inside, 1))

        def iteration(values: list[Any], _: Any) -> tuple[list[Any], None]:
            values = body(values)
            into = functools.partial(interpret, branch, 1)
            return lax.cond(values[0] > 0, into, into, values), None

        values, _ = lax.scan(iteration, values, length=length)
        return interpret(after, 1, values)[0]

    leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in start]
    loss = torch_program(leaves)
    if loss.requires_grad:
        loss.backward()
    value, grads = jaxgrad.value_and_grad(jax_program)([jnp.array(v) for v in start])
    close_or_none(value, loss.detach())
    for a, leaf in zip(grads, leaves, strict=True):
        close_or_none(a, leaf.grad)


def test_pinned_branch_not_taken() -> None:
    """A leaf that only an untaken `cond` branch uses gets zeros, where torch has None."""
    torch_program = lambda x, y, n: (x if n[0] > 0 else y).sum()  # noqa: E731
    _, (_, torch_grad, _) = torch_gradients(torch_program)
    jax_program = jaxgrad.grad(lambda x, y, n: lax.cond(n[0] > 0, lambda: x, lambda: y).sum(), 1)
    assert torch_grad is None
    assert not np.any(jax_program(*arguments()))


def test_pinned_custom_vjp_none() -> None:
    """A leaf for which a raw `custom_vjp` returns None gets zeros, where torch has None."""

    @jax.custom_vjp
    def product(x: Any, y: Any) -> Any:
        return x * y

    product.defvjp(lambda x, y: (x * y, None), lambda _, g: (None, 2 * g))
    _, torch_grad = torch_gradients(lambda x, y, n: TorchSecondOnly.apply(x, y).sum())
    grads = jaxgrad.grad(lambda x, y, n: product(x, y).sum(), (0, 1))(*arguments())
    assert torch_grad[0] is None
    assert not np.any(grads[0])
    close_or_none(grads[1], torch_grad[1])


def test_corner_of_programs_that_need_numbers() -> None:
    """If a program cannot be traced, a leaf used only by `floor` gets None, and zeros in torch."""
    torch_program = lambda x, y, n: (x.floor() + y).sum() if n[0] > 0 else y.sum()  # noqa: E731
    _, (torch_grad, _, _) = torch_gradients(torch_program)
    jax_program = jaxgrad.grad(
        lambda x, y: (jnp.floor(x) + y).sum() if x[0] > 0 else y.sum(), (0, 1)
    )
    assert not np.any(torch_grad)
    assert jax_program(*arguments()[:2])[0] is None
