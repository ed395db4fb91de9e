"""Mistakes in elementwise functions and reductions: which are tried, and what each computes."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from jaxgrad.parity.prove.causes.mistakes import general
from jaxgrad.parity.prove.causes.mistakes.call import TorchCall
from tests.jaxgrad.parity.prove.causes.mistakes._helpers import check, draw, texts, tried


X, Y = draw(3, 4), draw(3, 4, seed=1)
SQUARE = draw(4, 4, seed=2)
Z = torch.complex(draw(3), draw(3, seed=1))
INF = float("inf")


def test_every_number_of_the_port_may_be_the_eps():
    """A norm is rerun with each number of the port that can be an eps, and without eps."""
    small = 1e-4 * X
    numbers = (3e-6, 0.001, -1.0, 1e-5)
    calls = tried(general.eps, functional.layer_norm, small, (4,), eps=1e-5, numbers=numbers)
    wrong = {"3e-06": 3e-6, "0.001": 1e-3, "0": 0.0}

    check(
        calls,
        {
            f"eps is {text}, torch uses 1e-05": functional.layer_norm(small, (4,), eps=eps)
            for text, eps in wrong.items()
        },
    )
    assert [call.setting for call in calls] == list(wrong)
    assert [call.fix for call in calls] == [(text, "1e-05") for text in wrong]
    assert not tried(general.eps, functional.layer_norm, X, (4,))


@pytest.mark.parametrize(
    ("used", "other", "text", "right"),
    [
        ({}, "tanh", "the tanh approximation, torch uses the exact form", False),
        (
            {"approximate": "tanh"},
            "none",
            "the exact form, torch uses the tanh approximation",
            True,
        ),
    ],
)
def test_the_other_gelu_is_tried(used, other, text, right):
    """The exact GELU is rerun as the tanh approximation, and the reverse."""
    calls = tried(general.gelu, functional.gelu, X, **used)

    check(calls, {f"GELU is {text}": functional.gelu(X, approximate=other)})
    assert calls[0].fix == ("gelu", f"approximate={right}")


def test_every_other_activation_is_tried():
    """An activation is rerun as every other one, but not as itself."""
    calls = tried(general.activation, functional.relu, X)
    names = "silu tanh sigmoid gelu relu6 leaky_relu elu softplus mish selu celu hardswish"
    names += " hardsigmoid hardtanh logsigmoid softsign"

    expected = {name: getattr(functional, name) for name in names.split()}
    expected |= {"tanh": torch.tanh, "sigmoid": torch.sigmoid}
    tanh = "gelu (the tanh approximation)"
    expected |= {tanh: lambda x: functional.gelu(x, approximate="tanh")}
    others = [call for call in calls if "the activation" in call.mistake]
    check(others, {f"the activation is {n}, torch uses relu": f(X) for n, f in expected.items()})
    assert calls[0].fix == ("silu", "relu")


def test_a_function_is_tried_in_the_place_of_an_activation():
    """A scale may be the exponential in the port and the softplus in torch."""
    calls = tried(general.activation, functional.softplus, X)
    text = "the function is exp, torch uses softplus"

    (call,) = [x for x in calls if x.mistake == text]

    check([call], {text: X.exp()})
    assert call.fix == ("exp", "softplus") and call.occurs
    assert not [x for x in texts(calls) if "the function is tanh" in x]  # an activation


def test_another_activation_may_have_the_same_numbers():
    """The port calls elu with torch's alpha, where torch calls celu."""
    calls = tried(general.activation, functional.celu, X, alpha=0.5)
    text = "the activation is elu with alpha 0.5, torch uses celu"

    check([x for x in calls if x.mistake == text], {text: functional.elu(X, alpha=0.5)})


@pytest.mark.parametrize(("op", "same"), [("elu", "celu"), ("celu", "elu")])
def test_another_name_of_the_activation_with_its_default_is_not_tried(op, same):
    """With alpha=1, elu and celu are equal: a port with that number has only forgotten alpha."""
    calls = tried(general.activation, getattr(functional, op), X, alpha=0.8)

    assert f"the activation is {same}, torch uses {op}" not in texts(calls)
    assert "the activation is selu, torch uses " + op in texts(calls)


def test_every_other_elementwise_function_is_tried():
    """An elementwise function is rerun as every other one, but not as itself."""
    calls = tried(general.unary, torch.sin, X)

    assert "the function is sin, torch uses sin" not in texts(calls)
    assert len(calls) == len(general.UNARY) - 1
    check(calls[:1], {"the function is cos, torch uses sin": X.cos()})
    assert calls[0].fix == ("cos", "sin")


def operations(x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """Return the results of all operations that are exchanged, in the order of trial."""
    return {
        "adds": x + y,
        "subtracts": x - y,
        "multiplies": x * y,
        "divides": x / y,
        "takes the maximum": torch.maximum(x, y),
        "takes the minimum": torch.minimum(x, y),
    }


@pytest.mark.parametrize(
    ("func", "op", "verb", "swapped"),
    [
        (torch.add, "add", "adds", None),
        (torch.sub, "sub", "subtracts", "sub"),
        (torch.mul, "rmul", "multiplies", None),
        (torch.div, "rtruediv", "divides", "div"),
        (torch.max, "max", "takes the maximum", None),
        (torch.minimum, "minimum", "takes the minimum", None),
    ],
)
def test_every_other_operation_is_tried(func, op, verb, swapped):
    """An operation is rerun as every other one, and with its operands swapped if that matters."""
    calls = tried(general.binary, func, X, Y, op=op)
    results = operations(X, Y)
    del results[verb]

    expected = {f"JAX {other}, torch {verb}": result for other, result in results.items()}
    if swapped is not None:
        expected[f"the operands of {swapped} are swapped"] = func(Y, X)
    check(calls, expected)


def test_an_operation_that_returns_an_operand_is_not_tried():
    """The minimum of a number below one and a mask of ones is that number: torch's is missing."""
    x, mask = -X.abs(), torch.ones_like(X)

    assert texts(tried(general.binary, torch.mul, x, mask)) == [
        "JAX adds, torch multiplies",
        "JAX subtracts, torch multiplies",
    ]


def test_a_power_is_exchanged_with_every_operation():
    """The operands may be numbers, and the verb of a power is its name."""
    calls = tried(general.binary, torch.pow, X.abs(), 2.0)

    expected = operations(X.abs(), torch.tensor(2.0, dtype=torch.float64))
    assert texts(calls)[:-1] == [f"JAX {verb}, torch uses pow" for verb in expected]
    for call, result in zip(calls, expected.values(), strict=False):
        torch.testing.assert_close(call.result, result)
    check(calls[-1:], {"the operands of pow are swapped": 2.0 ** X.abs()})


def test_another_number_is_added():
    """A float that torch adds is replaced by the port's numbers, in additions alone."""
    wrong = [0.001, -7.0]
    numbers = (0.001, 0.0, 1e-5, -7.0)
    calls = tried(general.binary, torch.add, X, 1e-5, numbers=numbers)[:2]

    check(calls, {f"{x:g} is added, torch adds 1e-05": X + x for x in wrong})
    assert calls[0].fix == ("0.001", "1e-05")
    assert "0.001 is added, torch adds 1e-05" in texts(
        tried(general.binary, Tensor.__radd__, X, 1e-5, numbers=numbers)
    )
    for other in (
        tried(general.binary, torch.sub, X, 1e-5, numbers=numbers),
        tried(general.binary, torch.add, X, 1, numbers=numbers),
    ):
        assert not any("is added" in text for text in texts(other))


def test_a_maximum_of_one_tensor_is_not_a_binary_operation():
    """`x.max()` has one operand, so there is nothing to exchange."""
    assert not tried(general.binary, torch.max, X)


def test_the_operands_of_a_product_are_transposed_if_they_are_square():
    """A product is rerun with square operands transposed, and with its operands swapped."""
    x, y = SQUARE, draw(4, 4, seed=3)
    check(
        tried(general.products, torch.matmul, x, y),
        {
            "the second operand is transposed": x @ y.T,
            "the first operand is transposed": x.T @ y,
            "the operands are swapped": y @ x,
        },
    )


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2)), ((3,), (3,))])
def test_only_square_operands_are_transposed(shapes):
    """A transposed operand that is not square would not fit, and a vector has one axis."""
    x, y = (draw(*shape) for shape in shapes)

    check(tried(general.products, torch.matmul, x, y), {"the operands are swapped": y @ x})


def test_batches_of_products_are_transposed_in_their_last_axes():
    """The first axis of `bmm` is the batch, whatever its size."""
    x, y = draw(2, 3, 3), draw(2, 3, 2)

    calls = tried(general.products, torch.bmm, x, y)[:1]
    check(calls, {"the first operand is transposed": x.mT @ y})
    calls = tried(general.products, torch.bmm, y.mT, x)[:1]
    check(calls, {"the second operand is transposed": y.mT @ x.mT})


@pytest.mark.parametrize(
    ("args", "kwargs", "dim"),
    [((1,), {}, 1), ((1, True), {}, 1), ((False,), {}, None), ((), {"dim": 0}, 0)],
)
def test_both_divisors_of_a_variance_are_tried(args: Any, kwargs: Any, dim: Any):
    """A variance is rerun with both divisors, over the same dimension."""
    calls = tried(general.variance, torch.var, X, *args, **kwargs)

    check(
        calls,
        {
            "var divides by N, torch divides by N - 1": torch.var(X, dim, correction=0),
            "var divides by N - 1, torch divides by N": torch.var(X, dim, correction=1),
        },
    )
    assert [call.fix for call in calls] == [("ddof=0", "ddof=1"), ("ddof=1", "ddof=0")]


def test_the_divisor_replaces_both_spellings():
    """`unbiased` and `correction` are left out, and other arguments stay."""
    for name in ("unbiased", "correction"):
        options: dict[str, Any] = {"dim": 1, "keepdim": True, name: True}
        calls = tried(general.variance, torch.var, X, **options)
        torch.testing.assert_close(calls[0].result, X.var(1, correction=0, keepdim=True))


@pytest.mark.parametrize("op", ["mean", "sum", "amax", "amin"])
def test_the_other_reductions_are_tried(op):
    """A sum is rerun as a mean, a maximum and a minimum, and over the other dimension."""
    func = getattr(torch, op)
    others = [other for other in ("mean", "sum", "amax", "amin") if other != op]
    calls = tried(general.reduction, func, X, 0)

    texts = {f"the reduction is {x}, torch uses {op}": getattr(torch, x)(X, 0) for x in others}
    check(calls, {**texts, f"{op} is over dim 1, torch uses 0": func(X, 1)})
    assert [call.fix for call in calls] == [*((x, op) for x in others), ("axis=1", "axis=0")]


def test_a_norm_has_an_eps_of_the_port_inside_of_its_root():
    """Only small numbers of the port are tried."""
    text = "1e-06 is added inside of the norm's square root, torch adds nothing"
    expected = {text: ((X**2).sum(1) + 1e-6).sqrt()}
    check(tried(general.rooted, torch.norm, X, dim=1, numbers=(1e-6, 0.5, -1e-6)), expected)


def test_a_norm_has_no_other_reduction():
    """Only the dimension of a norm is changed."""
    calls = tried(general.reduction, torch.logsumexp, X, -1)

    check(calls, {"logsumexp is over dim 0, torch uses -1": X.logsumexp(0)})


@pytest.mark.parametrize(
    ("func", "kwargs"),
    [(functional.normalize, {}), (Tensor.norm, {"dim": 1}), (functional.normalize, {"p": 2})],
)
def test_every_other_order_of_a_norm_is_tried(func, kwargs):
    """An L2 norm is rerun as the L1 norm and as the maximum norm."""
    calls = tried(general.order, func, X, **kwargs)

    orders = {"p is 1, torch uses 2": 1.0, "p is inf, torch uses 2": INF}
    check(calls, {text: func(X, **kwargs | {"p": p}) for text, p in orders.items()})
    assert calls[0].fix == ("ord=1", "ord=2")


@pytest.mark.parametrize(
    ("func", "args", "kwargs"),
    [
        (functional.normalize, (X,), {}),
        (functional.normalize, (X, 2, 1), {}),
        (functional.normalize, (X,), {"dim": -1}),
        (functional.cosine_similarity, (X, Y), {}),
        (functional.cosine_similarity, (X, Y, 1), {}),
        (functional.softmax, (X,), {"dim": 1}),
    ],
)
def test_the_dimension_may_be_a_default_or_stand_after_other_arguments(func, args, kwargs):
    """Only the dimension is changed."""
    (call,) = tried(general.dimension, func, *args, **kwargs)
    rest = args[:1] if func is not functional.cosine_similarity else args[:2]

    torch.testing.assert_close(call.result, func(*rest, dim=0))
    assert f"{func.__name__} is over dim 0, torch uses " in call.mistake


def test_an_operand_may_have_an_axis_of_size_one_more_or_less():
    """A batch of values minus a column of values is a matrix."""
    x, y = draw(4), draw(4, seed=1)
    calls = tried(general.broadcast, torch.sub, x, y)
    check(
        calls,
        {
            "sub broadcasts [4, 1] and [4] to [4, 4], torch's operands are [4] and [4]": (
                x[:, None] - y
            ),
            "sub broadcasts [4] and [4, 1] to [4, 4], torch's operands are [4] and [4]": (
                x - y[:, None]
            ),
        },
    )
    (text,) = {call.difference.says("jax") for call in calls[:1]}
    assert text == "the operands of sub are [4] and [4], JAX broadcasts [4, 1] and [4] to [4, 4]"
    mean = SQUARE.mean(1, keepdim=True)
    expected = "sub broadcasts [4, 4] and [4] to [4, 4], torch's operands are [4, 4] and [4, 1]"
    assert texts(tried(general.broadcast, torch.sub, SQUARE, mean))[-1] == expected
    assert not tried(general.broadcast, torch.sub, X, 1.0)
    loss = tried(general.broadcast, functional.mse_loss, x, y)
    torch.testing.assert_close(loss[0].result, ((x[:, None] - y) ** 2).mean())
    assert not tried(general.broadcast, torch.sub, torch.tensor(1.0), x)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((1, True), {}), ((1,), {"keepdim": True}), ((), {"dim": 1, "keepdim": True}),
     ((), {"axis": 1, "keepdim": True}), ((-2,), {"keepdim": True})],
)  # fmt: skip
def test_every_other_dimension_is_tried(args, kwargs):
    """The dimension is given by place or by name, and may be counted from the end."""
    x = draw(2, 3, 4)
    used = args[0] if args else 1

    calls = tried(general.dimension, torch.sum, x, *args, **kwargs)
    check(
        calls,
        {f"sum is over dim {k}, torch uses {used}": x.sum(k, keepdim=True) for k in (0, 2)},
    )
    assert calls[1].fix == ("axis=2", f"axis={used}")


@pytest.mark.parametrize("args", [(), ((0, 1),), (True,)])
def test_without_one_dimension_none_is_tried(args):
    """A sum over everything, over two dimensions, or with `keepdim` in its place has no other."""
    assert not tried(general.dimension, torch.sum, X, *args)


@pytest.mark.parametrize(("args", "kwargs"), [((0,), {}), ((), {"dim": 0})])
def test_a_cumulative_function_runs_backwards(args, kwargs):
    """A cumulative sum is rerun over the other dimension, backwards, and without the element."""
    check(
        tried(general.running, torch.cumsum, X, *args, **kwargs),
        {
            "cumsum is over dim 1, torch uses 0": X.cumsum(1),
            "cumsum runs backwards": X.flip(0).cumsum(0).flip(0),
            "cumsum leaves out the element itself": X.cumsum(0) - X,
        },
    )


def test_the_smoothing_of_labels_is_changed():
    """The port may take another share from the right class, or give it to other classes."""
    logits, labels = draw(4, 3), torch.tensor([0, 2, 1, 1])
    given = dict[str, Any](label_smoothing=0.3, reduction="sum")
    calls = tried(general.labels, functional.cross_entropy, logits, labels, numbers=(0.9,), **given)
    right = functional.one_hot(labels, 3).to(logits.dtype)
    logs = logits.log_softmax(1)
    check(
        [call for call in calls if "smoothing" in call.difference.of_jax],
        {
            "label_smoothing is 0.1, torch uses 0.3": functional.cross_entropy(
                logits, labels, reduction="sum", label_smoothing=0.1
            ),
            "the smoothing of labels goes to only the other classes, torch gives it to all classes":
                -(logs * (0.7 * right + 0.15 * (1 - right))).sum(),
            "the smoothing of labels goes to no class, torch gives it to all classes":
                -(logs * 0.7 * right).sum(),
        },
    )  # fmt: skip


def test_the_smoothing_of_labels_is_changed_beside_ignored_labels():
    """The mean is over the labels that torch does not ignore."""
    logits, labels = draw(4, 3), torch.tensor([0, 2, -100, 1])
    calls = tried(general.labels, functional.cross_entropy, logits, labels, label_smoothing=0.3)
    right = functional.one_hot(torch.tensor([0, 2, 0, 1]), 3).to(logits.dtype)
    logs, kept = logits.log_softmax(1), torch.tensor([0, 1, 3])
    check(
        [call for call in calls if "smoothing" in call.mistake],
        {
            "the smoothing of labels goes to only the other classes, torch gives it to all classes":
                -(logs * (0.7 * right + 0.15 * (1 - right))).sum(1)[kept].mean(),
            "the smoothing of labels goes to no class, torch gives it to all classes":
                -(logs * 0.7 * right).sum(1)[kept].mean(),
        },
    )  # fmt: skip


def test_a_cross_entropy_by_hand_leaves_out_a_weight_or_a_mask():
    """A port may divide by the number of labels, weight no class in the smoothing, or mask less."""
    logits, labels = draw(4, 3), torch.tensor([0, 2, -100, 1])
    weight, share = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64), 0.3
    given = dict[str, Any](weight=weight, label_smoothing=share)
    calls = tried(general.labels, functional.cross_entropy, logits, labels, **given)
    logs = logits.log_softmax(1)
    valid = torch.tensor([1.0, 1.0, 0.0, 1.0], dtype=torch.float64)
    known = torch.tensor([0, 2, 0, 1])
    right, every = logs[torch.arange(4), known], weight[known]
    used, smooth = every * valid, (logs * weight).sum(1)

    def loss(weights: Any, count: Any, spread: Any) -> Any:
        return -((1 - share) * (right * weights).sum() + share / 3 * spread.sum()) / count

    assert torch.allclose(
        loss(used, used.sum(), smooth * valid), functional.cross_entropy(logits, labels, **given)
    )
    text = "ignored labels count as class 0, torch leaves them out"
    only = loss(every, every.sum(), smooth * valid)
    check(
        [x for x in calls if "weights" in x.mistake or x.mistake == text][:3],
        {
            "the loss is divided by the number of labels, torch divides it by the sum of their "
            "class weights": loss(used, valid.sum(), smooth * valid),
            "the smoothing of labels has no class weights, torch weights each class":
                loss(used, used.sum(), logs.sum(1) * valid),
            text: only,
        },
    )  # fmt: skip
    assert calls[-1].mistake == text  # the smoothing counts them too
    assert torch.allclose(calls[-1].result, loss(every, every.sum(), smooth))


def test_a_cross_entropy_without_weights_and_ignored_labels_has_nothing_to_leave_out():
    for ignored in (-100, 2):  # 2 is a class, which a port counts with another `ignore_index`
        labels = torch.tensor([0, 2, 1, 1])
        calls = tried(
            general.labels, functional.cross_entropy, draw(4, 3), labels, ignore_index=ignored
        )
        assert not [x for x in texts(calls) if "weights" in x or "ignored labels count" in x]


def test_the_indices_of_an_embedding_are_shifted():
    """The ids are shifted and rolled by one in both directions."""
    table, ids = draw(6, 2), torch.tensor([[1, 2, 4], [3, 1, 2]])

    check(
        tried(general.looked_up, functional.embedding, ids, table),
        {
            "the indices are shifted by 1": table[ids + 1],
            "the indices are rolled by 1": table[ids.roll(1, 1)],
            "the indices are shifted by -1": table[ids - 1],
            "the indices are rolled by -1": table[ids.roll(-1, 1)],
        },
    )


@pytest.mark.parametrize(
    ("ids", "swapped"),
    [([0, 1, 1], True), ([1, 1, 1], True), ([0, 0, 0], False), ([0, 1, 2], False), ([], False),
     ([-1, 0, 1], False)],
)  # fmt: skip
def test_two_ids_are_swapped_if_there_are_no_others(ids, swapped):
    """Token types and labels of two classes are 0 and 1."""
    table, ids = draw(2, 2), torch.tensor(ids, dtype=torch.long)

    calls = tried(general.looked_up, functional.embedding, ids, table)
    assert (texts(calls)[0] == "the indices 0 and 1 are swapped") == swapped
    if swapped:
        torch.testing.assert_close(calls[0].result, table[1 - ids])


@pytest.mark.parametrize(("args", "kwargs"), [((2, 1), {}), ((2,), {"dim": 1})])
def test_repeated_elements_are_tiled(args, kwargs):
    """The elements are tiled along the dimension that torch repeats."""
    check(
        tried(general.repeated, torch.repeat_interleave, X, *args, **kwargs),
        {"the elements are tiled, torch repeats each one": X.repeat(1, 2)},
    )


@pytest.mark.parametrize("args", [(2,), (torch.tensor([1, 2, 1]), 0)])
def test_elements_are_tiled_only_along_one_dimension(args):
    """Different numbers of repetitions, or all dimensions at once, cannot be tiled."""
    assert not tried(general.repeated, torch.repeat_interleave, X, *args)


def test_a_result_is_scaled_by_two_and_by_the_sizes_of_the_operand():
    """Sizes of one axis are the first operand's, and a factor 1 changes nothing."""
    x = draw(1, 3, 5)
    expected = {}
    for n in (2, 3, 5, 15):
        expected[f"JAX's value is torch's times {n}"] = x.sum() * n
        expected[f"JAX's value is torch's times 1/{n}"] = x.sum() / n

    calls = tried(general.scaled, torch.sum, x)
    check(calls, expected)
    assert all(call.general for call in calls)


def test_only_the_first_operand_has_sizes():
    """The other operands, and empty ones, do not add a factor."""
    calls = tried(general.scaled, functional.mse_loss, draw(0, 2), draw(0, 7)[:, :2])
    assert len(calls) == 2

    calls = tried(general.scaled, torch.matmul, draw(2, 2), draw(2, 7))
    assert [text.rpartition(" ")[2] for text in texts(calls)] == ["2", "1/2", "4", "1/4"]


def test_a_mean_may_count_the_ignored_labels():
    """The sum of the losses is divided by the number of all labels, if any of them is ignored."""
    logits, labels = draw(4, 3), torch.tensor([0, 2, 1, -100])
    text = "the loss is divided by the number of all labels, torch leaves out the ignored ones"
    func, nothing = functional.cross_entropy, torch.tensor([0, 2, 1, 1])

    first = tried(general.labels, func, logits, labels)[:1]
    check(first, {text: func(logits[:3], labels[:3], reduction="sum") / 4})
    for given, options in ((nothing, {}), (labels, {"reduction": "sum"})):
        assert text not in texts(
            tried(general.labels, func, logits, given, **dict[str, Any](options))
        )
    ignored = tried(general.labels, func, logits, nothing, ignore_index=2)
    check(ignored[:1], {text: (func(logits[[0, 2, 3]], nothing[[0, 2, 3]], reduction="sum") / 4)})


@pytest.mark.parametrize(
    "options",
    [{"reduction": "sum"}, {"label_smoothing": 0.1}, {"soft": True}],
    ids=["labels", "smoothed", "probabilities"],
)
def test_the_softmax_of_a_cross_entropy_may_be_over_another_axis(options):
    """The logits of the classes are in axis 1, which a port may exchange with the batch."""
    logits, labels = draw(4, 3), torch.tensor([0, 2, 1, 1])
    given = dict(options)
    shares = functional.one_hot(labels, 3).double()
    share = given.get("label_smoothing", 0.0)
    losses = -((shares * (1 - share) + share / 3) * logits.log_softmax(0)).sum(1)
    expected = losses.sum() if given.get("reduction") else losses.mean()
    if given.pop("soft", False):
        labels = shares

    calls = tried(general.labels, functional.cross_entropy, logits, labels, **given)
    text = "the softmax of cross_entropy is over dim 0, torch uses 1"
    check([call for call in calls if "softmax" in call.mistake], {text: expected})


def test_an_eps_may_be_added_to_a_norm_of_which_torch_takes_the_larger():
    """normalize divides by the larger of the norm and eps; a port may add an eps of its own."""
    calls = tried(general.normalized, functional.normalize, X, dim=1, numbers=(1e-6, 2.0))
    norm = X.norm(dim=1, keepdim=True)
    rest = "torch divides by the larger of the norm and 1e-12"
    check(
        calls,
        {
            f"{eps:g} is added to {what}, {rest}": X / divisor
            for eps in (1e-6, 1e-12)
            for what, divisor in (
                ("the norm's square", (norm**2 + eps).sqrt()),
                ("the norm", norm + eps),
            )
        },
    )


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize(("kwargs", "used"), [({}, "mean"), ({"reduction": "sum"}, "sum")])
def test_a_loss_is_reduced_in_every_other_way(kwargs, used):
    """A loss is rerun with every other reduction."""
    p, q = X.softmax(1).log(), Y.softmax(1)
    others = [name for name in ("mean", "sum", "none", "batchmean") if name != used]

    check(
        tried(general.losses, functional.kl_div, p, q, **kwargs),
        {
            f"the loss is reduced by {name}, torch uses {used}": functional.kl_div(
                p, q, reduction=name
            )
            for name in others
        },
    )


def test_an_operand_stands_in_for_the_result_if_it_has_its_shape():
    """At most two operands are returned in place of the result, and may be computed rightly."""
    calls = tried(general.left_out, torch.addcmul, X, Y, 2 * X)

    assert texts(calls) == [
        f"torch's addcmul is missing, JAX has its {which} operand" for which in ("first", "second")
    ]
    assert [call.setting for call in calls] == ["skip", "skip"]
    assert all(call.partial for call in calls)
    assert torch.equal(calls[0].result, X)
    assert torch.equal(calls[1].result, Y)


@pytest.mark.parametrize(
    ("func", "op", "named"),
    [
        (torch.mul, "mul", ["mul by 0.5 is missing", "mul is missing, JAX has the number 0.5"]),
        (torch.div, "div", ["div by 0.5 is missing"]),
        (torch.add, "add", ["add is missing"]),
    ],
)
def test_a_factor_that_is_missing_is_named(func, op, named):
    """A product or a quotient with a number; the tensor may be the missing factor too."""
    calls = tried(general.left_out, func, X, 0.5, op=op)
    assert texts(calls) == [f"torch's {text}" for text in named]
    assert op != "mul" or torch.equal(calls[1].result, torch.full_like(X, 0.5))


def test_the_first_of_several_results_has_a_stand_in():
    """`max` over a dimension returns a tuple; a list of no tensors has no stand-in."""
    calls = tried(general.left_out, torch.max, X[:, :1], 1, True)

    check(calls, {"torch's max is missing": X[:, :1]})
    for empty in ((), ["text"]):
        assert not tried(general.left_out, lambda x, empty=empty: empty, X, op="none")


def test_an_operand_of_another_shape_does_not_stand_in():
    """A sum has no operand of its shape."""
    assert not tried(general.left_out, torch.sum, X)


def test_the_sign_of_every_result_is_flipped_but_of_a_difference():
    """Swapped operands of a subtraction and a missing negation have this result too."""
    check(tried(general.every, torch.exp, X), {"the sign of torch's exp is flipped": -X.exp()})
    calls = tried(general.every, lambda x: (x * 2, x), X, op="two")
    assert texts(calls) == ["the sign of torch's two is flipped"]
    for op in ("neg", "sub", "rsub"):
        assert not tried(general.every, torch.neg, X, op=op)
    assert not tried(general.every, lambda x: [], X, op="none")


def test_complex_operands_and_results_are_conjugated():
    """One complex operand needs no number; of several, each is named by its place."""
    check(
        tried(general.every, torch.mul, Z, X[:, 0]),
        {
            "the operand of mul is conjugated": Z.conj() * X[:, 0],
            "the result of mul is conjugated": (Z * X[:, 0]).conj(),
            "the sign of torch's mul is flipped": -Z * X[:, 0],
        },
    )
    a, b, c, d = Z, Z * 2, Z * 1j, Z * 3j
    calls = tried(general.every, lambda *x: x[0] + 2 * x[1] + 3 * x[2], a, b, c, op="f")
    check(
        calls[:3],
        {
            "the first operand of f is conjugated": a.conj() + 2 * b + 3 * c,
            "the second operand of f is conjugated": a + 2 * b.conj() + 3 * c,
            "the third operand of f is conjugated": a + 2 * b + 3 * c.conj(),
        },
    )
    calls = tried(general.every, lambda *x: sum(x), a, b, c, d, op="f")
    assert texts(calls)[3] == "the third operand of f is conjugated"


def test_a_real_result_of_complex_operands_is_not_conjugated():
    """The absolute value of a complex number is real."""
    assert texts(tried(general.every, torch.abs, Z)) == [
        "the operand of abs is conjugated",
        "the sign of torch's abs is flipped",
    ]


def test_the_running_dimension_is_the_first_by_default():
    """A call without a dimension runs over the first."""
    flat = partial(torch.cumsum, dim=0)
    calls = list(general.running(TorchCall(lambda x, *_: flat(x), (X,), {}, "cumsum")))

    check(calls[:1], {"cumsum runs backwards": X.flip(0).cumsum(0).flip(0)})


def clamps(**bounds: tuple[float | None, float | None]) -> dict[str, Tensor]:
    return {text.replace("_", " "): X.clamp(*b) for text, b in bounds.items()}


def test_every_other_pair_of_bounds_is_tried():
    """A bound may be missing, on the other side or of the other sign, but bounds do not cross."""
    calls = tried(general.clamped, torch.clamp, X, -0.5, 1.0, op="clamp")
    used = "torch's has the minimum -0.5 and the maximum 1"
    low, high = (None, -0.5, 1.0, 0.5, -1.0), (None, -0.5, 1.0, 0.5, -1.0)
    pairs = [
        (a, b) for a in low for b in high
        if (a, b) not in ((None, None), (-0.5, 1.0)) and (a is None or b is None or a < b)
    ]  # fmt: skip

    def said(a: float | None, b: float | None) -> str:
        sides = zip(("minimum", "maximum"), (a, b), strict=True)
        return " and ".join(f"the {side} {x:g}" for side, x in sides if x is not None)

    check(calls, {f"clamp has {said(*b)}, {used}": X.clamp(*b) for b in pairs})


def test_bounds_are_given_by_place_or_by_name():
    """One bound by name has no other, and bounds that are tensors are not changed."""
    calls = tried(general.clamped, torch.clamp, X, min=0.0, op="clamp")
    assert texts(calls) == ["clamp has the maximum 0, torch's has the minimum 0"]
    calls = tried(general.clamped, torch.clamp, X, max=0.25, op="clamp")
    assert len(calls) == 4
    assert not tried(general.clamped, torch.clamp, X, torch.zeros(4), op="clamp")
    assert not tried(general.clamped, torch.clamp, X, 0.0, torch.ones(4), op="clamp")


def test_at_most_six_numbers_of_jax_are_a_further_bound():
    """The numbers of the JAX program are bounds of a clamp too."""
    numbers = tuple(2.0 + n for n in range(8))
    call = TorchCall(torch.clamp, (X,), {"min": 0.0}, "clamp", numbers=numbers)
    found = texts(general.clamped(call))
    assert "clamp has the maximum 7, torch's has the minimum 0" in found
    assert [text for text in found if "8" in text or "9" in text] == [
        f"clamp has the minimum {n}, torch's has the minimum 0" for n in (8, 9)
    ]


def test_a_number_that_only_jax_has_replaces_each_float():
    """Floats by place and by name are replaced one at a time; integers stay."""
    call = TorchCall(lambda x, n, a, b, c=1.0: n * x + a + b + c, (X, 2, 0.5, 0.25), {"c": 3.0},
                     "f", numbers=(7.0,))  # fmt: skip
    check(
        general.other_numbers(call),
        {
            "the number in f is 7, torch uses 0.5": 2 * X + 7 + 0.25 + 3,
            "the number in f is 7, torch uses 0.25": 2 * X + 0.5 + 7 + 3,
            "c is 7, torch uses 3": 2 * X + 0.5 + 0.25 + 7,
        },
    )


def test_an_int_in_arithmetic_may_be_another_number():
    """An int is an exponent or a factor in arithmetic, and may be a size in another call."""
    text = "the number in pow is 7, torch uses 3"
    power = TorchCall(torch.pow, (X, 3), {}, "pow", numbers=(7.0,))
    check(general.other_numbers(power), {text: X**7})
    assert not list(general.other_numbers(power._replace(op="f")))


def test_another_loss_between_two_tensors_is_used():
    """optax's `l2_loss` is half of torch's `mse_loss`, and its `huber_loss` is smaller."""
    calls = tried(general.errors, functional.smooth_l1_loss, 3 * X, Y, reduction="sum", beta=0.5)
    square = ((3 * X - Y) ** 2).sum()

    check(
        calls,
        {
            "the loss is mse_loss, torch uses smooth_l1_loss": square,
            "the loss is l1_loss, torch uses smooth_l1_loss": (3 * X - Y).abs().sum(),
            "the loss is huber_loss with delta 0.5, torch uses smooth_l1_loss with beta 0.5": (
                functional.huber_loss(3 * X, Y, reduction="sum", delta=0.5)
            ),
            "the loss is half of mse_loss, torch uses smooth_l1_loss": square / 2,
        },
    )


def test_a_length_is_the_divisor_in_place_of_a_tensor():
    """The mean over all positions divides by a number, a masked mean by the mask's sum."""
    divisor = Y.abs() + 1
    text = "JAX divides by 6, torch by numbers that it computes"
    calls = tried(general.binary, torch.div, X, divisor, numbers=(6.0,))

    check([call for call in calls if call.mistake == text], {text: X / 6})
    assert text not in texts(tried(general.binary, torch.div, X, 3.0, numbers=(6.0,)))


def test_a_ctc_loss_is_reduced_in_another_way_or_ignores_the_lengths():
    """All mistakes in a call with padded sequences and padded targets."""
    x = draw(6, 2, 4).log_softmax(-1)
    targets = torch.tensor([[1, 2], [3, 3]])
    frames, labels = torch.tensor([6, 4]), torch.tensor([2, 1])
    ctc = functional.ctc_loss
    full = torch.full_like(frames, 6), torch.full_like(labels, 2)

    check(
        tried(general.ctc, ctc, x, targets, frames, labels),
        {
            "the loss is the mean over the batch, torch first divides each loss by the number of "
            "its labels": ctc(x, targets, frames, labels, reduction="none").mean(),
            "the loss is reduced by sum, torch uses mean": ctc(
                x, targets, frames, labels, reduction="sum"
            ),
            "the loss is reduced by none, torch uses mean": ctc(
                x, targets, frames, labels, reduction="none"
            ),
            "the padding of the log_probs is not masked: every sequence has 6 frames": ctc(
                x, targets, full[0], labels
            ),
            "the padding of the targets is not masked: every sequence has 2 labels": ctc(
                x, targets, frames, full[1]
            ),
        },
    )
    flat = torch.tensor([1, 2, 3])  # has no padding
    calls = tried(general.ctc, ctc, x, flat, frames, labels, reduction="sum")
    assert [call.mistake.partition(",")[0] for call in calls] == [
        "the loss is reduced by mean",
        "the loss is reduced by none",
        "the padding of the log_probs is not masked: every sequence has 6 frames",
    ]


def test_a_number_may_be_added_in_the_place_of_a_lower_bound():
    """A port may keep a variance positive by an eps, where torch takes the larger of both."""
    calls = tried(general.clamped, torch.clamp, X, min=1e-4, numbers=(1e-6, 3.0))
    names = [
        f"{x:g} is added, torch takes the larger of the value and 0.0001" for x in (1e-4, 1e-6)
    ]

    found = [call for call in calls if "is added" in call.mistake]

    check(found, dict(zip(names, (X + 1e-4, X + 1e-6), strict=True)))
    assert all(call.occurs for call in found)
    assert not [x for x in texts(tried(general.clamped, torch.clamp, X, max=1e-4)) if "added" in x]
