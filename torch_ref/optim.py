"""Parameter groups, hand-written updates, changed gradients, and the larger optimizers."""

import itertools

import torch
from torch import nn, optim

from torch_ref._net import Net, error_of, grads, minimize, mse, params


def param_groups(net, x, y):
    net = Net(net)
    own = {"params": net.l1.parameters(), "lr": 0.01, "momentum": 0.5, "weight_decay": 0.1}
    optimizer = optim.SGD([own, {"params": net.l2.parameters()}], lr=0.1, momentum=0.9)
    losses, path = [], []
    for _ in range(4):
        losses.append(minimize(optimizer, mse(net(x), y)))
        path.append(params(net))
    return {"losses": losses, "params": path}


def by_hand(net, x, y):
    manual, automatic = Net(net), Net(net)
    optimizer, losses = optim.SGD(automatic.parameters(), lr=0.1), []
    for _ in range(3):
        losses.append(minimize(optimizer, mse(automatic(x), y)))
        mse(manual(x), y).backward()
        with torch.no_grad():
            for p in manual.parameters():
                p.sub_(0.1 * p.grad)  # pyright: ignore[reportOperatorIssue]  # p.grad is set
        manual.zero_grad()

    pairs = zip(manual.parameters(), automatic.parameters(), strict=True)
    return {
        "losses": losses,
        "by_hand": params(manual),
        "sgd": params(automatic),
        "same": [torch.isclose(p, q).all() for p, q in pairs],
    }


def every_other_step(net, x, y):
    def train(silence):
        model = Net(net)
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
        gradients, path = [], [params(model)]
        for step in range(4):
            optimizer.zero_grad()
            mse(model(x), y).backward()
            if step % 2:
                silence(model.l1)
            optimizer.step()
            gradients.append(grads(model))
            path.append(params(model))
        return {"grads": gradients, "params": path[1:], "l1_moved": _moved(path)}

    return {
        "zero": train(lambda l1: l1.zero_grad(set_to_none=False)),
        "none": train(lambda l1: l1.zero_grad()),
    }


def _moved(path):
    """Return for each step whether it changed L1's weight."""
    weights = [net["l1"]["weight"] for net in path]
    return [(after != before).any() for before, after in itertools.pairwise(weights)]


def scale_under_condition(net, x, y):
    net = Net(net)
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    losses, scaled = [], []
    for batch, target in zip(x, y, strict=True):
        optimizer.zero_grad()
        loss = mse(net(batch), target)
        loss.backward()
        norm = torch.linalg.vector_norm(net.l1.weight.grad)
        if norm > 1:
            for p in net.l1.parameters():
                p.grad *= 1 / norm
        optimizer.step()
        losses.append(loss.detach())
        scaled.append(norm > 1)
    return {
        "losses": torch.stack(losses),
        "scaled": torch.stack(scaled),
        "params": params(net),
    }


def _trained(net, x, y, optimizer, **options):
    """Return the parameters after each of eight steps of one optimizer."""
    net = Net(net)
    chosen = getattr(optim, optimizer)(net.parameters(), **options)
    path = []
    for _ in range(8):
        chosen.zero_grad()
        mse(net(x), y).backward()
        chosen.step()
        path.append(params(net))
    return path


def adafactor(net, x, y):
    return _trained(net, x, y, "Adafactor", lr=0.1)


def muon(weight, x, y):
    weight = nn.Parameter(weight)
    optimizer = optim.Muon([weight], lr=0.1)
    path = []
    for _ in range(3):
        optimizer.zero_grad()
        mse(x @ weight.T, y).backward()
        optimizer.step()
        path.append(weight.detach().clone())
    return path


def muon_of_a_vector(bias):
    bias = nn.Parameter(bias)
    bias.square().sum().backward()
    refused = error_of(lambda: optim.Muon([bias]).step())
    return {"grad": bias.grad, "refused": isinstance(refused, ValueError)}


def sparse_adam(table, y):
    table = nn.Parameter(table)
    optimizer = optim.SparseAdam([table], lr=0.1)
    path = []
    for tokens in ([0, 2, 2], [1, 2, 3], [3, 3, 3]):
        optimizer.zero_grad()
        rows = nn.functional.embedding(torch.tensor(tokens), table, sparse=True)
        mse(rows, y).backward()
        optimizer.step()
        path.append(table.detach().clone())
    return path


def lbfgs(x, y, w):
    optimizer = optim.LBFGS([w.requires_grad_()], max_iter=3, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = mse(x @ w, y) + w.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    once = w.detach().clone()
    optimizer.step(closure)
    return [once, w]
