"""Sentences of the notebooks that no displayed case proves, each proved by a program here."""

# pyright: reportOptionalMemberAccess=false, reportArgumentType=false

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

import jaxgrad
from benchmarks import growth, networks
from parity_tests.audits import memory_growth
from parity_tests.case import load
from parity_tests.runner.settings import ROOT


def prose(name):
    """Return the markdown of a notebook's script as one line."""
    lines = (ROOT / "notebooks" / f"{name}.py").read_text().splitlines()
    return " ".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))


def changed_in_place(w):
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in"):
        w -= 0.1
    with torch.no_grad():
        w -= 0.1


def frozen_with_a_gradient(w):
    sgd = torch.optim.SGD([w], 0.5)
    w.sum().backward()
    w.requires_grad_(False)
    sgd.step()
    assert w.tolist() == [0.5, 0.5]
    sgd.zero_grad()
    sgd.step()
    assert w.tolist() == [0.5, 0.5]


def nothing_saved(w):
    y = (w + 3).sum()
    y.backward()
    y.backward()
    assert w.grad.tolist() == [2, 2]


def shared_trunk(w):
    h = w * w
    (2 * h).sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        (3 * h).sum().backward()
    w = torch.ones(2, requires_grad=True)
    h = w * w
    ((2 * h).sum() + (3 * h).sum()).backward()
    assert w.grad.tolist() == [10, 10]


def detached(w):
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad"):
        (2 * w).detach().retain_grad()


def infinite_gradient(w):
    w.grad = torch.tensor([float("inf"), 4.0])
    grads = {"w": jnp.array([float("inf"), 4.0])}
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    clipped, _ = jaxgrad.clip_grad_norm(grads, 1.0)
    np.testing.assert_array_equal(w.grad, [np.nan, 0])
    np.testing.assert_array_equal(clipped["w"], [np.nan, 0])
    w.grad = torch.tensor([float("inf"), 4.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        torch.nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)
    with pytest.raises(RuntimeError, match="non-finite"):
        jaxgrad.clip_grad_norm(grads, 1.0, error_if_nonfinite=True)
    by_optax, _ = optax.clip_by_global_norm(1.0).update(grads["w"], optax.EmptyState())
    np.testing.assert_array_equal(np.asarray(by_optax), [np.nan, 0])


def clipped_by_torch(norm):
    w = torch.zeros(1, dtype=torch.float64)
    w.grad = torch.tensor([norm], dtype=torch.float64)
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    return w.grad.item()


def near_the_bound(w):
    assert clipped_by_torch(1 - 2e-6) == 1 - 2e-6
    assert clipped_by_torch(1 - 5e-7) < 1 - 5e-7
    assert clipped_by_torch(100.0) < 1


def inference_tensor(w):
    with torch.inference_mode():
        h = 3 * torch.ones(2)
    (h + w).sum().backward()
    assert w.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        _ = h * w  # the forward pass raises
    (h.clone() * w).sum().backward()
    assert w.grad.tolist() == [4, 4]


def detached_after_a_backward(w):
    (2 * w).sum().backward()
    v = torch.ones(2, requires_grad=True)
    ((2 * w).detach() * v).sum().backward()
    assert w.grad.tolist() == [2, 2]
    fresh = torch.ones(2, requires_grad=True)
    ((2 * fresh).detach() * v).sum().backward()
    assert fresh.grad is None


def second_backward_that_fails(w):
    y = (w * w).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    assert w.grad.tolist() == [2, 2]


def statistics_of_a_trunk(w):
    x = torch.arange(6.0).reshape(3, 2)
    for training in (True, False):
        bn = torch.nn.BatchNorm1d(2).train(training)
        with torch.no_grad():
            bn(x)
        after_no_grad = bn.running_mean.clone()
        bn(x).detach()
        assert bool(after_no_grad.any()) == training
        assert torch.equal(after_no_grad, bn.running_mean) != training


def momentum_without_a_gradient(w):
    sgd = torch.optim.SGD([w], 0.1, momentum=0.9)
    sgd.zero_grad(set_to_none=False)
    assert w.grad is None
    w.grad = torch.ones(2)
    sgd.step()
    buffers = []
    for grad in (None, torch.zeros(2)):
        w.grad = grad
        sgd.step()
        buffers.append(sgd.state[w]["momentum_buffer"].clone())
    torch.testing.assert_close(buffers, [torch.ones(2), torch.full((2,), 0.9)])
    w.grad = torch.ones(2)
    sgd.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0, 0]


def changed_under_no_grad(w):
    loss = (w**2).sum()
    with torch.no_grad():
        w -= 0.1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def infinite_derivative_of_the_other_value(w):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum().backward()
    np.testing.assert_array_equal(x.grad, [np.nan, 0.25])

    def loss(x):
        return jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0))

    np.testing.assert_array_equal(jax.grad(loss)(jnp.array([0.0, 4.0])), [np.nan, 0.25])


def conversions(w):
    raising = float, np.asarray, lambda x: x.tolist()
    for convert in (*raising, int, bool, lambda x: x.item()):
        with pytest.raises(TypeError):  # both of JAX's errors are of this type
            jax.jit(lambda x, convert=convert: x * convert(x))(2.0)
    for convert in raising:
        with pytest.raises(TypeError):
            jax.grad(lambda x, convert=convert: x * convert(x))(3.0)
    assert jax.grad(lambda x: bool(x) * x)(3.0) == 1
    for convert in (int, lambda x: x.item()):
        assert jax.grad(lambda x, convert=convert: convert(x) * x)(3.0) == 3


def random_draws(w):
    for draw in (torch.bernoulli, torch.poisson, lambda p: torch.normal(p, 1.0)):
        p = torch.full((2,), 0.5, requires_grad=True)
        draw(p).sum().backward()
        assert p.grad.tolist() == [0, 0]
    for draw in (jax.random.bernoulli, jax.random.poisson):
        drawn = draw(jax.random.key(0), 0.5)
        assert drawn.dtype == bool or jnp.issubdtype(drawn.dtype, jnp.integer)
        grad = jaxgrad.grad(lambda p, draw=draw: draw(jax.random.key(0), p).astype(float))(0.5)
        assert grad is None


def sums_with_a_draw(w):
    (w + torch.randn(())).sum().backward()
    assert w.grad.tolist() == [1, 1]
    key = jax.random.key(0)
    assert jaxgrad.grad(lambda p: p + jax.random.normal(key))(0.5) == 1


def untransformed(w):
    leaked = load()["mutation/leaked_activation"]
    x = jnp.asarray(w.detach().numpy())[:, None]
    shown = leaked.fun(w=x, x=x.T, **(leaked.control or {}))
    assert shown["w"] is x and shown["twice"].shape == (1, 1)


def a_port_of_normal(w):
    key = jax.random.key(0)

    def port(p):
        return jax.lax.stop_gradient(p) + jax.random.normal(key)

    assert jaxgrad.grad(port)(0.5) is None and jax.grad(port)(0.5) == 0
    with_a_path = jaxgrad.grad(lambda p: 0 * p + port(p))(0.5)
    assert with_a_path is not None and with_a_path == 0
    torch.normal(w, 1.0).sum().backward()
    assert w.grad.tolist() == [0, 0]


def clipped_in_float32(w):
    unchanged = {15.5, 31.0, 32.0, 40.0, 100.0}
    for norm in (1.0, 8.0, 12.0, 16.0, 30.0, 41.0, *unchanged):
        w.grad = torch.tensor([norm, 0.0])
        torch.nn.utils.clip_grad_norm_([w], norm)
        assert (w.grad[0].item() == norm) == (norm in unchanged)
    below = torch.linspace(0.01, 12, 10_001)  # torch computes the factor as a reciprocal, times it
    assert ((below + 1e-6).reciprocal() * below < 1).all()
    w.grad = torch.tensor([1000.0, 0.0])
    torch.nn.utils.clip_grad_norm_([w], 10.0)
    assert w.grad[0] > 10


def hook_for_each_use(w):
    grads = []
    h = 2 * w
    h.register_hook(lambda grad: grads.append(grad.tolist()))
    a, b = h.clone(), h.clone()
    for use in (a, b):
        use.register_hook(lambda grad: grads.append(grad.tolist()))
    (3 * a + 5 * b).sum().backward()
    assert sorted(grads) == [[3, 3], [5, 5], [8, 8]]


def distance_of_micro_batches(model, x, y, divisor):
    """Return how far the gradient of four parts is from the gradient of the whole batch."""
    mse = torch.nn.functional.mse_loss
    (whole,) = torch.autograd.grad(mse(model(x), y), [model[0].weight])
    for a, b in zip(x.chunk(4), y.chunk(4), strict=True):
        (mse(model(a), b) / divisor).backward()
    return ((model[0].weight.grad - whole).norm() / whole.norm()).item()


def micro_batches(w):
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(8, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    weight = torch.randn(3, 3, generator=generator, dtype=torch.float64)

    def model(*more):
        first = torch.nn.Linear(3, 3, bias=False, dtype=torch.float64)
        first.load_state_dict({"weight": weight})
        return torch.nn.Sequential(first, *more)

    assert distance_of_micro_batches(model(torch.nn.Tanh()), x, y, 4) < 1e-14
    assert distance_of_micro_batches(model(torch.nn.Tanh()), x, y, 1) > 1
    norm = torch.nn.BatchNorm1d(3, dtype=torch.float64)
    assert distance_of_micro_batches(model(norm, torch.nn.Tanh()), x, y, 4) > 0.01

    def loss(weight, x, y):
        return jnp.mean((jnp.tanh(x @ weight.T) - y) ** 2)

    arrays = [jnp.asarray(value.numpy()) for value in (weight, x, y)]
    whole = jax.grad(loss)(*arrays)
    pairs = zip(jnp.split(arrays[1], 4), jnp.split(arrays[2], 4), strict=True)
    parts = [jax.grad(loss)(arrays[0], a, b) for a, b in pairs]
    np.testing.assert_allclose(sum(parts) / 4, whole, rtol=1e-5, atol=1e-6)


def what_operators_save(w):
    saved = "_saved_result", "_saved_self", "_saved_other"
    for name in ("relu", "exp", "tanh", "sigmoid", "sqrt"):
        assert [a for a in saved if hasattr(getattr(w, name)().grad_fn, a)] == ["_saved_result"]
    for y in (w.sin(), w.pow(3), w.log()):
        assert [a for a in saved if hasattr(y.grad_fn, a)] == ["_saved_self"]
    assert [a for a in saved if hasattr((w + w).grad_fn, a)] == []


def linear_hook(w):
    def through(hook, each):
        leaf = torch.ones(2, requires_grad=True)
        h = 3 * leaf
        a, b = (h.clone(), h.clone()) if each else (h, h)
        for tensor in {a, b}:
            tensor.register_hook(hook)
        (a**2 + b).sum().backward()
        return leaf.grad.tolist()

    assert through(lambda g: 2 * g, True) == through(lambda g: 2 * g, False) == [42, 42]
    assert through(lambda g: g.clamp(-1, 1), True) == [6, 6]
    assert through(lambda g: g.clamp(-1, 1), False) == [3, 3]


def optimizers_of_optax(w):
    params, grads = {"a": jnp.ones(2), "b": jnp.ones(2)}, {"a": None, "b": jnp.ones(2)}
    for tx in (optax.sgd(0.1), optax.adam(0.1), optax.adamw(0.1), optax.rmsprop(0.1)):
        with pytest.raises((TypeError, ValueError), match="NoneType"):
            optax.apply_updates(params, tx.update(grads, tx.init(params), params)[0])
    with pytest.raises(ValueError, match="pytree structure error"):
        optax.adam(0.1).update(grads, optax.adam(0.1).init(params), params)


def means_of_micro_batches(w):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 10.0], dtype=torch.float64)
    whole = x.mean()
    equal = sum(part.mean() / 2 for part in x[:4].split(2))
    shares = sum(part.mean() * len(part) / len(x) for part in x.split(3))
    assert equal == x[:4].mean()
    assert abs(shares - whole) < 1e-12 < abs(sum(p.mean() / 2 for p in x.split(3)) - whole)


@pytest.mark.parametrize(
    ("name", "words", "program"),
    [
        ("memory", "multiply each loss by its share of the rows", means_of_micro_batches),
        ("graph", "`sin`, `pow` and `log` save their input", what_operators_save),
        ("hooks", "because 2a + 2b = 2(a + b)", linear_hook),
        (
            "none_or_zero",
            "its optimizers or `apply_updates` raise",
            optimizers_of_optax,
        ),
        ("optim", "must not be changed in place, and torch raises", changed_in_place),
        ("freezing", "leaves the last gradient there", frozen_with_a_gradient),
        ("mutation", "A graph that has saved nothing", nothing_saved),
        ("mutation", "its row `w` has the parameter itself, not a gradient", untransformed),
        ("mutation", "Two losses that share a trunk", shared_trunk),
        ("backward", "On a detached value torch's `retain_grad()` raises", detached),
        ("clipping", "`optax.clip_by_global_norm` gives the same values", infinite_gradient),
        ("clipping", "if its norm is less than max_norm - 1e-6", near_the_bound),
        ("grad_modes", "A sum `h + v` saves nothing", inference_tensor),
        ("grad_modes", "or keeps the value of an earlier backward", detached_after_a_backward),
        ("mutation", "After the error `.grad` keeps the value", second_backward_that_fails),
        ("freezing", "only `eval()` stops the update of", statistics_of_a_trunk),
        ("optim", "A momentum buffer of 1 stays 1", momentum_without_a_gradient),
        ("hooks", "give each use its own tensor", hook_for_each_use),
        ("backward", "divide the loss of each part by 4", micro_batches),
        ("mutation", "Under `no_grad`, as in an optimizer's step", changed_under_no_grad),
        ("control_flow", "0 · ∞ makes the gradient NaN", infinite_derivative_of_the_other_value),
        ("grad_modes", "is no substitute for it. Under `jit` all of them raise", conversions),
        ("none_or_zero", "because the results are booleans and integers", random_draws),
        ("none_or_zero", "A sum with a draw does have a path", sums_with_a_draw),
        (
            "none_or_zero",
            "for this line too, `jaxgrad.grad` returns `None` and `jax.grad` returns zeros",
            a_port_of_normal,
        ),
        (
            "clipping",
            "so a gradient with the norm 40 at the bound 40 is not shortened (nor is 31",
            clipped_in_float32,
        ),
    ],
)
def test_a_notebook_states_what_torch_does(name, words, program):
    """A sentence about torch in a notebook is proved by a program that runs."""
    assert words in prose(name)
    program(torch.ones(2, requires_grad=True))


def graphs_of_torch_compile():
    """Return how many graphs torch.compile has built after calls with sizes 2, 2, 3, 4 and 5."""
    graphs, counts = [], []

    def compiler(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    compiled = torch.compile(lambda x: (x**2).sum(), backend=compiler)
    for size in (2, 2, 3, 4, 5):
        compiled(torch.ones(size))
        counts.append(len(graphs))
    return counts


def test_how_often_graphs_are_built():
    """By default torch.compile needs no third graph for a third size; `jit` needs one for each."""
    assert "treats sizes as variables from the second shape on" in prose("control_flow")
    assert "`jax.jit` builds one for each combination of input shapes and dtypes" in prose(
        "control_flow"
    )
    assert graphs_of_torch_compile() == [1, 1, 2, 2, 2]
    traced = []
    compiled = jax.jit(lambda x: traced.append(x) or jnp.sum(x**2))
    for x in (jnp.ones(2), jnp.ones(2), jnp.ones(3), jnp.ones(4), jnp.ones(2, jnp.int32)):
        compiled(x)
    assert len(traced) == 4


def test_a_gradient_that_is_none_in_some_steps():
    """`jit` compiles a second program for None in the place of an array, and `scan` raises."""
    assert "makes two compiled programs, and a `scan` refuses it" in prose("param_groups")
    traced = []

    @jax.jit
    def step(param, grad):
        traced.append(grad)
        return param if grad is None else param - grad

    assert (step(1.0, None), step(1.0, 2.0), step(1.0, None)) == (1, -1, 1)
    assert len(traced) == 2
    with pytest.raises(TypeError, match="carry"):
        jax.lax.scan(lambda grad, _: (jnp.ones(()), None), None, length=2)


def test_where_jaxgrad_returns_zeros_for_torchs_none():
    """A branch that is not taken and a raw `custom_vjp` give zeros; the notebooks name both."""

    @jax.custom_vjp
    def scale(x, w):
        return x * w

    scale.defvjp(lambda x, w: (x * w, w), lambda w, grad: (grad * w, None))

    def branch(x, other):
        return jax.lax.cond(x > 0, lambda: x**2, lambda: other * x)

    for fun in (scale, branch):
        assert jaxgrad.grad(fun, (0, 1))(2.0, 5.0)[1] == 0
    for words in ("In a branch of `lax.cond` that is not taken", "raw `custom_vjp` returns `None`"):
        assert words in prose("none_or_zero")
    assert "rare cases it differs from torch: [none_or_zero]" in prose("00_ten_minutes")
    assert "shows three" in prose("00_ten_minutes")


@pytest.mark.slow
def test_the_peak_of_segments_approaches_the_root_of_the_depth():
    """The exponent is above 1/2 for 8 to 64 layers, and nearer to 1/2 for more layers."""
    assert "with more layers it approaches 1/2" in prose("memory")
    depths = (8, 16, 32, 64, 128, 256)
    nets = [networks.mlp(depth=depth, width=8, batch=16) for depth in depths]
    peaks = [growth.peak_bytes(net, net.built()[1]) for net in nets]
    few, many = (growth.slope(depths[part], peaks[part]) for part in (slice(4), slice(3, 6)))

    assert 0.5 < many < few < 0.7


def test_layers_that_are_left_over_are_not_checkpointed():
    """At 32 layers two are left over and keep all their residuals; at 64 none is left over."""
    assert "of 32 layers, six segments of five leave two over" in prose("memory")
    (kept_32, more_32), (kept_64, _) = (
        [
            int(jaxgrad.saved_bytes(fun, *memory_growth.arguments(depth)))
            for fun in (memory_growth.in_segments, memory_growth.plain)
        ]
        for depth in (32, 64)
    )
    hidden = 4 * memory_growth.WIDTH * memory_growth.BATCH  # bytes of one layer's input

    assert kept_64 == 8 * hidden  # the inputs of eight segments
    assert kept_32 == 7 * hidden + 2 * more_32 // 32  # six segments, and what two layers keep


def test_optax_has_the_schedules_that_the_notebook_names():
    """optax's schedules that the notebook on schedules names give torch's learning rates."""
    text = prose("lr_scheduler")
    kinds = torch.optim.lr_scheduler
    restarts = [
        dict(init_value=0.1, peak_value=0.1, decay_steps=n, warmup_steps=0) for n in (8, 16)
    ]
    pairs = {
        "exponential_decay": (lambda opt: kinds.ExponentialLR(opt, 0.9), (0.1, 1, 0.9)),
        "polynomial_schedule": (lambda opt: kinds.PolynomialLR(opt, 20, 2), (0.1, 0, 2, 20)),
        "sgdr_schedule": (lambda opt: kinds.CosineAnnealingWarmRestarts(opt, 8, 2), (restarts,)),
    }
    for name, (make, arguments) in pairs.items():
        assert f"`{name}`" in text
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
        scheduler, schedule = make(optimizer), getattr(optax, name)(*arguments)
        for step in range(24):
            assert abs(schedule(step) - optimizer.param_groups[0]["lr"]) < 1e-7, (name, step)
            optimizer.step()
            scheduler.step()


def test_the_ratio_of_the_updates_is_that_of_optax(tmp_path):
    """`prove_your_port` explains the 15: with `jaxgrad.optim.adamw` the ratio is below 1."""
    text = (ROOT / "notebooks" / "prove_your_port.py").read_text()
    _, _, program = text.partition("import dataclasses\n")
    program, _, rest = program.partition("\nprint_report(prove_port(port))\n")
    ratios = []
    for library in ("optax", "optim"):
        file = tmp_path / f"{library}_port.py"
        file.write_text(
            f"import dataclasses\nfrom jaxgrad import optim\n{program}\n".replace(
                "adamw = optax.adamw(", f"adamw = {library}.adamw("
            )
        )
        names: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), names)
        updates = names["prove_port"](names["port"]).surfaces["updates"]
        ratios += [float(n) for n in re.findall(r"error is at most ([\d.]+) times", updates.text)]

    assert "With `jaxgrad.optim.adamw` the ratio is below 1." in rest
    assert 10 < ratios[0] < 30 and ratios[1] < 1, ratios
