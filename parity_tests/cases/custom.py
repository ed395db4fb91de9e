"""Custom gradients: `torch.autograd.Function` and what its context offers.

The classes are those of the torch reference, with only torch's calls renamed.
"""

from types import SimpleNamespace

import jax.numpy as jnp

import jaxgrad
from parity_tests.case import Deviation, Raises, case
from parity_tests.cases._net import NET, forward
from parity_tests.inputs import integers, normal


def forward_only(cls):
    """Return the Function's forward alone, which JAX then differentiates: the control."""

    def ignore(*args):
        del args

    def call(*args):
        ctx = SimpleNamespace(
            save_for_backward=ignore, mark_non_differentiable=ignore, set_materialize_grads=ignore
        )
        return cls.forward(ctx, *args) if not hasattr(cls, "setup_context") else cls.forward(*args)

    return call


def sgd(param, grad, lr=0.1, weight_decay=0.0):
    """Take an SGD step; as in torch, a parameter without a gradient does not even decay."""
    return param if grad is None else param - lr * (grad + weight_decay * param)


class Huber:
    """The Huber loss: quadratic near zero, linear beyond delta; the target gets no gradient."""

    @staticmethod
    def forward(ctx, prediction, target, delta):
        error = prediction - target
        ctx.save_for_backward(error)
        ctx.delta = delta
        near = jnp.abs(error) <= delta
        far = delta * (jnp.abs(error) - 0.5 * delta)
        return jnp.mean(jnp.where(near, 0.5 * error**2, far))

    @staticmethod
    def backward(ctx, grad_output):
        (error,) = ctx.saved_tensors
        slope = jnp.clip(error, -ctx.delta, ctx.delta)
        return grad_output * slope / error.size, None, None


@case(
    source=("S4-12", "P160"),
    inputs=dict(net=NET, x=normal(6, 10), y=normal(6, 1)),
    idiom=("Huber.apply(out, y, 1.0)", "from_function(Huber)(out, y, 1.0)"),
    control=dict(from_function=forward_only),
    picture=True,
)
def huber(net, x, y, *, from_function=jaxgrad.from_function):
    """A custom Huber loss returns its own gradient for the output and None for the target."""
    huber = from_function(Huber)

    def loss(net, y):
        return huber(forward(net, x), y, 1.0)

    value, (grads, target) = jaxgrad.value_and_grad(loss, argnums=(0, 1))(net, y)
    return {"loss": value, "grads": grads, "target": target}


class Shift:
    """x + b, with a backward that forgets the gradient of b."""

    @staticmethod
    def forward(ctx, x, b):
        return x + b

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


@case(
    source="P158",
    inputs=dict(a=normal(2), b=normal(2)),
    idiom=("return grad_output, None", "return grad_output, None  # from_function"),
    control=dict(from_function=forward_only),
)
def none_gradient(a, b, *, from_function=jaxgrad.from_function):
    """An input whose backward returns None keeps `.grad` None, and the optimizer skips it."""
    params = {"a": a, "b": b}

    def loss(params):
        return jnp.sum(from_function(Shift)(params["a"], params["b"]) ** 2)

    value, grads = jaxgrad.value_and_grad(loss)(params)
    moved = {name: sgd(params[name], grads[name], weight_decay=0.5) for name in params}
    return {"loss": value, "grads": grads, "params": moved}


class Add:
    """x + b, with a backward that forgets that b was broadcast."""

    @staticmethod
    def forward(ctx, x, b):
        return x + b

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output, 3 * grad_output


@case(
    source="P159",
    inputs=dict(x=normal(2, 3), row=normal(3), one=normal(1, 1)),
    idiom=("return grad, grad  # too large for b", "return grad, grad  # from_function sums"),
    control=dict(from_function=forward_only),
)
def broadcast_gradient(x, row, one, *, from_function=jaxgrad.from_function):
    """A gradient larger than its broadcast input is summed to the input's shape."""
    add = from_function(Add)

    def loss(params):
        return jnp.sum(add(add(params["x"], params["row"]), params["one"]))

    value, grads = jaxgrad.value_and_grad(loss)({"x": x, "row": row, "one": one})
    return {"loss": value, "grads": grads}


class Power:
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
            slope = jnp.sign(slope)
        return grad_output * slope, None, None


@case(
    source="P160",
    inputs=dict(x=normal(4)),
    idiom=('Power.apply(x, 3, "sign")', 'from_function(Power)(x, 3, "sign")'),
    control=dict(from_function=forward_only),
)
def non_tensor_arguments(x, *, from_function=jaxgrad.from_function):
    """Numbers, strings and defaults reach forward unchanged, and reach backward through the ctx."""
    out, power = {}, from_function(Power)
    for name, args in {"exact": (3,), "sign": (3, "sign")}.items():
        value, grad = jaxgrad.value_and_grad(lambda x, args=args: jnp.sum(power(x, *args)))(x)
        out[name] = {"loss": value, "grad": grad}
    return out


@case(
    source="P161",
    inputs=dict(x=normal(3), w=normal(3)),
    idiom=("class Scale(Function):  # uses w", "class Scale:  # uses w, a traced value"),
    control=dict(from_function=forward_only),
)
def closure(x, w, *, from_function=jaxgrad.from_function):
    """A value captured by a custom Function gets its gradient from backward, not through
    forward.
    """

    def loss(x, w):
        class Scale:
            @staticmethod
            def forward(ctx, x):
                return w * x

            @staticmethod
            def backward(ctx, grad_output):
                return 10 * w * grad_output

        w = 2 * w
        return jnp.sum(from_function(Scale)(x) ** 2)

    value, first = jaxgrad.value_and_grad(loss, argnums=(0, 1))(x, w)
    slope = jaxgrad.grad(loss)
    second = jaxgrad.grad(lambda x, w: jnp.sum(slope(x, w)), argnums=(0, 1))(x, w)
    return {"loss": value, "first": first, "second": second}


@case(
    source="P162",
    inputs=dict(x=normal(3), w=normal(3)),
    idiom=("ctx.needs_input_grad", "ctx.needs_input_grad  # from_function"),
    control=dict(from_function=forward_only),
)
def needs_input_grad(x, w, *, from_function=jaxgrad.from_function):
    """`ctx.needs_input_grad` says which gradients are needed, so backward can skip the others."""
    seen = {}

    class Product:
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
            note(seen, ctx.needs_input_grad, (grad_x, grad_w))
            return grad_x, grad_w

    return gradients(from_function(Product), x, w, seen)


def note(seen, needed, computed):
    """Record which gradients `backward` was asked for, and which it computed."""
    seen["needed"] = dict(zip("xw", needed, strict=True))
    pairs = zip("xw", computed, strict=True)
    seen["computed"] = [name for name, value in pairs if value is not None]


def gradients(fun, x, w, seen):
    """Differentiate with respect to x, to w and to both."""
    out = {}
    for name, argnums in {"x": (0,), "w": (1,), "both": (0, 1)}.items():
        grad_of = jaxgrad.value_and_grad(lambda x, w: jnp.sum(fun(x, w)), argnums)
        value, grads = grad_of(x, w)
        out[name] = {"loss": value, "grads": grads, **seen}
    return out


class Lookup:
    """Look up rows of a table by integer index; the backward doubles their gradient."""

    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(table, index)
        return table[index]

    @staticmethod
    def backward(ctx, grad_output):
        table, index = ctx.saved_tensors
        return jnp.zeros_like(table).at[index].add(2 * grad_output), None


@case(
    source="P163",
    inputs=dict(table=normal(5, 2), index=integers(4, high=5)),
    idiom=("index.grad is None", "grads['index'] is None  # not float0"),
    control=dict(from_function=forward_only),
)
def integer_argument(table, index, *, from_function=jaxgrad.from_function):
    """An integer input has the gradient None, and an optimizer skips it."""
    params = {"table": table, "index": index}

    def loss(params):
        return jnp.sum(from_function(Lookup)(params["table"], params["index"]) ** 2)

    value, grads = jaxgrad.value_and_grad(loss)(params)
    moved = {name: sgd(params[name], grads[name]) for name in params}
    return {"loss": value, "grads": grads, "params": moved}


class Scaled:
    """x divided by its largest magnitude, and that scale as a non-differentiable output."""

    @staticmethod
    def forward(ctx, x):
        scale = jnp.max(jnp.abs(x))
        ctx.mark_non_differentiable(scale)
        ctx.save_for_backward(scale)
        return x / scale, scale

    @staticmethod
    def backward(ctx, grad_output, grad_scale):
        (scale,) = ctx.saved_tensors
        return grad_output / scale + grad_scale


@case(
    source="P160",
    inputs=dict(x=normal(5), w=normal(5)),
    idiom=("ctx.mark_non_differentiable(scale)", "ctx.mark_non_differentiable(scale)"),
    control=dict(from_function=forward_only),
)
def mark_non_differentiable(x, w, *, from_function=jaxgrad.from_function):
    """An output marked as non-differentiable passes no gradient into backward."""
    scaled = from_function(Scaled)

    def loss(x):
        out, scale = scaled(x)
        return jnp.sum(out * w * scale**2)

    value, grad = jaxgrad.value_and_grad(loss)(x)
    differentiable = jaxgrad.depends_on(lambda x: scaled(x)[1], x)
    return {"loss": value, "grad": grad, "differentiable": differentiable}


@case(
    source="P158",
    inputs=dict(x=normal(3), y=normal(3)),
    idiom=("ctx.set_materialize_grads(False)", "ctx.set_materialize_grads(False)"),
    control=dict(from_function=forward_only),
)
def several_outputs(x, y, *, from_function=jaxgrad.from_function):
    """Backward gets a gradient for each output, and may ask for None for an unused output."""
    missing = {}

    class Polar:
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x, y)
            return jnp.hypot(x, y), jnp.atan2(y, x)

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

    losses = {
        "radius": lambda radius, angle: jnp.sum(radius),
        "angle": lambda radius, angle: jnp.sum(angle),
        "both": lambda radius, angle: jnp.sum(radius * angle),
    }
    out = {}
    for name, loss in losses.items():

        def program(x, y, loss=loss):
            return loss(*from_function(Polar)(x, y))

        value, grads = jaxgrad.value_and_grad(program, argnums=(0, 1))(x, y)
        out[name] = {"loss": value, "grads": grads, "missing": dict(missing)}
    return out


class Halved:
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


@case(
    source=("P160", "S4-13"),
    inputs=dict(x=normal(3)),
    idiom=("grad(F.apply(x), x, create_graph=True)", "grad(grad(from_function(F)))"),
    control=dict(from_function=forward_only),
)
def double_backward(x, *, from_function=jaxgrad.from_function):
    """The second derivative of a custom Function is the derivative of its backward."""
    halved = from_function(Halved)
    value, first = jaxgrad.value_and_grad(lambda x: jnp.sum(halved(x) ** 2))(x)
    slope = jaxgrad.grad(lambda x: jnp.sum(halved(x) ** 2))
    return {"value": value, "first": first, "second": jaxgrad.grad(lambda x: jnp.sum(slope(x)))(x)}


class Sign:
    """The sign of a weight; the gradient passes through where the weight is small."""

    @staticmethod
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return jnp.sign(w)

    @staticmethod
    def backward(ctx, grad_output):
        (w,) = ctx.saved_tensors
        return grad_output * (jnp.abs(w) <= 1)


@case(
    source="P168",
    inputs=dict(w=normal(6), x=normal(6)),
    idiom=(
        "save_for_backward(w); w.mul_(10); loss.backward()  # raises",
        "w = 10 * w  # a new array",
    ),
    control=dict(from_function=forward_only),
    deviation=Deviation(
        why="torch counts the in-place changes of a saved tensor and raises. A JAX array "
        "cannot be changed in place.",
        torch_is=Raises(RuntimeError, "has been modified by an inplace operation"),
        jax_is=lambda w, x: {"loss": (abs(w) / w * x).sum(), "grad": x * (abs(w) <= 1)},
    ),
)
def saved_tensor_modified(w, x, *, from_function=jaxgrad.from_function):
    """A saved tensor changed before backward raises in torch; in JAX nothing can change it."""

    def loss(w):
        weight = 1 * w
        out = jnp.sum(from_function(Sign)(weight) * x)
        weight = 10 * weight
        return out, weight

    (value, _), grad = jaxgrad.value_and_grad(loss, has_aux=True)(w)
    return {"loss": value, "grad": grad}
