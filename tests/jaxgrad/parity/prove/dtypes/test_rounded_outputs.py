"""Outputs in the programs' own dtypes are compared with what rounding changes."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.prove.dtypes import rounded_outputs
from jaxgrad.parity.prove.dtypes.rounded_outputs import Difference, largest
from jaxgrad.parity.prove.record.torch_side.values import Native


EXACT = np.linspace(0.1, 1.0, 10)


def low(x: np.ndarray) -> np.ndarray:
    """Round to 8 binary digits."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(mantissa * 256) / 256, exponent)


def compared(monkeypatch: Any, torch: Any, jax: Any, exact: Any = EXACT) -> Difference | str:
    """Compare outputs of one draw: torch's by name, and JAX's."""
    native = Native("bfloat16", {}, True, [], outputs=[torch])
    values: Any = SimpleNamespace(port=None, exact=[[exact] * len(torch)])
    monkeypatch.setattr(rounded_outputs.jax_native, "outputs", lambda *_: [jax])
    return largest(native, values, [])


def test_equal_roundings_agree(monkeypatch):
    """The last bits of float32 are no difference."""
    y = low(EXACT)
    near = y * (1 + 3e-7)
    same = compared(monkeypatch, {"": y}, [near])
    assert same == Difference("the output", 0.0, 0, 10)
    assert Difference("the output", 0.25, 0, 10).agrees


def test_another_rounding_changes_as_much_as_all_roundings(monkeypatch):
    """JAX rounds a factor too; the elements that differ are counted."""
    wrong = compared(monkeypatch, {"y": low(EXACT)}, [low(low(EXACT * 0.7) / 0.7)])
    assert isinstance(wrong, Difference)
    assert wrong.share > 0.5 and not wrong.agrees
    assert str(wrong) == (
        f"in their own dtypes, {wrong.differing} of 10 elements of y differ, by {wrong.share:.2g} "
        "times what rounding changes"
    )
    loss = compared(monkeypatch, {"loss": low(EXACT[3])}, [EXACT[3]], EXACT[3])
    assert str(loss).startswith("in their own dtypes, loss differs, by 1 times")


def test_one_element_on_the_edge_agrees(monkeypatch):
    """One number that is rounded down, not up, is little of what rounding changes."""
    exact = np.linspace(0.1, 1.0, 1000)
    y = low(exact)
    other = y.copy()
    other[500] += np.ldexp(1.0, int(np.frexp(y[500])[1]) - 8)
    result = compared(monkeypatch, {"y": y}, [other], exact)
    assert isinstance(result, Difference)
    assert result.differing == 1 and result.agrees


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_a_number_that_only_one_program_has_finite_differs(monkeypatch, bad):
    """float16 overflows in one program; if it overflows in both, they agree."""
    y = low(EXACT)
    other = y.copy()
    other[2] = bad
    result = compared(monkeypatch, {"y": y}, [other])
    assert isinstance(result, Difference)
    assert result.share == np.inf and result.differing == 1
    assert compared(monkeypatch, {"y": other}, [other]) == Difference("y", 0.0, 0, 10)


def test_the_output_that_differs_most_is_returned(monkeypatch):
    """Integers are not rounded, and shapes may differ by dimensions of size one."""
    y, zero = low(EXACT), np.zeros(10)
    result = compared(monkeypatch, {"same": y, "other": y}, [y[:, None], zero])
    assert isinstance(result, Difference) and result.name == "other"
    count = np.arange(10)
    assert compared(monkeypatch, {"n": count}, [count], count) == "no output is a float"


def test_the_reason_is_returned_if_a_program_does_not_run(monkeypatch):
    """An old dump has no outputs, and a port may raise."""
    none: Any = None
    assert largest(Native("bfloat16", {}, True, []), none, []) == (
        "torch's outputs in its own dtypes are not known"
    )

    def fail(*_: Any) -> Any:
        raise ValueError("no kernel\nfor it")

    monkeypatch.setattr(rounded_outputs.jax_native, "outputs", fail)
    values: Any = SimpleNamespace(port=None, exact=[])
    text = largest(Native("bfloat16", {}, True, [], outputs=[{}]), values, [])
    assert text == "the port does not run in its own dtypes: no kernel"
