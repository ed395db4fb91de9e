"""How long a backward graph lives: its saved values are freed by the first `backward`."""

import torch

from torch_ref._net import error_of


def _changed_sum(a, b):
    a[0] = 0.1  # truncated to 0 in an integer tensor
    c = a * b + b
    return c.sum()


def _nodes(node):
    """Return the names of the backward graph's nodes, depth first."""
    if node is None:
        return []
    return [
        type(node).__name__,
        *(name for next_, _ in node.next_functions for name in _nodes(next_)),
    ]


def second_backward(a, b):
    b.requires_grad_()
    d = _changed_sum(a, b)
    d.backward()
    first = b.grad.clone()
    return {"d": d, "first": first, "second": error_of(d.backward), "nodes": _nodes(d.grad_fn)}


def retain_graph(a, b):
    b.requires_grad_()
    d = _changed_sum(a, b)
    d.backward(retain_graph=True)
    first = b.grad.clone()
    d.backward(retain_graph=True)
    twice = b.grad.clone()
    b.grad = None
    d.backward()
    return {"d": d, "first": first, "twice": twice, "cleared": b.grad}


def rebuild(a, b):
    b.requires_grad_()
    d = _changed_sum(a, b)
    d.backward()
    first = b.grad.clone()
    again = _changed_sum(a, b)
    again.backward()
    return {"d": (d, again), "first": first, "twice": b.grad}


def loop(w, x, lr):
    optimizer, losses = torch.optim.SGD([w.requires_grad_()], lr=lr), []
    for _ in range(3):
        optimizer.zero_grad()
        f = w * x
        loss = f.sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), "w": w, "w.grad": w.grad}


def loop_outside(w, x, lr):
    w.requires_grad_()
    optimizer = torch.optim.SGD([w], lr=lr)
    f = w * x
    for _ in range(3):
        optimizer.zero_grad()
        f.sum().backward()
        optimizer.step()
    return {"w": w, "w.grad": w.grad}


def slices(x, w):
    x.requires_grad_()
    w.requires_grad_()
    losses = []
    for i in range(3):
        h = torch.tanh(x)
        loss = (h[i] @ w).sum()
        loss.backward()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), "x": x.grad, "w": w.grad}


def slices_outside(x, w):
    x.requires_grad_()
    w.requires_grad_()
    h = torch.tanh(x)
    for i in range(3):
        (h[i] @ w).sum().backward()
    return {"x": x.grad, "w": w.grad}
