"""Hooks: observing a gradient during the backward pass, and changing it."""

from typing import Any

import torch
from torch import Tensor, nn

from torch_ref._net import Net, grads, linear, minimize, mse, params


class Mlp(nn.Module):
    """Linear, ReLU, Linear."""

    def __init__(self, params: Any):
        super().__init__()
        self.fc1 = linear(params["fc1"])
        self.fc2 = linear(params["fc2"])

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(torch.relu(self.fc1(x)))


def register_hook(net, x, y):
    model = Mlp(net)
    seen = {}

    def watch(grad):
        seen["min"], seen["max"] = grad.min(), grad.max()

    model.fc1.weight.register_hook(watch)
    model.fc1.weight.register_hook(lambda grad: grad.clamp(-1, 1))
    loss = mse(model(x), y)
    loss.backward()
    return {"loss": loss, "grads": grads(model), "seen": seen}


def register_hook_sum(net, left, right, y):
    model = Mlp(net)
    seen = []

    def clamp(grad):
        seen.append(grad.clone())
        return grad.clamp(-1, 1)

    model.fc1.weight.register_hook(clamp)
    for _ in range(2):  # without zero_grad in between
        loss = mse(model(left) - model(right), y)
        loss.backward()
    return {"seen": seen, "grads": grads(model)}


def tensor_hook(x):
    x.requires_grad_()
    h = 2 * x
    h.register_hook(lambda grad: grad.clamp(max=1))
    loss = 3 * h + 5 * h
    loss.backward()
    return {"loss": loss, "grad": x.grad}


def hook_watch(net, x, y):
    model = Net(net)
    seen = {}

    def watch(grad):
        seen["shape"] = list(grad.shape)

    h = model.l1(x)
    h.register_hook(watch)
    loss = mse(model.l2(h), y)
    loss.backward()
    return {"loss": loss, "grads": grads(model), "seen": seen}


def hook_order(x):
    x.requires_grad_()
    h = x * x
    h.register_hook(lambda grad: 2 * grad)
    h.retain_grad()
    h.register_hook(lambda grad: grad + 1)
    loss = h.sin().sum()
    loss.backward()
    return {"loss": loss, "h": h.grad, "x": x.grad}


def hook_create_graph(x):
    x.requires_grad_()
    h = 2 * x
    h.register_hook(lambda grad: grad * grad)
    (first,) = torch.autograd.grad((h**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return {"first": first, "second": second}


def _rnn(cell, x, y, visit):
    """Run a tanh cell over the steps of x (time, batch, n_in); call `visit` on each hidden
    state.
    """
    cell = {name: nn.Parameter(value) for name, value in cell.items()}
    h = x.new_zeros(x.shape[1], cell["recurrent"].shape[0])
    for step in x:
        h = torch.tanh(step @ cell["input"].T + h @ cell["recurrent"].T)
        visit(h)
    loss = mse(h, y)
    loss.backward()
    return {"loss": loss, "grads": {name: p.grad for name, p in cell.items()}}


def retain_grad(cell, x, y):
    hidden = []

    def retain(h):
        h.retain_grad()
        hidden.append(h)

    out = _rnn(cell, x, y, retain)
    return {**out, "retained": {"h": torch.stack([h.grad for h in hidden])}}


def hook_every_step(cell, x, y):
    return _rnn(cell, x, y, lambda h: h.register_hook(lambda grad: grad.clamp(-0.01, 0.01)))


def full_backward_hook(net, x, y):
    model = Net(net)

    def hook(module, grad_input, grad_output):
        return (2 * grad_input[0] + grad_output[0].sum(),)

    model.l2.register_full_backward_hook(hook)
    loss = mse(model(x), y)
    loss.backward()
    return {"loss": loss, "grads": grads(model)}


class Pick(nn.Module):
    """Select columns of x by an integer index."""

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return x[:, index] ** 2


def full_backward_hook_integer(x, index):
    pick, seen = Pick(), {}

    def hook(module, grad_input, grad_output):
        seen["dtype"] = str(grad_input[1].dtype).removeprefix("torch.")
        seen["shape"] = list(grad_input[1].shape)
        return grad_input[0].clamp(max=1), grad_input[1]

    pick.register_full_backward_hook(hook)
    x.requires_grad_()
    loss = pick(x, index).sum()
    loss.backward()
    return {"loss": loss, "grad": x.grad, "seen": seen}


def full_backward_pre_hook(net, x, y):
    model = Net(net)
    model.l1.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] / 2,))
    loss = mse(model(x), y)
    loss.backward()
    return {"loss": loss, "grads": grads(model)}


def post_accumulate_grad_hook(net, x, y):
    model = Net(net)

    def clamp(param):
        param.grad.clamp_(-1, 1)

    model.l1.weight.register_post_accumulate_grad_hook(clamp)
    for one, target in zip(x, y, strict=True):
        mse(model(one), target).backward()
    return {"grads": grads(model)}


def step_in_backward(net, x, y):
    """Update each parameter and drop its gradient as soon as the gradient is complete."""
    model = Net(net)

    def step(param):
        with torch.no_grad():
            param -= 0.1 * param.grad
        param.grad = None

    for param in model.parameters():
        param.register_post_accumulate_grad_hook(step)
    losses = []
    for _ in range(3):
        loss = mse(model(x), y)
        loss.backward()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), "params": params(model), "grads": grads(model)}


def gradient_norms(net, x, y):
    model = nn.ModuleDict({name: linear(layer) for name, layer in net.items()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses, norms = [], {name: [] for name in net}
    for _ in range(10):
        losses.append(minimize(optimizer, mse(_sigmoids(model, x), y)))
        for name, slopes in grads(model).items():
            norms[name].append(slopes["weight"].norm())
    return {
        "losses": torch.stack(losses),
        "norms": {name: torch.stack(steps) for name, steps in norms.items()},
    }


def _sigmoids(model, h):
    """Apply all layers, each a linear layer and a sigmoid."""
    for layer in model.values():
        h = torch.sigmoid(layer(h))
    return h
