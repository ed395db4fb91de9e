"""Connectionist temporal classification (CTC) loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, in_opmath, is_floating, reduce, require
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


Lengths = ArrayLike | Sequence[int]


def ctc_loss(
    log_probs: Array,
    targets: Array,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
    *,
    torch_gradient: bool = False,
) -> Array:
    """CTC loss: negative log-likelihood of label sequences, summed over their alignments.

    Args:
        log_probs: Logarithms of probabilities, `(T, N, C)` or `(T, C)`.
        targets: Labels, `(N, S)`; or `(S,)`, either without a batch or all sequences concatenated.
        input_lengths: Lengths of the inputs, `(N,)` or `()`, at most T.
        target_lengths: Lengths of the targets, `(N,)` or `()`.
        blank: Label of the blank.
        reduction: `"none"`, `"sum"`, or `"mean"`, which divides each loss by its target length.
        zero_infinity: Whether to replace an infinite loss and its gradient by 0.
        torch_gradient: Whether to return torch's gradient, which is the gradient with respect to
            logits whose log-softmax is `log_probs`, and so has an extra `exp(log_probs)`. With
            False it is the gradient with respect to `log_probs`. For logits in front of a
            `log_softmax` both give the same gradient.

    Raises:
        RuntimeError: A shape, dtype or `blank` does not fit, or a length is out of range (under
            `jit` only with `checkify`).

    Example:
        >>> import jax, jax.numpy as jnp
        >>> logits = jnp.zeros((2, 1, 2))
        >>> loss = ctc_loss(jax.nn.log_softmax(logits), jnp.array([[1]]), (2,), (1,))
        >>> print(f"{loss:.4f}")
        0.2877

    Torch: `torch.nn.functional.ctc_loss`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. If no alignment fits a target, its loss is inf and its gradient NaN, or both are 0 with
           `zero_infinity` (`optax.ctc_loss`: about 1e5).
        2. The mean divides by the target lengths (`jnp.mean(optax.ctc_loss(...))` does not).
    """
    reject("ctc_loss", "complex", log_probs)
    log_probs, targets = array(log_probs, "log_probs"), array(targets, "targets")
    if not is_floating(log_probs):
        raise RuntimeError(f"log_probs must have a floating dtype, but got {log_probs.dtype}")
    batched = log_probs.ndim == 3
    if not batched:
        log_probs = log_probs[:, None]
        targets = targets[None]
    steps, batch, classes = log_probs.shape
    lengths = [jnp.atleast_1d(jnp.asarray(n)) for n in (input_lengths, target_lengths)]
    for name, n in zip(("input_lengths", "target_lengths"), lengths, strict=True):
        if is_floating(n):
            raise RuntimeError(f"{name} must be integral, but got {n.dtype}")
        if n.shape != (batch,):
            raise RuntimeError(
                f"{name} must be of size batch_size: expected {batch}, but got {list(n.shape)}"
            )
        require(
            jnp.all(n >= 0), RuntimeError(f"Expected {name} to have value at least 0, but got less")
        )
    if not batch * steps:
        raise RuntimeError("log_probs tensor must not be empty")
    if not 0 <= blank < classes:
        raise RuntimeError(
            f"blank must be in label range: got {blank}, but labels are from 0 to {classes - 1}"
        )
    require(
        jnp.all(lengths[0] <= steps),
        RuntimeError(f"Expected input_lengths to have value at most {steps}, but got more"),
    )
    targets = _padded(targets, lengths[1])
    loss = in_opmath(
        _ctc,
        log_probs,
        targets=targets.astype(jnp.int32),
        lengths=lengths,
        blank=blank,
        zero_infinity=zero_infinity,
        torch_gradient=torch_gradient,
    )
    loss = jnp.where(jnp.isinf(loss), 0, loss) if zero_infinity else loss
    if reduction == "mean":
        return jnp.mean(loss / jnp.maximum(lengths[1], 1).astype(loss.dtype))
    return reduce(loss if batched or reduction == "sum" else loss[0], reduction)


def _padded(targets: Array, lengths: Array) -> Array:
    """Return concatenated targets as rows that are padded to a common length."""
    if targets.ndim == 2:
        longest = targets.shape[1]
        require(
            jnp.all(lengths <= longest),
            RuntimeError(
                f"Expected targets to have size at least target_lengths, but got {longest}"
            ),
        )
        return targets
    require(
        jnp.sum(lengths) == targets.size,
        RuntimeError(
            f"Expected targets to have the size of all target_lengths, got {targets.size}"
        ),
    )
    if not targets.size:
        return jnp.zeros((len(lengths), 0), targets.dtype)
    starts = jnp.cumsum(lengths) - lengths
    at = starts[:, None] + jnp.arange(targets.size)
    return targets[jnp.clip(at, 0, targets.size - 1)]


def _ctc_derivative(
    t: Any, loss: Any, log_probs: Any, *, zero_infinity: bool, torch_gradient: bool, **rest: Any
) -> Any:
    counts = jnp.arange(len(t))[:, None] < rest["lengths"][0]
    t = jnp.where(counts[..., None], t, 0)
    _, tangent = jax.jvp(lambda x: _negative_log_likelihood(x, **rest), (log_probs,), (t,))
    if torch_gradient:
        tangent = tangent + jnp.sum(t * jnp.where(counts[..., None], jnp.exp(log_probs), 0), (0, 2))
    undefined = jnp.where(jnp.isnan(loss) | (jnp.isinf(loss) & (not zero_infinity)), jnp.nan, 0)
    undefined = jnp.where(counts, undefined, 0)
    tangent = tangent * jnp.where(jnp.isinf(loss), 0, 1)
    return tangent + jnp.sum(t * undefined[..., None], (0, 2))


@derivative(_ctc_derivative)
def _ctc(log_probs: Array, **options: Any) -> Array:
    return _negative_log_likelihood(log_probs, **options)


def _negative_log_likelihood(
    log_probs: Array, *, targets: Array, lengths: Any, blank: int, **_: Any
) -> Array:
    """Return the negative log-probability of all alignments, using the forward algorithm."""
    batch, longest = targets.shape
    states = jnp.full((batch, 2 * longest + 1), blank).at[:, 1::2].set(targets)
    skips = jnp.zeros(states.shape, bool)
    skips = skips.at[:, 3::2].set(targets[:, 1:] != targets[:, :-1]) if longest > 1 else skips
    never = -jnp.inf
    position = jnp.arange(states.shape[1])
    exists = position <= 2 * lengths[1][:, None]

    def shifted(x: Array, by: int) -> Array:
        return jnp.pad(x, ((0, 0), (by, 0)), constant_values=never)[:, : x.shape[1]]

    def step(alpha: Array, at_time: Any) -> tuple[Array, None]:
        t, probs = at_time
        emitted = jnp.where(exists, jnp.take_along_axis(probs, states, 1), never)
        two = jnp.where(skips, shifted(alpha, 2), never)
        arriving = _logsumexp(jnp.stack([alpha, shifted(alpha, 1), two]))
        first = jnp.where(position < 2, emitted, never)
        alpha_next = jnp.where(t == 0, first, arriving + emitted)
        return jnp.where(t < lengths[0][:, None], alpha_next, alpha), None

    start = jnp.where(position == 0, 0.0, never).astype(log_probs.dtype)
    start = jnp.broadcast_to(start, states.shape)
    times = jnp.arange(len(log_probs))
    alpha = jax.lax.scan(step, start, (times, log_probs))[0]
    ends = 2 * lengths[1][:, None] - jnp.array([0, 1])
    last = jnp.take_along_axis(alpha, jnp.maximum(ends, 0), 1)
    return -_logsumexp(jnp.moveaxis(jnp.where(ends < 0, never, last), 1, 0))


def _logsumexp(x: Array) -> Array:
    """Log-sum-exp over the first dim; if all elements are -inf, it is -inf with gradient 0."""
    high = jax.lax.stop_gradient(jnp.max(x, 0))
    none = high == -jnp.inf
    safe = jnp.where(none, 0, high)
    total = jnp.sum(jnp.exp(x - safe), 0)
    return jnp.where(none, -jnp.inf, safe + jnp.log(jnp.where(none, 1, total)))
