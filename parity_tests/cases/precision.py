"""Mixed precision: autocast, the gradient scaler, and TF32."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

import jaxgrad
from parity_tests.case import Deviation, case, identity
from parity_tests.cases._net import linear, mse
from parity_tests.inputs import InputSpec, fixed, normal, uniform
from parity_tests.inputs import linear as draw_linear


MLP = {"fc1": draw_linear(10, 5), "fc2": draw_linear(5, 1)}
POSITIVE = {"weight": uniform(1, 10, low=0.1, high=0.3), "bias": uniform(1)}  # no sum cancels


def halves(*shape, dust=2.0**-12):
    """Draw -1/2, 0 and 1/2, whose sums of products are exact in bfloat16, plus noise that it rounds
    off.
    """
    return InputSpec(lambda rng: rng.integers(-1, 2, shape) / 2 * (1 + dust))


def quarters(*shape):
    """Draw numbers from 1/2 to 3/2 whose means of four are exact in bfloat16."""
    return InputSpec(lambda rng: rng.integers(2, 7, shape) / 4)


EXACT = {
    "fc1": {"weight": halves(3, 4), "bias": halves(3)},
    "fc2": {"weight": halves(2, 3), "bias": halves(2)},
}


@case(
    source="S4-08",
    inputs=dict(
        net=POSITIVE,
        x=quarters(5, 4, 10),
        overflow=fixed([1.0, 1.0, np.inf, 1.0, 1.0]),
    ),
    idiom=("scaler.step(optimizer)", "scaler.step(found_inf, tx, grads, ..)"),
    control=dict(scaler=functools.partial(jaxgrad.GradScaler, enabled=False)),
)
def amp(net, x, overflow, *, scaler=jaxgrad.GradScaler):
    """With `GradScaler`, a step with an infinite gradient is skipped and the scale is halved.

    Two good steps double the scale. Clipping comes after `unscale_`, so it sees the true gradient.
    Autocast does not change float64, where only the scaler has an effect.
    """
    loss_scaler = scaler(init_scale=2.0**16, growth_interval=2)
    tx = optax.sgd(0.01)
    opt_state, state, steps = tx.init(net), loss_scaler.init(), []

    def loss_of(net, state, batch, factor):
        loss = jaxgrad.autocast(mean_output)(net, batch)
        return loss_scaler.scale(state, loss * factor), loss

    for batch, factor in zip(x, overflow, strict=True):
        grad_of = jaxgrad.value_and_grad(loss_of, has_aux=True)
        (_, loss), scaled = grad_of(net, state, batch, factor)
        grads, found_inf = loss_scaler.unscale(state, scaled)
        grads, norm = jaxgrad.clip_grad_norm(grads, 1.0)
        net, opt_state = loss_scaler.step(found_inf, tx, grads, opt_state, net)
        before, state = state, loss_scaler.update(state, found_inf)
        steps.append(observed(loss, scaled, norm, grads, net, before, state))
    return steps


def mean_output(net, batch):
    return jnp.mean(linear(net, batch))


def observed(loss, scaled, norm, grads, net, before, after):
    return {
        "loss": loss,
        "scaled": scaled,
        "norm": norm,
        "grads": grads,
        "params": net,
        "scale": after.scale,
        "skipped": after.scale < before.scale,
    }


def now_and_then(rng):
    """Draw factors of two losses over 40 steps: mostly 1, sometimes NaN or infinite."""
    factors = np.ones((40, 2))
    bad = rng.random(factors.shape) < 0.08
    factors[bad] = rng.choice([np.nan, np.inf, -np.inf], bad.sum())
    return factors


@case(
    source=("S4-08", "P144"),
    inputs=dict(
        w=normal(2, 3), x=normal(40, 3), factors=fixed(now_and_then(np.random.default_rng(0)))
    ),
    idiom=("scaler.step(a); scaler.step(b); scaler.update()", "scaler.update(state, [a, b])"),
    control=dict(scaler=functools.partial(jaxgrad.GradScaler, enabled=False)),
)
def scaler_state(w, x, factors, *, scaler=jaxgrad.GradScaler):
    """Each of two optimizers skips by its own gradients; a bad step of either halves the scale
    once.

    Three good steps double the scale; a skip or a growth resets the tracker to 0.
    """
    loss_scaler = scaler(init_scale=1000.0, growth_factor=1.5, growth_interval=3)
    tx = optax.sgd(0.01, momentum=0.9)

    def step(carry, batch_and_factors):
        trained, state = carry
        batch, pair = batch_and_factors

        def one(w, opt_state, factor):
            def loss(w):
                return loss_scaler.scale(state, jnp.sum((w * batch) ** 2) * factor)

            grad, found_inf = loss_scaler.unscale(state, jaxgrad.grad(loss)(w))
            return loss_scaler.step(found_inf, tx, grad, opt_state, w), found_inf

        stepped = [one(w, own, factor) for (w, own), factor in zip(trained, pair, strict=True)]
        state = loss_scaler.update(state, [found_inf for _, found_inf in stepped])
        carry = [new for new, _ in stepped], state
        return carry, state

    start: Any = [(one, tx.init(one)) for one in w], loss_scaler.init()
    (trained, _), states = lax.scan(step, start, (x, factors))
    return {
        "scale": states.scale,
        "growth_tracker": states.growth_tracker,
        "w": [one for one, _ in trained],
    }


def mlp(net, x, y):
    h = jax.nn.relu(linear(net["fc1"], x))
    out = linear(net["fc2"], h)
    return mse(out, y), (h, out)


@case(
    source="S4-08",
    inputs=dict(net=EXACT, x=halves(4, 4), y=halves(4, 2, dust=0)),
    idiom=('with torch.autocast("cuda", bfloat16):', "autocast(loss, jnp.bfloat16)"),
    control=dict(autocast=identity),
    dtypes=("float32",),
)
def autocast(net, x, y, *, autocast=jaxgrad.autocast):
    """Under autocast linear layers compute in bfloat16; the loss and the gradients are float32."""
    both = jaxgrad.value_and_grad(autocast(mlp, jnp.bfloat16), has_aux=True)
    (loss, (h, out)), grads = both(net, x, y)
    return {"h": h, "out": out, "loss": loss, **grads}


def device_type():
    """Return the device whose autocast lists apply: the reference runs on the same device, which
    may be the CPU of a machine that has a GPU.
    """
    config: Any = jax.config
    device = config.jax_default_device or jax.devices()[0]
    return "cuda" if getattr(device, "platform", device) == "gpu" else "cpu"


@case(
    source="S4-08",
    inputs=dict(net=EXACT, x=halves(4, 4)),
    idiom=("with torch.autocast(.., enabled=False):", "autocast(fun, enabled=False)"),
    control=dict(region=identity),
    dtypes=("float32",),
)
def autocast_regions(net, x, *, region=jaxgrad.autocast):
    """A region inside autocast has its own setting: disabled (after `.float()`), or float16."""

    @functools.partial(jaxgrad.autocast, device_type=device_type())
    def program(net):
        second = functools.partial(linear, net["fc2"])
        h = linear(net["fc1"], x)
        off = region(second, enabled=False)(h)
        half = region(second, jnp.float16, device_type=device_type())(h)
        return jnp.sum(off), {"h": h, "off": off, "half": half}

    (_, seen), grads = jaxgrad.value_and_grad(program, has_aux=True)(net)
    return {**seen, **grads}


BLOCK = {"fc": draw_linear(6, 6), "weight": uniform(6, low=0.5, high=1.5), "bias": normal(6)}


@case(
    source="S4-08",
    inputs=dict(net=BLOCK, x=normal(5, 6)),
    idiom=("F.layer_norm(fc(x)); softmax(..)", "the same equations, in autocast(fun)"),
    control=dict(autocast=identity),
    dtypes=("float32",),
)
def autocast_operations(net, x, *, autocast=jaxgrad.autocast):
    """Under autocast norms, softmax, gelu, means and losses have torch's dtypes and values."""

    def program(net):
        h = linear(net["fc"], x)
        mean, var = h.mean(-1, keepdims=True), h.var(-1, keepdims=True)
        normed = (h - mean) / jnp.sqrt(var + 1e-5) * net["weight"] + net["bias"]
        log_probs = jax.nn.log_softmax(normed)
        loss = -jnp.mean(log_probs[jnp.arange(5), jnp.arange(5)])
        return loss, (h, normed, jax.nn.softmax(h))

    run = autocast(program, jnp.bfloat16, device_type=device_type())
    (loss, (h, normed, softmax)), grads = jaxgrad.value_and_grad(run, has_aux=True)(net)
    more = autocast(more_operations, jnp.bfloat16, device_type=device_type())(h)
    return {
        "h": h,
        "normed": normed,
        "softmax": softmax,
        "loss": loss,
        "grads": grads,
        "more": more,
    }


def more_operations(h):
    return {
        "gelu": jax.nn.gelu(h),
        "logsumexp": jax.nn.logsumexp(h, -1),
        "mean": h.mean(0),
        "std": h.std(0, ddof=1),
    }


@case(
    source="S4-08",
    inputs=dict(net={"fc1": draw_linear(3, 4), "fc2": draw_linear(4, 4)}, x=normal(6, 2, 3)),
    idiom=("for row in x: h = cell(row, h)", "autocast(lambda ..: lax.scan(cell, h, x))"),
    control=dict(autocast=identity),
    dtypes=("float32",),
)
def autocast_scan(net, x, *, autocast=jaxgrad.autocast):
    """A scan under autocast casts its weights once, outside the loop."""

    def cell(h, row, net):
        h = jnp.tanh(linear(net["fc1"], row) + linear(net["fc2"], h))
        return h, h

    def program(net):
        h = jnp.zeros((2, 4), x.dtype)
        last, seen = lax.scan(lambda h, row: cell(h, row, net), h, x)
        return jnp.mean((last - jnp.ones_like(last)) ** 2), {"last": last, "seen": seen}

    run = autocast(program, jnp.bfloat16, device_type=device_type())
    (loss, seen), grads = jaxgrad.value_and_grad(run, has_aux=True)(net)
    return {**seen, "loss": loss, "grads": grads}


def cast_all(fun, dtype):
    """Cast everything to low precision, a common mistake."""

    def low(*args):
        out = fun(*jax.tree.map(lambda x: x.astype(dtype), args))
        return jax.tree.map(lambda x: x.astype(args[-1].dtype), out)

    return low


@case(
    source="S4-08",
    inputs=dict(net=MLP, x=normal(8, 10), y=normal(8, 1)),
    idiom=("with torch.autocast(..): f(x.double())", "autocast(f)(x)  # x is float64"),
    control=dict(autocast=cast_all),
    dtypes=("float64",),
)
def autocast_float64(net, x, y, *, autocast=jaxgrad.autocast):
    """Autocast does not change float64: values and gradients are the same without it."""
    both = jaxgrad.value_and_grad(autocast(mlp, jnp.bfloat16), has_aux=True)
    (loss, (_, out)), grads = both(net, x, y)
    return {"out": out, "loss": loss, **grads}


def matmul(a, b, precision):
    return jnp.matmul(a, b, precision=precision)


def conv(image, kernel, precision):
    return lax.conv(image, kernel, (1, 1), "VALID", precision=precision)


def all_of(matmul, conv):
    """Return a pin for everything computed from matrix products and from convolutions."""
    names = ("value", "left", "right")
    return lambda **_: {
        "matmul": {name: np.bool_(matmul) for name in names},
        "conv": {name: np.bool_(conv) for name in names},
    }


@case(
    source="P199",
    inputs=dict(
        a=normal(256, 256),
        b=normal(256, 256),
        image=normal(8, 64, 32, 32),
        kernel=normal(64, 64, 3, 3),
    ),
    idiom=('set_float32_matmul_precision("high")', 'default_matmul_precision("highest")'),
    control=dict(precision=lax.Precision.HIGHEST),
    deviation=Deviation(
        why="On an Ampere GPU or newer torch multiplies float32 matrices in float32 and convolves "
        "in TF32 (torch.backends.cuda.matmul.allow_tf32 is False, cudnn.allow_tf32 True); JAX's "
        "default precision uses TF32 for both. Pin jax.default_matmul_precision to compare.",
        torch_is=all_of(matmul=False, conv=True),
        jax_is=all_of(matmul=True, conv=True),
    ),
    dtypes=("float32",),
    devices=("gpu",),
)
def tf32(a, b, image, kernel, *, precision=lax.Precision.DEFAULT):
    """On a GPU, JAX multiplies float32 matrices in TF32 by default; torch uses TF32 only to
    convolve.
    """

    # The engine sets full precision; an explicit DEFAULT restores what a user gets.
    def rounded(program, *inputs):
        """Return whether the value and both gradients have the error of 10 bits (TF32), not of
        23.
        """
        out, vjp = jax.vjp(functools.partial(program, precision=precision), *inputs)
        wide = [x.astype(jnp.float64) for x in inputs]
        exact, exact_vjp = jax.vjp(functools.partial(program, precision=None), *wide)
        observed = (out, *vjp(2 * out))
        right = (exact, *exact_vjp(2 * out.astype(jnp.float64)))
        return {
            name: jnp.max(jnp.abs(x - y)) > 2.0**-16 * jnp.max(jnp.abs(y))
            for name, x, y in zip(("value", "left", "right"), observed, right, strict=True)
        }

    return {"matmul": rounded(matmul, a, b), "conv": rounded(conv, image, kernel)}
