"""Mistakes in elementwise functions, reductions and comparisons, and those of every call."""

from __future__ import annotations

import functools
import itertools
import math

import torch
from torch import Tensor
from torch.nn import functional

from jaxgrad.parity.prove.causes.mistakes.call import (
    INDEX,
    MULTIPLE,
    NUMBER,
    Mistakes,
    TorchCall,
    tensors,
)
from jaxgrad.parity.prove.causes.mistakes.views import shifted_indices
from jaxgrad.parity.prove.edits import InTorch
from jaxgrad.parity.prove.wording import Missing, Multiple, Mutual, Setting, Told


ACTIVATIONS = (
    "relu", "silu", "tanh", "sigmoid", "gelu", "relu6", "leaky_relu", "elu", "softplus", "mish",
    "selu", "celu", "hardswish", "hardsigmoid", "hardtanh", "logsigmoid", "softsign",
)  # fmt: skip
LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
UNARY = (
    "sin cos tan sinh cosh exp expm1 log log1p log2 sqrt rsqrt abs square reciprocal erf sigmoid "
    "tanh neg sign"
).split()
_LARGEST_EPS = 1e-2
_BINARY = {
    "add": "adds", "sub": "subtracts", "mul": "multiplies", "div": "divides",
    "maximum": "takes the maximum", "minimum": "takes the minimum",
}  # fmt: skip
_SCALES = ("mul", "rmul", "imul", "div", "truediv", "itruediv", "pow")
_DIM = {"cosine_similarity": 1}  # the defaults of functions without a signature
BINARY = (
    *_BINARY, "radd", "rsub", "rmul", "rdiv", "truediv", "rtruediv", "pow", "rpow", "min", "max"
)  # fmt: skip


def eps(call: TorchCall) -> Mistakes:
    """Use another eps."""
    used = call.bound.get("eps")
    for wrong in (*call.numbers, 0.0) if used is not None else ():
        if wrong != used and wrong >= 0:
            text = Setting("eps", f"{wrong:g}", f"{used:g}")
            yield call.replaced(text, f"{wrong:g}", eps=wrong).fixed(f"{wrong:g}", f"{used:g}")


def gelu(call: TorchCall) -> Mistakes:
    """Use the other form of GELU."""
    forms = {"none": "the exact form", "tanh": "the tanh approximation"}
    used = "tanh" if call.kwargs.get("approximate", "none") == "tanh" else "none"
    other = "none" if used == "tanh" else "tanh"
    write = f"""; write approximate={"'tanh'" if used == "none" else "'none'"}"""
    setting = Setting("GELU", forms[other], forms[used])
    text = Told(setting.of_jax, f"{setting.of_torch}{write}")
    right = f"approximate={used == 'tanh'}"
    wrong = call.called(text, call.args[0], approximate=other).writing("approximate", other)
    yield wrong.fixed("gelu", right)


def activation(call: TorchCall) -> Mistakes:
    """Use another activation, if possible with the same numbers.

    One that equals torch's activation with its defaults, as celu equals elu, is not another one.
    """
    numbers = (int, float)
    given = {k: x for k, x in call.bound.items() if type(x) in numbers}
    own = call.func(call.args[0]) if given else None
    for name in ACTIVATIONS:
        if name != call.op:
            func = getattr(torch if hasattr(torch, name) else functional, name)
            text = Setting("the activation", name, call.op)
            if own is None or not torch.equal(func(call.args[0]), own):
                yield call.by(text, func, call.args[0]).fixed(name, call.op)
            if given:  # such as the alpha of elu, which celu has too
                told = " and ".join(f"{k} {x:g}" for k, x in given.items())
                text = Setting("the activation", f"{name} with {told}", call.op)
                yield call.by(text, func, call.args[0])._replace(kwargs=given)
    if call.op != "gelu":  # the default of `jax.nn.gelu`
        text = Setting("the activation", "gelu (the tanh approximation)", call.op)
        func = functools.partial(functional.gelu, approximate="tanh")
        yield call.by(text, func, call.args[0]).fixed("gelu", call.op)
    for wrong in unary(call):  # such as exp in the place of softplus
        if wrong.func.__name__ not in ACTIVATIONS:
            yield wrong._replace(occurs=True)


def unary(call: TorchCall) -> Mistakes:
    """Use another elementwise function."""
    for name in UNARY:
        if name != call.op:
            text = Setting("the function", name, call.op)
            yield call.by(text, getattr(torch, name), call.args[0]).fixed(name, call.op)


def binary(call: TorchCall) -> Mistakes:
    """Add another number, use another operation or the operands in the other order."""
    if len(call.args) < 2:
        return
    x, y = call.args[:2]
    for other in call.numbers if call.op in ("add", "radd") and isinstance(y, float) else ():
        if other not in (y, 0.0):
            text = Told(
                f"{other:g} is added, torch adds {y:g}", f"{y:g} is added, JAX adds {other:g}"
            )
            yield call.called(text, x, other).fixed(f"{other:g}", f"{y:g}")
    name = call.op.removeprefix("r").removeprefix("true")
    name = {"min": "minimum", "max": "maximum"}.get(name, name)
    done = _BINARY.get(name, f"uses {name}")
    for other, verb in _BINARY.items():
        if other != name:
            x_, y_ = (v if isinstance(v, Tensor) else torch.tensor(v) for v in (x, y))
            text = Told(f"JAX {verb}, torch {done}", f"torch {done}, JAX {verb}")
            wrong = call.by(text, getattr(torch, other), x_, y_)
            picks = any(
                v.shape == wrong.result.shape and torch.equal(v, wrong.result) for v in (x_, y_)
            )  # the minimum with a mask of zeros and ones, a product with 1: torch's is missing
            if not picks:
                yield wrong._replace(occurs=True)
    if name == "div" and isinstance(y, Tensor) and y.numel():
        for number in call.numbers:
            text = Told(
                f"JAX divides by {number:g}, torch by {_computed(y)}",
                f"torch divides by {_computed(y)}, JAX divides by {number:g}",
            )
            yield call.called(text, x, number)._replace(general=NUMBER)
    if name in ("sub", "div", "pow"):
        yield call.called(Mutual(f"the operands of {name} are swapped"), y, x, **call.kwargs)


def _computed(x: Tensor) -> str:
    """Describe a divisor, in the same words on all draws, which have numbers of their own."""
    return "a number that it computes" if x.numel() == 1 else "numbers that it computes"


def broadcast(call: TorchCall) -> Mistakes:
    """Give an operand a last axis of size 1, or take an axis of size 1 away: both broadcast."""
    x, y, *rest = call.args
    if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
        return
    torchs = f"{list(x.shape)} and {list(y.shape)}"
    for n, operand in enumerate((x, y)):
        axes = [k for k, size in enumerate(operand.shape) if size == 1]
        for other in (operand.unsqueeze(-1), *map(operand.squeeze, axes)):
            pair = [(other, y), (x, other)][n]
            try:
                pairs = torch.broadcast_tensors(*pair)
            except RuntimeError:
                continue
            shape = pairs[0].shape
            if other.ndim > operand.ndim and shape.numel() == call.result.numel():
                continue  # it broadcasts as torch's operand does
            jaxs = " and ".join(str(list(v.shape)) for v in pair)
            text = Told(
                f"{call.op} broadcasts {jaxs} to {list(shape)}, torch's operands are {torchs}",
                f"the operands of {call.op} are {torchs}, JAX broadcasts {jaxs} to {list(shape)}",
            )
            shapes = (*(tuple(v.shape) for v in pair), tuple(shape))
            yield call.called(text, *pairs, *rest, **call.kwargs)._replace(shapes=shapes)


def products(call: TorchCall) -> Mistakes:
    """Transpose an operand of a matrix product."""
    x, y = call.args[:2]
    if y.ndim > 1 and y.shape[-1] == y.shape[-2]:
        yield call.called(Mutual("the second operand is transposed"), x, y.mT)
    if x.ndim > 1 and x.shape[-1] == x.shape[-2]:
        yield call.called(Mutual("the first operand is transposed"), x.mT, y)
    yield call.called(Mutual("the operands are swapped"), y, x)


def variance(call: TorchCall) -> Mistakes:
    """Divide by N instead of N - 1, or the reverse."""
    rest = {k: v for k, v in call.kwargs.items() if k not in ("unbiased", "correction")}
    dims = [x for x in call.args[1:2] if not isinstance(x, bool)]
    for n, divisor in enumerate(("N", "N - 1")):
        text = Setting(call.op, divisor, ("N - 1", "N")[n], verb="divides by", own="divides by")
        wrong = call.called(text, call.args[0], *dims, correction=n, **rest)
        yield wrong.fixed(f"ddof={n}", f"ddof={1 - n}")


_REDUCTIONS = ("mean", "sum", "amax", "amin")


def reduction(call: TorchCall) -> Mistakes:
    """Reduce over another dimension, or by another function."""
    for other in _REDUCTIONS if call.op in _REDUCTIONS else ():
        if other != call.op:
            text = Setting("the reduction", other, call.op)
            wrong = call._replace(difference=text, func=getattr(torch, other))
            yield wrong.fixed(other, call.op)
    yield from dimension(call)


def rooted(call: TorchCall) -> Mistakes:
    """Add an eps inside of the square root of a norm, where torch adds none."""
    for number in (x for x in call.numbers if 0 < x < _LARGEST_EPS):
        text = Told(
            f"{number:g} is added inside of the norm's square root, torch adds nothing",
            f"nothing is added inside of the norm's square root, JAX adds {number:g}",
        )
        yield call.then(text, lambda out, number=number: (out**2 + number).sqrt())


def order(call: TorchCall) -> Mistakes:
    """Use a norm of another order: the sum of the absolute values, the L2 or the maximum norm."""
    used = call.bound.get("p", 2.0)
    used = 2.0 if used in ("fro", None) else used
    for p in (1.0, 2.0, math.inf):
        if p != used:
            wrong = call.replaced(Setting("p", f"{p:g}", f"{used:g}"), f"{p:g}", p=p)
            yield wrong.fixed(f"ord={p:g}", f"ord={used:g}")


def dimension(call: TorchCall) -> Mistakes:
    """Work along another dimension."""
    x, *rest = call.args
    given = [n for n, y in enumerate(call.args) if type(y) is int]
    name = next((key for key in ("dim", "axis") if key in call.kwargs), "dim")
    used = call.named(name)
    if used is None:  # a function of torch's that has no signature
        used = call.kwargs.get(name, call.args[given[0]] if given else _DIM.get(call.op))
    if type(used) is not int:
        return
    for dim in range(x.ndim):
        if dim != used % x.ndim:
            text = Setting(call.op, str(dim), str(used), verb="is over dim")
            if call.bound:
                wrong = call.replaced(text, **{name: dim})
            elif name in call.kwargs or not given:
                wrong = call.called(text, x, *rest, **{**call.kwargs, name: dim})
            else:
                args = (dim if n == given[0] else y for n, y in enumerate(call.args))
                wrong = call.called(text, *args, **call.kwargs)
            yield wrong.fixed(f"axis={dim}", f"axis={used}")


def running(call: TorchCall) -> Mistakes:
    """Run a cumulative function backwards, or leave out the element itself."""
    yield from dimension(call)
    x = call.args[0]
    dim = call.kwargs.get("dim", call.args[1] if len(call.args) > 1 else 0)
    backwards = call.by(Mutual(f"{call.op} runs backwards"), lambda y: call.func(y, dim).flip(dim))
    yield backwards._replace(args=(x.flip(dim),), kwargs={})
    text = Told(
        f"{call.op} leaves out the element itself",
        f"{call.op} includes the element itself, JAX leaves it out",
    )
    yield call.then(text, lambda out: out - x)


def looked_up(call: TorchCall) -> Mistakes:
    """Shift the indices of an embedding."""
    ids, *rest = call.args
    if ids.numel() and int(ids.min()) >= 0 and int(ids.max()) == 1:
        yield call.called(Mutual("the indices 0 and 1 are swapped"), 1 - ids, *rest, **call.kwargs)
    moved = shifted_indices(ids, len(call.kwargs.get("weight", rest[0] if rest else ())))
    for by in (1, -1):
        if by in moved:
            wrong = call.called(_indices("shifted", by), moved[by], *rest, **call.kwargs)
            yield wrong._replace(general=INDEX)
        yield call.called(_indices("rolled", by), ids.roll(by, -1), *rest, **call.kwargs)


def gathered(call: TorchCall) -> Mistakes:
    """Shift the indices along an axis."""
    x, dim, index = call.args
    for by, moved in shifted_indices(index, x.shape[dim]).items():
        wrong = call.called(_indices("shifted", by), x, dim, moved, **call.kwargs)
        yield wrong._replace(general=INDEX)


def _indices(moved: str, by: int) -> Told:
    return Told(f"the indices are {moved} by {by}", f"the indices are {moved} by {-by}")


def repeated(call: TorchCall) -> Mistakes:
    """Tile instead of repeating each element, or the reverse."""
    x, times, *rest = call.args
    dim = call.kwargs.get("dim", rest[0] if rest else None)
    if isinstance(times, int) and isinstance(dim, int):
        tiled = torch.cat([x] * times, dim)
        text = Told(
            "the elements are tiled, torch repeats each one",
            "each element is repeated, JAX tiles them",
        )
        yield call.by(text, lambda: tiled)._replace(args=(), kwargs={}, reorders=True)


def scaled(call: TorchCall) -> Mistakes:
    """Multiply the result by a half, by two, or by the length of an axis."""
    sizes = {n for x in tensors((call.args, call.kwargs))[:1] for n in (*x.shape, x.numel())}
    for n in sorted(({2} | sizes) - {0, 1}):
        both = f"{n}", f"1/{n}"
        for (written, inverse), factor in ((both, n), (both[::-1], 1 / n)):
            text = Multiple("value", written, inverse)
            times = call.then(text, lambda out, factor=factor: out * factor)
            yield times._replace(general=MULTIPLE)


_KNEES = {"huber_loss": "delta", "smooth_l1_loss": "beta"}


def errors(call: TorchCall) -> Mistakes:
    """Use another loss between two tensors."""
    x, y, *_ = call.args
    used = call.bound.get("reduction", "mean")
    mean = functional.mse_loss(x, y) / 2
    for name in LOSSES:
        other, jaxs, torchs = getattr(functional, name), name, call.op
        kwargs = {"reduction": used}
        if {name, call.op} == {*_KNEES}:  # with the same knee, one is a multiple of the other
            knee = call.bound.get(_KNEES[call.op], 1.0)
            kwargs[_KNEES[name]] = knee
            jaxs, torchs = (f"{n} with {_KNEES[n]} {knee:g}" for n in (name, call.op))
        if name != call.op and not torch.allclose(other(x, y), mean):  # huber for small numbers
            text = Setting("the loss", jaxs, torchs)
            yield call.by(text, other)._replace(args=(x, y), kwargs=kwargs)
    if call.op == "mse_loss":
        return  # half of it is a multiple
    text = Setting("the loss", "half of mse_loss", call.op)
    half = functools.partial(functional.mse_loss, reduction=used)
    yield call.by(text, lambda x, y: half(x, y) / 2, x, y)


def losses(call: TorchCall) -> Mistakes:
    """Reduce a loss in another way."""
    used = call.bound.get("reduction", "mean")
    for other in ("mean", "sum", "none", "batchmean"):
        if other != used:
            text = Setting("the loss", other, used, verb="is reduced by")
            yield call.replaced(text, reduction=other)


def labels(call: TorchCall) -> Mistakes:
    """Count ignored labels, smooth the labels otherwise, or normalise over another axis."""
    if call.bound.get("reduction", "mean") == "mean":
        yield from _all_labels(call)
    if call.op == "cross_entropy":
        yield from _smoothed(call)
        yield from _other_softmax(call)
        yield from _weighted(call)


def _other_softmax(call: TorchCall) -> Mistakes:
    """Take the softmax of the logits over another axis than that of the classes."""
    given = call.bound
    logits, targets = given["input"], given["target"]
    own, share = min(1, logits.ndim - 1), given.get("label_smoothing", 0.0)
    soft = targets.is_floating_point() or share
    if soft and (given.get("weight") is not None or _ignored(call).any()):
        return
    for dim in (k for k in range(logits.ndim) if k != own):
        scores = torch.log_softmax(logits, dim)
        text = Setting("the softmax of cross_entropy", str(dim), str(own), verb="is over dim")
        if soft:
            loss = functools.partial(_soft_loss, scores, targets, share, call.named("reduction"))
            wrong = call.by(text, lambda *_, loss=loss, **__: loss())
        else:
            names = ("weight", "ignore_index", "reduction")
            kwargs = {name: given[name] for name in names if name in given}
            wrong = call.by(text, functional.nll_loss, scores, targets)._replace(kwargs=kwargs)
        yield wrong.fixed(f"axis={dim}", f"axis={own}")


def _weighted(call: TorchCall) -> Mistakes:
    """Weight the labels of a cross entropy by hand, and leave out a weight or a mask."""
    given = call.bound
    labels, logits, weight = given["target"], given["input"], given.get("weight")
    if labels.is_floating_point() or call.named("reduction") != "mean":
        return
    axis, share = min(1, logits.ndim - 1), given.get("label_smoothing", 0.0)
    valid = ~_ignored(call)
    known = torch.where(valid, labels, 0)
    scores = torch.log_softmax(logits, axis).movedim(axis, -1)
    own = torch.ones(logits.shape[axis]).to(scores) if weight is None else weight
    chosen = scores.gather(-1, known[..., None])[..., 0]

    def loss(weights: Tensor, count: Tensor, others: Tensor = own, kept: Tensor = valid) -> Tensor:
        right = (1 - share) * (chosen * weights).sum()
        spread = share / scores.shape[-1] * ((scores * others).sum(-1) * kept).sum()
        return -(right + spread) / count

    def wrong(text: Told, *args: Tensor) -> TorchCall:
        return call.by(text, lambda *_, **__: loss(*args))

    used, every = own[known] * valid, own[known]
    if weight is not None:
        text = Told(
            "the loss is divided by the number of labels, torch divides it by the sum of their "
            "class weights",
            "the loss is divided by the sum of the labels' class weights, JAX divides it by the "
            "number of labels",
        )
        yield wrong(text, used, valid.sum())
    if weight is not None and share:
        text = Told(
            "the smoothing of labels has no class weights, torch weights each class",
            "the smoothing of labels has class weights, JAX weights no class there",
        )
        yield wrong(text, used, used.sum(), torch.ones_like(own))
    if not valid.all() and call.named("ignore_index") < 0:  # not a class itself
        text = Told(
            "ignored labels count as class 0, torch leaves them out",
            "ignored labels are left out, JAX counts them as class 0",
        )
        yield wrong(text, every, every.sum())
        if share:
            yield wrong(text, every, every.sum(), own, torch.ones_like(valid))


def _soft_loss(scores: Tensor, targets: Tensor, share: float, reduction: str) -> Tensor:
    """Return the cross entropy with probabilities, of which `share` is given to all classes."""
    axis = min(1, scores.ndim - 1)
    if not targets.is_floating_point():
        targets = functional.one_hot(targets, scores.shape[axis]).movedim(-1, axis)
    shares = targets.to(scores.dtype) * (1 - share) + share / scores.shape[axis]
    losses = -(shares * scores).sum(axis)
    return {"mean": torch.mean, "sum": torch.sum}.get(reduction, torch.clone)(losses)


def _ignored(call: TorchCall) -> Tensor:
    """Return which labels torch leaves out; probabilities are none."""
    labels = call.bound["target"]
    is_ignored = labels == call.bound.get("ignore_index", -100)
    return is_ignored & (not labels.is_floating_point())


def _smoothed(call: TorchCall) -> Mistakes:
    """Take another share from a label, or spread it over other classes than torch does."""
    used = call.bound.get("label_smoothing", 0.0)
    labels, logits = call.bound["target"], call.bound["input"]
    if not used or labels.is_floating_point() or call.bound.get("weight") is not None:
        return
    for share in (x for x in call.numbers if 0.5 < x < 1):  # of the right class
        other = round(1 - share, 12)
        text = Setting("label_smoothing", f"{other:g}", f"{used:g}")
        yield call.replaced(text, f"{other:g}", label_smoothing=other)
    valid = ~_ignored(call)
    reduce = {"mean": torch.mean, "sum": torch.sum}.get(call.named("reduction"))
    if reduce is None and not valid.all():
        return
    count = logits.shape[1]
    known = torch.where(valid, labels, 0)
    right = functional.one_hot(known, count).movedim(-1, 1).to(logits.dtype)
    others = {
        "only the other classes": right * (1 - used) + (1 - right) * used / (count - 1),
        "no class": right * (1 - used),
    }
    for what, targets in others.items():
        text = Setting("the smoothing of labels", what, "all classes", "goes to", "gives it to")
        if valid.all():
            yield call.replaced(text, label_smoothing=0.0, target=targets)
        elif reduce is not None:
            losses = -(targets * torch.log_softmax(logits, 1)).sum(1)[valid]
            yield call.by(text, lambda *_, losses=losses, **__: reduce(losses))


def normalized(call: TorchCall) -> Mistakes:
    """Add an eps to the norm or to its square, where torch takes the larger of norm and eps."""
    x, p, dim = call.args[0], call.named("p"), call.named("dim")
    norm = x.norm(p, dim, keepdim=True)
    own = call.named("eps")
    for number in dict.fromkeys((*call.numbers, own)):
        if not 0 < number < _LARGEST_EPS:
            continue
        theirs = f"torch divides by the larger of the norm and {own:g}"
        for what, divisor in (
            ("the norm's square", lambda number=number: (norm**2 + number).sqrt()),
            ("the norm", lambda number=number: norm + number),
        ):
            text = Told(
                f"{number:g} is added to {what}, {theirs}",
                f"normalize divides by the larger of the norm and {own:g}, JAX adds {number:g} to "
                f"{what}",
            )
            yield call.by(text, lambda *_, divisor=divisor, **__: x / divisor())


def _all_labels(call: TorchCall) -> Mistakes:
    """Divide by the number of all labels, where torch leaves out the ignored ones."""
    labels = call.bound["target"]
    if _ignored(call).any():
        text = Told(
            "the loss is divided by the number of all labels, torch leaves out the ignored ones",
            "the loss is divided by the number of labels without the ignored ones, JAX counts all",
        )
        wrong = call.replaced(text, reduction="sum")
        yield wrong.then(text, lambda total: total / labels.numel())


def ctc(call: TorchCall) -> Mistakes:
    """Reduce a CTC loss in another way, or ignore the lengths."""
    given = call.bound
    used, labels = given.get("reduction", "mean"), torch.as_tensor(given["target_lengths"])
    if used == "mean":
        text = Told(
            "the loss is the mean over the batch, torch first divides each loss by the number of "
            "its labels",
            "each loss is divided by the number of its labels, JAX takes the mean over the batch",
        )
        wrong = call.replaced(text, reduction="none")
        yield wrong.then(text, torch.mean)._replace(setting="this mean")
    for other in ("mean", "sum", "none"):
        if other != used:
            text = Setting("the loss", other, used, verb="is reduced by")
            yield call.replaced(text, reduction=other)
    frames = given["log_probs"].shape[0]
    lengths = torch.as_tensor(given["input_lengths"])
    text = Told(
        f"the padding of the log_probs is not masked: every sequence has {frames} frames",
        f"the log_probs are masked by input_lengths, in JAX every sequence has {frames} frames",
    )
    yield call.replaced(text, input_lengths=torch.full_like(lengths, frames))
    if given["targets"].ndim == 2:
        count = given["targets"].shape[1]
        text = Told(
            f"the padding of the targets is not masked: every sequence has {count} labels",
            f"the targets are masked by target_lengths, in JAX every sequence has {count} labels",
        )
        yield call.replaced(text, target_lengths=torch.full_like(labels, count))


def left_out(call: TorchCall) -> Mistakes:
    """Return an operand of the call instead of its result: applies to every call."""
    out = call.result
    out = out[0] if isinstance(out, tuple | list) and out else out
    inputs = tensors((call.args, call.kwargs))
    alike = [x for x in inputs if isinstance(out, Tensor) and x.shape == out.shape][:2]
    numbers = [x for x in call.args if isinstance(x, int | float) and not isinstance(x, bool)]
    by = f" by {numbers[0]:g}" if call.op in _SCALES and len(numbers) == 1 else ""
    for which, x in zip(("first", "second"), alike, strict=False):
        text = Missing(f"torch's {call.op}{by}", f"its {which} operand" if len(alike) == 2 else "")
        skipped = call.by(text, lambda *_, x=x, **__: x.clone())
        write = InTorch(removed=call.op)
        yield skipped._replace(setting="skip", partial=True, write=write)
    if isinstance(out, Tensor) and len(numbers) == 1 and call.op in ("mul", "rmul"):
        # The tensor may be the factor that is missing.
        text = Missing(f"torch's {call.op}", f"the number {numbers[0]:g}")
        skipped = call.by(text, lambda *_, **__: torch.full_like(out, numbers[0]))
        yield skipped._replace(setting="skip", partial=True)


def clamped(call: TorchCall) -> Mistakes:
    """Use other bounds, one bound alone, or a bound on the other side."""
    x = call.args[0]
    names = ("min_val", "max_val") if call.op == "hardtanh" else ("min", "max")
    used = call.named(names[0]), call.named(names[1])
    if any(isinstance(bound, Tensor) for bound in used):
        return
    numbers = call.numbers
    if not x.is_floating_point():  # with a bound that is no integer, the result is none either
        numbers = [int(n) for n in numbers if float(n).is_integer()]
    own = [bound for bound in used if bound is not None]
    known = [*own, *(-bound for bound in own), *numbers[:6]]
    lows, highs = ((None, *dict.fromkeys(known)) for _ in used)
    other_low = ((n, used[1]) for n in numbers if used[0] is not None)
    other_high = ((used[0], n) for n in numbers if used[1] is not None)
    for bounds in dict.fromkeys((*itertools.product(lows, highs), *other_low, *other_high)):
        if bounds in (used, (None, None)) or _crossed(*bounds):
            continue
        if not _has_idle_bound(x, bounds, used):
            theirs, own = _bounds(*bounds), _bounds(*used)
            text = Told(
                f"{call.op} has {theirs}, torch's has {own}",
                f"{call.op} has {own}, JAX's has {theirs}",
            )
            pairs = list(zip(bounds, used, strict=True))
            changed = [(new, old) for new, old in pairs if new != old]
            if None in bounds and call.op == "hardtanh":
                continue  # which has two bounds
            wrong = call.replaced(text, **dict(zip(names, bounds, strict=True)))
            numbers_differ = len(changed) == 1 and None not in changed[0]
            yield wrong.fixed(*(f"{n:g}" for n in changed[0])) if numbers_differ else wrong
    low, high = used
    if low is not None and low > 0 and high is None and x.is_floating_point():
        for number in dict.fromkeys((low, *call.numbers)):
            if 0 < number < _LARGEST_EPS:
                text = Told(
                    f"{number:g} is added, torch takes the larger of the value and {low:g}",
                    f"torch takes the larger of the value and {low:g}, JAX adds {number:g}",
                )
                yield call.by(text, lambda *_, number=number, **__: x + number)._replace(
                    occurs=True
                )


def _has_idle_bound(
    x: Tensor, bounds: tuple[float | None, float | None], used: tuple[float | None, float | None]
) -> bool:
    """Whether one of two bounds, which torch does not have, changes no element."""
    low, high = bounds
    if low is None or high is None:
        return False
    both = torch.clamp(x, low, high)
    alone = ((used[0] != low, (None, high)), (used[1] != high, (low, None)))
    return any(new and torch.equal(both, torch.clamp(x, *one)) for new, one in alone)


def _crossed(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low >= high


def _bounds(low: float | None, high: float | None) -> str:
    parts = [
        f"the {side} {x:g}" for side, x in (("minimum", low), ("maximum", high)) if x is not None
    ]
    return " and ".join(parts)


def other_numbers(call: TorchCall) -> Mistakes:
    """Use a number that the JAX program contains: applies to every call."""
    named = {name: x for name, x in call.kwargs.items() if isinstance(x, float)}
    scalars = (float, int) if call.op in BINARY else float  # an int may be a size or an axis
    for n, used in enumerate(call.args):
        for number in _unlike(call, used) if isinstance(used, scalars) else ():
            whole = isinstance(used, int) and number.is_integer()  # integers stay integers
            new = int(number) if whole else number
            args = [new if k == n else x for k, x in enumerate(call.args)]
            wrong = call.called(_number(call.op, number, used), *args, **call.kwargs)
            yield wrong.fixed(f"{number:g}", f"{used:g}")._replace(general=NUMBER)
    for name, used in named.items():
        for number in _unlike(call, used):
            text = Setting(name, f"{number:g}", f"{used:g}")
            wrong = call.called(text, *call.args, **{**call.kwargs, name: number})
            wrong = wrong._replace(setting=f"{number:g}", general=NUMBER)
            yield wrong.fixed(f"{number:g}", f"{used:g}")


def _unlike(call: TorchCall, used: float) -> list[float]:
    """Return the numbers of the JAX program that a report writes in another way than torch's."""
    return [x for x in call.numbers if f"{x:g}" != f"{used:g}"]


def _number(op: str, number: float, used: float) -> Setting:
    return Setting(f"the number in {op}", f"{number:g}", f"{used:g}")


def every(call: TorchCall) -> Mistakes:
    """Conjugate an operand or the result, or flip the sign: applies to every call."""
    out = call.result
    out = out[0] if isinstance(out, tuple | list) and out else out
    inputs = tensors((call.args, call.kwargs))
    complex_ = [x for x in inputs if x.is_complex()]
    for i, x in enumerate(complex_):
        swap = {id(x): x.conj()}
        args = tuple(swap.get(id(a), a) for a in call.args)
        which = "" if len(complex_) == 1 else ("first ", "second ", "third ")[min(i, 2)]
        text = Mutual(f"the {which}operand of {call.op} is conjugated")
        yield call.called(text, *args, **call.kwargs)
    if isinstance(out, Tensor) and out.is_complex():
        yield call.then(Mutual(f"the result of {call.op} is conjugated"), torch.conj)
    if isinstance(out, Tensor) and call.op not in ("neg", "sub", "rsub"):
        text = Mutual(f"the sign of torch's {call.op} is flipped")
        yield call.then(text, torch.neg)._replace(general=MULTIPLE)
