"""Every helper is free: XLA makes of a program with it what it makes of one written by hand."""

import inspect

import jax
import pytest

import jaxgrad
from parity_tests.audits.zero_cost import PAIRS, counts


# They run while a program is traced, and are no part of one.
STATIC = {"depends_on", "saved_bytes"}
SHARED = {
    "combine": "partition",
    "value_and_retained_grads": "retain_grad",
    "GradScaler": "grad_scaler",
}
MORE = 1.26  # of flops, which are not what an elementwise program waits for


@pytest.fixture(scope="module")
def ran():
    """Each pair's counts, compiled once."""
    found = {}

    def run(name):
        if name not in found:
            made = PAIRS[name]()
            found[name] = counts(made.ours, *made.args), counts(made.by_hand, *made.args)
        return found[name]

    return run


@pytest.mark.parametrize("name", PAIRS)
def test_a_helper_costs_nothing(name, ran):
    """No flop, byte, fusion, call or temporary byte more than the program written by hand."""
    ours, by_hand = ran(name)

    for what, mine, theirs in zip(ours._fields, ours, by_hand, strict=True):
        if what == "flops" and PAIRS[name]().more:
            assert theirs < mine <= MORE * theirs, f"{what}: the reason for more no longer holds"
        else:
            assert mine <= theirs, f"{what}: {mine}, by hand {theirs}"


@pytest.mark.parametrize("name", PAIRS)
def test_a_helper_calls_nobody(name, ran):
    """No callback to the host, and no kernel of its own."""
    assert (ran(name)[0].callbacks, ran(name)[0].calls) == (0, 0)


@pytest.mark.parametrize("name", PAIRS)
def test_a_helper_is_traced_once(name):
    """Called again with other values, the program that was compiled is used."""
    made, traced = PAIRS[name](), []

    @jax.jit
    def fun(*args):
        traced.append(None)
        return made.ours(*args)

    fun(*made.args)
    fun(*jax.tree.map(lambda x: x + 1, made.args))

    assert len(traced) == 1


def test_every_helper_is_counted():
    """A public function has a pair, shares one, or is no part of a program."""
    public = {
        name
        for name, value in vars(jaxgrad).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert public - set(PAIRS) - set(SHARED) == STATIC
    assert set(SHARED.values()) <= set(PAIRS)


def test_a_cost_would_be_seen():
    """A sum that nobody needs, and that a gradient waits for, is counted."""
    made = PAIRS["accumulate"]()
    more = counts(lambda a, b: jax.tree.map(lambda x, y: x + y * y.sum(), a, b), *made.args)

    assert more.flops > counts(made.by_hand, *made.args).flops
