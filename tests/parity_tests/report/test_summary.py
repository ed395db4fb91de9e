"""The words at the top of the report page count behaviours."""

import dataclasses
import types
from typing import Any

from jaxgrad.parity.compare import Leaf
from parity_tests.case import load
from parity_tests.report import summary
from parity_tests.runner.engine import run


def test_equal_cells_share_a_table():
    """Eager and jit cells of a dtype share a table if their verdict, text and leaves are equal."""
    leaf = Leaf("x", "close", "", "1.0", (0,), 1.0, float("nan"))
    eager = dataclasses.replace(
        run(load()["grad_modes/detach"], "float64", "eager"), leaves=(leaf,), verdict="close"
    )
    jit, wider = (dataclasses.replace(eager, mode="jit", dtype=d) for d in ("float64", "float32"))
    other = dataclasses.replace(jit, leaves=(dataclasses.replace(leaf, ulp_at_scale=2.0),))

    assert summary.alike([eager, jit, wider]) == [[eager, jit], [wider]]
    assert summary.alike([eager, other]) == [[eager], [other]]
    assert summary.command([eager, jit]).endswith(
        "grad_modes/detach --dtype float64 --mode eager,jit"
    )


def test_the_summary_says_in_which_way_behaviours_differ():
    """A documented deviation differs in values, or one framework raises, or both raise."""

    def deviation(id: str, torch: Any, jax: Any) -> Any:
        leaf = Leaf("grad", "fail", "structure", torch=torch, jax=jax)
        return types.SimpleNamespace(id=id, passed=True, verdict="deviation", leaves=(leaf,))

    equal: Any = types.SimpleNamespace(id="d", passed=True, verdict="close", leaves=())
    wrong: Any = types.SimpleNamespace(id="e", passed=False, verdict="fail", leaves=())
    refused = RuntimeError("freed")
    pinned = [deviation("a", refused, 1.0), deviation("b", None, 0.0), deviation("c", refused, 0.0)]

    assert summary.verdict([*pinned, equal, wrong]) == (
        "5 behaviours: 1 failed, 1 agree with torch, "
        "3 differ as documented (in 1 the values differ, in 2 torch raises)."
    )
    assert summary.verdict([equal]).endswith("1 agree with torch, 0 differ as documented.")
    raised: Any = types.SimpleNamespace(id="f", passed=False, verdict="error", leaves=())
    assert summary.verdict([equal, wrong, raised]).startswith(
        "3 behaviours: 1 failed, 1 raised an error, 1 agree with torch"
    )
    assert summary.verdict([]) == "Nothing was run."
