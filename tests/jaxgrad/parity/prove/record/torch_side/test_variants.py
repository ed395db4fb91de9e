"""Each variant of torch's training step makes the mistake that its sentence describes."""

import math
from typing import Any

import numpy as np
import optax
import pytest
import torch
from torch import nn
from torch.optim import swa_utils

from jaxgrad.parity import Training
from jaxgrad.parity.prove.record.torch_side import variants
from jaxgrad.parity.prove.record.torch_side.loop import Loop
from jaxgrad.parity.prove.record.torch_side.variants import Variant, clipping_by
from jaxgrad.parity.prove.users import ProofError
from jaxgrad.parity.prove.wording import NO_DIFFERENCE


G = np.array([3.0, 4.0]), np.array([12.0])  # norms 5 and 12, together 13


def module() -> nn.ParameterDict:
    """Return two weights, of zeros."""
    zeros = {"a": np.zeros(2), "b": np.zeros(1)}
    return nn.ParameterDict({k: nn.Parameter(torch.tensor(x)) for k, x in zeros.items()})


def stepped(variant: Variant, steps: int = 1) -> list[float]:
    """Return the weights after some steps with constant gradients."""
    weights = module()

    def backward(number: int) -> float:
        for x, g in zip((weights["a"], weights["b"]), G, strict=True):
            x.grad = torch.tensor(g)
        return 0.0

    with clipping_by(variant):
        loop = Loop(variant.training, weights)
        for _ in range(steps):
            loop.step(backward)
    return [*weights["a"].tolist(), *weights["b"].tolist()]


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, 0.5)


CLIPPED = Training(sgd, clip=1.0)
FLAT = np.concatenate(G)


@pytest.mark.parametrize("name", ["clip_grad_norm_", "clip_grad_value_"])
def test_clipping_is_replaced_and_put_back(name):
    """torch's function comes back even if the step raises."""
    own = getattr(nn.utils, name)
    training = Training(torch=torch.optim.SGD)
    plain = Variant(NO_DIFFERENCE, training, of_values=name == "clip_grad_value_")

    def used() -> Any:
        assert getattr(nn.utils, name) is getattr(nn.utils.clip_grad, name)
        return getattr(nn.utils, name)

    def step() -> None:
        assert used() is not own
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), clipping_by(plain._replace(clip=lambda *_: None)):
        step()
    assert used() is own
    with clipping_by(plain):
        assert used() is own


@pytest.mark.parametrize(
    ("number", "words", "moved"),
    [
        (0, "not clipped", FLAT),
        (1, "lacks the 1e-6", FLAT / 13),
        (2, "the update is clipped", FLAT / 6.5),  # of half the gradient
        (3, "the update is clipped", FLAT / (6.5 + 1e-6)),
        (4, "the update is clipped", FLAT / 13),  # before the learning rate
        (5, "the update is clipped", FLAT / (13 + 1e-6)),
        (6, "by its own norm", np.array([0.6, 0.8, 1.0])),
        (7, "by its own norm", np.array([3 / (5 + 1e-6), 4 / (5 + 1e-6), 12 / (12 + 1e-6)])),
        (8, "clipped by value", np.ones(3)),
    ],
)
def test_a_gradient_is_clipped_otherwise(number: int, words: str, moved: Any):
    """The update of SGD is half the clipped gradient."""
    variant = list(variants._clips(CLIPPED))[number]

    assert words in variant.text
    np.testing.assert_allclose(stepped(variant), -0.5 * moved, rtol=1e-12)


def test_a_small_gradient_is_not_clipped():
    """A maximum norm above the norm changes nothing."""
    training = Training(sgd, clip=20.0)
    for variant in list(variants._clips(training))[:8]:
        np.testing.assert_allclose(stepped(variant), -0.5 * FLAT, rtol=1e-12)


def test_clipping_skips_weights_without_a_gradient():
    """A frozen weight has no gradient, and the norm is that of the others."""
    weights = module()
    weights["a"].grad = torch.tensor(G[0])

    norm = variants.clip_as_optax(weights.parameters(), 1.0)
    assert float(norm) == 5.0
    np.testing.assert_allclose(weights["a"].grad, G[0] / 5)
    assert variants._without_clipping(weights.parameters()) == pytest.approx(1.0)
    assert variants._norm([torch.tensor([3j, 4.0])]) == pytest.approx(5)


def test_norms_are_tried_where_torch_does_not_clip():
    """Each norm is tried with torch's function and with optax's, if torch clips nothing."""
    found = list(variants._new_clips(Training(sgd)))

    norms = [1.0, 0.5, 0.1, 5.0, 10.0]
    assert [v.training.clip for v in found] == [norm for norm in norms for _ in range(2)]
    assert found[0].text == "the gradients are clipped to the norm 1, torch does not clip them"
    np.testing.assert_allclose(stepped(found[0]), -0.5 * FLAT / (13 + 1e-6), rtol=1e-12)
    np.testing.assert_allclose(stepped(found[1]), -0.5 * FLAT / 13, rtol=1e-12)
    assert not list(variants._new_clips(CLIPPED))


def groups(variant: Variant) -> dict[str, Any]:
    """Return the settings of a variant's optimizer."""
    return Loop(variant.training, module()).optimizer.param_groups[0]


def applicable(build: Any) -> dict[str, dict[str, Any]]:
    """Return the settings of all variants that apply to an optimizer."""
    found = {}
    for variant in variants._settings(Training(build)):
        try:
            found[variant.text] = groups(variant)
        except Exception:  # the optimizer has no such setting
            continue
    return found


def test_every_setting_of_adam_is_changed():
    """Each variant changes the setting that it names, and no other."""
    found = applicable(lambda p: torch.optim.Adam(p, 0.1, (0.7, 0.6), eps=1e-3))

    for eps in (1e-8, 1e-7, 1e-6, 1e-5, 1e-10, 1e-15):
        assert found[f"eps is {eps:g}"]["eps"] == eps
    for b2 in (0.99, 0.95, 0.98, 0.999, 0.9, 0.9999):
        assert found[f"beta2 is {b2:g}"]["betas"] == (0.7, b2)
    for b1 in (0.9, 0.95, 0.8, 0.5, 0.0):
        assert found[f"beta1 is {b1:g}"]["betas"] == (b1, 0.6)
    assert found["amsgrad is True, torch uses False"]["amsgrad"] is True
    text = "the weight decay is decoupled, torch adds it to the gradient"
    assert found[text]["decoupled_weight_decay"] is True
    for root in (1e-8, 1e-7, 1e-6, 1e-16, 1e-15):
        assert f"eps_root is {root:g}, torch has none" in found
        assert f"eps_root is {root:g} and eps is 0, torch adds eps outside the square root" in found
    assert len(found) == 6 + 6 + 5 + 1 + 1 + 2 + 10


def test_every_setting_of_sgd_is_changed():
    """Momentum, dampening and Nesterov's rule are SGD's settings."""
    found = applicable(lambda p: torch.optim.SGD(p, 0.1, momentum=0.5, dampening=0.3))

    assert found["the momentum is missing"]["momentum"] == 0.0
    assert found["the momentum is 0.9"]["momentum"] == 0.9
    assert found["the momentum is 0.99"]["momentum"] == 0.99
    assert found["the dampening is missing"]["dampening"] == 0.0
    assert found["nesterov is True, torch uses False"]["nesterov"] is True
    assert any(text.startswith("the dampening applies to the first gradient") for text in found)
    assert len(found) == 6


def optax_path(tx: optax.GradientTransformation, steps: int) -> np.ndarray:
    """Return optax's weights after some steps with the same gradients."""
    params: Any = np.zeros(3)
    state = tx.init(params)
    for _ in range(steps):
        updates, state = tx.update(FLAT, state, params)
        params = optax.apply_updates(params, updates)
    return np.asarray(params)


@pytest.mark.parametrize(("inner", "root"), [(0, 1e-8), (1, 1e-8), (4, 1e-6)])
def test_a_root_is_optaxs(inner, root):
    """`eps_root` is tried with torch's eps, then without it."""
    found = list(variants._settings(Training(lambda p: torch.optim.Adam(p, 0.1))))[-10:]
    tx = optax.adam(0.1, eps=0.0 if inner % 2 else 1e-8, eps_root=root)

    np.testing.assert_allclose(stepped(found[inner], 2), optax_path(tx, 2), rtol=1e-12)


def test_optaxs_defaults_are_combined():
    """RMSprop differs in three settings and Adagrad in two; each combination is tried once."""
    rms = list(variants._defaults(Training(lambda p: torch.optim.RMSprop(p, 0.1))))
    texts = [v.text for v in rms]

    assert len(texts) == len(set(texts)) == 11 + 4
    tail = ", unlike torch's RMSprop (as in optax.rmsprop)"
    assert texts[0] == f"eps is inside the square root{tail}"
    index = texts.index(f"the decay is 0.9 and initial_scale is 1{tail}")
    tx = optax.rmsprop(0.1, 0.9, initial_scale=1.0, eps_in_sqrt=False)
    np.testing.assert_allclose(stepped(rms[index], 2), optax_path(tx, 2), rtol=1e-12)

    ada = list(variants._defaults(Training(lambda p: torch.optim.Adagrad(p, 0.1))))[11:]
    tail = ", unlike torch's Adagrad (as in optax.adagrad)"
    assert [v.text.removesuffix(tail) for v in ada] == [
        "initial_accumulator_value is 0.1 and eps is 1e-07 and eps is inside the square root",
        "initial_accumulator_value is 0.1 and eps is inside the square root",
        "eps is 1e-07 and eps is inside the square root",
        "eps is inside the square root",
    ]
    np.testing.assert_allclose(stepped(ada[0]), optax_path(optax.adagrad(0.1), 1), rtol=1e-12)


def averages(variant: Variant) -> list[float]:
    """Return the averages of a weight that is 1 and then 2."""
    weights = nn.ParameterDict({"a": nn.Parameter(torch.ones(1))})
    average: Any = Loop(variant.training, weights).average
    found = []
    for value in (1.0, 2.0):
        with torch.no_grad():
            weights["a"].fill_(value)
        average.update_parameters(weights)
        found.append(average.module["a"].item())
    return found


def test_every_other_average_is_tried():
    """Another decay, and a first average that includes the initial weights."""
    training = Training(sgd, ema=(0.75, "the port's"))
    found = {v.text: v for v in variants._averages(training)}

    later = "the first average includes the initial weights, torch's copies"
    names = [
        f"the decay of the average is {x:g}, torch uses 0.75"
        for x in (0.25, 0.9, 0.99, 0.999, 0.9999)
    ]
    assert list(found) == [later, *(t for n in names for t in (n, f"{n} and {later}"))]
    assert averages(found[names[0]]) == [1.0, pytest.approx(1.75)]
    assert all(
        v.training.ema is not None and v.training.ema[1] == "the port's" for v in found.values()
    )

    start = nn.ParameterDict({"a": nn.Parameter(torch.zeros(1))})
    average: Any = Loop(found[later].training, start).average
    with torch.no_grad():
        start["a"].fill_(1.0)
    average.update_parameters(start)
    assert average.module["a"].item() == pytest.approx(0.25)


def from_start(decay: float, function: str) -> Any:
    """Return a function that makes an average which has one update behind it."""
    one = swa_utils.get_ema_avg_fn(decay), swa_utils.get_ema_multi_avg_fn(decay)
    functions = {"avg_fn": one[0], "multi_avg_fn": one[1]}

    def make(module: nn.Module) -> Any:
        chosen: Any = {function: functions[function]} if function else {}
        average = swa_utils.AveragedModel(module, **chosen)
        average.n_averaged.fill_(1)
        return average

    return make


@pytest.mark.parametrize("function", ["avg_fn", "multi_avg_fn", ""])
def test_an_average_that_the_user_makes_is_varied(function):
    """Its decay is replaced, unless it has this decay, and so is its first average."""
    training = Training(sgd, ema=(from_start(0.9, function), None))
    found = {v.text: v for v in variants._averages(training)}

    later = "the first average copies the weights, torch's includes the initial weights"
    np.testing.assert_allclose(averages(found[later])[0], 1.0)
    other = found["the decay of the average is 0.99"]
    assert averages(other) == [pytest.approx(1.0), pytest.approx(1.01)]
    assert averages(found[f"the decay of the average is 0.99 and {later}"])[1] == pytest.approx(
        1.01
    )
    refused = ["the first average includes the initial weights, torch's copies"]
    refused += ["the decay of the average is 0.9"] if function else []
    for text in refused:
        with pytest.raises(ProofError, match="already"):
            averages(found[text])


def test_an_average_of_another_class_is_not_varied():
    """Its settings are not known."""
    assert not list(variants._averages(Training(sgd)))
    training = Training(sgd, ema=(lambda module: None, None))
    with pytest.raises(ProofError, match="of another class"):
        averages(next(variants._averages(training)))


@pytest.mark.filterwarnings("ignore")
def test_a_schedule_is_shifted_or_left_out():
    """The rates of a halving schedule, one step ahead, one behind, and constant."""
    training = Training(sgd, scheduler=lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.5))
    found = list(variants.schedules(training))

    rates = [math.fsum(stepped(v, 3)) / -FLAT.sum() for v in found]
    assert rates == pytest.approx([0.25 + 0.125 + 0.0625, 0.5 + 0.5 + 0.25, 1.5])
    assert [v.text.rpartition(" is ")[2] for v in found] == [
        "one step ahead of torch's", "one step behind torch's", "missing",
    ]  # fmt: skip
    assert not list(variants.schedules(Training(sgd)))


def test_each_weight_gets_its_own_decay():
    """Only the step sees a group for each weight; a factory that is given a list is refused."""
    training = variants.with_decays(
        Training(lambda p: torch.optim.SGD(p, 0.1)), {"a": 0.5, "b": 0.0}
    )
    net = module()
    optimizer = Loop(training, net).optimizer
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    for p in net.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()

    (group,) = optimizer.param_groups
    assert len(group["params"]) == 2 and group["weight_decay"] == 0
    changed = {name: before[name] - p.detach() for name, p in net.named_parameters()}
    torch.testing.assert_close(changed["a"], 0.1 * 0.5 * before["a"])
    assert not changed["b"].any()
    factory = training.torch
    assert factory is not None
    with pytest.raises(TypeError, match="takes a torch.nn.Module"):
        factory([nn.Parameter(torch.ones(1))])
    edited = variants.edited(training, lambda x: x).torch
    assert edited is not None
    with pytest.raises(TypeError, match="takes a torch.nn.Module"):
        edited([nn.Parameter(torch.ones(1))])


def test_all_mistakes_are_tried_in_order():
    """Clips come first, then settings, defaults, averages, and clips that torch does not have."""
    texts = [v.text for v in variants.variants(Training(sgd, ema=(0.5, None)))]

    order = ["not clipped", "eps is 1e-08", "unlike torch's RMSprop", "first average", "norm 1,"]
    places = [next(i for i, text in enumerate(texts) if words in text) for words in order]
    assert places == sorted(places)


def test_a_decoupled_decay_skips_weights_without_a_gradient():
    """The decay is a part of the step, so that torch skips such a weight altogether."""

    def decaying(parameters: Any) -> Any:
        return torch.optim.SGD(parameters, 0.5, weight_decay=0.1)

    _, decoupled = variants.late_decays(Training(torch=decaying))
    weights = module()
    for p in weights.values():
        nn.init.ones_(p)
    start = {name: p.detach().clone() for name, p in weights.items()}

    def backward(number: int) -> float:
        del number
        weights["a"].grad = torch.tensor(G[0])
        return 0.0

    Loop(decoupled.training, weights).step(backward)
    expected = start["a"] - 0.5 * torch.tensor(G[0]) - 0.5 * 0.1 * start["a"]
    torch.testing.assert_close(weights["a"].detach(), expected)
    assert torch.equal(weights["b"].detach(), start["b"])
