"""How long a backward graph lives: its saved values are freed by the first `backward`."""

import torch

from torch_ref._net import raised


def _forward(A, B):
    A[0] = 0.1  # an integer tensor: truncated to 0
    C = A * B + B
    return C.sum()


def _nodes(node):
    """Names of the backward graph's nodes, depth first."""
    if node is None:
        return []
    return [type(node).__name__, *(name for next_, _ in node.next_functions for name in _nodes(next_))]


def second_backward(A, B):
    B.requires_grad_()
    D = _forward(A, B)
    D.backward()
    first = B.grad.clone()
    return {"D": D, "first": first, "second": raised(D.backward), "nodes": _nodes(D.grad_fn)}


def retain_graph(A, B):
    B.requires_grad_()
    D = _forward(A, B)
    D.backward(retain_graph=True)
    first = B.grad.clone()
    D.backward(retain_graph=True)
    twice = B.grad.clone()
    B.grad = None
    D.backward()
    return {"D": D, "first": first, "twice": twice, "cleared": B.grad}


def rebuild(A, B):
    B.requires_grad_()
    D = _forward(A, B)
    D.backward()
    first = B.grad.clone()
    again = _forward(A, B)
    again.backward()
    return {"D": (D, again), "first": first, "twice": B.grad}


def loop(w, x, lr):
    w.requires_grad_()
    optimizer = torch.optim.SGD([w], lr=lr)
    losses = []
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
