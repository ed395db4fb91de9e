"""NaN in one framework's gradients is named, with the call whose derivative is infinite."""

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.surfaces import infinite_derivatives
from tests.jaxgrad.parity.prove._helpers import arrays
from tests.jaxgrad.parity.prove.surfaces._helpers import Made, Use


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


class Infinite(Made):
    """A case whose calls `a` to `c` have these cotangents, of which `a` comes first."""

    def __init__(self, cotangents: Any, repairs: dict[str, str], wheres: str):
        super().__init__("xy", repairs, 1.0)
        names = {**dict.fromkeys("abc", "sqrt"), "v": "select_n", "w": "select_n", "z": "add"}
        self.evidence.port.program.equations = {
            path: SimpleNamespace(primitive=SimpleNamespace(name=name))
            for path, name in names.items()
        }
        order = {(path, 0): n for n, path in enumerate("abczwv")}
        self.evidence.flow = SimpleNamespace(
            order=order, ahead=lambda keys, _: {(path, 0) for path in (*wheres, "z", "leaf")}
        )
        self.unbounded: Any = [Use(path) for path in cotangents]
        arrays = {(path, 0): np.array(x) for path, x in cotangents.items()}
        self.gated: Any = SimpleNamespace(
            compiles=lambda _: False,
            gradients=lambda draw, settings, keys: SimpleNamespace(
                cotangents={key: arrays[key] for key in keys}
            ),
        )


@pytest.mark.parametrize(
    ("wheres", "zero", "where"),
    [
        ("vw", 0.0, " in elements that the where at line w does not select, and 0 times infinity "
         "is NaN"),
        ("", 0.0, " where its gradient is 0, and 0 times infinity is NaN"),
        ("vw", 0.5, ""),
    ],
)  # fmt: skip
def test_the_first_call_with_an_infinite_derivative_is_explained(wheres, zero, where):
    """NaN begins where the cotangent is still finite; the nearest `where` is named."""
    cotangents = {"b": [np.nan, 1.0], "a": [zero, 1.0]}
    why = infinite_derivatives.explain(Infinite(cotangents, {"a": "x", "b": "xy"}, wheres))

    assert why is not None and why.key == ("a", 0) and not why.complete
    assert why.fixed == {"x"} and {g.path: n for g, n in why.settings.items()} == {"a": 1.0}
    assert why.text.startswith(
        f"the derivative of sqrt at line a is infinite{where} (rerunning JAX without these "
        "elements, the gradients of x agree, others still differ); replace its operand"
    )


def test_a_call_that_repairs_nothing_is_no_cause():
    """A call is not a cause if replacing it changes no gradient, or if all gradients agreed
    before.
    """
    assert infinite_derivatives.explain(Infinite({"a": [1.0]}, {"a": ""}, "")) is None
    whole = infinite_derivatives.explain(Infinite({"a": [1.0]}, {"a": "xy"}, ""))
    assert whole is not None and whole.complete
