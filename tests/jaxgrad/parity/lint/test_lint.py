"""`jaxgrad.parity.lint`: each row is run in both libraries, at its point and at an ordinary one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
import pytest
import torch
from jax import lax
from torch.nn import functional as F  # noqa: N812

import jaxgrad
from jaxgrad import functional
from jaxgrad.parity import lint
from jaxgrad.parity.lint.rules import RULES


NAN, INF = float("nan"), float("inf")
WEIGHTS = (1.0, 2.0, 3.0)


def _set(x: Any) -> Any:
    return jnp.zeros(3).at[jnp.array([0, 0, 1])].set(x) * jnp.array(WEIGHTS)


def _torch_set(x: Any) -> Any:
    made = torch.zeros(3, dtype=x.dtype).scatter(0, torch.tensor([0, 0, 1]), x)
    return made * torch.tensor(WEIGHTS, dtype=x.dtype)


def _set_apart(x: Any) -> Any:
    return jnp.zeros(3).at[jnp.array([2, 0, 1])].set(x) * jnp.array(WEIGHTS)


class Row(NamedTuple):
    """A convention: the same program in both libraries, where they part and where they do not."""

    rule: str
    jax: Callable[..., Any]
    torch: Callable[..., Any]
    point: tuple[Any, ...]
    ordinary: tuple[Any, ...]
    elements: int = 1


def row(rule: str, jax_s: Any, torch_s: Any, point: Any, ordinary: Any, elements: int = 1) -> Any:
    def many(x: Any) -> tuple[Any, ...]:
        return x if isinstance(x, tuple) else (x,)

    return Row(rule, jax_s, torch_s, many(point), many(ordinary), elements)


T = torch
ROWS = [
    row("abs", jnp.abs, T.abs, [0.0, -1, 0], [2.0, -1], 2),
    row("max", lambda x: jnp.maximum(x, 0), F.relu, [0.0, 1, -1], [1.0, -1]),
    row("max", lambda x: jnp.maximum(0.0, x), lambda x: x.clamp(min=0), [0.0, 1], [1.0, -1]),
    row("min", lambda x: jnp.minimum(x, 1), lambda x: x.clamp(max=1), [1.0, 0], [2.0, 0]),
    row(
        "clamp", lambda x: lax.clamp(0.0, x, 1.0), lambda x: x.clamp(0, 1), [0.0, 0.5, 1], [2.0], 2
    ),
    row("clip()", lambda x: jnp.clip(x, 0, 1), lambda x: x.clamp(0, 1), [0.0, 0.5, 1], [2.0], 2),
    row("clip()", lambda x: jnp.clip(x, min=0), lambda x: x.clamp(0), [0.0, 0.5], [-1.0]),
    row("reduce_max", lambda x: jnp.max(x, 0), lambda x: x.max(0)[0], [1.0, 1, 0], [1.0, 2]),
    row("reduce_min", lambda x: jnp.min(x, 0), lambda x: x.min(0)[0], [1.0, 1, 2], [1.0, 2]),
    row("cummax", lax.cummax, lambda x: x.cummax(0)[0], [1.0, 1, 0, 2], [1.0, 0, 2]),
    row("cummin", lax.cummin, lambda x: x.cummin(0)[0], [1.0, 1, 3, 0], [1.0, 3, 0]),
    row(
        "rev",
        lambda x: jnp.sort(x, descending=True) * jnp.array(WEIGHTS),
        lambda x: x.sort(descending=True)[0] * torch.tensor(WEIGHTS),
        [1.0, 1, 0],
        [1.0, 2, 0],
    ),
    row(
        "rev",
        lambda x: jnp.sort(x)[::-1] * jnp.array(WEIGHTS),
        lambda x: x.sort(descending=True)[0] * torch.tensor(WEIGHTS),
        [1.0, 1, 0],
        [1.0, 2, 0],
    ),
    row("top_k", lambda x: lax.top_k(x, 1)[0], lambda x: x.topk(1)[0], [1.0, 1, 0, 1], [1.0, 2]),
    row("median()", jnp.median, T.median, [1.0, 2, 3, 4], [1.0, 3, 2]),
    row("median()", jnp.median, T.median, [1.0, 1, 1], [1.0, 3, 2]),
    row(
        "sqrt",
        lambda x: jnp.sqrt(jnp.sum(x * x)),
        torch.linalg.norm,
        [0.0, 0],
        [0.0, 1],
    ),
    row("sqrt", lambda x: jnp.sqrt(jnp.sum(x**2)), T.linalg.norm, [0.0, 0], [0.0, 1]),
    row("norm()", jnp.linalg.norm, T.linalg.norm, [0.0, 0], [0.0, 1]),
    row(
        "norm()",
        lambda x: jnp.linalg.norm(x, 3),
        lambda x: T.linalg.norm(x, 3),
        [0.0, 0],
        [0.0, 1],
    ),
    row(
        "norm()",
        lambda x: jnp.linalg.norm(x, 1),
        lambda x: T.linalg.norm(x, 1),
        [0.0, 1],
        [2.0, 1],
    ),
    row(
        "norm()",
        lambda x: jnp.linalg.norm(x, jnp.inf),
        lambda x: T.linalg.norm(x, INF),
        [0.0, 0],
        [0.0, 1],
    ),
    row("_std()", lambda x: jnp.std(x, ddof=1), T.std, [1.0, 1], [1.0, 2]),
    row("_std()", jnp.std, lambda x: x.std(correction=0), [1.0], [1.0, 2]),
    row("atan2", jnp.arctan2, T.atan2, ([0.0], [0.0]), ([0.0], [1.0])),
    row("hypot()", jnp.hypot, T.hypot, ([0.0], [0.0]), ([0.0], [1.0])),
    row("pow", lambda x: x**0.0, lambda x: x**0.0, [0.0, 1], [2.0, 1]),
    row("pow", jnp.power, T.pow, ([0.0, 1], [0.0, 1]), ([2.0, 0], [0.0, 2])),
    row("pow", jnp.power, T.pow, ([0.0, 1], [-1.0, 1]), ([2.0, 0], [-1.0, 2])),
    row("xlogy()", jsp.xlogy, T.xlogy, ([0.0], [0.0]), ([0.0], [2.0])),
    row("xlog1py()", jsp.xlog1py, T.special.xlog1py, ([0.0], [-1.0]), ([0.0], [2.0])),
    row("logaddexp()", jnp.logaddexp, T.logaddexp, ([INF], [INF]), ([1.0], [1.0])),
    row("lgamma", jsp.gammaln, T.lgamma, [0.0], [1.5]),
    row("leaky_relu()", jax.nn.leaky_relu, F.leaky_relu, [0.0, 1], [-1.0, 1]),
    row("hard_tanh()", jax.nn.hard_tanh, F.hardtanh, [-1.0, 1, 0], [-2.0, 0.5], 2),
    row("fmax()", jnp.fmax, T.fmax, ([1.0], [1.0]), ([1.0], [NAN])),
    row("fmin()", jnp.fmin, T.fmin, ([1.0], [1.0]), ([1.0], [NAN])),
    row("copysign()", jnp.copysign, T.copysign, ([0.0], [1.0]), ([2.0], [1.0])),
    row("floor_divide()", lambda x: x // 2, lambda x: x // 2, [3.0], []),
    row(
        "heaviside()",
        lambda x: jnp.heaviside(x, 0.5),
        lambda x: T.heaviside(x, torch.tensor(0.5, dtype=x.dtype)),
        [3.0],
        [],
    ),
    row("det()", jnp.linalg.det, T.linalg.det, [[1.0, 2], [2, 4]], [[1.0, 2], [3, 4]]),
    row(
        "slogdet()",
        lambda x: jnp.linalg.slogdet(x)[1],
        lambda x: T.linalg.slogdet(x)[1],
        [[1.0, 2], [2, 4]],
        [[1.0, 2], [3, 4]],
    ),
    row("inv()", jnp.linalg.inv, T.linalg.inv, [[1.0, 2], [2, 4]], [[1.0, 2], [3, 4]]),
    row(
        "solve()",
        lambda x: jnp.linalg.solve(x, jnp.ones(2)),
        lambda x: T.linalg.solve(x, torch.ones(2, dtype=x.dtype)),
        [[1.0, 2], [2, 4]],
        [[1.0, 2], [3, 4]],
    ),
    row("cholesky()", jnp.linalg.cholesky, T.linalg.cholesky, [[2.0, 1], [0.5, 2]], []),
    row("cholesky()", jnp.linalg.cholesky, T.linalg.cholesky, [[1.0, 2], [2, 1]], []),
    row(
        "eigh()",
        lambda x: jnp.linalg.eigh(x)[0] * jnp.array([1.0, 2]),
        lambda x: T.linalg.eigh(x)[0] * torch.tensor([1.0, 2]),
        [[2.0, 1], [0.5, 1]],
        [],
    ),
    row("gather", lambda x: x[jnp.array([5])], lambda x: x[T.tensor([5])], [1.0, 2], []),
    row("gather", lambda x: jnp.take(x, jnp.array([5])), lambda x: x[T.tensor([5])], [1.0, 2], []),
    row(
        "dynamic_slice",
        lambda x: lax.dynamic_slice(x, (1,), (2,)),
        lambda x: x.narrow(0, 1, 2),
        [1.0, 2],
        [1.0, 2, 3],
    ),
    row(
        "dynamic_update_slice",
        lambda x: lax.dynamic_update_slice(jnp.ones(2), x, (1,)),
        lambda x: torch.ones(2).slice_scatter(x, 0, 1, 3),
        [1.0, 2],
        [1.0],
    ),
    row(
        "scatter-add",
        jnp.ones(2).at[jnp.array([4])].add,
        lambda x: torch.ones(2, dtype=x.dtype).index_add(0, torch.tensor([4]), x),
        [1.0],
        [],
    ),
    row(
        "scatter",
        jnp.ones(2).at[jnp.array([4])].set,
        lambda x: torch.ones(2, dtype=x.dtype).index_copy(0, torch.tensor([4]), x),
        [1.0],
        [],
    ),
    row("scatter", _set, _torch_set, [1.0, 2, 3], [], 2),
]


def gradients(found: Row, points: tuple[Any, ...]) -> tuple[list, list]:
    """torch's and JAX's; an error as one."""
    arrays = [np.asarray(p, float) for p in points]
    tensors = [torch.tensor(x, requires_grad=True) for x in arrays]

    def loss(*args: Any) -> jax.Array:
        return jnp.sum(found.jax(*args))

    ours = jax.grad(loss, tuple(range(len(arrays))))(*map(jnp.asarray, arrays))
    try:
        found.torch(*tensors).sum().backward()
        theirs = [np.asarray(t.grad) for t in tensors]
    except (RuntimeError, IndexError) as error:
        theirs = [error]
    return theirs, [np.asarray(g) for g in ours]


def same(theirs: list, ours: list) -> bool:
    if isinstance(theirs[0], Exception):
        return False
    return all(np.allclose(t, j, equal_nan=True) for t, j in zip(theirs, ours, strict=True))


IDS = [f"{i}-{r.rule}" for i, r in enumerate(ROWS)]


@pytest.mark.parametrize("found", ROWS, ids=IDS)
def test_row(found: Row):
    """At its point the libraries differ as the finding says; at an ordinary one it is silent."""
    theirs, ours = gradients(found, found.point)
    if found.rule == "lgamma" and same(theirs, ours):  # JAX 0.11 has torch's
        lint(found.jax, *(np.asarray(p, float) for p in found.point)).check()
        return
    assert not same(theirs, ours)
    report = lint(found.jax, *(np.asarray(p, float) for p in found.point))
    (finding,) = report.findings
    assert (finding.primitive, finding.elements) == (found.rule, found.elements), str(report)
    if finding.torch == "an error":
        assert isinstance(theirs[0], Exception)
    for said, side in ((finding.torch, theirs), (finding.jax, ours)):
        if said in ("0", "1", "0.5", "nan", "inf", "-inf"):
            values = np.concatenate([np.ravel(g) for g in side])
            assert np.isclose(values, float(said), equal_nan=True).any(), (said, values)
    if found.ordinary != ([],):
        assert same(*gradients(found, found.ordinary))
        lint(found.jax, *(np.asarray(p, float) for p in found.ordinary)).check()


def test_every_rule_has_a_row():
    promoted = {"add", "sub", "mul", "div"}
    missing = set(RULES) - {r.rule for r in ROWS} - promoted - {"sign", "scatter_add"}
    assert not missing, f"rules that no row of test_lint.py runs: {sorted(missing)}"


def test_remedies_exist():
    words = {
        word.strip("(),;:") for rules in RULES.values() for r in rules for word in r.remedy.split()
    }
    names = {w.partition("(")[0] for w in words if w.startswith("jaxgrad.functional.")}
    missing = [n for n in names if not hasattr(functional, n.rpartition(".")[2])]
    assert names and not missing


SILENT = {
    "maximum of two variables": (jnp.maximum, ([1.0], [1.0])),
    "max over everything": (jnp.max, (np.ones((2, 2)),)),
    "relu": (jax.nn.relu, ([0.0],)),
    "relu6": (jax.nn.relu6, ([0.0, 6],)),
    "celu": (jax.nn.celu, ([0.0],)),
    "hard_sigmoid": (jax.nn.hard_sigmoid, ([-3.0, 3],)),
    "sign, floor, round": (lambda x: jnp.sign(x) + jnp.floor(x) + jnp.round(x), ([0.0, 1],)),
    "sqrt, log, rsqrt at 0": (lambda x: jnp.sqrt(x) + jnp.log(x) + lax.rsqrt(x), ([0.0],)),
    "division by 0": (jnp.divide, ([1.0, 0], [0.0, 0])),
    "sinc": (jnp.sinc, ([0.0],)),
    "prod and cumprod": (lambda x: jnp.prod(x) + jnp.cumprod(x), ([0.0, 2, 0],)),
    "logsumexp of -inf": (jsp.logsumexp, ([-INF, -INF],)),
    "softmax of ties": (jax.nn.softmax, ([1.0, 1],)),
    "where with a nan": (lambda x: jnp.where(x > 0, jnp.sqrt(x), 0), ([0.0, -1],)),
    "sort upwards": (jnp.sort, ([1.0, 1],)),
    "argmax": (lambda x: x[jnp.argmax(x)], ([1.0, 1],)),
    "stop_gradient": (lambda x: x * lax.stop_gradient(jnp.abs(x)), ([0.0],)),
    "only counted": (lambda x: x * jnp.sum(jnp.abs(x) > 0), ([0.0],)),
    "functional": (lambda x: functional.clamp(functional.abs(x), 0, 1), ([0.0, 1],)),
    "functional inlined": (lambda x: functional.max(x, 0).values, ([1.0, 1],)),
    "an unused branch": (lambda x: lax.cond(True, jnp.sin, jnp.abs, x), (0.0,)),
    "std of one": (lambda x: jnp.std(x, ddof=1), ([1.0],)),
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """Where torch has the same convention, or no gradient passes."""
    fn, args = SILENT[name]
    report = lint(fn, *(np.asarray(a, float) for a in args))
    assert report.findings == (), str(report)


def test_inside_a_helper():
    """What a person hands to a helper of jaxgrad is theirs."""
    tagged = lint(lambda x: jaxgrad.retain_grad(jnp.abs(x), "y"), jnp.zeros(2))
    assert [f.primitive for f in tagged.findings] == ["abs"]
    hooked = jaxgrad.hook
    assert not lint(lambda x: hooked(x, lambda g: jnp.clip(g, -1, 1)), jnp.zeros(2)).findings


def test_line_stack_and_text():
    """The line is the user's, whatever JAX's function calls inside."""

    def model(x):
        with jax.named_scope("block"):
            y = jnp.clip(x, 0.0, 1.0)  # the line
        return jnp.sum(y)

    report = lint(model, jnp.array([0.0, 0.5, 1.0]))
    (finding,) = report.findings
    line = model.__code__.co_firstlineno + 2
    assert finding.line == f"test_lint.py:{line}"
    assert finding.name_stack == "block"
    assert str(report) == (
        "1 place where torch's gradient is another one\n"
        f"test_lint.py:{line} block  clip(): 2 of 3 at a bound\n"
        "    gradient: torch's is 1, JAX's 0.5\n"
        "    remedy: jaxgrad.functional.clamp"
    )
    assert json.loads(report.to_json())["findings"][0]["elements"] == 2
    with pytest.raises(AssertionError, match="2 of 3 at a bound"):
        report.check()


def test_line_of_what_jax_inlines():
    """`jnp.abs` is a `jit` that dissolves; each call has its own line."""

    def model(x):
        y = jnp.abs(x)
        z = jnp.sin(y)
        return jnp.abs(z) + jnp.max(x, axis=0)

    jax.make_jaxpr(jnp.abs)(jnp.zeros(2))  # traced before, elsewhere
    first = model.__code__.co_firstlineno
    lines = [f.line for f in lint(model, jnp.zeros(2)).findings]
    assert lines == [f"test_lint.py:{first + n}" for n in (1, 3, 3)]


def test_nothing_is_no_zero_vector():
    lint(lambda x: jnp.linalg.norm(x) + jnp.sum(jnp.abs(x)), jnp.ones(0)).check()


def test_clean_report(tmp_path):
    report = lint(jnp.sin, jnp.ones(2)).check()
    assert str(report) == "torch's conventions hold at these values (0 equations)"
    report.to_json(tmp_path / "lint.json")
    assert json.loads((tmp_path / "lint.json").read_text()) == {"findings": [], "equations": 0}


WRAPPED = {
    "jit": jax.jit(jnp.abs),
    "vmap": jax.vmap(jnp.abs),
    "checkpoint": jax.checkpoint(jnp.abs),
    "jit of a user's": jax.jit(lambda x: jnp.abs(x) * 2),
    "map": lambda x: lax.map(jnp.abs, x),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_inside(name):
    (finding,) = lint(WRAPPED[name], jnp.array([0.0, 1.0, 0.0])).findings
    assert (finding.primitive, finding.elements, finding.of) == ("abs", 2, 3)
    assert finding.turns == (2 if name == "map" else 1)


def test_loops_count_turns():
    """Turn by turn: only where the carry is made of the input, and at the value it has then."""

    def step(carry, x):
        return carry - 1.0, jnp.abs(carry) * x

    (finding,) = lint(lambda c, xs: lax.scan(step, c, xs)[1], 2.0, jnp.ones(5)).findings
    assert (finding.elements, finding.of, finding.turns) == (1, 5, 1)

    def body(state):
        i, x = state
        return i + 1, jnp.maximum(x, 0.0) - 0.0

    (finding,) = lint(lambda x: lax.while_loop(lambda s: s[0] < 3, body, (0, x))[1], 0.0).findings
    assert (finding.primitive, finding.turns) == ("max", 3)


def test_branch_that_was_taken():
    fn = lambda x: lax.cond(x[0] > 1, jnp.sin, jnp.abs, x)  # noqa: E731
    assert lint(fn, jnp.array([0.0, 0.0])).findings[0].elements == 2
    assert not lint(fn, jnp.array([2.0, 0.0])).findings


def test_custom_rule_of_a_user_is_silent():
    @jax.custom_jvp
    def mine(x):
        return jnp.abs(x)

    mine.defjvp(lambda p, t: (mine(*p), t[0] * jnp.sign(p[0])))
    assert not lint(mine, jnp.zeros(2)).findings


def test_a_users_function_of_the_same_name():
    """`clip` is looked at as JAX's only where it is JAX's."""

    @jax.jit
    def clip(x):
        return jnp.abs(x) * 2.0

    (finding,) = lint(clip, jnp.zeros(1)).findings
    assert finding.primitive == "abs"


def test_wider_by_a_number():
    """bfloat16 times a float32 of no dimension is float32 in JAX, bfloat16 in torch."""
    x, scale = jnp.ones(2, jnp.bfloat16), jnp.float32(2)
    assert (torch.ones(2, dtype=torch.bfloat16) * torch.tensor(2.0)).dtype == torch.bfloat16
    assert (x * scale).dtype == jnp.float32
    (finding,) = lint(lambda x: x * scale, x).findings
    assert (finding.primitive, finding.where) == ("mul", "made wider by a 0-d array")
    for fine in (lambda x: x * 2.0, lambda x: x.astype(jnp.float32) * scale, lambda x: x * x):
        assert not lint(fine, x).findings
    assert not lint(lambda x: x * jnp.ones(2), x).findings


def test_complex_arguments():
    z = np.array([1 + 2j])
    ours = jax.grad(lambda z: jnp.sum(jnp.abs(z) ** 2))(z)
    theirs = torch.tensor(z, requires_grad=True)
    (theirs.abs() ** 2).sum().backward()
    np.testing.assert_allclose(np.conj(ours), np.asarray(theirs.grad))
    found = lint(lambda tree: jnp.sum(jnp.abs(tree["z"]) ** 2), {"z": z}).findings
    assert [(f.line, f.primitive, f.elements) for f in found] == [("args[0]['z']", "argument", 1)]
    signs = lint(lambda z: jnp.real(jnp.sign(z)), z).findings
    assert [f.primitive for f in signs] == ["argument", "sign"]


def test_batched_scatter_is_no_duplicate():
    """The same index in two rows of a batch is two places."""
    put = jax.vmap(lambda i, v: jnp.zeros(3).at[i].set(v))
    assert not lint(lambda v: put(jnp.array([1, 1]), v), jnp.ones(2)).findings
    twice = jax.vmap(lambda i, v: jnp.zeros(3).at[i].set(v), (None, 0))
    (finding,) = lint(lambda v: twice(jnp.array([1, 1]), v), jnp.ones((2, 2))).findings
    assert finding.primitive == "scatter"


def test_ordinary_network_is_silent():
    """A convolution, a norm layer, an attention and a loss at random values."""
    keys = jax.random.split(jax.random.key(0), 3)
    params = {
        "w": jax.random.normal(keys[0], (4, 3)),
        "k": jax.random.normal(keys[1], (2, 2, 1, 4)),
    }
    image = jax.random.normal(keys[2], (2, 6, 6, 1))

    def loss(params, image, labels):
        numbers = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(image, params["k"], (1, 1), "SAME", dimension_numbers=numbers)
        x = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        x = jax.nn.relu(x) + jax.nn.gelu(x)
        logits = jax.nn.log_softmax(x.max((1, 2)) @ params["w"])
        return -jnp.take_along_axis(logits, labels[:, None], 1).mean()

    report = lint(loss, params, image, jnp.array([0, 2]))
    assert report.findings == (), str(report)
    assert report.equations > 5
    (finding,) = lint(loss, params, image, jnp.array([0, 7])).findings
    assert finding.primitive == "gather" and finding.elements == 1


def test_traced_arguments_are_an_error():
    with pytest.raises(TypeError, match="lint looks at values, and an argument is traced"):
        jax.jit(lambda x: [lint(jnp.abs, x), x][1])(1.0)
