"""A table that one framework holds in float32 is replaced, and what follows is compared exactly."""

import functools
import math
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.record import tables
from jaxgrad.parity.prove.record.jax_side.program import program
from jaxgrad.parity.prove.record.tables import constants_of, fitted
from tests.jaxgrad.parity.prove._helpers import draw


STEP = -math.log(10000.0) / 4


def table(xp: Any, rows: int = 300) -> Any:
    angles = xp.arange(rows)[:, None] * xp.exp(xp.arange(4) * STEP)
    return xp.concatenate([xp.sin(angles), xp.cos(angles)], 1)


class Encoder(nn.Module):
    """A layer that adds a table of positions, which it holds or computes."""

    pe: Tensor

    def __init__(self, holds: str):
        super().__init__()
        self.linear, self.norm, self.holds = nn.Linear(8, 8), nn.LayerNorm(8), holds
        angles = torch.arange(300).float()[:, None] * torch.exp(torch.arange(4).float() * STEP)
        numbers = torch.cat([torch.sin(angles), torch.cos(angles)], 1)
        if holds == "buffer":
            self.register_buffer("pe", numbers, persistent=False)
        elif holds == "attribute":
            self.pe = numbers

    def forward(self, x: Tensor) -> Tensor:
        if self.holds != "nothing":
            pe = self.pe
        else:
            angles = torch.arange(300).to(x)[:, None] * torch.exp(torch.arange(4).to(x) * STEP)
            pe = torch.cat([torch.sin(angles), torch.cos(angles)], 1)
        return self.norm(torch.tanh(self.linear(x + pe[: x.shape[1]])))


def port(p: Any, x: Any, pe: Any = None, eps: float = 1e-5, shift: int = 0) -> Any:
    pe = jnp.roll(table(jnp) if pe is None else pe, shift, 0)
    h = jnp.tanh((x + pe[: x.shape[1]]) @ p["linear.weight"].T + p["linear.bias"])
    h = (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + eps)
    return h * p["norm.weight"] + p["norm.bias"]


def report(holds: str, *, double: bool = False, **options: Any) -> Report:
    torch.manual_seed(0)
    module = Encoder(holds)
    params = {name: x.detach().numpy() for name, x in module.named_parameters()}
    fn = functools.partial(port, **options)
    return prove(module.double() if double else module, fn, params, (draw(2, 5, 8),))


FLOAT32 = table(np).astype(np.float32)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("holds", ["buffer", "attribute"])
def test_a_float32_table_of_torch_is_replaced(holds):
    """Outputs agree to the last digits although only torch's table is in float32."""
    proof = report(holds, double=holds == "buffer").check()

    assert "torch holds pe in float32, off by up to" in str(proof)
    assert "outputs agree within" in proof.surfaces["forward"].text
    assert all(row["difference"] < 1e-14 for row in proof.surfaces["forward"].rows)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("array", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_a_float32_table_of_the_port_is_replaced(array):
    """A port that holds a table in float32 agrees with a module that computes it."""
    proof = report("nothing", pe=array(FLOAT32)).check()

    assert "in float32, off by up to" in str(proof) and "the port holds a table" in str(proof)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("options", "where"), [({"eps": 1.001e-5}, "norm"), ({"shift": 1}, "(root)")]
)
@pytest.mark.parametrize(("holds", "pe"), [("buffer", None), ("nothing", FLOAT32)])
def test_another_difference_still_fails(holds, pe, options, where):
    """A tiny error beside a table fails, and so does a table of other numbers."""
    proof = report(holds, pe=pe, **options)

    assert proof.first is not None
    assert (proof.first.surface, proof.first.torch) == ("forward", where)


class Rotary(nn.Module):
    """A layer whose outputs are rotated by a complex table, as Llama's `freqs_cis`."""

    def __init__(self, holds: str, rows: int = 8):
        super().__init__()
        self.linear, self.holds = nn.Linear(4, 4, bias=False), holds
        angles = torch.outer(torch.arange(rows).float(), 1 / 10000 ** (torch.arange(2) / 2))
        table = torch.polar(torch.ones_like(angles), angles)
        if holds == "buffer":
            self.register_buffer("freqs", table, persistent=False)
        elif holds == "attribute":
            self.freqs = table

    def forward(self, x: Tensor) -> Tensor:
        q = torch.view_as_complex(self.linear(x).unflatten(-1, (2, 2)))
        if self.holds == "nothing":
            angles = torch.outer(torch.arange(8).to(x), 1 / 10000 ** (torch.arange(2).to(x) / 2))
            freqs = torch.polar(torch.ones_like(angles), angles)
        else:
            freqs = self.freqs
        return torch.view_as_real(q * freqs[: x.shape[1]]).flatten(-2)


def angles(rows: int, base: float = 10000.0) -> Any:
    return jnp.outer(jnp.arange(rows), 1 / base ** (jnp.arange(2) / 2))


def rotate(p: Any, x: Any, table: Any = lambda n: jnp.exp(1j * angles(n))) -> Any:
    q = (x @ p["linear.weight"].T).reshape(*x.shape[:-1], 2, 2)
    z = (q[..., 0] + 1j * q[..., 1]) * table(x.shape[1])
    return jnp.stack([z.real, z.imag], -1).reshape(x.shape)


def two_tables(rows: int) -> Any:
    """Return a complex table from its real and its imaginary part, each a constant."""
    return jax.lax.complex(jnp.cos(angles(rows)), jnp.sin(angles(rows)))


def of_rotary(holds: str, fn: Any, **options: Any) -> Report:
    torch.manual_seed(0)
    module = Rotary(holds)
    params = {"linear.weight": module.linear.weight.detach().numpy()}
    return prove(module, fn, params, (draw(2, 5, 4),), **options)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("holds", ["buffer", "attribute"])
@pytest.mark.parametrize("table", [None, two_tables], ids=["exp", "parts"])
def test_a_complex64_table_of_torch_is_replaced(holds, table, seed):
    """A note names the table, and outputs agree to the last digits."""
    fn = rotate if table is None else functools.partial(rotate, table=table)
    proof = of_rotary(holds, fn, seed=seed).check()

    assert "torch holds freqs in complex64, off by up to" in str(proof)
    assert all(row["difference"] < 1e-14 for row in proof.surfaces["forward"].rows)


def test_a_complex64_table_of_the_port_is_replaced():
    """A port that holds the table agrees with a module that computes it."""
    held = np.exp(1j * np.asarray(angles(8))).astype(np.complex64)
    fn = functools.partial(rotate, table=lambda n: held[:n])
    proof = of_rotary("nothing", fn, also=[(draw(2, 7, 4),)]).check()
    assert "the port holds a table of shape [5, 2] in complex64" in str(proof)


def test_a_complex_table_of_other_numbers_fails():
    """Other frequencies are no rounding."""
    wrong = functools.partial(rotate, table=lambda n: jnp.exp(1j * angles(n, base=9000.0)))
    assert of_rotary("buffer", wrong).verdict == "fail"


@pytest.mark.parametrize("holds", ["buffer", "attribute"])
@pytest.mark.parametrize(("rows", "verdict"), [(99, "pass"), (7, "fail")])
def test_the_rows_that_only_longer_inputs_read_are_replaced_too(holds, rows, verdict):
    """A port computes as many rows as its inputs need; a wrong row still fails."""

    def computed(p: Any, x: Any) -> Any:
        n = x.shape[1]
        pe = table(jnp, n)
        pe = jnp.where(jnp.arange(n)[:, None] < rows, pe, pe + 1e-3)
        return port(p, x, pe=pe)

    torch.manual_seed(0)
    module = Encoder(holds)
    params = {name: x.detach().numpy() for name, x in module.named_parameters()}
    options: Any = dict(also=[(draw(2, 9, 8),)])
    proof = prove(module, computed, params, (draw(2, 5, 8),), **options)

    assert proof.verdict == verdict, proof
    if verdict == "pass":
        assert "outputs and gradients also agree with also[0]" in proof.surfaces["forward"].text


def test_a_table_is_fitted_in_any_layout():
    """A transpose, a reshape and the first rows of a table are recognised, other numbers not."""
    exact = table(np, 6)
    held = exact.astype(np.float32).astype(np.float64)

    for x in (exact, exact.T, exact[None], exact[:4]):
        near = fitted(x, held)
        assert near is not None and 0 < near[1] < 1e-7
        assert np.array_equal(near[0][: len(exact[:4])], exact[:4])
    assert fitted(exact[:4], held)[0][5] == pytest.approx(held[5], abs=0)  # type: ignore[index]
    assert fitted(held, held) == (pytest.approx(held), 0.0)
    for x in (exact + 1e-4, exact[::-1], exact.ravel()):
        assert fitted(x, held) is None


def test_the_constants_of_a_program_are_computed():
    """Constants are found inside `jit`; values that depend on an input are left out."""

    @jax.jit
    def fun(p: Any, x: Any) -> Any:
        return p["w"] * x * jnp.sin(jnp.arange(3.0)) + FLOAT32[:3, 0]

    traced = program(fun, {"w": np.ones(3)}, (np.ones(3),))
    found = constants_of(traced)

    assert any(np.array_equal(x, np.sin(np.arange(3.0))) for x in found)
    assert all(x.shape == (3,) for x in found) and len(found) < 6


def test_a_table_that_a_function_computes_is_a_constant_and_one_of_a_branch_is_not():
    """The results of `jit` are known, those of a branch or a loop over constants are not."""

    def fun(p: Any, x: Any) -> Any:
        del p
        angles = jnp.arange(3.0)
        branch = jax.lax.cond(angles[0] > 0, jnp.cos, jnp.tan, angles)
        powers = jax.lax.scan(lambda c, y: (c * 0.9, c), 1.0, None, length=3)[1]
        return x * jax.jit(jnp.sin)(angles) + branch + powers

    with jax.enable_x64(True):
        found = constants_of(program(fun, {}, (np.ones(3),)))

    angles = np.arange(3.0)
    assert any(np.allclose(x, np.sin(angles)) for x in found)
    for hidden in (np.cos(angles), np.tan(angles), 0.9**angles):
        assert not any(np.allclose(x, hidden) for x in found)


@pytest.mark.parametrize(
    ("row", "off", "fits"),
    [(0, 3.9, True), (0, 4.1, False), (2, 11.9, True), (2, 12.1, False), (5, 24.1, False)],
)
def test_a_later_row_may_be_off_by_more(row, off, fits):
    """The allowance is four float32 ULPs of the largest number, times the number of the row."""
    held = np.linspace(0.5, 2.0, 24).reshape(6, 4)
    exact = held.copy()
    exact[row, 0] += off * 2 * float(np.finfo(np.float32).eps)
    near = fitted(exact, held)
    assert (near is not None) is fits
    if near is not None:
        assert near[1] == pytest.approx(off * 2 * float(np.finfo(np.float32).eps))


def test_a_complex_table_is_fitted_as_a_whole_or_in_parts():
    """A real table may be one part of a complex constant."""
    exact = np.exp(1j * np.arange(6.0).reshape(3, 2))
    held = exact.astype(np.complex64).astype(complex)
    real = np.cos(np.arange(6.0).reshape(3, 2)).astype(np.float32).astype(float)

    parts = np.real(exact), np.imag(exact)
    for constants in ([exact], parts, (parts[0][:2], parts[1])):
        near = tables.nearest(constants, held)
        assert near is not None and 0 < near[1] < 1e-7
        assert np.array_equal(near[0][:2], exact[:2])
    near = tables.nearest([exact], real)
    assert near is not None and np.array_equal(near[0], parts[0])
    assert tables.nearest(parts[:1], held) is None
    assert tables.nearest([], real) is None and fitted(parts[0], held) is None


def test_infinities_must_be_at_the_same_places():
    """A mask of infinities fits itself alone, and its finite numbers set the scale."""
    mask = np.where(np.tri(4, dtype=bool), 0.1, -np.inf)
    near = fitted(mask + 1e-9, mask)
    assert near is not None and near[1] == pytest.approx(1e-9)
    assert fitted(np.where(np.tri(4, k=-1, dtype=bool), 0.1, -np.inf), mask) is None


@pytest.mark.parametrize(
    ("shape", "wanted", "count"),
    [((2, 3), (3, 2), 1), ((1,), (1,), 0), ((2,), (2, 1), 1), ((2, 2), (2, 2), 2),
     ((4, 3), (2, 3), 0), ((2, 3), (4, 3), 1), ((6,), (2, 3), 0), ((2, 2, 2, 2), (2, 2, 2, 2), 1)],
)  # fmt: skip
def test_the_layouts_of_a_table_are_its_permutations(shape, wanted, count):
    """Axes of one are ignored; four axes keep their order; a single number is not a table."""
    found = list(tables._layouts(np.zeros(shape), np.ones(wanted)))
    assert len(found) == count and all(x.shape == wanted for x in found)


def test_the_largest_difference_is_noted():
    """Tables that are equal need no note; the one that is off by most is named."""
    old, new = np.array([1.0, np.inf]), np.array([1.25, np.inf])
    held: Any = SimpleNamespace(tables=[(old, new)])
    none: Any = SimpleNamespace(tables=[])
    x = np.ones(2)
    assert list(tables.notes({"a": (x, 0.0)}, none)) == []
    (one,) = tables.notes({"a": (x, 0.0), "b": (x, 1e-8)}, none)
    assert one.startswith("torch holds b in float32, off by up to 1e-08 from")
    (two,) = tables.notes({"a": (x, 2e-8), "b": (x, 1e-8), "c": (x, 1e-9)}, none)
    assert two.startswith("torch holds a and 2 more tables in float32, off by up to 2e-08")
    with np.errstate(invalid="ignore"):  # as in a proof
        (port_note,) = tables.notes({}, held)
    assert "of shape [2] in float32, off by up to 0.2 from" in port_note


def test_the_nearest_constant_replaces_a_table_of_torch():
    """If two constants fit, the nearer one is used; if none fits, nothing is replaced."""
    exact = np.linspace(0.1, 1.0, 8)
    held = exact.astype(np.float32).astype(float)
    with jax.enable_x64(True):
        traced = program(lambda p, x: x * exact + x * (exact + 2e-8), {}, (np.ones(8),))
        found = tables.for_torch({"pe": held, "other": np.arange(8.0)}, traced)
        assert list(found) == ["pe"] and np.array_equal(found["pe"][0], exact)
        assert tables.for_torch({}, traced) == {}


def test_an_exact_value_of_torch_replaces_a_table_of_the_port():
    """A value that is equal on both draws is a constant; one that differs is not."""
    exact = np.linspace(0.1, 1.0, 8)
    held = exact.astype(np.float32)
    value = SimpleNamespace(data=exact, print=fingerprint(exact))
    moved = SimpleNamespace(data=exact, print=fingerprint(exact + 1e-3))
    run: Any = SimpleNamespace(values=[value])
    with jax.enable_x64(True):
        traced = program(lambda p, x: x * held, {}, (np.ones(8),))
        ((old, new),) = tables.for_jax(traced, run, run)
        assert np.array_equal(old, held.astype(float)) and new.tobytes() == exact.tobytes()
        for values in ([moved], []):
            assert tables.for_jax(traced, run, SimpleNamespace(values=values)) == []  # pyright: ignore[reportArgumentType]
