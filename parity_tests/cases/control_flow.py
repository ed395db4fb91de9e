"""Programs whose graph depends on the data, and graphs that are built once or on every call."""

import time

import jax
import jax.numpy as jnp
from jax import lax

import jaxgrad
from parity_tests.case import case, identity
from parity_tests.cases._net import NET, forward, linear, mse
from parity_tests.inputs import linear as draw_linear
from parity_tests.inputs import normal, uniform


@case(
    source=("S3-03", "P189"),
    inputs=dict(
        net={"fc1": draw_linear(4, 6), "fc2": draw_linear(6, 4)},
        x=normal(8, 4),
        y=normal(8, 4, scale=100),
    ),
    idiom=("if again: h = net(h)", "lax.cond(again, net, clipped, h)"),
    control=dict(hook=identity),
)
def data_dependent(net, x, y, *, hook=jaxgrad.hook):
    """Some samples go through the network twice, others have their gradient clipped.

    Samples above the batch mean go through twice; those below are clipped to the batch's mean
    magnitude. All of it is one compiled program without a host callback.
    """
    limit, twice = jnp.mean(jnp.abs(x)), jnp.mean(x, 1) > jnp.mean(x)

    def clipped(net, h):
        return hook(h, lambda grad: jnp.clip(grad, -limit, limit))

    def loss(net):
        def one(total, row):
            sample, target, again = row
            h = lax.cond(again, model, clipped, net, model(net, sample))
            return total + mse(h, target), None

        return lax.scan(one, jnp.zeros_like(limit), (x, y, twice))[0] / len(x)

    value, grads = jaxgrad.value_and_grad(loss)(net)
    return {"loss": value, "twice": twice, "fc1": grads["fc1"], "fc2": grads["fc2"]}


def model(net, h):
    return linear(net["fc2"], jnp.tanh(linear(net["fc1"], h)))


def always(condition, then, otherwise, x):
    del condition, otherwise
    return then(x)


@case(
    source=("S3-03", "P188"),
    inputs=dict(w=uniform(4, 4, low=-0.4, high=0.4), x=normal(4)),
    idiom=("while h.norm() > 0.2: h = net(h)", "lax.scan(lambda h, _: lax.cond(..), ..)"),
    control=dict(cond=always),
)
def data_dependent_depth(w, x, *, cond=lax.cond):
    """A loop that runs until its value is small is differentiated through every iteration that ran.

    `lax.while_loop` has no backward pass; a scan of bounded length does nothing once it is done.
    """

    def loss(w):
        def layer(carry):
            h, depth = carry
            return jnp.tanh(w @ h) / 2, depth + 1

        def step(carry, _):
            return cond(jnp.linalg.norm(carry[0]) > 0.2, layer, lambda carry: carry, carry), None

        (h, depth), _ = lax.scan(step, (x, 0), length=24)
        return jnp.sum(h), depth

    (value, depth), grad = jaxgrad.value_and_grad(loss, has_aux=True)(w)
    return {"loss": value, "depth": depth, "w": grad}


@case(
    source="S3-04",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("f(x); torch.compile(f)(x)", "f(x); jax.jit(f)(x)"),
    control=dict(jit=identity),
)
def static_and_dynamic(net, x, y, *, jit=jax.jit):
    """A dynamic graph is built on every call, a static one once for each input shape.

    The gradients are the same, but a static graph refuses a Python `if` on a value.
    """
    graphs = []

    def loss_of(net, x, y):
        graphs.append(x.shape)  # Python runs this line whenever the graph is built
        return mse(forward(net, x), y)

    dynamic = jax.value_and_grad(loss_of)
    static = jit(dynamic)
    built = {
        "dynamic_three_calls": added(graphs, lambda: [dynamic(net, x, y) for _ in range(3)]),
        "static_three_calls": added(graphs, lambda: [static(net, x, y) for _ in range(3)]),
        "static_another_shape": added(graphs, lambda: static(net, x[:2], y[:2])),
    }
    ways = {"dynamic": dynamic, "static": static}
    names = ("loss", "grads")
    values = {name: dict(zip(names, fun(net, x, y), strict=True)) for name, fun in ways.items()}
    return {
        "dynamic": values["dynamic"],
        "static": values["static"],
        "built": built,
        "static_refuses_branch": refuses_branch(jit, x),
        "shown": {"seconds": {name: seconds(fun, net, x, y) for name, fun in ways.items()}},
    }


def added(graphs, calls):
    """Return the number of graphs that these calls add."""
    before = len(graphs)
    calls()
    return len(graphs) - before


def refuses_branch(jit, x):
    def branch(x):
        return x.sum() if x.sum() > 0 else -x.sum()

    try:
        jit(branch)(x)
    except jax.errors.TracerBoolConversionError:
        return True
    return False


def seconds(fun, *args):
    """Return the seconds of one call, which runs even while the case itself is traced."""
    with jax.ensure_compile_time_eval():
        ones = jax.tree.map(lambda x: jnp.ones(x.shape, x.dtype), args)
        jax.block_until_ready(fun(*ones))
        start = time.perf_counter()
        for _ in range(5):
            jax.block_until_ready(fun(*ones))
        return (time.perf_counter() - start) / 5
