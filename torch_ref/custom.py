"""Custom gradients: `torch.autograd.Function` and what its context offers."""

# pyright: reportIncompatibleMethodOverride=false
# torch documents `backward(ctx, grad_output)`, but its type stub has `*grad_outputs`.

import torch
from torch import nn
from torch.autograd import Function

from torch_ref._net import Net, grads


class Huber(Function):
    """The Huber loss: quadratic near zero, linear beyond delta; the target gets no gradient."""

    @staticmethod
    def forward(ctx, prediction, target, delta):
        error = prediction - target
        ctx.save_for_backward(error)
        ctx.delta = delta
        near = torch.abs(error) <= delta
        far = delta * (torch.abs(error) - 0.5 * delta)
        return torch.mean(torch.where(near, 0.5 * error**2, far))

    @staticmethod
    def backward(ctx, grad_output):
        (error,) = ctx.saved_tensors
        slope = torch.clip(error, -ctx.delta, ctx.delta)
        return grad_output * slope / error.numel(), None, None


def huber(net, x, y):
    model = Net(net)
    y.requires_grad_()
    loss = Huber.apply(model(x), y, 1.0)
    loss.backward()
    return {"loss": loss, "grads": grads(model), "target": y.grad}


class Shift(Function):
    """x + b, with a backward that forgets the gradient of b."""

    @staticmethod
    def forward(ctx, x, b):
        return x + b

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


def none_gradient(a, b):
    a, b = nn.Parameter(a), nn.Parameter(b)
    optimizer = torch.optim.SGD([a, b], lr=0.1, weight_decay=0.5)
    loss = (Shift.apply(a, b) ** 2).sum()
    loss.backward()
    optimizer.step()
    return {"loss": loss, "grads": {"a": a.grad, "b": b.grad}, "params": {"a": a, "b": b}}


class Add(Function):
    """Compute `x + b`, with a backward that does not sum the gradient of the broadcast `b`."""

    @staticmethod
    def forward(ctx, x, b):
        return x + b

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output, 3 * grad_output


def broadcast_gradient(x, row, one):
    tensors = {"x": x.requires_grad_(), "row": row.requires_grad_(), "one": one.requires_grad_()}
    loss = Add.apply(Add.apply(x, row), one).sum()
    loss.backward()
    return {"loss": loss, "grads": {name: t.grad for name, t in tensors.items()}}


class Power(Function):
    """x to an integer power; a string argument selects the gradient."""

    @staticmethod
    def forward(ctx, x, n, rule="exact"):
        ctx.save_for_backward(x)
        ctx.n, ctx.rule = n, rule
        return x**n

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        slope = ctx.n * x ** (ctx.n - 1)
        if ctx.rule == "sign":
            slope = torch.sign(slope)
        return grad_output * slope, None, None


def non_tensor_arguments(x):
    x.requires_grad_()
    out = {}
    for name, args in {"exact": (3,), "sign": (3, "sign")}.items():
        loss = Power.apply(x, *args).sum()
        (grad,) = torch.autograd.grad(loss, x)
        out[name] = {"loss": loss, "grad": grad}
    return out


def closure(x, w):
    class Scale(Function):
        @staticmethod
        def forward(ctx, x):
            return w * x

        @staticmethod
        def backward(ctx, grad_output):
            return 10 * w * grad_output

    leaves = x.requires_grad_(), w.requires_grad_()
    w = 2 * w  # captured from the enclosing program, with its own gradient
    loss = (Scale.apply(x) ** 2).sum()
    first = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
    second = torch.autograd.grad(first[0].sum(), leaves)
    return {"loss": loss, "first": first, "second": second}


def needs_input_grad(x, w):
    seen = {}

    class Product(Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, grad_output):
            x, w = ctx.saved_tensors
            needs_x, needs_w = ctx.needs_input_grad
            grad_x = 2 * grad_output * w if needs_x else None
            grad_w = 3 * grad_output * x if needs_w else None
            _note(seen, ctx.needs_input_grad, (grad_x, grad_w))
            return grad_x, grad_w

    return _gradients(Product.apply, x, w, seen)


def _note(seen, needed, computed):
    """Record which gradients `backward` was asked for, and which it computed."""
    seen["needed"] = dict(zip("xw", needed, strict=True))
    pairs = zip("xw", computed, strict=True)
    seen["computed"] = [name for name, value in pairs if value is not None]


def _gradients(fun, x, w, seen):
    """Differentiate with respect to x, to w and to both."""
    out = {}
    for name, leaves in {"x": (x,), "w": (w,), "both": (x, w)}.items():
        x.requires_grad_(name != "w")
        w.requires_grad_(name != "x")
        loss = fun(x, w).sum()
        out[name] = {"loss": loss, "grads": torch.autograd.grad(loss, leaves), **seen}
    return out


class Lookup(Function):
    """Look up rows of a table by integer index; the backward doubles their gradient."""

    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(table, index)
        return table[index]

    @staticmethod
    def backward(ctx, grad_output):
        table, index = ctx.saved_tensors
        return torch.zeros_like(table).index_add(0, index, 2 * grad_output), None


def integer_argument(table, index):
    table = nn.Parameter(table)
    optimizer = torch.optim.SGD([table], lr=0.1)
    loss = (Lookup.apply(table, index) ** 2).sum()
    loss.backward()
    optimizer.step()
    grads = {"table": table.grad, "index": index.grad}
    return {"loss": loss, "grads": grads, "params": {"table": table, "index": index}}


class Scaled(Function):
    """x divided by its largest magnitude, and that scale as a non-differentiable output."""

    @staticmethod
    def forward(ctx, x):
        scale = torch.max(torch.abs(x))
        ctx.mark_non_differentiable(scale)
        ctx.save_for_backward(scale)
        return x / scale, scale

    @staticmethod
    def backward(ctx, grad_output, grad_scale):
        (scale,) = ctx.saved_tensors
        return grad_output / scale + grad_scale


def mark_non_differentiable(x, w):
    x.requires_grad_()
    scaled, scale = Scaled.apply(x)
    loss = (scaled * w * scale**2).sum()
    loss.backward()
    return {"loss": loss, "grad": x.grad, "differentiable": scale.requires_grad}


def several_outputs(x, y):
    missing = {}

    class Polar(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x, y)
            return torch.hypot(x, y), torch.atan2(y, x)

        @staticmethod
        def backward(ctx, grad_radius, grad_angle):
            missing.update(radius=grad_radius is None, angle=grad_angle is None)
            x, y = ctx.saved_tensors
            grad_x, grad_y = 0, 0
            if grad_radius is not None:
                grad_x, grad_y = grad_radius * x, grad_radius * y
            if grad_angle is not None:
                grad_x, grad_y = grad_x - grad_angle * y, grad_y + grad_angle * x
            return grad_x, grad_y

    x.requires_grad_()
    y.requires_grad_()
    losses = {
        "radius": lambda radius, angle: radius.sum(),
        "angle": lambda radius, angle: angle.sum(),
        "both": lambda radius, angle: (radius * angle).sum(),
    }
    out = {}
    for name, loss in losses.items():
        value = loss(*Polar.apply(x, y))
        grads = torch.autograd.grad(value, (x, y))
        out[name] = {"loss": value, "grads": grads, "missing": dict(missing)}
    return out


class Halved(Function):
    """The cube with half its gradient, in torch's newer style, where forward takes no ctx."""

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 1.5 * x**2


def double_backward(x):
    x.requires_grad_()
    value = (Halved.apply(x) ** 2).sum()
    (first,) = torch.autograd.grad(value, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return {"value": value, "first": first, "second": second}


class Sign(Function):
    """The sign of a weight; the gradient passes through where the weight is small."""

    @staticmethod
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return torch.sign(w)

    @staticmethod
    def backward(ctx, grad_output):
        (w,) = ctx.saved_tensors
        return grad_output * (torch.abs(w) <= 1)


def saved_tensor_modified(w, x):
    w.requires_grad_()
    weight = 1 * w
    loss = (Sign.apply(weight) * x).sum()
    weight.mul_(10)
    loss.backward()
    return {"loss": loss, "grad": w.grad}
