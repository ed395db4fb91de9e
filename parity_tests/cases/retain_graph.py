"""How long a backward graph lives; in JAX it is a function from `vjp`, and lives like any value."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxgrad
from parity_tests.case import Deviation, Raises, case
from parity_tests.inputs import document, fixed, normal


INPUTS = {"a": fixed([1, 2, 3]), "b": document([2.0, 3.0, 4.0])}
LOOP = {"w": document([1.0, 2.0]), "x": document([3.0, 4.0]), "lr": 0.5}
SECOND = Raises(RuntimeError, "Trying to backward through the graph a second time")


def _changed_sum(a, b):
    a = a.at[0].set(int(0.1))  # truncated to 0, as torch does with an integer tensor
    c = a * b + b
    return jnp.sum(c)


def _by_hand(a, b):
    """Return d and its gradient with a[0] = 0."""
    grad = np.array([0, *a[1:]], b.dtype) + 1
    return (grad * b).sum(), grad


def _second_in_torch(a, b):
    d, grad = _by_hand(a, b)
    nodes = ["SumBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad", "AccumulateGrad"]
    return {"d": d, "first": grad, "second": SECOND, "nodes": nodes}


def _second_in_jax(a, b):
    d, grad = _by_hand(a, b)
    return {"d": d, "first": grad, "second": grad}


@case(
    source=("S1-04", "P178"),
    inputs=INPUTS,
    idiom=("loss.backward()  # again: raises", "vjp(g)  # again"),
    expect={"first": [1.0, 3.0, 4.0]},
    deviation=Deviation(
        why="The first backward frees the saved tensors, so torch raises in the second. The "
        "function that `jax.vjp` returns keeps its residuals and can be called again.",
        torch_is=_second_in_torch,
        jax_is=_second_in_jax,
    ),
    picture=True,
)
def second_backward(a, b):
    """A second `backward()` raises because the saved values are freed; a `vjp` can be called
    twice.
    """
    d, vjp = jax.vjp(lambda b: _changed_sum(a, b), b)
    (first,) = vjp(jnp.ones_like(d))
    (second,) = vjp(jnp.ones_like(d))
    return {"d": d, "first": first, "second": second}


@case(
    source="S1-05",
    inputs=INPUTS,
    idiom=("loss.backward(retain_graph=True)", "_, vjp = jax.vjp(fun, x); vjp(g)"),
    expect={"first": [1.0, 3.0, 4.0], "twice": [2.0, 6.0, 8.0], "cleared": [1.0, 3.0, 4.0]},
)
def retain_graph(a, b):
    """With `retain_graph=True` backward can run again, and `.grad` accumulates unless it is
    cleared.
    """
    d, vjp = jax.vjp(lambda b: _changed_sum(a, b), b)
    (first,) = vjp(jnp.ones_like(d))
    (again,) = vjp(jnp.ones_like(d))
    (cleared,) = vjp(jnp.ones_like(d))
    return {"d": d, "first": first, "twice": jaxgrad.accumulate(first, again), "cleared": cleared}


@case(
    source="S1-06",
    inputs=INPUTS,
    idiom=("loss = fun(x); loss.backward()", "jax.grad(fun)(x)"),
    expect={"first": [1.0, 3.0, 4.0], "twice": [2.0, 6.0, 8.0]},
)
def rebuild(a, b):
    """Running the forward pass again builds a new graph, and `.grad` accumulates."""

    def forward(b):
        return _changed_sum(a, b)

    d, first = jaxgrad.value_and_grad(forward)(b)
    again, second = jaxgrad.value_and_grad(forward)(b)
    return {"d": (d, again), "first": first, "twice": jaxgrad.accumulate(first, second)}


@case(
    source="S2-16",
    inputs=LOOP,
    idiom=("for ...: f = w * x; f.sum().backward()", "lax.scan(step, w)"),
)
def loop(w, x, lr):
    """Training works when each iteration of the loop builds its graph again."""

    def step(w, _):
        loss, grad = jaxgrad.value_and_grad(lambda w: jnp.sum(w * x))(w)
        return w - lr * grad, (loss, grad)

    w, (losses, grads) = lax.scan(step, w, length=3)
    return {"losses": losses, "w": w, "w.grad": grads[-1]}


@case(
    source="S2-17",
    inputs=LOOP,
    idiom=(
        "f = w * x; for ...: f.sum().backward()  # raises",
        "_, vjp = jax.vjp(fun, w); lax.scan",
    ),
    deviation=Deviation(
        why="torch frees the saved tensors in the first iteration and raises in the second. A "
        "`vjp` taken before the loop can be called in every iteration, and gives the "
        "gradient at the initial w.",
        torch_is=SECOND,
        jax_is=lambda w, x, lr: {"w": w - 3 * w.dtype.type(lr) * x, "w.grad": x},
    ),
)
def loop_outside(w, x, lr):
    """With the operation moved out of the loop the second `backward` raises."""
    f, vjp = jax.vjp(lambda w: w * x, w)

    def step(w, _):
        (grad,) = vjp(jnp.ones_like(f))
        return w - lr * grad, grad

    w, grads = lax.scan(step, w, length=3)
    return {"w": w, "w.grad": grads[-1]}


@case(
    source="S2-18",
    inputs={"x": normal(3, 2, scale=0.5), "w": normal(2, 2)},
    idiom=("for i ...: (f(x)[i] @ w).sum().backward()", "grads = accumulate(grads, new)"),
)
def slices(x, w):
    """One backward per slice of a tensor works when each builds its graph again."""

    def forward(leaves, i):
        return jnp.sum(jnp.tanh(leaves["x"])[i] @ leaves["w"])

    losses, grads = [], {"x": None, "w": None}
    for i in range(3):
        loss, new = jaxgrad.value_and_grad(forward)({"x": x, "w": w}, i)
        grads = jaxgrad.accumulate(grads, new)
        losses.append(loss)
    return {"losses": jnp.stack(losses), **grads}


def _slices_by_hand(x, w):
    h = np.tanh(x)
    return {
        "x": (1 - h**2) * w.sum(axis=1),
        "w": np.broadcast_to(h.sum(axis=0)[:, None], w.shape).copy(),
    }


@case(
    source="S2-18",
    inputs={"x": normal(3, 2, scale=0.5), "w": normal(2, 2)},
    idiom=("h = f(x); for i ...: h[i].backward()  # raises", "_, vjp = jax.vjp(fun, x); vjp(g_i)"),
    deviation=Deviation(
        why="The slices share the operation before the loop, whose saved tensors torch frees "
        "in the first backward. In JAX the `vjp` of each slice keeps its residuals.",
        torch_is=SECOND,
        jax_is=_slices_by_hand,
    ),
)
def slices_outside(x, w):
    """One backward per slice raises when the slices share an operation before the loop."""

    def forward(x, w):
        return jnp.sum(jnp.tanh(x) @ w, axis=1)  # one loss per slice

    losses, vjp = jax.vjp(forward, x, w)
    grads = {"x": None, "w": None}
    for cotangent in jnp.eye(3, dtype=losses.dtype):
        dx, dw = vjp(cotangent)
        grads = jaxgrad.accumulate(grads, {"x": dx, "w": dw})
    return grads
