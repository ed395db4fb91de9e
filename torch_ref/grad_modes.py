"""Where gradients stop in torch: detach, no_grad, inference_mode, requires_grad_, eval, numpy."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from torch_ref._net import Net, error_of, grads, mse, nested, params


Region = Callable[[], AbstractContextManager[Any]]


def nothing_stopped(net, x, y):
    net = Net(net)
    loss = mse(net(x), y)
    loss.backward()
    return {"loss": loss, "grads": grads(net)}


def detach(net, x, y):
    net = Net(net)
    h = net.l1(x).detach()
    loss = mse(net.l2(h), y)
    loss.backward()
    return {"loss": loss, "h_requires_grad": h.requires_grad, "grads": grads(net)}


def no_grad(net, x, y):
    net = Net(net)
    with torch.no_grad():
        h = net.l1(x)
    loss = mse(net.l2(h), y)
    loss.backward()
    return {"loss": loss, "h_requires_grad": h.requires_grad, "grads": grads(net)}


def no_grad_part(x):
    def both_outside(x):
        return (x**2 + x**3).sum()

    def y_inside(x):
        with torch.no_grad():
            y = x**2
        return (y + x**3).sum()

    def z_inside(x):
        with torch.no_grad():
            z = x**3
        return (x**2 + z).sum()

    def both_inside(x):
        with torch.no_grad():
            return (x**2 + x**3).sum()

    return {
        "both_outside": _backward(both_outside, x),
        "y_inside": _backward(y_inside, x),
        "z_inside": _backward(z_inside, x),
        "both_inside": _refuses(lambda: _backward(both_inside, x)),
    }


def _refuses(backward: Callable[[], object]) -> bool:
    return "does not require grad" in str(error_of(backward))


def _backward(fun: Callable[[Tensor], Tensor], x: Tensor):
    x = x.clone().requires_grad_()
    total = fun(x)
    total.backward()
    return {"total": total, "grad": x.grad}


def requires_grad_flag(x):
    x.requires_grad_()
    with torch.no_grad():
        inside = x * 3
    after = x * 3
    (inside * after).backward()
    return {
        "inside": {"value": inside, "requires_grad": inside.requires_grad},
        "after": {"value": after, "requires_grad": after.requires_grad},
        "grad": x.grad,
    }


def inference_mode(net, x, y):
    net = Net(net)
    with torch.inference_mode():
        h = net.l1(x)
    return {
        "h": h.clone(),  # torch refuses the change below only after it has written the value
        "forward": error_of(lambda: mse(net.l2(h), y)),
        "in_place": error_of(lambda: h.add_(1)),
    }


def inference_clone(net, x, y):
    net = Net(net)
    with torch.inference_mode():
        h = net.l1(x)
        pure = net.l2(h)
    out = net.l2(torch.clone(h))
    loss = mse(out, y)
    loss.backward()
    return {
        "pure": {"value": pure, "requires_grad": pure.requires_grad},
        "out": {"value": out, "requires_grad": out.requires_grad},
        "loss": loss,
        "grads": grads(net),
    }


def requires_grad(net, x, y):
    frozen, region = Net(net), Net(net)
    x_frozen, x_region = x.clone().requires_grad_(), x.clone().requires_grad_()
    frozen.l1.requires_grad_(False)
    loss = mse(frozen(x_frozen), y)
    loss.backward()
    with torch.no_grad():
        h = region.l1(x_region)
    mse(region.l2(h), y).backward()
    return {
        "loss": loss,
        "requires_grad_(False)": {"grads": grads(frozen), "x": x_frozen.grad},
        "no_grad": {"grads": grads(region), "x": x_region.grad},
    }


class MaskedDropout(nn.Dropout):
    """`nn.Dropout` with a given mask, so that both frameworks drop the same units."""

    def __init__(self, mask: Tensor):
        super().__init__(p=0.5)
        self.mask = mask

    def forward(self, input: Tensor) -> Tensor:
        return input * self.mask / (1 - self.p) if self.training else super().forward(input)


class Regularised(nn.Module):
    def __init__(self, net: Any, stats: Any, mask: Tensor):
        super().__init__()
        self.l1 = nn.Linear(10, 5, bias=False)
        self.bn = nn.BatchNorm1d(5)
        self.dropout = MaskedDropout(mask)
        self.l2 = nn.Linear(5, 1)
        values = {f"{layer}.{name}": p for layer, ps in net.items() for name, p in ps.items()}
        values |= {f"bn.{name}": value for name, value in stats.items()}
        self.load_state_dict(values | {"bn.num_batches_tracked": torch.tensor(0)})

    def forward(self, x: Tensor) -> Tensor:
        return self.l2(self.dropout(self.bn(self.l1(x))))


def eval_mode(net, stats, mask, x, y):
    def backward(model: Regularised):
        out = model(x)
        loss = mse(out, y)
        loss.backward()
        after = {"running_mean": model.bn.running_mean, "running_var": model.bn.running_var}
        flag, slopes = out.requires_grad, grads(model)
        return {"loss": loss, "requires_grad": flag, "grads": slopes, "stats": after}

    return {
        "train": backward(Regularised(net, stats, mask).train()),
        "eval": backward(Regularised(net, stats, mask).eval()),
    }


def numpy(w):
    w.requires_grad_()
    refused = error_of(w.numpy)
    array = w.detach().numpy()
    detached = array.copy()
    loss = (w * torch.tensor(detached)).sum()
    loss.backward()
    array[0] = 0.0  # the storage is shared, so w changes too
    return {
        "numpy": refused,
        "detached": detached,
        "changed": array,
        "w": w,
        "loss": loss,
        "grad": w.grad,
    }


def leave_graph(w):
    w.requires_grad_()
    k = w**2

    def backward(constant: Tensor | float):
        loss = (constant * w).sum()
        return {"loss": loss, "grad": torch.autograd.grad(loss, w)[0]}

    return {
        "detach": backward(k.detach()),
        "numpy": backward(torch.tensor(k.detach().cpu().numpy())),
        "item": backward(k.sum().item()),
        "tolist": backward(torch.tensor(k.tolist())),
    }


def detach_shares_storage(w):
    w.requires_grad_()
    k, k_numpy = w * 2, w * 2
    loss, loss_numpy = (k**2).sum(), (k_numpy**2).sum()  # they save k and k_numpy
    m = k.detach()
    m[0] = 0.0
    refused = error_of(loss.backward)
    k_numpy.detach().numpy()[0] = 0.0  # the version counter does not notice this
    loss_numpy.backward()
    return {"loss": loss, "m": m, "k": k, "grad": refused, "grad_after_numpy": w.grad}


def detach_backward(x):
    x.requires_grad_()
    y = x * 3
    z = y.detach() * 2
    refused = error_of(z.backward)
    return {"z": z, "grad": x.grad if refused is None else refused}


def recorded(net, x, y):
    def observe(region: Region = nullcontext, hand_on: Any = lambda h: h, **update: bool):
        model = Net(net)
        with region():
            h = model.l1(x)
        out = model.l2(hand_on(h))
        recorded = _found(model, h, out)
        return {"recorded": recorded, **_trained(model, mse(out, y), **update)}

    return {
        "nothing": observe(),
        "detach": observe(hand_on=Tensor.detach),
        "no_grad": observe(torch.no_grad),
        "inference_mode": observe(torch.inference_mode, hand_on=torch.clone),
        "optimizer": observe(head_only=True),
        "manual": observe(zero_l1=True),
    }


def _trained(model: Net, loss: Tensor, *, head_only: bool = False, zero_l1: bool = False):
    """Return the parameters that the loss reaches, their gradients, and a step of SGD."""
    reachable = _found(model, loss)
    loss.backward()
    if zero_l1:
        model.l1.zero_grad(set_to_none=False)
    observed = {"reachable": reachable, "loss": loss, "grads": grads(model)}
    torch.optim.SGD((model.l2 if head_only else model).parameters(), lr=0.1).step()
    return observed | {"params": params(model)}


def _found(model: nn.Module, *outputs: Tensor) -> dict[str, Any]:
    """Return, for each parameter, whether the backward graph of these outputs leads to it."""
    todo, seen, leaves = [out.grad_fn for out in outputs], set(), set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaves.add(id(getattr(node, "variable", None)))  # AccumulateGrad holds its leaf
        todo += [parent for parent, _ in node.next_functions]
    return nested((name, id(p) in leaves) for name, p in model.named_parameters())
