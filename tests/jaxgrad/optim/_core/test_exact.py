"""Exact arithmetic rounds as torch's fused multiply-add does."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from jaxgrad import optim
from parity_tests.audits import optimizer_runs as runs
from parity_tests.audits.optimizers import OPTIMIZERS
from tests.jaxgrad.optim.shared import single_tensor


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sum_halfway_between_two_floats(dtype):
    """A tie rounds to even; a product just below a tie rounds down, even if float64 sees a tie."""
    eps = np.finfo(dtype).eps
    odd_and_even = 1 + eps * np.arange(16)
    params = [np.asarray(np.concatenate([odd_and_even, -odd_and_even]), dtype)]
    for rate, move in (2.0, eps / 4), (1 + eps, (1 - eps) * eps / 2):
        for sign in (1, -1):
            grads = [[np.full_like(params[0], sign * move)]]
            theirs = runs.run_torch("sgd", single_tensor({"lr": rate}), params, grads)
            ours = runs.run_jax(optim.sgd(lr=rate, exact=True), params, grads)

            assert not runs.differing(ours, theirs)


def test_x64_off():
    """With x64 off, float32 parameters have torch's bits, because scalars are still doubles."""
    params, grads = runs.problem(4, 20, ["float32"] * 4)
    for name in ("adam", "nadam", "asgd"):
        options = OPTIMIZERS[name].representative
        with runs.ieee_sqrt():
            theirs = runs.run_torch(name, single_tensor(options), params, grads)
        with jax.enable_x64(False):
            ours = runs.run_jax(OPTIMIZERS[name].make(**options, exact=True), params, grads)

        assert not runs.differing(ours, theirs), name
