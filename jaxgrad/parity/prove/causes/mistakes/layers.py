"""Mistakes in the layers of torch: linear, convolution, normalisation, pooling, attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from jaxgrad.parity.prove.causes.mistakes.call import NUMBER, Mistakes, TorchCall
from jaxgrad.parity.prove.causes.mistakes.masks import shifted
from jaxgrad.parity.prove.wording import Difference, InJax, Missing, Mutual, Setting, Told


def linear(call: TorchCall) -> Mistakes:
    """Transpose a square weight, or leave out the bias."""
    x, *rest = call.args
    w, b = rest[0] if rest else call.kwargs["weight"], call.kwargs.get("bias", *rest[1:2])
    if w.shape[0] == w.shape[1]:
        yield call.called(Mutual("the square weight is transposed"), x, w.T, b)
    if b is not None:
        yield call.called(Missing("the bias"), x, w)._replace(partial=True)


def convolution(call: TorchCall) -> Mistakes:
    """Flip or swap axes of the kernel, leave out the bias, or pad like TensorFlow."""
    x, *rest = call.args
    weight = rest[0] if rest else call.kwargs["weight"]
    kernels = {"the kernel is flipped": weight.flip(tuple(range(2, weight.ndim)))}
    if weight.shape[0] == weight.shape[1]:
        kernels["the kernel's channels are swapped"] = weight.transpose(0, 1)
    if weight.ndim == 4:
        kernels["the kernel's height and width are swapped"] = weight.transpose(2, 3)
    for text, kernel in kernels.items():
        yield call.called(Mutual(text), x, kernel, *rest[1:], **call.kwargs)
    names = ("weight", "bias", "stride", "padding", "dilation", "groups")
    given = {**dict(zip(names, rest, strict=False)), **call.kwargs}
    if given.get("bias") is not None:
        text = Missing("the bias")
        yield call.called(text, x, **{**given, "bias": None})._replace(partial=True)
    if "transpose" in call.op:
        return
    n = weight.ndim - 2
    used = given.get("padding", 0)
    kernel, stride = weight.shape[2:], _per_axis(given.get("stride", 1), n)
    pads = _same(x.shape[2:], kernel, stride, _per_axis(given.get("dilation", 1), n))
    told = "each side" if isinstance(used, int) else "the sides"
    found: list[Tensor] = []
    for name, pad in (("'SAME'", pads), ("'VALID'", [(0, 0)] * n), *_one_sided(used, n)):
        spread = functional.pad(x, [v for both in reversed(pad) for v in both])
        sizes = f"{pad[-1][0]} before and {pad[-1][1]} after"
        text = _padding(f"{name} ({sizes})", f"{told} by {used}")
        wrong = call.called(text, spread, **{**given, "padding": 0}).fixed(name, _pairs(used, n))
        yield from _new(wrong, found)


def _new(wrong: TorchCall, found: list[Tensor]) -> Mistakes:
    """Yield a call whose result no call before has; a stride may not reach the last padding."""
    with torch.no_grad():
        result = wrong.result
    if not any(torch.equal(result, x) for x in found):
        found.append(result)
        yield wrong


def _one_sided(used: Any, n: int) -> list[tuple[str, list[tuple[int, int]]]]:
    """Return the paddings that are all at one side, if torch's is at both, as JAX spells them."""
    if isinstance(used, str) or not any(each := _per_axis(used, n)):
        return []
    pads = ([(2 * k * first, 2 * k * (1 - first)) for k in each] for first in (0, 1))
    return [(str(pad), pad) for pad in pads]


def _padding(jax: str, torch: str) -> Told:
    return Told(
        f"the padding is {jax}, torch pads {torch}", f"torch pads {torch}, JAX's padding is {jax}"
    )


def _pairs(padding: Any, n: int) -> str:
    if isinstance(padding, str):
        return repr(padding.upper())
    return str([(p, p) for p in _per_axis(padding, n)])


def _per_axis(x: Any, n: int) -> list[int]:
    return [x] * n if isinstance(x, int) else [*x] * (n if len(x) == 1 else 1)


def _same(sizes: Any, kernel: Any, stride: Any, dilation: Any) -> list[tuple[int, int]]:
    """Return the padding that XLA and TensorFlow call SAME, for each axis."""
    pads = []
    for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True):
        total = max((math.ceil(size / s) - 1) * s + (k - 1) * d + 1 - size, 0)
        pads.append((total // 2, total - total // 2))
    return pads


def batch_norm(call: TorchCall) -> Mistakes:
    """Normalise in the other mode, with another formula, or without the affine weights."""
    given = call.bound
    if "training" not in given:
        return
    if given.get("running_mean") is not None:
        yield from _other_mode(call)
    if given["training"]:
        x = given["input"]
        dims = [k for k in range(x.ndim) if k != 1]
        yield from _normalised(call, x, dims, _of_channels(call, x.shape))
    yield from affine(call)


def _other_mode(call: TorchCall) -> Mistakes:
    given = call.bound
    copies = {k: given[k].clone() for k in ("running_mean", "running_var")}
    used = bool(given["training"])
    kinds, modes = ("the running statistics", "the batch's statistics"), ("eval", "train")
    text = Told(
        f"the port normalises with {kinds[not used]}, torch with {kinds[used]}, because torch's "
        f"module is in {modes[used]} mode",
        f"torch normalises with {kinds[used]}, because its module is in {modes[used]} mode, JAX "
        f"with {kinds[not used]}",
    )
    yield call.replaced(text, f"module.{modes[not used]}()", **copies, training=not used)
    if used:
        text = Told(
            "the port normalises with the running statistics after this batch is added to them, "
            "torch with the batch's statistics",
            "torch normalises with the batch's statistics, JAX with the running statistics after "
            "this batch is added to them",
        )

        def updated(**given: Any) -> Tensor:
            call.func(**given)
            return call.func(**{**given, "training": False})

        yield call.replaced(text, **copies).by(text, updated)


def affine(call: TorchCall) -> Mistakes:
    """Leave out the weight or the bias of a norm."""
    given = call.bound
    for name in ("weight", "bias"):
        if given.get(name) is not None:
            wrong = call.replaced(Missing(f"the norm's {name}"), **{name: None})
            yield wrong._replace(partial=True)


def layer_norm(call: TorchCall) -> Mistakes:
    """Divide by N - 1, add eps to the standard deviation, or keep the mean."""
    yield from affine(call)
    given, x = call.bound, call.args[0]
    dims = tuple(range(-len(given["normalized_shape"]), 0))

    def scaled(y: Tensor) -> Tensor:
        y = y if given.get("weight") is None else y * given["weight"]
        return y if given.get("bias") is None else y + given["bias"]

    yield from _normalised(call, x, dims, scaled)


def _of_channels(call: TorchCall, shape: Sequence[int]) -> Callable[[Tensor], Tensor]:
    """Return the function that gives a result its shape and the affine weights of its channels."""
    given = call.bound
    axes = (1, -1, *[1] * (len(shape) - 2))

    def scaled(y: Tensor) -> Tensor:
        y = y.reshape(*shape)
        y = y if given.get("weight") is None else y * given["weight"].reshape(axes)
        return y if given.get("bias") is None else y + given["bias"].reshape(axes)

    return scaled


def _normalised(
    call: TorchCall, x: Tensor, dims: Sequence[int], scaled: Callable[[Tensor], Tensor]
) -> Mistakes:
    """Yield a norm with other formulas for the numbers of which it takes mean and variance.

    Args:
        call: torch's call, which still updates its running statistics.
        x: The values, in a shape whose axes are normalised or not.
        dims: The axes that are normalised.
        scaled: Function from the normalised values to torch's result.
    """
    dims = tuple(dims)
    centred = x - x.mean(dims, keepdim=True)
    variance = centred.square().mean(dims, keepdim=True)
    n, eps = math.prod(x.shape[k] for k in dims), call.bound.get("eps", 1e-5)
    if n < 2:
        return
    for text, fix, result in (
        (
            Setting("the variance", "N - 1", "N", verb="is divided by", own="divides by"),
            ("ddof=1", "ddof=0"),
            lambda: centred / torch.sqrt(variance * n / (n - 1) + eps),
        ),
        (
            Told(
                "eps is added to the standard deviation, torch adds it to the variance",
                "eps is added to the variance, JAX adds it to the standard deviation",
            ),
            ("", ""),
            lambda: centred / (variance.sqrt() + eps),
        ),
        (
            Told("the mean is not subtracted", "the mean is subtracted, JAX does not subtract it"),
            ("", ""),
            lambda: x / torch.sqrt(x.square().mean(dims, keepdim=True) + eps),
        ),
    ):

        def computed(*args: Any, result: Callable[[], Tensor] = result, **kwargs: Any) -> Tensor:
            call.func(*args, **kwargs)
            return scaled(result())

        wrong = call.by(text, computed)
        yield wrong.fixed(*fix) if all(fix) else wrong


def instance_norm(call: TorchCall) -> Mistakes:
    """Use another formula, or leave out the affine weights."""
    yield from affine(call)
    x = call.bound["input"]
    yield from _normalised(call, x, range(2, x.ndim), _of_channels(call, x.shape))


def _groups(n: int) -> str:
    return "there is 1 group" if n == 1 else f"there are {n} groups"


def group_norm(call: TorchCall) -> Mistakes:
    """Use another number of groups, or interleave the channels of the groups."""
    yield from affine(call)
    given, x = call.bound, call.args[0]
    used, channels = given["num_groups"], x.shape[1]
    for n in range(1, min(channels, 64) + 1):
        if channels % n == 0 and n != used:
            text = Told(f"{_groups(n)}, torch uses {used}", f"{_groups(used)}, JAX uses {n}")
            yield call.replaced(text, num_groups=n)
    if 1 < used < channels:
        order = torch.arange(channels).reshape(-1, used).T.reshape(-1)

        def interleaved(**given: Any) -> Any:
            affine = {
                name: x[order] for name in ("weight", "bias") if (x := given.get(name)) is not None
            }
            result = call.func(**given | {"input": given["input"][:, order]} | affine)
            return result[:, order.argsort()]

        text = Told(
            "the channels of the groups are interleaved, a group of torch has neighbouring ones",
            "a group has neighbouring channels, those of JAX's groups are interleaved",
        )
        yield call.by(text, interleaved)._replace(args=(), kwargs=dict(given))
    groups = x.reshape(len(x), used, -1)
    yield from _normalised(call, groups, (2,), _of_channels(call, x.shape))


def interpolate(call: TorchCall) -> Mistakes:
    """Align the corners, or use another mode."""
    used, mode = bool(call.bound.get("align_corners")), call.bound.get("mode", "nearest")
    text = Setting("align_corners", f"{not used}", f"{used}")
    yield call.replaced(text, align_corners=not used)
    text = Setting("the mode", "'nearest'", repr(mode))
    yield call.replaced(text, mode="nearest", align_corners=None)


def glu(call: TorchCall) -> Mistakes:
    """Take the gate from the first half, or the halves from every second element."""
    x = call.args[0]
    dim = call.bound.get("dim", -1)
    values, gates = x.chunk(2, dim)
    text = Told(
        "the halves of glu are exchanged: the sigmoid is of the first half, torch takes the second",
        "the sigmoid of glu is of the second half, JAX takes the first",
    )
    yield call.by(text, lambda *_, **__: gates * values.sigmoid())
    even, odd = x.unflatten(dim, (-1, 2)).unbind(dim + 1 if dim >= 0 else dim)
    text = Told(
        "glu takes every second element for the gate, torch takes the second half",
        "glu takes the second half for the gate, JAX takes every second element",
    )
    yield call.by(text, lambda *_, **__: even * odd.sigmoid())


def pool(call: TorchCall) -> Mistakes:
    """Count the padding, pad like TensorFlow, or use the other kind of pool."""
    names = ("input", "kernel_size", "stride", "padding")
    given = {**dict(zip(names, call.args, strict=False)), **call.kwargs}
    x, n = call.args[0], int(call.op[-2])
    kernel = _per_axis(given["kernel_size"], n)
    stride = _per_axis(given.get("stride") or kernel, n)
    mean = call.op.startswith("avg")
    found: list[Tensor] = []
    if mean:
        used = bool(given.get("count_include_pad", True))
        text = Setting("count_include_pad", f"{not used}", f"{used}")
        counts = call.called(text, *call.args, **{**call.kwargs, "count_include_pad": not used})
        yield from _new(counts, found)
    same = _same(x.shape[-n:], kernel, stride, [1] * n)
    used, plain = given.get("padding", 0), getattr(functional, call.op)
    for name, pads in (("'SAME'", same), *_one_sided(used, n)):
        spread = functional.pad(
            x, [v for both in reversed(pads) for v in both], value=0.0 if mean else float("-inf")
        )
        sizes = f"{pads[-1][0]} before and {pads[-1][1]} after"
        text = _padding(f"{name} ({sizes})", f"each side by {used}")
        yield from _new(call.by(text, plain, spread, kernel, stride), found)
    other = call.op.replace("avg", "max") if mean else call.op.replace("max", "avg")
    text = Setting("the pool", other, call.op)
    yield call.by(text, getattr(functional, other), x, kernel, stride, used)


def dropout(call: TorchCall) -> Mistakes:
    """Use another rate, or leave out the division by the probability to keep a value."""
    given, key = {"p": 0.5, **call.bound}, "p"
    if call.op == "scaled_dot_product_attention":
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        given, key = {**dict(zip(names, call.args, strict=False)), **call.kwargs}, "dropout_p"
    rate = given.get(key) or 0.0
    for other in _rates(call.numbers) if rate else ():
        if not math.isclose(other, rate):
            text = Setting("the dropout rate", f"{other:g}", f"{rate:g}")
            yield call.called(text, **{**given, key: other}).fixed(other, f"{rate:g}")
    if rate and call.op == "dropout":
        text = Told(
            f"values that are kept are not divided by 1 - {rate:g}",
            f"values that are kept are divided by 1 - {rate:g}, JAX does not divide them",
        )
        yield call.then(text, lambda y: y * (1 - rate))


def _rates(numbers: Sequence[float]) -> list[float]:
    """Return the rates of a dropout that a program with these numbers can have.

    It may contain the probability to keep a value, or its inverse.
    """
    shares = [1 / x if x > 1 else x for x in numbers if x > 0]
    rates = [round(p, 12) for share in shares for p in (share, 1 - share)]
    return [p for p in dict.fromkeys(rates) if 0 < p < 1]


def bag(call: TorchCall) -> Mistakes:
    """Reduce the rows of a bag in another way."""
    used = call.bound.get("mode", "mean")
    for mode in ("mean", "sum", "max"):
        if mode != used:
            text = Setting("the rows of a bag", mode, used, verb="are reduced by")
            yield call.replaced(text, mode=mode).fixed(mode, used)
    ids = call.bound["input"]
    if used == "mean" and ids.ndim == 2 and call.named("padding_idx") is not None:
        rows = ids.shape[1]
        text = Told(
            f"the sum of a bag is divided by {rows}, torch does not count the padding",
            f"the sum of a bag is divided by its rows without the padding, JAX divides by {rows}",
        )
        yield call.replaced(text, mode="sum").then(text, lambda total: total / rows)


def attention(call: TorchCall) -> Mistakes:
    """Use another scale, mask or order of operands, or split the heads in another way."""
    q, k, v, *rest = call.args
    names = ("attn_mask", "dropout_p", "is_causal")
    given = {**dict(zip(names, rest, strict=False)), **call.kwargs}
    d = q.shape[-1]
    scales = {"1": 1.0, "1/d": 1 / d, "1/sqrt(d)": d**-0.5}
    if q.ndim > 2:
        scales["1/sqrt(heads * d)"] = (d * q.shape[-3]) ** -0.5
    used = given.get("scale") or d**-0.5
    for text, scale in scales.items():
        if not math.isclose(scale, used):
            wrong = call.called(Setting("the scale", text), q, k, v, **{**given, "scale": scale})
            yield wrong._replace(partial=text == "1")
    bare = {key: x for key, x in given.items() if key not in ("attn_mask", "is_causal")}
    masked = given.get("attn_mask") is not None or given.get("is_causal")
    if masked:
        yield call.called(Missing("the attention mask"), q, k, v, **bare)
    if not given.get("is_causal"):
        yield call.called(_only_causal(given, q, k), q, k, v, **bare, is_causal=True)
    for text, mask in _masks(given, q, k, call.numbers) if masked else ():
        yield call.called(text, q, k, v, **bare, attn_mask=mask)
    seen = _seen(_bias(given, q, k))
    for_all = seen.any(-2, keepdim=True).expand_as(seen)  # a padding mask hides a key from all
    if not torch.equal(for_all, seen):
        causal = torch.equal(for_all.tril(), seen)
        part = "the causal part of the mask" if causal else "what the mask hides from some queries"
        wrong = call.called(Missing(part), q, k, v, **bare, attn_mask=for_all)
        # If no key is hidden from all here, the whole mask may be missing.
        yield wrong._replace(general=NUMBER if bool(for_all.all()) else 0)
    orders = {"q and k": (k, q, v), "k and v": (q, v, k), "q and v": (v, k, q)}
    orders |= {"q, k and v": (k, v, q), "k, v and q": (v, q, k)}
    for names, operands in orders.items():
        verb = "swapped" if names.count(" ") == 2 else "permuted"
        yield call.called(
            (Mutual if verb == "swapped" else InJax)(f"{names} are {verb}"), *operands, **given
        )
    if q.ndim == 4 and q.shape[1] > 1:
        text = Setting(
            "the heads", "[head_dim, heads]", "[heads, head_dim]",
            verb="are split as", own="splits as",
        )  # fmt: skip
        yield call.called(text, *map(_interleaved, (q, k, v)), **given)
        text = Told(
            "the heads are split without moving their axis before the sequence",
            "the axis of the heads is moved before the sequence, JAX does not move it",
        )
        yield call.called(text, *map(_unmoved, (q, k, v)), **given)
    scores = q @ k.mT * used
    bias = _bias(given, q, k)
    text = Told(
        "the softmax is over the queries, torch's is over the keys",
        "the softmax is over the keys, JAX's is over the queries",
    )
    yield call.by(text, lambda: torch.softmax(scores + bias, -2) @ v)._replace(args=(), kwargs={})


def _masks(
    given: dict[str, Any], q: Tensor, k: Tensor, numbers: Sequence[float]
) -> Iterator[tuple[Difference, Tensor]]:
    """Yield wrong masks for a call that has one."""
    seen = _seen(_bias(given, q, k))
    yield Mutual("the mask is inverted"), ~seen
    for text, hidden in shifted(~seen):
        yield text, ~hidden
    yield Mutual("the mask is transposed"), seen.mT if seen.shape[-1] == seen.shape[-2] else ~seen
    for wrong in (-1.0, 1.0):
        text = Told(
            f"the mask adds {wrong:g}, torch removes the masked keys",
            f"the masked keys are removed, JAX's mask adds {wrong:g}",
        )
        yield text, torch.where(seen if wrong > 0 else ~seen, wrong, 0.0).to(q.dtype)
    for weak in (x for x in numbers if x < 0):
        text = Setting("masked scores", f"{weak:g}", verb="are lowered by")
        yield text, torch.where(seen, 0.0, weak).to(q.dtype)


def _only_causal(given: dict[str, Any], q: Tensor, k: Tensor) -> Difference:
    """Return the difference between a call and JAX's if JAX hides later keys and nothing else."""
    if given.get("attn_mask") is None:
        return Told("there is a causal mask", "a causal mask is missing, JAX has one")
    seen = _seen(_bias(given, q, k))
    if seen.shape[-2] == q.shape[-2] and torch.equal(seen.tril(), seen):
        return Told(
            "the mask is only causal, torch's hides further keys",
            "the mask hides further keys, JAX's is only causal",
        )
    return Setting("the mask", "a causal one", "another one")


def _seen(bias: Tensor) -> Tensor:
    """Return which keys each query sees through a mask that is added to the scores."""
    return torch.isfinite(bias) & (bias > -1e4)


def _bias(given: dict[str, Any], q: Tensor, k: Tensor) -> Tensor:
    """Return the mask of a call as a tensor that is added to the scores."""
    mask = given.get("attn_mask")
    if given.get("is_causal"):
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    if mask is None:
        return torch.zeros(q.shape[-2], k.shape[-2], dtype=q.dtype)
    if mask.dtype == torch.bool:
        return torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, float("-inf"))
    return mask


def _interleaved(x: Tensor) -> Tensor:
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, d, h).permute(0, 3, 1, 2)


def _unmoved(x: Tensor) -> Tensor:
    return x.transpose(1, 2).reshape(x.shape)
