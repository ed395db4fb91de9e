"""Training-step behaviours to benchmark, each in torch, in hand-written JAX, and with jaxgrad.

Each behaviour defines three gradient functions; all of them are used in the same SGD step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import torch
from jax import lax
from jax.sharding import AxisType, PartitionSpec
from torch import nn
from torch.utils.checkpoint import checkpoint as torch_checkpoint

import jaxgrad
from benchmarks.networks import Network, cross_entropy, forward


MICRO = 4  # micro-batches
PENALTY = 0.1
Grads = Callable[[Any, jax.Array, jax.Array], Any]  # (params, x, y) -> (loss, gradients)
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Behaviour(NamedTuple):
    """torch's loss and backward functions, and JAX gradient functions without and with jaxgrad."""

    torch: Callable[[nn.Sequential], tuple[Loss, Callable[[Loss, Any, Any], Any]]]
    by_hand: Callable[[Network], Grads]
    with_jaxgrad: Callable[[Network], Grads]


BEHAVIOURS: dict[str, Callable[[], Behaviour]] = {}


def behaviour(build: Callable[[], Behaviour]) -> Callable[[], Behaviour]:
    BEHAVIOURS[build.__name__.replace("_", " ")] = build
    return build


def middle(stages: Any) -> int:
    """Return the index of the stage after which a behaviour is inserted."""
    return len(stages) // 2 - 1


def _loss(net: Network, **options: Any) -> Callable[[Any, jax.Array, jax.Array], jax.Array]:
    return lambda params, x, y: cross_entropy(forward(net.stages, params, x, **options), y)


def _torch_loss(net: nn.Sequential, at: Callable[[int, Any], Any] = lambda _, h: h) -> Loss:
    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for place, module in enumerate(net):
            x = at(place, module(x))
        return nn.functional.cross_entropy(x, y)

    return loss


def _backward(loss: Loss, x: Any, y: Any) -> None:
    loss(x, y).backward()


@behaviour
def control() -> Behaviour:
    return Behaviour(
        lambda net: (_torch_loss(net), _backward),
        lambda net: jax.value_and_grad(_loss(net)),
        lambda net: jaxgrad.value_and_grad(_loss(net)),
    )


@behaviour
def detach() -> Behaviour:
    """Detach between the two halves of the network, so the first half has no gradient."""

    def reference(net: nn.Sequential) -> Any:
        cut = middle(net)
        return _torch_loss(net, lambda n, h: h.detach() if n == cut else h), _backward

    def by_hand(net: Network) -> Grads:
        cut = middle(net.stages) + 1

        def grads(params: Any, x: jax.Array, y: jax.Array) -> Any:
            loss = _loss(net)
            value, last = jax.value_and_grad(lambda p: loss(params[:cut] + p, x, y))(params[cut:])
            return value, [None] * cut + last

        return grads

    def with_jaxgrad(net: Network) -> Grads:
        cut = middle(net.stages)
        return jaxgrad.value_and_grad(
            _loss(net, at=lambda n, h: lax.stop_gradient(h) if n == cut else h)
        )

    return Behaviour(reference, by_hand, with_jaxgrad)


@behaviour
def freeze() -> Behaviour:
    """Freeze the first half of the network with `requires_grad = False`."""

    def reference(net: nn.Sequential) -> Any:
        for module in list(net)[: middle(net) + 1]:
            module.requires_grad_(False)
        return _torch_loss(net), _backward

    def with_jaxgrad(net: Network) -> Grads:
        cut = middle(net.stages) + 1

        def grads(params: Any, x: jax.Array, y: jax.Array) -> Any:
            trained, frozen = jaxgrad.partition(
                params, lambda path, _: int(path.split("/")[0]) >= cut
            )
            loss = _loss(net)
            return jaxgrad.value_and_grad(lambda p: loss(jaxgrad.combine(p, frozen), x, y))(trained)

        return grads

    return Behaviour(reference, detach().by_hand, with_jaxgrad)


@behaviour
def hooks() -> Behaviour:
    """Halve the gradient between the two halves of the network with a hook."""

    def reference(net: nn.Sequential) -> Any:
        cut = middle(net)

        def at(place: int, h: torch.Tensor) -> torch.Tensor:
            if place == cut:
                h.register_hook(lambda g: g * 0.5)
            return h

        return _torch_loss(net, at), _backward

    def by_hand(net: Network) -> Grads:
        cut = middle(net.stages)

        @jax.custom_vjp
        def halved(h: jax.Array) -> jax.Array:
            return h

        halved.defvjp(lambda h: (h, None), lambda _, g: (g * 0.5,))
        return jax.value_and_grad(_loss(net, at=lambda n, h: halved(h) if n == cut else h))

    def with_jaxgrad(net: Network) -> Grads:
        cut = middle(net.stages)
        hooked = lambda n, h: jaxgrad.hook(h, lambda g: g * 0.5) if n == cut else h  # noqa: E731
        return jaxgrad.value_and_grad(_loss(net, at=hooked))

    return Behaviour(reference, by_hand, with_jaxgrad)


@behaviour
def clip() -> Behaviour:
    """Clip the norm of all gradients to at most 0.1."""

    def reference(net: nn.Sequential) -> Any:
        def backward(loss: Loss, x: Any, y: Any) -> None:
            loss(x, y).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.1)

        return _torch_loss(net), backward

    def by_hand(net: Network) -> Grads:
        def grads(params: Any, x: jax.Array, y: jax.Array) -> Any:
            value, grads = jax.value_and_grad(_loss(net))(params, x, y)
            scale = jnp.minimum(1.0, 0.1 / (optax.tree.norm(grads) + 1e-6))
            return value, jax.tree.map(lambda g: g * scale, grads)

        return grads

    def with_jaxgrad(net: Network) -> Grads:
        def grads(params: Any, x: jax.Array, y: jax.Array) -> Any:
            value, grads = jaxgrad.value_and_grad(_loss(net))(params, x, y)
            return value, jaxgrad.clip_grad_norm(grads, 0.1)[0]

        return grads

    return Behaviour(reference, by_hand, with_jaxgrad)


@behaviour
def amp() -> Behaviour:
    """Compute matrix products and convolutions in bfloat16."""
    device = torch.get_default_device().type

    def reference(net: nn.Sequential) -> Any:
        plain = _torch_loss(net)

        def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            with torch.autocast(device, torch.bfloat16):
                return plain(x, y)

        return loss, _backward

    def by_hand(net: Network) -> Grads:
        def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
            logits = forward(net.stages, params, x, low=jnp.bfloat16)
            return cross_entropy(logits.astype(jnp.float32), y)

        return jax.value_and_grad(loss)

    def with_jaxgrad(net: Network) -> Grads:
        return jaxgrad.value_and_grad(jaxgrad.autocast(_loss(net), device_type=device))

    return Behaviour(reference, by_hand, with_jaxgrad)


@behaviour
def checkpoint() -> Behaviour:
    """Recompute every stage in the backward pass."""

    def reference(net: nn.Sequential) -> Any:
        def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            for module in net:
                x = torch_checkpoint(module, x, use_reentrant=False)
            return nn.functional.cross_entropy(x, y)

        return loss, _backward

    def again(net: Network) -> Network:
        return net._replace(
            stages=[jax.checkpoint(stage, static_argnums=2) for stage in net.stages]
        )

    return Behaviour(
        reference,
        lambda net: jax.value_and_grad(_loss(again(net))),
        lambda net: jaxgrad.value_and_grad(_loss(again(net))),
    )


@behaviour
def accumulation() -> Behaviour:
    """Accumulate the gradients of four micro-batches before the step."""

    def reference(net: nn.Sequential) -> Any:
        def backward(loss: Loss, x: Any, y: Any) -> None:
            for part, labels in zip(x.chunk(MICRO), y.chunk(MICRO), strict=True):
                (loss(part, labels) / MICRO).backward()

        return _torch_loss(net), backward

    def scanned(net: Network, value_and_grad: Any, add: Any) -> Grads:
        def grads(params: Any, x: jax.Array, y: jax.Array) -> Any:
            def body(carry: Any, batch: Any) -> Any:
                value, grads = value_and_grad(lambda *a: _loss(net)(*a) / MICRO)(params, *batch)
                return (carry[0] + value, add(carry[1], grads)), None

            batches = jax.tree.map(lambda a: a.reshape(MICRO, -1, *a.shape[1:]), (x, y))
            zeros = jnp.zeros(()), jax.tree.map(jnp.zeros_like, params)
            return lax.scan(body, zeros, batches)[0]

        return grads

    return Behaviour(
        reference,
        lambda net: scanned(net, jax.value_and_grad, lambda a, b: jax.tree.map(jnp.add, a, b)),
        lambda net: scanned(net, jaxgrad.value_and_grad, jaxgrad.accumulate),
    )


@behaviour
def per_sample_gradients() -> Behaviour:
    """Clip each sample's gradient to a norm of 1 and average the results."""

    def reference(net: nn.Sequential) -> Any:
        params = dict(net.named_parameters())

        def loss_of(values: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            logits = torch.func.functional_call(net, values, (x[None],))
            return nn.functional.cross_entropy(logits, y[None])

        each = torch.func.vmap(torch.func.grad_and_value(loss_of), (None, 0, 0))

        def backward(loss: Loss, x: Any, y: Any) -> None:
            del loss
            detached = {name: p.detach() for name, p in params.items()}
            grads, _ = each(detached, x, y)
            norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
            scale = (1.0 / (norms + 1e-6)).clamp(max=1.0)
            for name, p in params.items():
                p.grad = torch.einsum("n,n...->...", scale, grads[name]) / len(x)

        return _torch_loss(net), backward

    def vmapped(net: Network, value_and_grad: Any, norm: Any) -> Grads:
        def grads(params: Any, x: jax.Array, y: jax.Array) -> Any:
            def one(x: jax.Array, y: jax.Array) -> Any:
                value, grads = value_and_grad(_loss(net))(params, x[None], y[None])
                return value, grads, jnp.minimum(1.0, 1.0 / (norm(grads) + 1e-6))

            values, grads, scale = jax.vmap(one)(x, y)
            # Scale inside the sum, as the torch program does, so that scaled gradients are not
            # stored.
            mean = lambda g: jnp.einsum("n,n...->...", scale, g) / len(x)  # noqa: E731
            return jnp.mean(values), jax.tree.map(mean, grads)

        return grads

    return Behaviour(
        reference,
        lambda net: vmapped(net, jax.value_and_grad, optax.tree.norm),
        lambda net: vmapped(
            net, jaxgrad.value_and_grad, lambda g: jaxgrad.clip_grad_norm(g, 1.0)[1]
        ),
    )


@behaviour
def gradient_penalty() -> Behaviour:
    """Add the squared norm of the gradient with respect to the input to the loss."""

    def reference(net: nn.Sequential) -> Any:
        plain = _torch_loss(net)

        def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            x = x.detach().requires_grad_()
            value = plain(x, y)
            (grads,) = torch.autograd.grad(value, x, create_graph=True)
            return value + PENALTY * grads.square().sum()

        return loss, _backward

    def penalised(net: Network, value_and_grad: Any) -> Grads:
        def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
            value, grads = value_and_grad(lambda x: _loss(net)(params, x, y))(x)
            return value + PENALTY * jnp.sum(grads**2)

        return value_and_grad(loss)

    return Behaviour(
        reference,
        lambda net: penalised(net, jax.value_and_grad),
        lambda net: penalised(net, jaxgrad.value_and_grad),
    )


@behaviour
def ddp() -> Behaviour:
    """Split the batch over all devices; here that is one torch process and one JAX device."""

    def reference(net: nn.Sequential) -> Any:
        wrapped = nn.parallel.DistributedDataParallel(net)
        return lambda x, y: nn.functional.cross_entropy(wrapped(x), y), _backward

    def sharded(net: Network, value_and_grad: Any) -> Grads:
        mesh = jax.make_mesh((1,), ("data",), axis_types=(AxisType.Auto,))

        def local(params: Any, x: jax.Array, y: jax.Array) -> Any:
            mine = jax.tree.map(lambda p: lax.pcast(p, "data", to="varying"), params)
            return lax.pmean(value_and_grad(_loss(net))(mine, x, y), "data")

        each, whole = PartitionSpec("data"), PartitionSpec()
        return jax.shard_map(local, mesh=mesh, in_specs=(whole, each, each), out_specs=whole)

    return Behaviour(
        reference,
        lambda net: sharded(net, jax.value_and_grad),
        lambda net: sharded(net, jaxgrad.value_and_grad),
    )
