"""The parameters that an optimizer updates: None gradients, groups, frozen layers, saved states."""

import torch
from torch import nn, optim

from torch_ref._net import Net, linear, mse, params


def none_gradient(net, x, y):
    net = Net(net)
    optimizer = optim.AdamW(net.parameters(), lr=0.1, weight_decay=0.1)
    path, moments, counts = [], [], []
    for step in range(4):
        optimizer.zero_grad()
        mse(net(x), y).backward()
        if step in (1, 2):
            net.l1.zero_grad()
        optimizer.step()
        state = optimizer.state[net.l1.weight]
        path.append(params(net))
        moments.append(state["exp_avg"].clone())
        counts.append(state["step"].int())
    return {"params": path, "exp_avg": moments, "step": counts}


def live(net, x, y):
    net = nn.ModuleDict({name: linear(layer) for name, layer in net.items()})
    optimizer = optim.Adam(net.parameters(), lr=0.1)
    path = []
    for head in ("a", "b", "b", "a", "b", "a"):
        optimizer.zero_grad()
        mse(net[head](net["trunk"](x)), y).backward()  # the other head has no gradient
        optimizer.step()
        path.append(params(net))
    return {"params": path}


def group_schedules(net, x, y):
    net = Net(net)
    optimizer = optim.AdamW(
        [
            {"params": [net.l1.weight, net.l2.weight]},
            {"params": [net.l1.bias, net.l2.bias], "weight_decay": 0.0},
        ],
        lr=0.1,
        weight_decay=0.1,
    )
    scheduler = optim.lr_scheduler.LambdaLR(optimizer, [lambda t: 0.5**t, lambda t: 1 / (1 + t)])
    path = []
    for _ in range(4):
        optimizer.zero_grad()
        mse(net(x), y).backward()
        optimizer.step()
        scheduler.step()
        path.append(params(net))
    return {"params": path}


def add_param_group(net, x, y):
    net = Net(net)
    net.l1.requires_grad_(False)
    optimizer = optim.SGD(net.l2.parameters(), lr=0.1, momentum=0.9)
    path = []
    for step in range(5):
        if step == 2:
            net.l1.requires_grad_(True)
            optimizer.add_param_group({"params": net.l1.parameters(), "lr": 0.01})
        optimizer.zero_grad()
        mse(net(x), y).backward()
        optimizer.step()
        path.append(params(net))
    return {"params": path}


def frozen(net, x, y):
    net = Net(net)
    net.l1.requires_grad_(False)
    optimizer = optim.AdamW(net.parameters(), lr=0.1, weight_decay=0.1)
    path = []
    for _ in range(3):
        optimizer.zero_grad()
        mse(net(x), y).backward()
        optimizer.step()
        path.append(params(net))
    return {"params": path}


def resume(net, x, y, exp_avg, exp_avg_sq):
    net = Net(net)
    optimizer = optim.Adam(net.named_parameters(), lr=0.1)
    saved = optimizer.state_dict()
    steps = (7.0, 7.0, 3.0, 3.0)  # l2 had no gradient four times
    saved["state"] = {
        i: {"step": torch.tensor(step), "exp_avg": m, "exp_avg_sq": v}
        for i, (step, m, v) in enumerate(zip(steps, exp_avg, exp_avg_sq, strict=True))
    }
    optimizer.load_state_dict(saved)
    path = []
    for _ in range(3):
        optimizer.zero_grad()
        mse(net(x), y).backward()
        optimizer.step()
        path.append(params(net))
    return {"params": path, "step": optimizer.state[net.l1.weight]["step"].int()}
