"""Every helper is free: a program that uses it compiles to the cost of a hand-written program."""

import inspect

import jax
import pytest

import jaxgrad
from parity_tests.audits.zero_cost import PAIRS, counts
from parity_tests.runner.settings import ROOT


# These helpers run while a program is traced and are not part of the compiled program.
STATIC = {"depends_on", "saved_bytes"}
SHARED = {
    "combine": "partition",
    "value_and_retained_grads": "retain_grad",
    "GradScaler": "grad_scaler",
}
MORE = 1.26  # allowed ratio of flops with a reason; elementwise programs are memory-bound


@pytest.fixture(scope="module")
def ran():
    """Return a function that gives the costs of a pair of programs and compiles each pair once."""
    compiled = {}

    def run(name):
        if name not in compiled:
            programs = PAIRS[name]()
            compiled[name] = (
                counts(programs.with_helper, *programs.args),
                counts(programs.by_hand, *programs.args),
            )
        return compiled[name]

    return run


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PAIRS)
def test_a_helper_costs_nothing(name, ran):
    """A helper adds no flops, bytes, fusions, calls or temporary bytes to a program."""
    with_helper, by_hand = ran(name)

    for what, cost, bound in zip(with_helper._fields, with_helper, by_hand, strict=True):
        if what == "flops" and PAIRS[name]().more:
            assert bound < cost <= MORE * bound, f"{what}: the reason for a higher cost is stale"
        else:
            assert cost <= bound, f"{what}: {cost}, by hand {bound}"


@pytest.mark.parametrize("name", PAIRS)
def test_a_helper_adds_no_callback_or_kernel(name, ran):
    """A helper adds neither a callback to the host nor a custom kernel."""
    assert (ran(name)[0].callbacks, ran(name)[0].calls) == (0, 0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PAIRS)
def test_a_helper_is_traced_once(name):
    """A helper called again with other values does not cause another compilation."""
    programs, traced = PAIRS[name](), []

    @jax.jit
    def fun(*args):
        traced.append(None)
        return programs.with_helper(*args)

    fun(*programs.args)
    fun(*jax.tree.map(lambda x: x + 1, programs.args))

    assert len(traced) == 1


def test_every_helper_is_counted():
    """Every public helper has a pair, shares one, or is not part of a compiled program."""
    public = {
        name
        for name, value in vars(jaxgrad).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert public - set(PAIRS) - set(SHARED) == STATIC
    assert set(SHARED.values()) <= set(PAIRS)


def test_an_added_cost_is_detected():
    """The counts detect an unnecessary sum in a program."""
    programs = PAIRS["accumulate"]()
    more = counts(lambda a, b: jax.tree.map(lambda x, y: x + y * y.sum(), a, b), *programs.args)

    assert more.flops > counts(programs.by_hand, *programs.args).flops


def test_a_callback_is_counted():
    """A program that calls back to the host counts as one with a callback."""

    def calls_back(x):
        return jax.pure_callback(abs, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    assert counts(calls_back, jax.numpy.float32(-1)).callbacks == 1


def test_the_page_on_costs_names_the_helpers_that_cost_more():
    """The page on costs names each helper that may compile to more than the program by hand."""
    more = {name for name, build in PAIRS.items() if build().more}
    page = " ".join((ROOT / "docs" / "costs.md").read_text().split())

    assert more == {"clip_grad_norm", "grad_scaler"}
    assert "`clip_grad_norm` and `GradScaler` add a few scalar operations" in page
