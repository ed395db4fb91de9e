"""The values that the forward pass saves for the backward pass, and how to save fewer."""

import functools
import time
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils import checkpoint as recompute
from torch.utils._python_dispatch import TorchDispatchMode

from torch_ref._net import grads, linear, minimize, mlp, mse, params


def _keep(program, given):
    """Run a program; return its result and the bytes that it saves for backward beyond its
    inputs.
    """
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        out = program()
    known = {tensor.untyped_storage().data_ptr() for tensor in given}
    return out, sum(x.untyped_storage().nbytes() for at, x in kept.items() if at not in known)


class Block(nn.Module):
    def __init__(self, params):
        super().__init__()
        self.fc1, self.fc2 = linear(params["fc1"]), linear(params["fc2"])

    def forward(self, h):
        return torch.tanh(self.fc2(torch.tanh(self.fc1(h))))


def _plain(blocks, h):
    for block in blocks:
        h = block(h)
    return h


def _trained(net, forward, x, y):
    """Return the loss and the gradients of some blocks, and the bytes saved for backward."""
    blocks = nn.ModuleList(Block(params) for params in net)
    loss, kept = _keep(lambda: mse(forward(blocks, x), y), [x, y, *blocks.parameters()])
    loss.backward()
    return {"loss": loss, "grads": [grads(block) for block in blocks]}, kept


def checkpoint(net, x, y):
    def each(blocks, h):
        for block in blocks:
            h = recompute.checkpoint(block, h, use_reentrant=False)
        return h

    def whole(blocks, h):
        return recompute.checkpoint(_plain, blocks, h, use_reentrant=False)

    expected, kept_plain = _trained(net, _plain, x, y)
    by_block, kept_each = _trained(net, each, x, y)
    at_once, kept_whole = _trained(net, whole, x, y)
    return {
        "plain": expected,
        "each": by_block,
        "whole": at_once,
        "each_keeps_less": kept_each < kept_plain,
        "whole_keeps_least": kept_whole < kept_each,
        "shown": {"bytes": {"plain": kept_plain, "each": kept_each, "whole": kept_whole}},
    }


def checkpoint_dropout(x):
    return _dropped(x, preserve_rng_state=True)


def checkpoint_forgets_the_generator(x):
    return _dropped(x, preserve_rng_state=False)


def _dropped(x, preserve_rng_state):
    x.requires_grad_()

    def dropout(x):
        return torch.sin(nn.functional.dropout(x, 0.5))

    def computed_again():
        return recompute.checkpoint(
            dropout, x, use_reentrant=False, preserve_rng_state=preserve_rng_state
        )

    with torch.random.fork_rng():
        torch.manual_seed(0)
        out, kept = _keep(computed_again, [x])
        out.sum().backward()
        _, kept_plain = _keep(lambda: dropout(x), [x])
    return {
        "drops_some": (out == 0).any() & (out != 0).any(),
        "same_mask": ((out == 0) == (x.grad == 0)).all(),
        "keeps_less": kept < kept_plain,
    }


def _tanhs(layers) -> Any:
    """Build a sequence whose layers are a linear layer and a tanh each."""
    return nn.Sequential(*(nn.Sequential(linear(params), nn.Tanh()) for params in layers))


def _layer_grads(net):
    return [grads(layer[0]) for layer in net]


def checkpoint_sequential(layers, x, y):
    def run(segments):
        net = _tanhs(layers)

        def program():
            return mse(recompute.checkpoint_sequential(net, segments, x, use_reentrant=False), y)

        loss, kept = _keep(program, [x, y, *net.parameters()])
        loss.backward()
        return {"loss": loss, "grads": _layer_grads(net)}, kept

    (one, kept_1), (two, kept_2), (three, kept_3) = run(1), run(2), run(3)
    return {
        "segments 1": one,
        "segments 2": two,
        "segments 3": three,
        "segments_keep_less": kept_3 <= kept_2 < kept_1,
        "shown": {"bytes": {"1": kept_1, "2": kept_2, "3": kept_3}},
    }


class _Calls(TorchDispatchMode):
    """Count the operations that run."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def selective_checkpoint(layers, x, y):
    def products():
        return recompute.create_selective_checkpoint_contexts([torch.ops.aten.addmm.default])

    checkpoint = functools.partial(recompute.checkpoint, use_reentrant=False)
    return {
        "everything": _counted(layers, x, y, lambda net, x: net(x)),
        "nothing": _counted(layers, x, y, checkpoint),
        "products": _counted(layers, x, y, functools.partial(checkpoint, context_fn=products)),
    }


def _counted(layers, x, y, run):
    """Return the loss and the gradients of a step, and how often it multiplies and takes a tanh."""
    net = _tanhs(layers)
    with _Calls() as calls:
        loss = mse(run(net, x), y)
        loss.backward()
    return {
        "loss": loss,
        "grads": _layer_grads(net),
        "products": calls.names.count("addmm") + calls.names.count("mm"),
        "tanhs": calls.names.count("tanh"),
    }


def _squares(w1, w2, x):
    h = nn.functional.linear(x, w1)
    return nn.functional.linear(h * h, w2).square().sum() / 2**20


def _with_hooks(pack, unpack, w1, w2, x):
    """Run a network under saved-tensor hooks that leave its parameters alone."""
    given = [x.requires_grad_() for x in (w1, w2, x)]
    known = {w.untyped_storage().data_ptr() for w in (w1, w2)}
    sizes = {}

    def pack_others(value):
        at = value.untyped_storage().data_ptr()
        if at in known:
            return value, False
        kept = pack(value)
        parts = kept if isinstance(kept, tuple) else (kept,)
        sizes[at] = sum(part.untyped_storage().nbytes() for part in parts)
        return kept, True

    def unpack_others(stored):
        kept, packed = stored
        return unpack(kept) if packed else kept

    _, plain = _keep(lambda: _squares(w1, w2, x), given)
    with saved_tensors_hooks(pack_others, unpack_others):
        loss = _squares(w1, w2, x)
    loss.backward()
    kept = sum(sizes.values())
    return {
        "loss": loss,
        "grads": tuple(x.grad for x in given),
        "keeps_less": kept < plain,
        "shown": {"bytes": {"hooked": kept, "plain": plain}},
    }


def saved_in_bfloat16(w1, w2, x):
    return _with_hooks(
        lambda value: value.to(torch.bfloat16), lambda kept: kept.to(x.dtype), w1, w2, x
    )


def saved_as_integers(w1, w2, x):
    def pack(value):
        _, exponent = torch.frexp(value.detach().abs().max())
        step = torch.ldexp(value.new_ones(()), exponent - 6)
        return torch.round(value / step).to(torch.int8), step

    def unpack(kept):
        integers, step = kept
        return integers.to(x.dtype) * step

    return _with_hooks(pack, unpack, w1, w2, x)


def save_on_cpu(layers, x, y):
    net, hooks = _tanhs(layers), torch.autograd.graph.save_on_cpu()
    packed = _packed_by(hooks)
    with hooks:
        loss = mse(net(x), y)
    on_the_host = all(kept.device.type == "cpu" for _, kept in packed)
    loss.backward()
    _, kept = _keep(lambda: mse(net(x), y), [x, y, *net.parameters()])
    return {
        "loss": loss,
        "grads": _layer_grads(net),
        "on_the_host": on_the_host,
        "shown": {"bytes": {"kept": kept}},
    }


def _packed_by(hooks):
    """Return a list that will hold what the hooks store."""
    pack, packed = hooks.pack_hook, []

    def recorded(value):
        packed.append(pack(value))
        return packed[-1]

    hooks.pack_hook = recorded
    return packed


def accumulate_micro_batches(net, x, y):
    def summed(model, x, y):
        return nn.functional.mse_loss(model(x), y, reduction="sum")

    at_once, added = mlp(net), mlp(net)
    known = [x, y, *at_once.parameters(), *added.parameters()]
    loss, kept = _keep(lambda: summed(at_once, x, y), known)
    loss.backward()
    total, kept_micro = torch.zeros((), dtype=x.dtype), 0
    for part, target in zip(x.split(2), y.split(2), strict=True):
        one, kept_micro = _keep(lambda part=part, to=target: summed(added, part, to), known)
        one.backward()
        total = total + one.detach()
    return {
        "at_once": {"loss": loss, "grads": _named_grads(at_once)},
        "added": {"loss": total, "grads": _named_grads(added)},
        "a_quarter_is_kept": kept_micro * 4 == kept,
        "shown": {"bytes": {"at_once": kept, "micro_batch": kept_micro}},
    }


def _total(out, y):
    return nn.functional.mse_loss(out, y, reduction="sum")


def mean_of_means(net, x, y):
    def added(loss_of):
        model = mlp(net)
        for part, target in zip(x.split(3), y.split(3), strict=True):
            loss_of(model(part), target).backward()
        return _named_grads(model)

    at_once = mlp(net)
    mse(at_once(x), y).backward()
    return {
        "mean_of_means": added(lambda out, y: mse(out, y) / 3),
        "mean": added(lambda out, y: _total(out, y) / 7),
        "at_once": _named_grads(at_once),
    }


def _by_layer(grads):
    """Rename the layers from `nn.Sequential`'s numbers to l1 and l2, as in the JAX twin."""
    return {
        name: {kind: grads[f"{place}.{kind}"] for kind in ("weight", "bias")}
        for name, place in (("l1", 0), ("l2", 2))
    }


def _named_grads(model):
    return _by_layer({name: p.grad for name, p in model.named_parameters()})


def step_by_layer(layers, x, y):
    net, there = _tanhs(layers), []
    optimizers = {p: torch.optim.SGD([p], lr=0.1, momentum=0.9) for p in net.parameters()}

    def step(p):
        there.append(sum(q.grad is not None for q in optimizers))
        optimizers[p].step()
        p.grad = None

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        mse(net(x), y).backward()
    return {
        "by_layer": [params(layer[0]) for layer in net],
        "at_the_end": _stepped_at_the_end(layers, x, y),
        "shown": {"gradients at once": max(there)},
    }


def _stepped_at_the_end(layers, x, y):
    net = _tanhs(layers)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        minimize(optimizer, mse(net(x), y))
    return [params(layer[0]) for layer in net]


def per_sample_in_chunks(net, x, y):
    model = mlp(net)
    weights: Any = dict(model.named_parameters())

    def summed(weights, x, y):
        return _total(torch.func.functional_call(model, weights, (x,)), y)

    def mapped(size):
        each = torch.func.vmap(torch.func.grad(summed), in_dims=(None, 0, 0), chunk_size=size)
        return _by_layer(each(weights, x, y))

    return {"at_once": mapped(None), "in_chunks": mapped(2), "loop": _one_by_one(model, x, y)}


def _one_by_one(model, x, y):
    each = []
    for one, target in zip(x, y, strict=True):
        model.zero_grad()
        _total(model(one), target).backward()
        each.append({name: p.grad.clone() for name, p in model.named_parameters()})
    return _by_layer({name: torch.stack([g[name] for g in each]) for name in each[0]})


def cheapest_stop(net, x, y):
    ways = {
        "nothing": _hidden,
        "detach": lambda l1, x: _hidden(l1, x).detach(),
        "no_grad": torch.no_grad()(_hidden),
        "inference_mode": lambda l1, x: torch.inference_mode()(_hidden)(l1, x).clone(),
    }
    runs = {name: _stopped(net, way, x, y) for name, way in ways.items()}
    plain, detached, off, inference = (kept for _, kept, _ in runs.values())
    h = _hidden(linear(net["l1"]), x)
    return {
        "gradients": {name: run[0] for name, run in runs.items()},
        "no_grad_below_nothing": off < plain,
        "no_grad_not_above_detach": off <= detached <= plain,
        "inference_mode_as_no_grad": inference == off,
        "detach_shares_storage": h.detach().data_ptr() == h.data_ptr(),
        "shown": {
            "bytes": {name: run[1] for name, run in runs.items()},
            "seconds": {name: run[2] for name, run in runs.items()},
        },
    }


def _hidden(l1, x):
    return nn.functional.silu(l1(x))


def _stopped(net, way, x, y):
    """Return the gradients with the hidden layer computed in this way, and its bytes and time."""
    l1, l2 = linear(net["l1"]), linear(net["l2"])

    def program():
        return mse(l2(way(l1, x)), y)

    loss, kept = _keep(program, [x, y, *l1.parameters(), *l2.parameters()])
    loss.backward()
    return {"loss": loss, "l1": grads(l1), "l2": grads(l2)}, kept, _seconds(program)


def _seconds(program):
    start = time.perf_counter()
    for _ in range(20):
        program().backward()
    return (time.perf_counter() - start) / 20
