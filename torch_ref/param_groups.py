"""The parameters that an optimizer updates: None gradients, groups, frozen layers, saved states."""

import torch
from torch import nn, optim

from torch_ref._net import Net, linear, minimize, mse, params


def none_gradient(net, x, y):
    net, steps = Net(net), []
    optimizer = optim.AdamW(net.parameters(), lr=0.1, weight_decay=0.1)
    for i in range(4):
        optimizer.zero_grad()
        mse(net(x), y).backward()
        if i in (1, 2):
            net.l1.zero_grad()
        optimizer.step()
        steps.append(_observed(net, optimizer))
    return steps


def _observed(net, optimizer):
    """Return the parameters, and the state of L1's weight."""
    state = optimizer.state[net.l1.weight]
    exp_avg, step = state["exp_avg"].clone(), state["step"].int()
    return {"params": params(net), "exp_avg": exp_avg, "step": step}


def live(net, x, y):
    net = nn.ModuleDict({name: linear(layer) for name, layer in net.items()})
    optimizer = optim.Adam(net.parameters(), lr=0.1)
    path = []
    for head in ("a", "b", "b", "a", "b", "a"):
        loss = mse(net[head](net["trunk"](x)), y)  # the other head has no gradient
        minimize(optimizer, loss)
        path.append(params(net))
    return {"params": path}


def group_schedules(net, x, y):
    net, path = Net(net), []
    weights, biases = [net.l1.weight, net.l2.weight], [net.l1.bias, net.l2.bias]
    groups = [{"params": weights}, {"params": biases, "weight_decay": 0.0}]
    optimizer = optim.AdamW(groups, lr=0.1, weight_decay=0.1)
    scheduler = optim.lr_scheduler.LambdaLR(optimizer, [lambda t: 0.5**t, lambda t: 1 / (1 + t)])
    for _ in range(4):
        minimize(optimizer, mse(net(x), y))
        scheduler.step()
        path.append(params(net))
    return {"params": path}


def add_param_group(net, x, y):
    net, path = Net(net), []
    net.l1.requires_grad_(False)
    optimizer = optim.SGD(net.l2.parameters(), lr=0.1, momentum=0.9)
    for step in range(5):
        if step == 2:
            net.l1.requires_grad_(True)
            optimizer.add_param_group({"params": net.l1.parameters(), "lr": 0.01})
        minimize(optimizer, mse(net(x), y))
        path.append(params(net))
    return {"params": path}


def frozen(net, x, y):
    net = Net(net)
    net.l1.requires_grad_(False)
    optimizer = optim.AdamW(net.parameters(), lr=0.1, weight_decay=0.1)
    path = []
    for _ in range(3):
        minimize(optimizer, mse(net(x), y))
        path.append(params(net))
    return {"params": path}


def resume(net, x, y, exp_avg, exp_avg_sq):
    net, path = Net(net), []
    optimizer = optim.Adam(net.named_parameters(), lr=0.1)
    saved = optimizer.state_dict() | {"state": _state(exp_avg, exp_avg_sq)}
    optimizer.load_state_dict(saved)
    for _ in range(3):
        minimize(optimizer, mse(net(x), y))
        path.append(params(net))
    return {"params": path, "step": optimizer.state[net.l1.weight]["step"].int()}


def _state(exp_avg, exp_avg_sq):
    """Return the state of Adam after seven steps, in four of which L2 had no gradient."""
    steps = (7.0, 7.0, 3.0, 3.0)
    return {
        i: {"step": torch.tensor(step), "exp_avg": m, "exp_avg_sq": v}
        for i, (step, m, v) in enumerate(zip(steps, exp_avg, exp_avg_sq, strict=True))
    }
