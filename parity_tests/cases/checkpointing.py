"""What the forward pass keeps for the backward pass, and how to keep less."""

import time

import jax
import jax.numpy as jnp
from jax import lax

import jaxgrad
from parity_tests.case import case, identity
from parity_tests.cases._net import NET, linear, mse
from parity_tests.draw import linear as draw_linear
from parity_tests.draw import normal


BLOCK = {"fc1": draw_linear(6, 6), "fc2": draw_linear(6, 6)}


def block(params, h):
    return jnp.tanh(linear(params["fc2"], jnp.tanh(linear(params["fc1"], h))))


@case(
    source="S4-14",
    inputs=dict(net=[BLOCK, BLOCK, BLOCK], x=normal(8, 6), y=normal(8, 6)),
    idiom=("checkpoint(block, h, use_reentrant=False)", "jax.checkpoint(block)(params, h)"),
    control=dict(checkpoint=identity),
)
def checkpoint(net, x, y, *, checkpoint=jax.checkpoint):
    """Checkpointing keeps fewer bytes for the backward pass; the gradients stay the same.

    Least where the whole network is one checkpoint: everything is computed again.
    """

    def run(block):
        def forward(net, x):
            h = x
            for params in net:
                h = block(params, h)
            return h

        return forward

    ways = {"plain": run(block), "each": run(checkpoint(block)), "whole": checkpoint(run(block))}
    seen, kept = {}, {}
    for name, forward in ways.items():

        def loss_of(net, forward=forward):
            return mse(forward(net, x), y)

        loss, grads = jaxgrad.value_and_grad(loss_of)(net)
        seen[name] = {"loss": loss, "grads": grads}
        kept[name] = jaxgrad.saved_bytes(loss_of, net)
    return {
        **seen,
        "each_keeps_less": kept["each"] < kept["plain"],
        "whole_keeps_least": kept["whole"] < kept["each"],
        "shown": {"bytes": kept},
    }


@case(
    source="S0-18",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("with torch.no_grad(): h = l1(x)", "h = no_grad(l1)(params, x)"),
    control=dict(stop_gradient=identity, no_grad=identity),
)
def cheapest_stop(net, x, y, *, stop_gradient=lax.stop_gradient, no_grad=jaxgrad.no_grad):
    """`no_grad` and `inference_mode` are cheapest: they never record L1 for backward.

    The document says that `no_grad` is cheaper because `detach` copies. It does not: it shares
    the storage; what it costs is the graph of L1, recorded and thrown away. JAX never records
    what is stopped, so that there all three cost the same.
    """

    def l1(params, x):
        return jax.nn.silu(linear(params, x))

    ways = {
        "nothing": l1,
        "detach": lambda params, x: stop_gradient(l1(params, x)),
        "no_grad": no_grad(l1),
        "inference_mode": lambda params, x: jnp.copy(no_grad(l1)(params, x)),
    }
    seen, kept, times = {}, {}, {}
    for name, body in ways.items():

        def loss_of(net, x, y, body=body):
            return mse(linear(net["l2"], body(net["l1"], x)), y)

        loss, grads = jaxgrad.value_and_grad(loss_of)(net, x, y)
        seen[name] = {"loss": loss, **grads}
        kept[name] = jaxgrad.saved_bytes(lambda net, loss_of=loss_of: loss_of(net, x, y), net)
        times[name] = seconds(loss_of, net, x, y)
    return {
        "gradients": seen,
        "no_grad_below_nothing": kept["no_grad"] < kept["nothing"],
        "no_grad_not_above_detach": kept["no_grad"] <= kept["detach"] <= kept["nothing"],
        "inference_mode_as_no_grad": kept["inference_mode"] == kept["no_grad"],
        "detach_shares_storage": shares_storage(stop_gradient),
        "shown": {"bytes": kept, "seconds": times},
    }


def shares_storage(fun):
    with jax.ensure_compile_time_eval():
        h = jnp.ones(3)
        return fun(h).unsafe_buffer_pointer() == h.unsafe_buffer_pointer()


def seconds(fun, *args):
    """Of a compiled forward and backward pass, run at once even while the case is compiled."""
    with jax.ensure_compile_time_eval():
        ones = jax.tree.map(lambda x: jnp.ones(x.shape, x.dtype), args)
        step = jax.jit(jax.value_and_grad(fun))
        jax.block_until_ready(step(*ones))
        start = time.perf_counter()
        for _ in range(20):
            jax.block_until_ready(step(*ones))
        return (time.perf_counter() - start) / 20
