"""Training part of a network: by the optimizer's list, by `requires_grad`, or by stopped paths."""

from typing import Any

import torch
from torch import Tensor, nn

from torch_ref._net import Net, grads, linear, minimize, mse, nested, params


def optimizer_subset(net: Any, x: Tensor, y: Tensor):
    model = Net(net)
    optimizer = torch.optim.SGD(model.l2.parameters(), lr=0.1)
    losses, gradients = [], []
    for _ in range(3):
        losses.append(minimize(optimizer, mse(model(x), y)))
        gradients.append(grads(model))
    optimizer.zero_grad()
    return {
        "losses": losses,
        "grads": gradients,
        "grads_after_zero_grad": grads(model),
        "params": params(model),
    }


def filter_requires_grad(net: Any, x: Tensor, y: Tensor):
    return {
        "all": _fine_tune(net, x, y, lambda p: True),
        "filtered": _fine_tune(net, x, y, lambda p: p.requires_grad),
    }


def _fine_tune(net: Any, x: Tensor, y: Tensor, wanted: Any):
    model = Net(net)
    model.l1.requires_grad_(False)
    optimizer = torch.optim.SGD(filter(wanted, model.parameters()), lr=0.1, momentum=0.9)
    losses = [minimize(optimizer, mse(model(x), y)) for _ in range(3)]
    saved = optimizer.state_dict()
    return {
        "losses": losses,
        "grads": grads(model),
        "params": params(model),
        "given": len(saved["param_groups"][0]["params"]),
        "state_indices": sorted(saved["state"]),
        "momentum": nested((n, _momentum(optimizer, p)) for n, p in model.named_parameters()),
    }


def _momentum(optimizer: torch.optim.Optimizer, parameter: nn.Parameter) -> Tensor | None:
    return optimizer.state.get(parameter, {}).get("momentum_buffer")


class Paths(nn.Module):
    """A trunk that two modules use, whose outputs form one head or two."""

    def __init__(self, net: Any):
        super().__init__()
        self.trunk = linear(net["trunk"])
        self.a = linear(net["a"])
        self.b = linear(net["b"])


def single_headed(net: Any, x: Tensor, y: Tensor):
    def run(stop_a: bool, stop_b: bool):
        model = Paths(net)
        h = torch.tanh(model.trunk(x))
        to_a = h.detach() if stop_a else h
        to_b = h.detach() if stop_b else h
        loss = mse(model.a(to_a) + model.b(to_b), y)
        loss.backward()
        return {"loss": loss, "grads": grads(model)}

    return {
        "both_open": run(False, False),
        "a_stopped": run(True, False),
        "b_stopped": run(False, True),
        "both_stopped": run(True, True),
    }


def multi_headed(net: Any, x: Tensor, y_a: Tensor, y_b: Tensor):
    def run(stop_b: bool):
        model = Paths(net)
        h = torch.tanh(model.trunk(x))
        loss_a = mse(model.a(h), y_a)
        loss_b = mse(model.b(h.detach() if stop_b else h), y_b)
        (loss_a + loss_b).backward()
        return {"losses": [loss_a, loss_b], "grads": grads(model)}

    return {"open": run(False), "b_stopped": run(True), "a_alone": _head_a_alone(net, x, y_a)}


def _head_a_alone(net: Any, x: Tensor, y: Tensor):
    model = Paths(net)
    mse(model.a(torch.tanh(model.trunk(x))), y).backward()
    return grads(model)
