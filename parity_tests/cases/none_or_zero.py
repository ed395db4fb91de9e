"""`None` ("there is no path") against zero ("there is a path, and it contributes nothing")."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxgrad
from parity_tests.case import Deviation, Raises, case, identity
from parity_tests.cases._net import error_of
from parity_tests.inputs import fixed, normal


LOST = {
    "p": {
        name: normal(3)
        for name in (
            *("used", "times_zero", "masked", "rounded"),
            *("detached", "as_integer", "compared", "unused"),
        )
    },
    "x": normal(4, 3),
    "mask": fixed(np.zeros(3, bool)),
}
CONTROL = {"stop_gradient": identity}


def _terms(p, x, mask, stop_gradient):
    """Return one term for each way to lose a gradient; `p["unused"]` is not used."""
    return (
        p["used"] * x
        + p["times_zero"] * x * 0
        + jnp.where(mask, p["masked"] * x, x)
        + jnp.floor(p["rounded"]) * x
        + stop_gradient(p["detached"]) * x
        + (4 * p["as_integer"]).astype(int) * x
        + (p["compared"] > 0) * x
    )


@case(
    source="P136",
    inputs=LOST,
    idiom=("p.grad is None", "jaxgrad.grad(loss)(p) is None"),
    control=CONTROL,
    picture=True,
)
def none_or_zero(p, x, mask, *, stop_gradient=lax.stop_gradient):
    """A parameter times 0, masked or rounded gets zeros; detached, cast to int or unused gets
    None.
    """
    x = x[0]

    def forward(p):
        return jnp.sum(
            p["used"] * x
            + p["times_zero"] * x * 0
            + jnp.where(mask, p["masked"] * x, x)
            + jnp.floor(p["rounded"]) * x
            + stop_gradient(p["detached"]) * x
            + (4 * p["as_integer"]).astype(int) * x
            + (p["compared"] > 0) * x
        )

    loss, grads = jaxgrad.value_and_grad(forward)(p)
    return {"loss": loss, **grads}


@case(
    source="P136",
    inputs=LOST,
    idiom=("for row in x: ...", "lax.scan"),
    control=CONTROL,
)
def through_loop(p, x, mask, *, stop_gradient=lax.stop_gradient):
    """None and zeros are the same through a loop, which JAX writes as `scan`."""

    def forward(p):
        def step(h, row):
            return jnp.sin(h + _terms(p, row, mask, stop_gradient)), None

        return jnp.sum(lax.scan(step, jnp.zeros_like(x[0]), x)[0])

    loss, grads = jaxgrad.value_and_grad(forward)(p)
    return {"loss": loss, **grads}


@case(
    source="P136",
    inputs=LOST,
    idiom=("if x.sum() > 0: ...", "lax.cond"),
    control=CONTROL,
)
def through_if(p, x, mask, *, stop_gradient=lax.stop_gradient):
    """None and zeros are the same through a branch, which JAX writes as `cond`."""

    def forward(p):
        branch = functools.partial(_terms, mask=mask, stop_gradient=stop_gradient)
        h = lax.cond(jnp.sum(x[0]) > 0, lambda p: branch(p, x[0]), lambda p: branch(p, x[1]), p)
        return jnp.sum(h**2)

    loss, grads = jaxgrad.value_and_grad(forward)(p)
    return {"loss": loss, **grads}


@case(
    source="P136",
    inputs=LOST,
    idiom=("checkpoint(fun, p, use_reentrant=False)", "jax.checkpoint(fun)(p)"),
    control=CONTROL,
)
def through_checkpoint(p, x, mask, *, stop_gradient=lax.stop_gradient):
    """None and zeros are the same through `checkpoint`, which recomputes the region."""

    def forward(p):
        terms = jax.checkpoint(functools.partial(_terms, stop_gradient=stop_gradient))
        return jnp.sum(terms(p, x[0], mask) ** 2)

    again = "remat" in str(jax.make_jaxpr(jax.grad(forward, allow_int=True))(p))
    loss, grads = jaxgrad.value_and_grad(forward)(p)
    return {"loss": loss, **grads, "computed_again": again}


@case(
    source="P136",
    inputs=LOST,
    idiom=("torch.func.vmap(fun)(p, x)", "jax.vmap(fun)(p, x)"),
    control=CONTROL,
)
def through_vmap(p, x, mask, *, stop_gradient=lax.stop_gradient):
    """None and zeros are the same through `vmap`."""

    def forward(p):
        terms = functools.partial(_terms, stop_gradient=stop_gradient)
        return jnp.sum(jax.vmap(terms, in_axes=(None, 0, None))(p, x, mask) ** 2)

    loss, grads = jaxgrad.value_and_grad(forward)(p)
    return {"loss": loss, **grads}


@case(
    source="P136",
    inputs={"w": normal(3), "v": normal(3), "u": normal(3), "s": normal(3)},
    idiom=("grad.sum().backward()", "jaxgrad.grad(of a jax.grad)"),
)
def through_gradient(w, v, u, s):
    """In a gradient of a gradient, a parameter that enters the loss only additively gets None."""

    def forward(v, leaves):
        w, u, s = leaves["w"], leaves["u"], leaves["s"]
        return jnp.sum(w * v) + jnp.sum(u**2) + jnp.sum(v**2 * s) * 0

    def gradient(leaves):
        grad = jax.grad(forward)(leaves["v"], leaves)
        return jnp.sum(grad), grad

    leaves = {"w": w, "v": v, "u": u, "s": s}
    (_, grad), grads = jaxgrad.value_and_grad(gradient, has_aux=True)(leaves)
    return {"grad": grad, **grads}


@case(
    source="P136",
    inputs={"taken": normal(3), "other": normal(3), "x": normal(3)},
    idiom=("if pred: ... else: ...", "lax.cond(pred, ...)"),
    deviation=Deviation(
        why="torch never runs the branch that is not taken. The gradient of `lax.cond` has "
        "one structure for both branches, so JAX returns zeros.",
        torch_is=lambda taken, other, x: {"loss": (taken * x).sum(), "taken": x, "other": None},
        jax_is=lambda taken, other, x: {
            "loss": (taken * x).sum(),
            "taken": x,
            "other": np.zeros_like(other),
        },
    ),
)
def branch_not_taken(taken, other, x):
    """A parameter used only in an untaken branch gets None in torch and zeros under `lax.cond`."""

    def forward(p):
        return lax.cond(
            jnp.sum(x**2) > 0,
            lambda p: jnp.sum(p["taken"] * x),
            lambda p: jnp.sum(p["other"] * x),
            p,
        )

    loss, grads = jaxgrad.value_and_grad(forward)({"taken": taken, "other": other})
    return {"loss": loss, **grads}


@jax.custom_vjp
def _scale(x, w):
    return x * w


_scale.defvjp(lambda x, w: (x * w, w), lambda w, grad: (grad * w, None))


def without_rule(x, w):
    return x * w


@case(
    source="P158",
    inputs={"x": normal(3), "w": normal(3)},
    idiom=("return grad * w, None", "jax.custom_vjp: (grad * w, None)"),
    control={"scale": without_rule},
    deviation=Deviation(
        why="JAX replaces a None that a raw `custom_vjp` returns by zeros. "
        "`jaxgrad.from_function` returns None.",
        torch_is=lambda x, w: {"loss": (x * w).sum(), "x": w, "w": None},
        jax_is=lambda x, w: {"loss": (x * w).sum(), "x": w, "w": np.zeros_like(w)},
    ),
)
def rule_returns_none(x, w, *, scale=_scale):
    """If a custom rule returns None for an input, torch gives None and a raw `custom_vjp` zeros."""

    def forward(p):
        return jnp.sum(scale(p["x"], p["w"]))

    loss, grads = jaxgrad.value_and_grad(forward)({"x": x, "w": w})
    return {"loss": loss, **grads}


@case(
    source="P136",
    inputs={"x": normal(3), "unused": normal(2)},
    idiom=("autograd.grad(.., allow_unused=True)", 'jaxgrad.grad(fun, unused="none")'),
)
def allow_unused(x, unused):
    """`allow_unused=True` gives None for an unused input, `materialize_grads=True` zeros."""

    def forward(x, unused):
        del unused
        return jnp.sum(jnp.sin(x))

    loss, none = jaxgrad.value_and_grad(forward, (0, 1), unused="none")(x, unused)
    zeros = jaxgrad.grad(forward, (0, 1), unused="zeros")(x, unused)
    return {"loss": loss, "allow_unused": none, "materialize_grads": zeros}


@case(
    source="P136",
    inputs={"x": normal(3), "unused": normal(2)},
    idiom=(
        "autograd.grad(loss, (x, unused))  # raises",
        'jaxgrad.grad(fun, unused="error")  # raises',
    ),
    deviation=Deviation(
        why="Both frameworks refuse; the exceptions differ, and jaxgrad's names the leaf.",
        torch_is=lambda x, unused: {
            "loss": np.sin(x).sum(),
            "grad": Raises(RuntimeError, "to not have been used in the graph"),
        },
        jax_is=lambda x, unused: {
            "loss": np.sin(x).sum(),
            "grad": Raises(ValueError, "no differentiable path to 'unused' of argument 0"),
        },
    ),
)
def unused_raises(x, unused):
    """`autograd.grad` of an unused input raises unless `allow_unused` or `materialize_grads` is
    set.
    """

    def forward(leaves):
        return jnp.sum(jnp.sin(leaves["x"]))

    leaves = {"x": x, "unused": unused}
    refused = error_of(lambda: jaxgrad.grad(forward, unused="error")(leaves))
    return {"loss": forward(leaves), "grad": refused}
