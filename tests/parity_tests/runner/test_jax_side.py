"""JAX programs run on the chosen device, with the options that give torch's rounding there."""

import types

import jax
import pytest

from parity_tests.runner.jax_side import JaxProgram


@pytest.mark.parametrize("platform", ["cpu", "gpu", "tpu"])
def test_accelerators_keep_no_excess_precision(platform, monkeypatch):
    """On an accelerator, XLA rounds bfloat16 values in a compiled program as torch does."""
    options = []
    monkeypatch.setattr(jax, "devices", lambda kind: [types.SimpleNamespace(platform=kind)])
    monkeypatch.setattr(jax, "jit", lambda fun, **given: options.append(given) or fun)

    JaxProgram(lambda x: x, "jit", platform)

    excess = {} if platform == "cpu" else {"xla_allow_excess_precision": False}
    assert [given["compiler_options"] for given in options] == [excess]
