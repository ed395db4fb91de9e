"""Clipping gradients between backward and step."""

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_, get_total_norm

from torch_ref._net import grads, linear, mse, params


class Mlp(nn.Module):
    """Linear, ReLU, Linear, and optionally a layer that the loss does not use."""

    def __init__(self, net):
        super().__init__()
        self.fc1, self.fc2 = linear(net["fc1"]), linear(net["fc2"])
        if "fc3" in net:
            self.fc3 = linear(net["fc3"])

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def _total_norm(model):
    return get_total_norm([p.grad for p in model.parameters() if p.grad is not None])


def clip_grad_norm(net, x, y):
    model = Mlp(net)
    loss = mse(model(x), y)
    loss.backward()
    before = clip_grad_norm_(model.parameters(), max_norm=1.0)
    return {"loss": loss, "before": before, "grads": grads(model), "after": _total_norm(model)}


def clip_grad_norm_below(net, x, y):
    model = Mlp(net)
    loss = mse(model(x), y)
    unclipped = torch.autograd.grad(loss, tuple(model.parameters()), retain_graph=True)
    loss.backward()
    before = clip_grad_norm_(model.parameters(), max_norm=1e4)
    pairs = zip(model.parameters(), unclipped, strict=True)
    unchanged = [(p.grad == g).all() for p, g in pairs]
    return {"loss": loss, "before": before, "grads": grads(model), "unchanged": unchanged}


def clip_grad_norm_at_max(x):
    w = torch.zeros_like(x, requires_grad=True)
    (w * x).sum().backward()
    norm = clip_grad_norm_([w], max_norm=float("inf"))  # only measures the norm
    clip_grad_norm_([w], max_norm=norm.item())
    return {"norm": norm, "grad": w.grad, "shorter": clip_grad_norm_([w], float("inf")) < norm}


def clip_grad_norm_types(net, x, y):
    def clipped(norm_type):
        model = Mlp(net)
        mse(model(x), y).backward()
        before = clip_grad_norm_(model.parameters(), max_norm=0.1, norm_type=norm_type)
        return {"before": before, "grads": grads(model)}

    return {"1": clipped(1), "2": clipped(2), "3": clipped(3), "inf": clipped(float("inf"))}


def clip_grad_norm_none(net, x, y):
    model = Mlp(net)
    model.fc1.requires_grad_(False)
    loss = mse(model(x), y)
    loss.backward()
    before = clip_grad_norm_(model.parameters(), max_norm=1.0)
    return {"loss": loss, "before": before, "grads": grads(model)}


def clip_grad_value(net, x, y):
    model = Mlp(net)
    loss = mse(model(x), y)
    loss.backward()
    clip_grad_value_(model.parameters(), clip_value=0.5)
    return {"loss": loss, "grads": grads(model)}


def clip_grad_norm_by_group(net, x, y):
    model = Mlp(net)
    groups = [{"params": model.fc1.parameters()}, {"params": model.fc2.parameters()}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    loss = mse(model(x), y)
    loss.backward()
    for group in optimizer.param_groups:
        clip_grad_norm_(group["params"], max_norm=1.0)
    clipped = grads(model)
    optimizer.step()
    return {"loss": loss, "grads": clipped, "params": params(model)}
