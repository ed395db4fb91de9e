"""`jaxgrad.GradScaler` matches torch.amp.GradScaler bit for bit, step by step."""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

import jaxgrad
from jaxgrad.parity.interop import to_jax, to_torch
from tests import _helpers


NAN, INF = float("nan"), float("inf")
update_scale: Any = getattr(torch, "_amp_update_scale_")  # noqa: B009  # what update() calls
MODES = {"eager": lambda f: f, "jit": jax.jit}


def torch_scaler(**kwargs: Any) -> Any:
    scaler = torch.amp.GradScaler("cpu", **kwargs)
    scaler._lazy_init_scale_growth_tracker(torch.device("cpu"))
    return scaler


same_bits = functools.partial(_helpers.same, ulp=0)


# --- one method at a time -------------------------------------------------------------------------


LOSSES = {
    "float32": np.float32(2.3),
    "float64": np.float64(2.3),
    "float16 scalar": np.asarray(2.3, "float16"),
    "float16 array": np.array([2.3, 70.0], "float16"),
    "bfloat16 array": np.asarray(jnp.asarray([2.3, 70.0], "bfloat16")),
    "float64 array": np.array([2.3, INF, NAN]),
    "integers": np.array([2, 3]),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", LOSSES)
def test_scale(name, mode):
    """A scaled half-precision scalar is float32; an array keeps its dtype and may overflow."""
    loss = np.asarray(LOSSES[name])
    scaler = jaxgrad.GradScaler(init_scale=1000.0)
    scaled = MODES[mode](scaler.scale)(scaler.init(), to_jax(loss))
    same_bits(torch_scaler(init_scale=1000.0).scale(to_torch(loss)), scaled)


def test_scale_of_a_bfloat16_scalar():
    """A scaled bfloat16 scalar is float32, as in torch."""
    scaler = jaxgrad.GradScaler(init_scale=1000.0)
    theirs = torch_scaler(init_scale=1000.0).scale(torch.tensor(2.3, dtype=torch.bfloat16))
    same_bits(theirs, scaler.scale(scaler.init(), jnp.asarray(2.3, "bfloat16")))


def test_scale_of_a_tree():
    """`scale` accepts nested lists and tuples of outputs, as in torch."""
    outs = [np.float32(1.5), (np.float32(2.5), np.array([1.0, 2.0]))]
    scaler = jaxgrad.GradScaler()
    ours = scaler.scale(scaler.init(), to_jax(jax.tree.map(np.asarray, outs)))
    same_bits(torch_scaler().scale(to_torch(jax.tree.map(np.asarray, outs))), ours)


GRADS = {
    "finite": [1.0, 3.0, -1e-3],
    "inf": [1.0, INF],
    "minus inf": [-INF, 2.0],
    "nan": [NAN, 1.0],
    "zeros": [0.0, -0.0],
    "large": [1e38, 1e-30],
}


def torch_unscale(scale, *grads):
    params = []
    for grad in grads:
        params.append(torch.nn.Parameter(torch.zeros_like(grad)))
        params[-1].grad = grad
    scaler, optimizer = torch_scaler(init_scale=scale), torch.optim.SGD(params, lr=1.0)
    scaler.unscale_(optimizer)
    (found_inf,) = scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values()
    return [p.grad for p in params], found_inf


@pytest.mark.sampled(7)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scale", (1.0, 1000.0, 2.0**16, 3.0, 1e-3, 1e-40, 0.0, INF))
@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16"))
@pytest.mark.parametrize("name", GRADS)
def test_unscale(name, dtype, scale, mode):
    """`unscale` gives torch's bits: it checks the scaled gradient and multiplies by 1/scale."""
    grad = np.asarray(jnp.asarray(GRADS[name], dtype))
    scaler = jaxgrad.GradScaler(init_scale=scale)
    ours = MODES[mode](scaler.unscale)(scaler.init(), [to_jax(grad)])
    same_bits(torch_unscale(scale, to_torch(grad)), ours)


def test_unscale_multiplies():
    """`unscale` gives torch's bits for 1000 scales; dividing would differ for more than half."""
    rng = np.random.default_rng(0)
    scales = np.exp(rng.uniform(-10, 20, 1000)).astype("float32")
    grad = rng.normal(size=1000).astype("float32")
    differ = 0
    for scale in scales:
        scaler = jaxgrad.GradScaler(init_scale=float(scale))
        ours = scaler.unscale(scaler.init(), [to_jax(grad)])
        same_bits(torch_unscale(float(scale), to_torch(grad)), ours)
        differ += bool((grad / scale != ours[0][0]).any())
    assert differ > 500


def test_unscale_by_the_largest_scale():
    """`unscale` works at a scale of 2**127, whose reciprocal XLA would flush to zero."""
    scaler = jaxgrad.GradScaler(init_scale=2.0**127)
    grads, found_inf = scaler.unscale(scaler.init(), {"w": jnp.float32([2.0**126, -3.0])})

    np.testing.assert_array_equal(grads["w"][:1], [0.5])
    assert found_inf == 0


def test_unscale_several():
    """One non-finite gradient sets `found_inf` for the tree; None stays None and sets nothing."""
    scaler = jaxgrad.GradScaler(init_scale=4.0)
    state = scaler.init()
    grads, found_inf = scaler.unscale(
        state, {"a": jnp.array([8.0]), "b": None, "c": jnp.array([INF])}
    )
    assert float(grads["a"][0]) == 2.0 and grads["b"] is None and found_inf == 1.0
    assert scaler.unscale(state, {"b": None})[1] == 0.0
    mixed = [np.array([8.0, 1.0], "float32"), np.array([NAN, 3.0])]
    same_bits(torch_unscale(4.0, *map(to_torch, mixed)), scaler.unscale(state, to_jax(mixed)))


def test_unscale_rejects_float16():
    """Unscaling a float16 gradient raises torch's message and names the remedy."""
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        torch_unscale(1.0, torch.ones(2, dtype=torch.float16))
    scaler = jaxgrad.GradScaler()
    words = "Attempting to unscale FP16 gradients: keep the parameters in float32"
    with pytest.raises(ValueError, match=words):
        scaler.unscale(scaler.init(), [jnp.ones(2, "float16")])


SCALES = (1.0, 1000.0, 1e-30, 2.0**127, 3e38, 0.0, INF, NAN)
FACTORS, TRACKERS, FOUND = ((2.0, 0.5), (1.1, 0.9)), (0, 1, 2, 5), (0.0, 1.0, 2.0, NAN)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("scale", "factors", "tracker", "found_inf", "mode"),
    list(itertools.product(SCALES, FACTORS, TRACKERS, FOUND, MODES)),
)
def test_update(scale, factors, tracker, found_inf, mode):
    """One update gives torch's scale and growth tracker, even at extreme scales."""
    scale_, tracker_ = torch.tensor(scale), torch.tensor(tracker, dtype=torch.int32)
    update_scale(scale_, tracker_, torch.tensor(found_inf), *factors, 3)
    scaler = jaxgrad.GradScaler(1.0, *factors, growth_interval=3)
    state = scaler.init()._replace(scale=jnp.float32(scale), growth_tracker=jnp.int32(tracker))
    ours = MODES[mode](scaler.update)(state, jnp.float32(found_inf))
    same_bits((scale_, tracker_), tuple(ours))


def test_update_with_x64_off():
    """With 64-bit types disabled, the scale has torch's bits and all dtypes are unchanged."""
    with jax.enable_x64(False):
        scaler = jaxgrad.GradScaler(growth_interval=1)
        state = jax.jit(scaler.update)(scaler.init(), jnp.float32(0.0))
        assert (state.scale.dtype, state.growth_tracker.dtype) == (jnp.float32, jnp.int32)
        assert float(state.scale) == 2.0**17
        state = jaxgrad.GradScaler(1000.0, 1.1, growth_interval=1).update(state, jnp.float32(0.0))
        assert state.scale == np.float32(2.0**17 * 1.1) and state.scale.dtype == jnp.float32


def test_the_scale_reaches_zero():
    """Repeated backoff takes the scale to zero, as in torch: there is no lower bound."""
    scaler = jaxgrad.GradScaler(init_scale=1e-37)
    state = scaler.init()
    theirs = torch_scaler(init_scale=1e-37)._scale
    tracker = torch.tensor(0, dtype=torch.int32)
    for _ in range(50):
        state = scaler.update(state, jnp.float32(1.0))
        update_scale(theirs, tracker, torch.tensor(1.0), 2.0, 0.5, 2000)
    assert float(state.scale) == theirs.item() == 0.0


# --- a whole training run -------------------------------------------------------------------------


BAD = [False, True, True, False, False, False, True, *[False] * 8]
SETTINGS = {
    "init_scale": 1000.0,
    "growth_factor": 3.0,
    "backoff_factor": 0.25,
    "growth_interval": 3,
}


def torch_run(clip, momentum):
    x = to_torch(np.linspace(-1.0, 1.0, 12, dtype="float32").reshape(4, 3))
    w = torch.nn.Parameter(to_torch(np.array([0.5, -0.25, 1.5], "float32")))
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=momentum)
    scaler, history = torch_scaler(**SETTINGS), []
    for bad in BAD:
        optimizer.zero_grad()
        loss = ((x @ w) ** 2).mean() * (INF if bad else 1.0)
        scaler.scale(loss).backward()
        if clip:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_([w], 0.5)
        scaler.step(optimizer)
        scaler.update()
        history.append((w.detach().clone(), scaler.get_scale(), scaler._get_growth_tracker()))
    return history


def jax_run(clip, momentum, loop):
    x = to_jax(np.linspace(-1.0, 1.0, 12, dtype="float32").reshape(4, 3))
    w = to_jax(np.array([0.5, -0.25, 1.5], "float32"))
    tx = optax.sgd(0.1, momentum or None)
    scaler = jaxgrad.GradScaler(**SETTINGS)

    def step(carry, bad):
        w, opt_state, state = carry

        def loss(w):
            return scaler.scale(state, ((x @ w) ** 2).mean() * jnp.where(bad, INF, 1.0))

        grads, found_inf = scaler.unscale(state, jax.grad(loss)(w))
        if clip:
            grads, _ = jaxgrad.clip_grad_norm(grads, 0.5)
        w, opt_state = scaler.step(found_inf, tx, grads, opt_state, w)
        state = scaler.update(state, found_inf)
        return (w, opt_state, state), (w, *state)

    carry, bads = (w, tx.init(w), scaler.init()), jnp.array(BAD)
    if loop == "scan":
        _, out = jax.jit(lambda c: jax.lax.scan(step, c, bads))(carry)
        return [tuple(leaf[i] for leaf in out) for i in range(len(BAD))]
    history = []
    for bad in bads:
        carry, out = (step if loop == "eager" else jax.jit(step))(carry, bad)
        history.append(out)
    return history


@pytest.mark.sampled(3)
@pytest.mark.parametrize("loop", ("eager", "jit", "scan"))
@pytest.mark.parametrize("momentum", (0.0, 0.9))
@pytest.mark.parametrize("clip", (False, True))
def test_a_training_run(clip, momentum, loop):
    """A training run skips, backs off and grows as in torch; a skip keeps the momentum."""
    runs = torch_run(clip, momentum), jax_run(clip, momentum, loop)
    for (w, *scale), (jax_w, jax_scale, jax_tracker) in zip(*runs, strict=True):
        np.testing.assert_allclose(jax_w, w.numpy(), rtol=1e-5)
        assert [float(jax_scale), int(jax_tracker)] == scale


def test_two_optimizers():
    """Two optimizers skip on their own gradients; one skip backs the shared scale off once."""
    params = [torch.nn.Parameter(torch.ones(2)) for _ in range(2)]
    optimizers = [torch.optim.SGD([p], lr=1.0) for p in params]
    scaler = torch_scaler(init_scale=8.0)
    for p, value in zip(params, (16.0, INF), strict=True):
        p.grad = torch.full((2,), value)
    for optimizer in optimizers:
        scaler.step(optimizer)
    scaler.update()

    ours, tx = jaxgrad.GradScaler(init_scale=8.0), optax.sgd(1.0)
    state, after, flags = ours.init(), [], []
    for value in (16.0, INF):
        w = jnp.ones(2)
        grads, found_inf = ours.unscale(state, jnp.full(2, value))
        after.append(ours.step(found_inf, tx, grads, tx.init(w), w)[0])
        flags.append(found_inf)
    state = ours.update(state, flags)
    for p, w in zip(params, after, strict=True):
        np.testing.assert_array_equal(p.detach().numpy(), w)
    assert float(state.scale) == scaler.get_scale() == 4.0


class Recorder(NamedTuple):
    """A transformation with its own `step`, like those of jaxgrad.optim."""

    init: Any = lambda params: jnp.int32(0)
    update: Any = None  # must not be called

    def step(self, grads, state, params):
        return jax.tree.map(lambda p, g: p - g, params, grads), state + 1


def test_a_transformation_s_own_step_is_used():
    """`GradScaler.step` calls the transformation's own `step`, and can skip it."""
    tx: Any = Recorder()
    scaler, w = jaxgrad.GradScaler(), {"w": jnp.array([1.0, 2.0])}
    grads = {"w": jnp.array([0.5, NAN])}
    stepped, count = scaler.step(jnp.float32(0.0), tx, grads, tx.init(w), w)
    assert stepped["w"][0] == 0.5 and np.isnan(stepped["w"][1]) and count == 1
    stepped, count = scaler.step(jnp.float32(1.0), tx, grads, tx.init(w), w)
    np.testing.assert_array_equal(stepped["w"], w["w"])
    assert count == 0


def test_disabled():
    """A disabled scaler passes all values through, never skips a step, and has a scale of 1."""
    scaler, tx = (
        jaxgrad.GradScaler(growth_factor=0.5, backoff_factor=2.0, enabled=False),
        optax.sgd(1.0),
    )
    theirs = torch.amp.GradScaler("cpu", growth_factor=0.5, backoff_factor=2.0, enabled=False)
    state = scaler.init()
    assert float(state.scale) == theirs.get_scale() == 1.0
    loss, grads = jnp.asarray(2.0, "float16"), [jnp.array([INF], "float16")]
    assert scaler.scale(state, loss) is loss
    unscaled, found_inf = scaler.unscale(state, grads)
    assert unscaled is grads and found_inf == 0.0
    w, _ = scaler.step(jnp.float32(1.0), tx, jnp.array([1.0]), tx.init(jnp.ones(1)), jnp.ones(1))
    assert w == 0.0 and scaler.update(state, found_inf) is state


def test_invalid_settings_raise():
    """Invalid factors raise torch's message, followed by the given value."""
    invalid: list[tuple[dict[str, Any], str]] = [
        ({"growth_factor": 1.0}, "The growth factor must be > 1.0"),
        ({"backoff_factor": 1.0}, "The backoff factor must be < 1.0"),
    ]
    for kwargs, words in invalid:
        with pytest.raises(AssertionError, match=words):
            torch_scaler(**kwargs)
        with pytest.raises(ValueError, match=words + ", got 1.0"):
            jaxgrad.GradScaler(**kwargs)


def test_vmap():
    """Under `vmap`, every batch element has its own scale and skips on its own gradients."""
    scaler = jaxgrad.GradScaler(growth_interval=1)
    states = jax.tree.map(lambda x: jnp.stack([x, x]), scaler.init())
    grads = jnp.array([[1.0, 2.0], [INF, 2.0]])
    _, flags = jax.vmap(scaler.unscale)(states, grads)
    np.testing.assert_array_equal(flags, [0.0, 1.0])
    states = jax.vmap(scaler.update)(states, flags)
    np.testing.assert_array_equal(states.scale, [2.0**17, 2.0**15])


# --- long runs, and exchanging the state with torch -----------------------------------------------


LONG = {
    "defaults": ({}, 0.01),
    "a growth every third step": ({"growth_interval": 3}, 0.1),
    "factors that are not exact floats": (
        {"growth_factor": 1.1, "backoff_factor": 0.9, "growth_interval": 2},
        0.3,
    ),
    "up to the largest float": (
        {"init_scale": 2.0**120, "growth_factor": 3.0, "growth_interval": 1},
        0.02,
    ),
    "down to zero": ({"init_scale": 1.0, "growth_interval": 50, "backoff_factor": 0.1}, 0.5),
    "almost every step bad": ({"init_scale": 2.0**24, "growth_interval": 2}, 0.7),
    "a backoff factor of zero": ({"backoff_factor": 0.0, "growth_interval": 5}, 0.001),
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize(("name", "x64"), list(itertools.product(LONG, (True, False))))
def test_two_thousand_random_steps(name, x64):
    """In 2000 random steps of two optimizers, scale and growth tracker match torch's bit for bit.

    Some gradients are NaN or infinite; one update takes the `found_inf` flags of both optimizers.
    """
    settings, often = LONG[name]
    rng = np.random.default_rng(list(LONG).index(name))
    grads = rng.standard_normal((2000, 2, 3)).astype("float32")
    places = rng.random(grads.shape) < often / 6
    grads[places] = rng.choice([NAN, INF, -INF], places.sum())
    params = [torch.nn.Parameter(torch.zeros(3)) for _ in range(2)]
    optimizers = [torch.optim.SGD([p], lr=0.0) for p in params]
    theirs, expected = torch_scaler(**settings), []
    for pair in grads:
        for p, optimizer, grad in zip(params, optimizers, pair, strict=True):
            p.grad = torch.from_numpy(grad.copy())
            theirs.step(optimizer)
        theirs.update()
        expected.append((theirs.get_scale(), theirs._get_growth_tracker()))

    scaler = jaxgrad.GradScaler(**settings)

    def step(state, pair):
        flags = [scaler.unscale(state, grad)[1] for grad in pair]
        state = scaler.update(state, flags)
        return state, state

    with jax.enable_x64(x64):
        _, states = jax.jit(lambda s, g: jax.lax.scan(step, s, g))(scaler.init(), grads)
    scales, trackers = zip(*expected, strict=True)
    tiny = float(np.finfo("float32").tiny)  # XLA flushes smaller numbers to zero
    scales = [0.0 if scale < tiny else scale for scale in scales]
    np.testing.assert_array_equal(np.asarray(states.scale), np.array(scales, np.float32))
    np.testing.assert_array_equal(np.asarray(states.growth_tracker), trackers)
    assert len(set(scales)) > 1, f"the scale never changed from {scales[0]}"


def test_the_state_goes_to_torch_and_back():
    """A training run continues unchanged after its state moves to torch or from torch."""
    bad = [False, False, True, False, False, False, False]
    theirs, ours = torch_scaler(**SETTINGS), jaxgrad.GradScaler(**SETTINGS)
    state = ours.init()
    for b in bad:
        update_scale(theirs._scale, theirs._growth_tracker, torch.tensor(float(b)), 3.0, 0.25, 3)
        state = ours.update(state, jnp.float32(b))
    assert ours.state_dict(state) == theirs.state_dict()
    assert [type(x) for x in ours.state_dict(state).values()] == [
        type(x) for x in theirs.state_dict().values()
    ]

    fresh = torch_scaler()
    fresh.load_state_dict(ours.state_dict(state))
    assert fresh.state_dict() == theirs.state_dict()
    loaded, state = jaxgrad.GradScaler().load_state_dict(theirs.state_dict())
    assert loaded.state_dict(state) == theirs.state_dict()
    for b in bad:
        update_scale(theirs._scale, theirs._growth_tracker, torch.tensor(float(b)), 3.0, 0.25, 3)
        state = loaded.update(state, jnp.float32(b))
    assert loaded.state_dict(state) == theirs.state_dict()


def test_the_state_of_a_disabled_scaler():
    """A disabled scaler has an empty state dict, which cannot be loaded, and loads nothing."""
    off, on = jaxgrad.GradScaler(enabled=False), jaxgrad.GradScaler()
    assert off.state_dict(off.init()) == torch.amp.GradScaler("cpu", enabled=False).state_dict()
    for load in (torch_scaler().load_state_dict, on.load_state_dict):
        with pytest.raises(RuntimeError, match="The source state dict is empty, possibly because"):
            load({})
    same, state = off.load_state_dict(on.state_dict(on.init()))
    assert same is off and state.scale == 1.0
