"""MobileNetV2 as a plain function of torchvision's state_dict, fine-tuned for two classes."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax

from parity_tests.case import case
from parity_tests.draw import Draw, bernoulli, integers, linear, normal, uniform

# Of each stage: expansion, channels out, blocks, stride of the first block.
STAGES = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]
STEM, LAST, CLASSES = 32, 1280, 1000
KEEP = 0.8
Tree = dict[str, Any]


def _blocks() -> list[tuple[str, int, int, int, int]]:
    """Every inverted residual block: its name, channels in, channels out, stride, expansion."""
    found, n_in = [], STEM
    for expansion, n_out, count, stride in STAGES:
        for block in range(count):
            name = f"features.{len(found) + 1}.conv"
            found.append((name, n_in, n_out, stride if block == 0 else 1, expansion))
            n_in = n_out
    return found


BLOCKS = _blocks()
HEAD = f"features.{len(BLOCKS) + 1}"


def _gate(n: int) -> Draw:
    """Biases that put a channel inside ReLU6's range, or (one in four each) below or above it.

    All of a channel is on one side: a unit within rounding of 0 or 6 would take another branch in
    float32, and of the millions of units here some always would.
    """
    return Draw(lambda rng: rng.choice([3.0, 3.0, -3.0, 9.0], n) + rng.uniform(-0.5, 0.5, n))


def _conv_norm(
    conv: str, norm: str, n_in: int, n_out: int, kernel: int, activated: bool = True
) -> dict[str, Draw]:
    """A convolution and its batch norm, as in a network that has been trained a while."""
    return {
        f"{conv}.weight": normal(n_out, n_in, kernel, kernel, scale=(2 / n_in) ** 0.5 / kernel),
        f"{norm}.weight": uniform(n_out, low=0.05, high=0.15) if activated else uniform(n_out, low=0.5, high=1.5),
        f"{norm}.bias": _gate(n_out) if activated else normal(n_out, scale=0.1),
        f"{norm}.running_mean": normal(n_out, scale=0.1),
        f"{norm}.running_var": uniform(n_out, low=0.5, high=1.5),
        f"{norm}.num_batches_tracked": integers(high=1000),
    }


def _state_dict() -> dict[str, Draw]:
    weights = _conv_norm("features.0.0", "features.0.1", 3, STEM, 3)
    for name, n_in, n_out, _, expansion in BLOCKS:
        wide, last = n_in * expansion, 1
        if expansion != 1:
            weights |= _conv_norm(f"{name}.0.0", f"{name}.0.1", n_in, wide, 1)
            last = 2
        weights |= _conv_norm(f"{name}.{last - 1}.0", f"{name}.{last - 1}.1", 1, wide, 3)
        weights |= _conv_norm(f"{name}.{last}", f"{name}.{last + 1}", wide, n_out, 1, False)
    weights |= _conv_norm(f"{HEAD}.0", f"{HEAD}.1", BLOCKS[-1][2], LAST, 1)
    return weights | {f"classifier.1.{k}": v for k, v in linear(LAST, CLASSES).items()}


IMAGES = Draw(
    lambda rng: rng.standard_normal((4, 3, 1, 1)) + 0.5 * rng.standard_normal((4, 3, 224, 224))
)
INPUTS = dict(
    weights=_state_dict(),
    classifier=linear(LAST, 2),
    mask=bernoulli(4, LAST, p=KEEP),
    x=IMAGES,
    y=integers(4, high=2),
)


def _conv(x: jax.Array, weight: jax.Array, stride: int = 1, groups: int = 1) -> jax.Array:
    pad = weight.shape[-1] // 2
    return lax.conv_general_dilated(
        x,
        weight,
        (stride, stride),
        ((pad, pad), (pad, pad)),
        dimension_numbers=("NCHW", "OIHW", "NCHW"),
        feature_group_count=groups,
    )


def _batch_norm(params: Tree, buffers: Tree, name: str, x: jax.Array) -> tuple[jax.Array, Tree]:
    """Train mode: normalise by the batch, remember the unbiased variance with momentum 0.1."""
    count = x.size // x.shape[1]
    mean, var = jnp.mean(x, (0, 2, 3)), jnp.var(x, (0, 2, 3))
    moved = {
        f"{name}.running_mean": 0.9 * buffers[f"{name}.running_mean"] + 0.1 * mean,
        f"{name}.running_var": 0.9 * buffers[f"{name}.running_var"]
        + 0.1 * var * (count / (count - 1)),
        f"{name}.num_batches_tracked": buffers[f"{name}.num_batches_tracked"] + 1,
    }
    scale = params[f"{name}.weight"] * lax.rsqrt(var + 1e-5)
    x = (x - mean[:, None, None]) * scale[:, None, None]
    return x + params[f"{name}.bias"][:, None, None], moved


def _forward(params: Tree, buffers: Tree, mask: jax.Array, x: jax.Array) -> tuple[jax.Array, Tree]:
    """The logits and the batch-norm buffers after this batch."""
    buffers = dict(buffers)

    def conv_norm(x: jax.Array, conv: str, norm: str, stride: int = 1, groups: int = 1):
        y = _conv(x, params[f"{conv}.weight"], stride, groups)
        y, moved = _batch_norm(params, buffers, norm, y)
        buffers.update(moved)
        return y

    def relu6(x: jax.Array) -> jax.Array:
        return jnp.clip(x, 0, 6)

    x = relu6(conv_norm(x, "features.0.0", "features.0.1", stride=2))
    for name, n_in, n_out, stride, expansion in BLOCKS:
        y, last = x, 1
        if expansion != 1:
            y = relu6(conv_norm(y, f"{name}.0.0", f"{name}.0.1"))
            last = 2
        wide = f"{name}.{last - 1}"
        y = relu6(conv_norm(y, f"{wide}.0", f"{wide}.1", stride, groups=n_in * expansion))
        y = conv_norm(y, f"{name}.{last}", f"{name}.{last + 1}")
        x = x + y if stride == 1 and n_in == n_out else y
    x = relu6(conv_norm(x, f"{HEAD}.0", f"{HEAD}.1"))
    x = jnp.mean(x, (2, 3)) * mask / KEEP
    return x @ params["classifier.1.weight"].T + params["classifier.1.bias"], buffers


def _is_buffer(name: str) -> bool:
    return name.endswith(("running_mean", "running_var", "num_batches_tracked"))


def only_classifier(name: str) -> bool:
    return name.startswith("classifier.")


def everything(name: str) -> bool:
    del name
    return True


def _one_step(
    weights: Tree, classifier: Tree, mask: jax.Array, x: jax.Array, y: jax.Array,
    requires_grad: Callable[[str], bool],
) -> Tree:
    buffers = {name: value for name, value in weights.items() if _is_buffer(name)}
    params = {name: value for name, value in weights.items() if not _is_buffer(name)}
    params |= {f"classifier.1.{name}": value for name, value in classifier.items()}
    trained = {name: value for name, value in params.items() if requires_grad(name)}

    def loss_fun(trained: Tree) -> tuple[jax.Array, Any]:
        logits, moved = _forward(params | trained, buffers, mask, x)
        loss = jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, y))
        return loss, (logits, moved)

    (loss, (logits, moved)), grads = jax.value_and_grad(loss_fun, has_aux=True)(trained)
    sgd = optax.sgd(1e-2, momentum=0.9)
    updates, state = sgd.update(grads, sgd.init(trained))
    momentum = optax.tree.get(state, "trace")
    return {
        "logits": logits,
        "loss": loss,
        "grads": {name: grads.get(name) for name in params},
        "momentum": {name: momentum.get(name) for name in params},
        "params": params | optax.apply_updates(trained, updates),
        "buffers": moved,
    }


@case(
    source="S1-07",
    inputs=INPUTS,
    idiom=("p.requires_grad = False", "grad over the trained part alone"),
    control=dict(requires_grad=everything),
    heavy=True,
)
def freeze(weights, classifier, mask, x, y, *, requires_grad=only_classifier):
    """With MobileNetV2 frozen by `requires_grad = False` and a new classifier, SGD over *all*
    parameters moves the classifier alone; in train mode the batch-norm buffers move too."""
    return _one_step(weights, classifier, mask, x, y, requires_grad)


@case(
    source="S1-07",
    inputs=INPUTS,
    idiom=("loss.backward()", "jax.grad(loss)(params)"),
    control=dict(requires_grad=only_classifier),
    heavy=True,
)
def all_gradients(weights, classifier, mask, x, y, *, requires_grad=everything):
    """With nothing frozen, each of MobileNetV2's 158 parameters has a gradient and moves."""
    return _one_step(weights, classifier, mask, x, y, requires_grad)
