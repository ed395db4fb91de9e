"""Mixed precision: autocast, the gradient scaler, and TF32."""

import contextlib

import torch
from torch import nn, optim
from torch.nn.utils import clip_grad_norm_

from torch_ref._net import grads, linear, mse, params


def amp(net, x, overflow):
    model = linear(net)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler(x.device.type, init_scale=2.0**16, growth_interval=2)
    steps = []
    for batch, factor in zip(x, overflow, strict=True):
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            loss = model(batch).mean()
        scaler.scale(loss * factor).backward()
        scaled, before = grads(model), scaler.get_scale()
        scaler.unscale_(optimizer)
        norm = clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        steps.append(_observed(loss, scaled, norm, model, before, scaler.get_scale()))
    return steps


def _observed(loss, scaled, norm, model, before, after):
    return {
        "loss": loss,
        "scaled": scaled,
        "norm": norm,
        "grads": grads(model),
        "params": params(model),
        "scale": torch.tensor(after, dtype=torch.float32),
        "skipped": torch.tensor(after < before),
    }


def scaler_state(w, x, factors):
    """Train two parameters with one optimizer each; a loss may be multiplied by infinity or NaN."""
    device = x.device.type
    ws = [nn.Parameter(one.clone()) for one in w]
    optimizers = [optim.SGD([p], lr=0.01, momentum=0.9) for p in ws]
    scaler = torch.amp.GradScaler(device, init_scale=1000.0, growth_factor=1.5, growth_interval=3)
    scales, trackers = [], []
    for batch, pair in zip(x, factors, strict=True):
        for p, optimizer, factor in zip(ws, optimizers, pair, strict=True):
            optimizer.zero_grad()
            scaler.scale((p * batch).square().sum() * factor).backward()
            scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        trackers.append(scaler.state_dict()["_growth_tracker"])
    return {
        "scale": torch.tensor(scales, dtype=torch.float32),
        "growth_tracker": torch.tensor(trackers, dtype=torch.int32),
        "w": [p.detach() for p in ws],
    }


def autocast(net, x, y):
    fc1, fc2 = linear(net["fc1"]), linear(net["fc2"])
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        h = torch.relu(fc1(x))
        out = fc2(h)
        loss = mse(out, y)
    loss.backward()
    return {
        "h": h,
        "out": out,
        "loss": loss,
        "fc1": grads(fc1),
        "fc2": grads(fc2),
    }


def autocast_regions(net, x):
    fc1, fc2 = linear(net["fc1"]), linear(net["fc2"])
    device = x.device.type
    with torch.autocast(device, dtype=torch.bfloat16):
        h = fc1(x)
        with torch.autocast(device, enabled=False):
            off = fc2(h.float())
        with torch.autocast(device, dtype=torch.float16):
            half = fc2(h)
    off.sum().backward()
    return {"h": h, "off": off, "half": half, "fc1": grads(fc1), "fc2": grads(fc2)}


def autocast_operations(net, x):
    fc = linear(net["fc"])
    weight, bias = net["weight"].requires_grad_(), net["bias"].requires_grad_()
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        h = fc(x)
        normed = nn.functional.layer_norm(h, (6,), weight, bias)
        softmax = h.softmax(-1)
        loss = nn.functional.cross_entropy(normed, torch.arange(5, device=x.device))
    loss.backward()
    slopes = {"fc": grads(fc), "weight": weight.grad, "bias": bias.grad}
    more = torch.autocast(x.device.type, dtype=torch.bfloat16)(_more_operations)(h)
    return {
        "h": h,
        "normed": normed,
        "softmax": softmax,
        "loss": loss,
        "grads": slopes,
        "more": more,
    }


def _more_operations(h):
    return {
        "gelu": nn.functional.gelu(h, approximate="tanh"),
        "logsumexp": h.logsumexp(-1),
        "mean": h.mean(0),
        "std": h.std(0),
    }


def autocast_scan(net, x):
    fc1, fc2 = linear(net["fc1"]), linear(net["fc2"])
    h, seen = torch.zeros(2, 4, dtype=x.dtype, device=x.device), []
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        for row in x:
            h = torch.tanh(fc1(row) + fc2(h))
            seen.append(h)
        loss = mse(h, torch.ones_like(h))
    loss.backward()
    return {
        "last": h,
        "seen": torch.stack(seen),
        "loss": loss,
        "grads": {"fc1": grads(fc1), "fc2": grads(fc2)},
    }


def autocast_float64(net, x, y):
    fc1, fc2 = linear(net["fc1"]), linear(net["fc2"])
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        out = fc2(torch.relu(fc1(x)))
        loss = mse(out, y)
    loss.backward()
    return {"out": out, "loss": loss, "fc1": grads(fc1), "fc2": grads(fc2)}


@contextlib.contextmanager
def _torch_defaults():
    """Restore torch's defaults: matrix products in float32, convolutions in TF32."""
    matmul, conv = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = matmul
        torch.backends.cudnn.allow_tf32 = conv


def tf32(a, b, image, kernel):
    """Return which float32 results have errors of the size that TF32's 10-bit mantissa causes."""

    def rounded(program, *inputs):
        narrow = [x.clone().requires_grad_() for x in inputs]
        wide = [x.double().requires_grad_() for x in inputs]
        with _torch_defaults():
            out = program(*narrow)
            out.square().sum().backward()
        exact = program(*wide)
        exact.backward(2 * out.detach().double())
        pairs = {"value": (out, exact)}
        for name, x, y in zip(("left", "right"), narrow, wide, strict=True):
            pairs[name] = (x.grad, y.grad)
        return {
            name: (x - y).abs().max() > 2.0**-16 * y.abs().max() for name, (x, y) in pairs.items()
        }

    return {
        "matmul": rounded(torch.matmul, a, b),
        "conv": rounded(nn.functional.conv2d, image, kernel),
    }
