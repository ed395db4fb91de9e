"""What the forward pass keeps for the backward pass, and how to keep less."""

import time

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils import checkpoint as recompute

from torch_ref._net import grads, linear, mse


def _keep(program, given):
    """What a program returns, and the bytes that it keeps for backward beside what it was given."""
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


def checkpoint(net, x, y):
    def train(forward):
        blocks = nn.ModuleList(Block(params) for params in net)
        loss, kept = _keep(lambda: mse(forward(blocks, x), y), [x, y, *blocks.parameters()])
        loss.backward()
        return {"loss": loss, "grads": [grads(block) for block in blocks]}, kept

    def plain(blocks, h):
        for block in blocks:
            h = block(h)
        return h

    def each(blocks, h):
        for block in blocks:
            h = recompute.checkpoint(block, h, use_reentrant=False)
        return h

    def whole(blocks, h):
        return recompute.checkpoint(plain, blocks, h, use_reentrant=False)

    expected, kept_plain = train(plain)
    by_block, kept_each = train(each)
    at_once, kept_whole = train(whole)
    return {
        "plain": expected,
        "each": by_block,
        "whole": at_once,
        "each_keeps_less": kept_each < kept_plain,
        "whole_keeps_least": kept_whole < kept_each,
        "shown": {"bytes": {"plain": kept_plain, "each": kept_each, "whole": kept_whole}},
    }


def cheapest_stop(net, x, y):
    silu = nn.functional.silu

    def nothing(l1, x):
        return silu(l1(x))

    def detach(l1, x):
        return silu(l1(x)).detach()

    @torch.no_grad()
    def no_grad(l1, x):
        return silu(l1(x))

    def inference_mode(l1, x):
        with torch.inference_mode():
            h = silu(l1(x))
        return h.clone()

    def train(body):
        l1, l2 = linear(net["l1"]), linear(net["l2"])

        def program():
            return mse(l2(body(l1, x)), y)

        loss, kept = _keep(program, [x, y, *l1.parameters(), *l2.parameters()])
        loss.backward()
        seen = {"loss": loss, "l1": grads(l1), "l2": grads(l2)}
        return seen, kept, seconds(program)

    def seconds(program):
        start = time.perf_counter()
        for _ in range(20):
            program().backward()
        return (time.perf_counter() - start) / 20

    ways = (nothing, detach, no_grad, inference_mode)
    runs = {body.__name__: train(body) for body in ways}
    kept = {name: run[1] for name, run in runs.items()}
    h = silu(linear(net["l1"])(x))
    return {
        "gradients": {name: run[0] for name, run in runs.items()},
        "no_grad_below_nothing": kept["no_grad"] < kept["nothing"],
        "no_grad_not_above_detach": kept["no_grad"] <= kept["detach"] <= kept["nothing"],
        "inference_mode_as_no_grad": kept["inference_mode"] == kept["no_grad"],
        "detach_shares_storage": h.detach().data_ptr() == h.data_ptr(),
        "shown": {"bytes": kept, "seconds": {name: run[2] for name, run in runs.items()}},
    }
