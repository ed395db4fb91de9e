"""Gradients of gradients: create_graph, penalties, Hessian-vector products, per-sample
gradients.
"""

import jax
import jax.numpy as jnp
from jax import lax

import jaxgrad
from parity_tests.case import Deviation, Raises, case, identity
from parity_tests.cases._net import NET, forward, linear, mse
from parity_tests.inputs import document, fixed, normal, uniform
from parity_tests.inputs import linear as draw_linear


CRITIC = {"l1": draw_linear(4, 8), "l2": draw_linear(8, 8), "l3": draw_linear(8, 1)}
SAMPLES = dict(real=normal(6, 4), fake=normal(6, 4), alpha=uniform(6, 1))


def critic(net, x, activation):
    h = activation(linear(net["l1"], x))
    return linear(net["l3"], activation(linear(net["l2"], h)))


def norm(x):
    return jnp.linalg.norm(x, axis=1)


def penalty(score, real, fake, alpha, norm=norm):
    """Return how far the critic's slope is from 1 at points between real and fake samples."""
    between = alpha * real + (1 - alpha) * fake
    slope = jax.grad(lambda x: jnp.sum(score(x)))(between)
    return jnp.mean((norm(slope) - 1) ** 2)


def leaky_relu(x):
    return jax.nn.leaky_relu(x, 0.2)


@case(
    source="S4-13",
    inputs=dict(net=CRITIC, **SAMPLES),
    idiom=("grad(out, x, create_graph=True)", "jax.grad(critic)  # inside the loss"),
    control=dict(create_graph=lax.stop_gradient),
)
def gradient_penalty(net, real, fake, alpha, *, create_graph=identity):
    """WGAN-GP: the critic's loss contains the norm of a gradient and is differentiated again."""

    def loss(net):
        def score(x):
            return critic(net, x, leaky_relu)

        gp = create_graph(penalty(score, real, fake, alpha))
        return jnp.mean(score(fake)) - jnp.mean(score(real)) + 10 * gp, gp

    (value, gp), grads = jaxgrad.value_and_grad(loss, has_aux=True)(net)
    return {"loss": value, "penalty": gp, "grads": grads}


@case(
    source="S4-13",
    inputs=dict(net=CRITIC, **SAMPLES),
    idiom=("penalty.backward()", "jaxgrad.grad(penalty)(critic)"),
)
def gradient_penalty_alone(net, real, fake, alpha):
    """The penalty alone reaches every parameter except the last bias, which no slope depends on."""

    def loss(net):
        return penalty(lambda x: critic(net, x, jax.nn.softplus), real, fake, alpha)

    value, grads = jaxgrad.value_and_grad(loss)(net)
    return {"penalty": value, "grads": grads}


def norm_with_subgradient(x):
    """Return the norm of each row, with gradient 0 for a zero row, where plain `norm` gives NaN."""
    nonzero = jnp.any(x != 0, axis=1, keepdims=True)
    length = jnp.linalg.norm(jnp.where(nonzero, x, 1), axis=1)
    return jnp.where(nonzero[:, 0], length, 0)


@case(
    source=("S4-13", "P177"),
    inputs=dict(w=fixed([[0.0], [0.0], [0.0]]), x=normal(4, 3)),
    idiom=("slope.norm(2, dim=1)", "norm with jnp.where on both sides"),
    control=dict(norm=norm),
    zeros=True,
)
def gradient_penalty_flat(w, x, *, norm=norm_with_subgradient):
    """Where the critic is flat, the norm's gradient is 0, not NaN, so the penalty changes
    nothing.
    """

    def loss(w):
        slope = jax.grad(lambda x: jnp.sum(x @ w))(x)
        return jnp.mean((norm(slope) - 1) ** 2)

    value, grad = jaxgrad.value_and_grad(loss)(w)
    return {"penalty": value, "grad": grad}


@case(
    source=("P176", "S4-13"),
    inputs=dict(x=document(2.0)),
    idiom=("autograd.grad(y, x, create_graph=True)", "jax.grad(jax.grad(f))"),
    expect={"first": 12.0, "second": 12.0, "third": 6.0},
)
def create_graph(x):
    """With `create_graph=True` a gradient can be differentiated repeatedly."""

    def cube(x):
        return x**3

    first = jaxgrad.grad(cube)
    second = jaxgrad.grad(first)
    third = jaxgrad.grad(second)
    return {"value": cube(x), "first": first(x), "second": second(x), "third": third(x)}


@case(
    source="P176",
    inputs=dict(x=document(2.0)),
    idiom=("g, = autograd.grad(y, x); autograd.grad(g, x)  # raises", "jax.grad(jax.grad(f))"),
    deviation=Deviation(
        why="Without `create_graph`, torch's gradient has no graph. In JAX, `jax.grad` of a "
        "gradient function always works.",
        torch_is=lambda x: {
            "first": 3 * x**2,
            "second": Raises(RuntimeError, "does not require grad and does not have a grad_fn"),
        },
        jax_is=lambda x: {"first": 3 * x**2, "second": 6 * x},
    ),
)
def no_create_graph(x):
    """Without `create_graph` a gradient cannot be differentiated in torch; in JAX it always can."""
    first = jaxgrad.grad(lambda x: x**3)
    return {"first": first(x), "second": jaxgrad.grad(first)(x)}


@case(
    source="P176",
    inputs=dict(x=normal(3)),
    idiom=("y.backward(create_graph=True)", "accumulate(grad(f)(x), grad(grad(f))(x))"),
)
def backward_twice(x):
    """Differentiating `.grad` by `backward` adds the second derivative to the first."""
    first = jaxgrad.grad(lambda x: jnp.sum(x**3))
    second = jaxgrad.grad(lambda x: jnp.sum(first(x)))
    return {"first": first(x), "grad": jaxgrad.accumulate(first(x), second(x))}


@case(
    source="P176",
    inputs=dict(x=normal(3)),
    idiom=("slope.detach()", "lax.stop_gradient(slope)"),
    control=dict(stop_gradient=identity),
)
def detached_gradient(x, *, stop_gradient=lax.stop_gradient):
    """A detached gradient is a constant in later computations; an attached one is
    differentiated.
    """

    def loss(x):
        slope = jax.grad(lambda x: jnp.sum(x**3))(x)
        return jnp.sum(stop_gradient(slope) * jnp.sin(x)) + jnp.sum(slope**2)

    value, grad = jaxgrad.value_and_grad(loss)(x)
    return {"loss": value, "grad": grad}


@case(
    source="P176",
    inputs=dict(net=NET, x=normal(10)),
    idiom=("torch.func.hessian(f)(x)", "jax.hessian(f)(x)"),
)
def hessian(net, x):
    """The Hessian holds all second derivatives of a network with respect to its input."""
    return jax.hessian(lambda x: jnp.sum(jnp.tanh(forward(net, x))))(x)


@case(
    source="P176",
    inputs=dict(net=NET, v=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("grad(slopes, params, grad_outputs=v)", "jax.jvp(jax.grad(loss), (params,), (v,))"),
)
def hvp(net, v, x, y):
    """A Hessian-vector product needs no Hessian: torch takes a double backward, JAX a `jvp` of
    `grad`.
    """

    def loss(net):
        return mse(jnp.tanh(forward(net, x)), y)

    _, product = jax.jvp(jax.grad(loss), (net,), (v,))
    return {"loss": loss(net), "hvp": product}


@case(
    source="P187",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("vmap(grad(loss), in_dims=(None, 0, 0))", "jax.vmap(jax.grad(loss), (None, 0, 0))"),
)
def per_sample_gradients(net, x, y):
    """`vmap` of the gradient computes the gradient of every sample at once."""

    def loss(net, x, y):
        return mse(forward(net, x), y)

    return {"grads": jax.vmap(jaxgrad.grad(loss), (None, 0, 0))(net, x, y)}
