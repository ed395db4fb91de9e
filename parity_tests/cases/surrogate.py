"""Gradients that are not the derivative: straight-through estimators, gradient reversal."""

import jax
import jax.numpy as jnp
from jax import lax

import jaxgrad
from parity_tests.case import case, identity
from parity_tests.cases._net import linear, mse
from parity_tests.inputs import document, normal
from parity_tests.inputs import linear as draw_linear


@case(
    source="P164",
    inputs=dict(x=normal(3), tangent=normal(3)),
    idiom=("Function.jvp; torch.func.jvp(f, ...)", "jax.jvp(reverse_gradient, ...)"),
    control=dict(reverse_gradient=identity),
)
def forward_mode(x, tangent, *, reverse_gradient=jaxgrad.reverse_gradient):
    """A custom gradient also works in forward mode, and therefore in a Hessian."""

    def cube(x):
        return reverse_gradient(x) ** 3

    value, out = jax.jvp(cube, (x,), (tangent,))
    hessian = jax.hessian(lambda x: jnp.prod(cube(x)))(x)
    return {"value": value, "tangent": out, "hessian": hessian}


DOMAINS = {"trunk": draw_linear(6, 4), "label": draw_linear(4, 1), "domain": draw_linear(4, 1)}


@case(
    source="P165",
    inputs=dict(net=DOMAINS, x=normal(5, 6), label=normal(5, 1), domain=normal(5, 1)),
    idiom=("Reverse.apply(h)", "jaxgrad.reverse_gradient(h)"),
    control=dict(reverse_gradient=identity),
    picture=True,
)
def gradient_reversal(net, x, label, domain, *, reverse_gradient=jaxgrad.reverse_gradient):
    """Gradient reversal trains the domain head, and trains the trunk against it."""

    def loss(net):
        h = jnp.tanh(linear(net["trunk"], x))
        domain_loss = mse(linear(net["domain"], reverse_gradient(h)), domain)
        return mse(linear(net["label"], h), label) + domain_loss

    value, grads = jaxgrad.value_and_grad(loss)(net)
    return {"loss": value, "grads": grads}


def custom_rule(fun, backward):
    """Write the usual custom_vjp, whose forward pass returns a value without the rule."""
    rule = jax.custom_vjp(fun)
    rule.defvjp(lambda x: (fun(x), None), lambda _, grad: (backward(grad),))
    return rule


usual_rule = custom_rule(lambda x: x, lambda grad: -grad)
usual_rule.__name__ = "usual_custom_vjp"  # pyright: ignore[reportAttributeAccessIssue]


def twice(fun, x):
    first = jaxgrad.grad(lambda x: jnp.sum(fun(x) ** 2))
    return {"first": first(x), "second": jaxgrad.grad(lambda x: jnp.sum(first(x)))(x)}


@case(
    source="P165",
    inputs=dict(x=document([1.0])),
    idiom=("Reverse.apply(x)  # twice", "grad(grad(reverse_gradient))"),
    control=dict(reverse_gradient=usual_rule),
    expect={"first": [-2.0], "second": [2.0]},
)
def gradient_reversal_twice(x, *, reverse_gradient=jaxgrad.reverse_gradient):
    """The second derivative of a reversed square is 2, but the usual `custom_vjp` in JAX gives
    -2.
    """
    return twice(reverse_gradient, x)


@case(
    source="P167",
    inputs=dict(x=normal(5, scale=3), w=normal(5)),
    idiom=("x + (x.round() - x).detach()", "x + lax.stop_gradient(jnp.round(x) - x)"),
    control=dict(stop_gradient=identity),
    picture=True,
)
def straight_through(x, w, *, stop_gradient=lax.stop_gradient):
    """A straight-through estimator rounds in the forward pass and is the identity in the
    backward.
    """

    def loss(x):
        rounded = x + stop_gradient(jnp.round(x) - x)
        return jnp.sum(w * rounded**2)

    value, grad = jaxgrad.value_and_grad(loss)(x)
    return {"loss": value, "grad": grad}


def custom_straight_through(fun):
    return custom_rule(lambda x: fun(x, decimals=0), identity)


@case(
    source="P166",
    inputs=dict(x=document([1.3], normal(1, scale=3))),
    idiom=("Round.apply(x)  # twice", "grad(grad(straight_through(jnp.round)))"),
    control=dict(straight_through=custom_straight_through),
    expect={"first": [2.0], "second": [2.0]},
)
def straight_through_twice(x, *, straight_through=jaxgrad.straight_through):
    """The second derivative of a straight-through square is 2, but JAX's usual rule gives 0."""
    return twice(straight_through(jnp.round), x)
