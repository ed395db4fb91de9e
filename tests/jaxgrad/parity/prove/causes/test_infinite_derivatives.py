"""NaN in one framework's gradients is named, with the call whose derivative is infinite."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import Tensor, nn

import jaxgrad.functional
from jaxgrad.parity import Report, prove
from tests.jaxgrad.parity.prove._helpers import arrays


class Norm(nn.Module):
    """The norm of rows, 0 for a row of zeros, with or without a safe operand of the root."""

    def __init__(self, safe: bool):
        super().__init__()
        self.w, self.safe = nn.Parameter(torch.arange(1.0, 3.0)), safe

    def forward(self, x: Tensor) -> Tensor:
        n = ((x * self.w) ** 2).sum(-1)
        root = torch.where(n > 0, n, torch.ones_like(n)) if self.safe else n
        return torch.where(n > 0, torch.sqrt(root), torch.zeros_like(n))


def unsafe(p: Any, x: Any) -> Any:
    n = ((x * p["w"]) ** 2).sum(-1)
    return jnp.where(n > 0, jnp.sqrt(n), 0.0)


def safe(p: Any, x: Any) -> Any:
    n = ((x * p["w"]) ** 2).sum(-1)
    return jnp.where(n > 0, jnp.sqrt(jnp.where(n > 0, n, 1.0)), 0.0)


def proved(module: Norm, fn: Any) -> Report:
    return prove(module, fn, arrays(module), (np.array([[1.0, 2.0], [0.0, 0.0], [3.0, -1.0]]),))


def test_the_branch_that_is_not_taken_is_named():
    """JAX's NaN is named with the root and the `where`, and the double `where` is suggested."""
    report = proved(Norm(safe=True), unsafe)

    assert report.verdict == "fail" and report.first is not None
    assert "JAX gives nan in 1 of 3 elements, torch gives 0 at the first" in report.first.text
    assert report.first.index == (1,) and np.isnan(report.first.jax_value)
    line = unsafe.__code__.co_firstlineno + 2
    assert report.first.cause.startswith(
        f"the derivative of sqrt at test_infinite_derivatives.py:{line} (sqrt) is infinite in "
        f"elements that the where at test_infinite_derivatives.py:{line} (select_n) does not "
        "select, and 0 times infinity is NaN (rerunning JAX without these elements, all gradients "
        "agree)"
    )
    assert "jnp.where(ok, f(jnp.where(ok, x, 1.0)), 0.0)" in report.first.cause


def test_nan_in_torch_alone_is_named():
    """A port that is safer than torch differs, and torch is named, without a cause in JAX."""
    report = proved(Norm(safe=False), safe)

    assert report.verdict == "fail" and report.first is not None
    assert "torch gives nan in 1 of 3 elements, JAX gives 0 at the first" in report.first.text
    assert not report.first.cause


def test_nan_in_both_frameworks_is_equal():
    """The same NaN in both frameworks passes, and so do two safe programs."""
    both = proved(Norm(safe=False), unsafe)

    assert both.verdict == "pass" and not both.notes
    assert proved(Norm(safe=True), safe).verdict == "pass"


def test_an_infinite_derivative_times_zero_is_named():
    """Without a `where`, the gradient of the root is zero in these elements."""

    def masked(p: Any, x: Any) -> Any:
        n = ((x * p["w"]) ** 2).sum(-1)
        return jnp.sqrt(n) * (n > 0)

    first = proved(Norm(safe=True), masked).first
    assert first is not None
    assert (
        "is infinite where its gradient is 0, and 0 times infinity is NaN (rerunning" in first.cause
    )


class Distance(nn.Module):
    """A function of the norms of differences."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1, 2)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return nn.functional.softplus(self.linear((x - y).norm(dim=-1)[:, None]))


def test_the_norm_of_a_zero_vector_is_named_with_torchs_function():
    """The `where` inside of softplus stops no gradient there, so it is not named."""

    def distance(p: Any, x: Any, y: Any) -> Any:
        norm = jnp.linalg.norm(x - y, axis=-1)[:, None]
        return jax.nn.softplus(norm @ p["linear.weight"].T + p["linear.bias"])

    x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, -6.0]])
    torch.manual_seed(0)
    module = Distance()
    first = prove(module, distance, arrays(module), (x, x * [[1.0], [1.0], [2.0]])).first
    assert first is not None and first.tested
    line = distance.__code__.co_firstlineno + 1
    assert first.cause == (
        f"the derivative of sqrt at test_infinite_derivatives.py:{line} (sqrt) is infinite where "
        "its operand is 0 (rerunning JAX without these elements, all gradients agree); "
        "jaxgrad.functional.norm has torch's gradient there"
    )

    def like_torch(p: Any, x: Any, y: Any) -> Any:
        norm = jaxgrad.functional.norm(x - y, dim=-1)[:, None]
        return jax.nn.softplus(norm @ p["linear.weight"].T + p["linear.bias"])

    inputs = (x, x * [[1.0], [1.0], [2.0]])
    assert prove(module, like_torch, arrays(module), inputs).verdict == "pass"
