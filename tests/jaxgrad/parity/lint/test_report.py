"""The report of `lint` names the user's line, the elements, both gradients and a remedy."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import pytest
import torch

from jaxgrad._core import torch_versions
from jaxgrad.parity import lint


def test_a_finding_has_line_name_stack_and_text():
    """A finding inside `jnp.clip` is reported at the user's line, with its name stack."""

    def model(x):
        with jax.named_scope("block"):
            y = jnp.clip(x, 0.0, 1.0)  # the reported line
        return jnp.sum(y)

    report = lint(model, jnp.array([0.0, 0.5, 1.0]), torch="2.15")
    (finding,) = report.findings
    line = model.__code__.co_firstlineno + 2
    assert finding.line == f"test_report.py:{line}"
    assert finding.name_stack == "block"
    assert str(report) == (
        "1 place where the gradient of torch 2.15 differs\n"
        f"test_report.py:{line} block  clip(): 2 of 3 at a bound\n"
        "    gradient in torch 2.15: 0; in JAX: 0.5\n"
        "    remedy: jaxgrad.functional.clamp"
    )
    assert json.loads(report.to_json())["findings"][0]["elements"] == 2
    with pytest.raises(AssertionError, match="2 of 3 at a bound"):
        report.check()


def test_a_finding_names_no_private_function():
    """`jnp.std` calls a private function of JAX; the finding has the name that the user wrote."""
    report = lint(lambda x: jnp.std(x) + jnp.maximum(x, 1.0).sum(), jnp.ones(3))

    lines = [finding.text().partition("  ")[2].splitlines()[0] for finding in report.findings]
    assert lines == ["std(): 1 of 1 over equal values", "max: 3 of 3 equal to the constant"]


def test_a_report_without_findings(tmp_path):
    """A report without findings passes `check()` and has an empty list in its JSON."""
    report = lint(jnp.sin, jnp.ones(2), torch="2.13").check()
    assert str(report) == (
        "nothing was compared: this function has no operation for which the conventions of torch "
        "2.13 and JAX are known to differ"
    )
    report.to_json(tmp_path / "lint.json")
    assert json.loads((tmp_path / "lint.json").read_text()) == {
        "findings": [],
        "equations": 0,
        "torch": "2.13",
        "newer": "",
        "differentiable": 1,
    }


def test_integers_have_no_gradient():
    """If no argument has a gradient, the report does not say that the conventions hold."""
    report = lint(jnp.abs, jnp.zeros(2, int)).check()
    assert str(report) == (
        "nothing was checked: no argument is a floating point array, and other arguments have no "
        "gradient"
    )


def test_a_torch_that_is_not_known_is_named(monkeypatch):
    """If torch is newer than every known version, a note says that its changes are not known."""
    monkeypatch.setattr(torch_versions, "installed", lambda: "2.99.0.dev1")
    clean, found = lint(jnp.sin, jnp.ones(2)), lint(jnp.abs, jnp.zeros(2))
    note = "note: torch 2.99.0.dev1 is installed; what it changed is not known here"

    assert clean.torch == found.torch == torch_versions.NEWEST
    assert str(clean).splitlines()[1] == str(found).splitlines()[-1] == note
    assert note not in str(lint(jnp.sin, jnp.ones(2), torch="2.13"))


@pytest.mark.parametrize(
    ("program", "x"),
    [
        (jnp.abs, torch.tensor([1.0, -1.0])),
        (lambda x: torch.tensor(1.0), jnp.ones(2)),
    ],
)
def test_a_torch_program_is_refused(program, x):
    """JAX sees nothing of a torch function, so that a report about it would be empty."""
    with pytest.raises(TypeError, match="there is a torch .*; pass the JAX port and jnp.asarray"):
        lint(program, x)
