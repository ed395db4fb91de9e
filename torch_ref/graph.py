"""The backward graph: its flags, nodes and edges, and the values that each node saves."""

import torch
from torch import nn

from torch_ref._net import error_of


def _example(a, b, d):
    """Compute a small graph with a leaf that needs no gradient (d) and a result without a graph
    (n).
    """
    a.requires_grad_()
    b.requires_grad_()
    c = a * b
    e = c * d
    g = torch.exp(e + a)
    loss = g.sum()
    n = d * 2
    return {"a": a, "b": b, "d": d, "c": c, "e": e, "g": g, "loss": loss, "n": n}


def attributes(a, b, d):
    tensors = _example(a, b, d)
    tensors["loss"].backward()
    return {
        name: {
            "data": t.data,
            "grad": t.grad,
            "has a grad_fn": t.grad_fn is not None,
            "is_leaf": t.is_leaf,
            "requires_grad": t.requires_grad,
        }
        for name, t in tensors.items()
    }


def leaf_flags(v1, v2):
    v1.requires_grad_()
    out = (v1 + v2) * 2
    out.sum().backward()
    tensors = {"v1": v1, "v2": v2, "out": out}
    return {
        "out": out,
        "v1": v1.grad,
        "is_leaf": {name: t.is_leaf for name, t in tensors.items()},
        "requires_grad": {name: t.requires_grad for name, t in tensors.items()},
    }


def grad_fn(a, b, d):
    tensors = _example(a, b, d)
    names = {name: t.grad_fn and type(t.grad_fn).__name__ for name, t in tensors.items()}
    return {"loss": tensors["loss"], "grad_fn": names}


def next_functions(a, b, d):
    c = a.requires_grad_() * b.requires_grad_()
    e = c * d
    g = e + a
    loss = g.sum()
    loss.backward(retain_graph=True)
    nodes = {"c": c.grad_fn, "e": e.grad_fn, "g": g.grad_fn, "loss": loss.grad_fn}
    names = _namer(nodes, {"a": a, "b": b})
    edges = {name: [names(f) for f, _ in node.next_functions] for name, node in nodes.items()}
    return {"loss": loss, "a": a.grad, "b": b.grad, "next": edges}


def _namer(nodes, leaves):
    """Return a function that names a node: by its leaf if it accumulates a gradient, or None."""

    def name(node):
        if node is None:
            return None
        if type(node).__name__ == "AccumulateGrad":
            return next(name for name, leaf in leaves.items() if leaf is node.variable)
        return next(name for name, other in nodes.items() if other is node)

    return name


def _saved_by(op, *operands):
    """Return which operands and results an operation saves for its backward pass."""
    kept = []

    def pack(tensor):
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
        result = op(*operands)
    places = {x.data_ptr(): f"operand {i}" for i, x in enumerate(operands)}
    places[result.data_ptr()] = "result"
    return {"result": result, "saved": sorted(places[t.data_ptr()] for t in kept)}


def saved_tensors(x, y):
    x.requires_grad_()
    return {
        "x * y": _saved_by(torch.mul, x, y.clone().requires_grad_()),
        "x * constant": _saved_by(torch.mul, x, y),
        "x @ y": _saved_by(torch.matmul, x, y.clone().requires_grad_()),
        "x @ constant": _saved_by(torch.matmul, x, y),
        "x + y": _saved_by(torch.add, x, y.clone().requires_grad_()),
        "sum": _saved_by(torch.sum, x),
        "exp": _saved_by(torch.exp, x),
        "log": _saved_by(torch.log, x),
    }


def saved_derivative(x):
    x.requires_grad_()
    return {
        "sin": _saved_by(torch.sin, x),
        "sqrt": _saved_by(torch.sqrt, x),
        "square": _saved_by(torch.square, x),
    }


def unbind_node(x):
    x.requires_grad_()
    parts = x.unbind()
    (parts[0] * parts[1] * parts[2]).backward()
    return {
        "x": x.grad,
        "nodes": len({part.grad_fn for part in parts}),
        "output_nr": [part.output_nr for part in parts],
    }


def flag_on_non_leaf(a):
    a.requires_grad_()
    b = a * 2

    def assign(value):
        b.requires_grad = value

    (b * a).sum().backward()
    return {
        "loss": (b * a).sum(),
        "a": a.grad,
        "b.requires_grad_(True)": b.requires_grad_(True).requires_grad,
        "b.requires_grad = True": error_of(lambda: assign(True)),
        "b.requires_grad = False": error_of(lambda: assign(False)),
        "b.requires_grad_(False)": error_of(lambda: b.requires_grad_(False)),
    }


def parameter_of_intermediate(w):
    w = nn.Parameter(w)
    f = nn.Parameter(w @ torch.ones(2))
    loss = (f * 3).sum()
    loss.backward()
    return {"loss": loss, "w": w.grad, "f": f.grad}
