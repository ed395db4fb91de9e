"""List the differences between the supported versions of torch, each as a `Change`.

Everything that states one of torch's conventions reads it here: `jaxgrad.functional` (which follows
`NEWEST`, or the version in `torch=`), `jaxgrad.nnx`, `lint`, `prove`, `port`, the records of the
operators, and the pages. When a new torch moves a gradient, add its version to `SUPPORTED` and a
`Change`, and ask `change.holds(torch)` where the gradient is computed.

This file needs only the standard library: `make matrix` reads it outside of any environment.
"""

from __future__ import annotations

import functools
import importlib.metadata
import re
from typing import NamedTuple


SUPPORTED = ("2.11", "2.12", "2.13", "2.14", "2.15")
NEWEST = SUPPORTED[-1]


class Change(NamedTuple):
    """A difference between the versions of torch before `since` and those from `since` on."""

    since: str
    operators: tuple[str, ...]
    now: str
    before: str
    kind: str
    """`"gradient"`: `jaxgrad.functional` computes either, according to `torch=`.

    `"pinned"`: it computes one of the two always, and the operator's record has both. `"listed"`:
    it always has `now`, and the operator's test asserts that an older torch still differs.
    `"removed"`: newer versions have no such operator, and calling it raises as torch does.
    """

    def holds(self, torch: str) -> bool:
        """Return whether a version of torch has this change.

        Raises:
            ValueError: jaxgrad does not know the version.
        """
        return at_least(supported(torch), self.since)


BOUND_OF_CLAMP = Change(
    "2.14",
    (
        "clamp", "clamp_min", "clamp_max", "normalize", "hinge_embedding_loss",
        "margin_ranking_loss", "cosine_embedding_loss", "triplet_margin_loss",
        "triplet_margin_with_distance_loss", "corrcoef",
        "distributions.bernoulli_log_prob", "distributions.binomial_log_prob",
        "distributions.negative_binomial_log_prob",
        "distributions.categorical_log_prob", "distributions.multinomial_log_prob",
        "distributions.one_hot_categorical_log_prob", "distributions.relaxed_bernoulli_log_prob",
        "distributions.relaxed_one_hot_categorical_log_prob",
        "distributions.continuous_bernoulli_log_prob", "distributions.logistic_normal_log_prob",
        "distributions.bernoulli_kl_divergence", "distributions.geometric_kl_divergence",
        "distributions.categorical_kl_divergence",
    ),
    "the gradient at a bound of `clamp` is 0; if the bound is an array, each of the two gets 0.5",
    "the gradient at a bound of `clamp` is 1, and the bound's is 0",
    "gradient",
)  # fmt: skip
TIES_OF_FMAX = Change(
    "2.14",
    ("fmax", "fmin"),
    "each of two equal numbers gets 0.5",
    "the first of two equal numbers gets 1",
    "gradient",
)
SELECTED_QUANTILES = Change(
    "2.14",
    ("quantile", "nanquantile"),
    "the interpolation weight in float32 is exact; among equal elements, any one may get the "
    "gradient",
    "the interpolation weight in float32 has the rank's rounding error; among equal elements, the "
    "first in sorted order gets the gradient",
    "gradient",
)
POWER_OF_LDEXP = Change(
    "2.14",
    ("ldexp",),
    "negative integer exponents have a gradient",
    "the gradient is 0 for negative integer exponents (`torch_gradient=True`)",
    "gradient",
)
SECOND_OF_DISTANCES = Change(
    "2.14",
    ("cdist", "pdist"),
    "there are second derivatives; at NaN and at infinity they contradict the gradient",
    "there are no second derivatives",
    "pinned",
)
BESSEL_OF_NAN = Change(
    "2.15",
    ("i0", "special.i0", "special.i1", "special.i1e"),
    "the derivatives of `i1` and `i1e` at NaN are NaN",
    "the derivatives of `i1` and `i1e` at NaN are 0.5",
    "gradient",
)
COUNTS_OF_BAGS = Change(
    "2.14",
    ("embedding_bag",),
    "`scale_grad_by_freq` divides by the count of each row",
    "`scale_grad_by_freq` may divide by the count of another row",
    "pinned",
)
INFINITE_SAMPLES = Change(
    "2.15",
    ("grid_sample",),
    "second derivatives ignore infinite elements with the weight 0; forward mode does not",
    "second derivatives are NaN beside infinite elements, and there is no forward mode",
    "pinned",
)
REMOVED_QR = Change("2.14", ("qr",), "`torch.qr` raises", "`torch.qr` works", "removed")
COMPLEX_INPUTS = Change(
    "2.14",
    (
        "fft.rfft", "fft.rfft2", "fft.rfftn", "fft.ihfft", "fft.ihfft2", "fft.ihfftn", "istft",
    ),
    "an input that should be real, or complex, raises a TypeError",
    "an input that should be real, or complex, raises a RuntimeError",
    "pinned",
)  # fmt: skip
REAL_INPUTS = Change(
    "2.15",
    ("imag", "view_as_real"),
    "a real input raises a TypeError",
    "a real input raises a RuntimeError",
    "pinned",
)
EMPTY_POOLS = Change(
    "2.15",
    ("max_pool3d",),
    "an empty input raises an error that asks for a non-zero size",
    "an empty input raises an error that asks for a positive length",
    "pinned",
)
NORMS_OF_POOLS = Change(
    "2.13",
    ("lp_pool1d", "lp_pool2d", "lp_pool3d"),
    "the norms of order inf and -inf are the maximum and the minimum",
    "the norms of order inf and -inf are 1, with the gradient NaN",
    "listed",
)
HALF_OF_TRACE = Change(
    "2.13", ("trace",), "float16 and bfloat16 work", "float16 and bfloat16 raise", "listed"
)
GRADIENT_OF_AMINMAX = Change(
    "2.12", ("aminmax",), "the result is differentiable", "it has no derivative", "listed"
)
ZERO_EPS = Change(
    "2.12", ("batch_norm",), "`eps` may be 0", "an `eps` of 0 raises an error", "listed"
)
INFINITE_GRID = Change(
    "2.12",
    ("grid_sample",),
    "there is a second derivative where the input has infinities",
    "there is no second derivative where the input has infinities",
    "listed",
)
INFINITE_DET = Change(
    "2.12",
    ("linalg.det",),
    "the gradient at [[inf]] is 1",
    "the gradient at [[inf]] is NaN",
    "listed",
)
LABELS = Change(
    "2.12",
    ("nll_loss", "cross_entropy", "multi_margin_loss"),
    "the error for a label out of range has the text of torch 2.13",
    "the error for a label out of range has another text",
    "listed",
)

CHANGES = tuple(value for value in dict(globals()).values() if isinstance(value, Change))


class Proposal(NamedTuple):
    """An open pull request of torch. It becomes a `Change` when a release contains it."""

    pulls: tuple[int, ...]  # of pytorch/pytorch
    names: tuple[str, ...]  # in `jaxgrad`
    then: str


PROPOSALS = (
    Proposal(
        (189045, 196170),
        ("functional.multi_head_attention_forward",),
        "rows in which every key is masked have the weights 0, and no longer NaN, with "
        "`need_weights=True`",
    ),
    Proposal(
        (195566,),
        ("optim.muon",),
        "matrices of one shape are orthogonalized in one batch (`foreach`), which rounds otherwise",
    ),
)


@functools.cache
def release(version: str) -> tuple[int, int]:
    """Return `(2, 15)` for `"2.15"`, `"2.15.0"` or `"2.15.0+cu132"`.

    Raises:
        ValueError: The text is not a version.
    """
    match = re.match(r"(\d+)\.(\d+)", version) if isinstance(version, str) else None
    if match is None:
        example = str(version) if isinstance(version, float) else NEWEST
        raise ValueError(f"{version!r} is not a version of torch; write it as {example!r}")
    return int(match[1]), int(match[2])


def at_least(version: str, other: str) -> bool:
    """Return whether a version is `other` or newer, compared by their first two numbers."""
    return release(version) >= release(other)


def supported(version: str) -> str:
    """Return a version in the form of `SUPPORTED`: `"2.13"` for `"2.13.0+cpu"`.

    Raises:
        ValueError: The version is not one of `SUPPORTED`.
    """
    text = "{}.{}".format(*release(version))
    if text not in SUPPORTED:
        raise ValueError(
            f"jaxgrad knows the gradients of torch {', '.join(SUPPORTED)}, not of torch {version}; "
            f"choose one of these"
        )
    return text


def nearest(version: str) -> str:
    """Return the supported version itself, or the oldest or newest one if it is outside of them."""
    if at_least(version, NEWEST):
        return NEWEST
    return supported(version) if at_least(version, SUPPORTED[0]) else SUPPORTED[0]


def installed() -> str | None:
    """Return the version of the installed torch, such as `"2.13.0+cpu"`, without importing it."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def newer_than_known() -> str:
    """Return the version of the installed torch if it is newer than `NEWEST`, else ""."""
    version = installed()
    return version if version and not at_least(NEWEST, version) else ""


def convention(version: str | None = None) -> str:
    """Return the version whose conventions hold: of the given or installed torch, or the newest."""
    version = version or installed()
    return nearest(version) if version else NEWEST
