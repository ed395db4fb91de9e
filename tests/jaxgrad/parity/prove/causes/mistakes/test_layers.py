"""Mistakes in torch's layers: which are tried, and what each computes."""

import math

import pytest
import torch
from torch.nn import functional

from jaxgrad.parity.prove.causes.mistakes import layers
from tests.jaxgrad.parity.prove.causes.mistakes._helpers import check, draw, texts, tried


X, W, B = draw(3, 4), draw(4, 4, seed=1), draw(4, seed=2)
INF = float("inf")


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((W, B), {}), ((W,), {"bias": B}), ((), {"weight": W, "bias": B})],
    ids=["by place", "bias by name", "by name"],
)
def test_a_square_weight_is_transposed_and_a_bias_left_out(args, kwargs):
    """The weight and the bias are given by place or by name."""
    calls = tried(layers.linear, functional.linear, X, *args, **kwargs)

    check(calls, {"the square weight is transposed": X @ W + B, "the bias is missing": X @ W.T})
    assert [call.partial for call in calls] == [False, True]


def test_a_linear_layer_may_have_no_mistake():
    """A weight that is not square cannot be transposed, and there may be no bias."""
    assert not tried(layers.linear, functional.linear, X, W[:2])
    check(
        tried(layers.linear, functional.linear, X, W),
        {"the square weight is transposed": X @ W},
    )


def test_the_kernel_of_an_image_is_flipped_swapped_and_padded():
    """All mistakes of a square convolution with stride 2, by place."""
    x, w, b = draw(2, 3, 6, 5), draw(3, 3, 3, 2), draw(3)
    conv = functional.conv2d
    calls = tried(layers.convolution, conv, x, w, b, 2, 1)

    check(
        calls,
        {
            "the kernel is flipped": conv(x, w.flip(2, 3), b, 2, 1),
            "the kernel's channels are swapped": conv(x, w.transpose(0, 1), b, 2, 1),
            "the kernel's height and width are swapped": conv(x, w.mT, b, 2, 1),
            "the bias is missing": conv(x, w, None, 2, 1),
            # 6 becomes 3 with one more at the end; 5 becomes 3 with one more at the end
            "the padding is 'SAME' (0 before and 1 after), torch pads each side by 1": conv(
                functional.pad(x, (0, 1, 0, 1)), w, b, 2
            ),
            "the padding is 'VALID' (0 before and 0 after), torch pads each side by 1": conv(
                x, w, b, 2
            ),
            # [(0, 2), (0, 2)] gives what 'SAME' gives
            "the padding is [(2, 0), (2, 0)] (2 before and 0 after), torch pads each side by 1": (
                conv(functional.pad(x, (2, 0, 2, 0)), w, b, 2)
            ),
        },
    )
    assert [call.partial for call in calls] == [False, False, False, True, *[False] * 3]
    wrong = ["'SAME'", "'VALID'", "[(2, 0), (2, 0)]"]
    assert [call.fix for call in calls[-3:]] == [(x, "[(1, 1), (1, 1)]") for x in wrong]


def test_a_convolution_of_sequences_is_padded_by_its_dilation():
    """A kernel of 3 with dilation 2 covers 5 elements; there is no height to swap."""
    x, w = draw(1, 2, 7), draw(4, 2, 3)
    conv = functional.conv1d
    calls = tried(layers.convolution, conv, x, w, padding=(1,), dilation=2)

    check(
        calls,
        {
            "the kernel is flipped": conv(x, w.flip(2), padding=1, dilation=2),
            "the padding is 'SAME' (2 before and 2 after), torch pads the sides by (1,)": conv(
                x, w, padding=2, dilation=2
            ),
            "the padding is 'VALID' (0 before and 0 after), torch pads the sides by (1,)": conv(
                x, w, dilation=2
            ),
            "the padding is [(0, 2)] (0 before and 2 after), torch pads the sides by (1,)": conv(
                functional.pad(x, (0, 2)), w, dilation=2
            ),
            "the padding is [(2, 0)] (2 before and 0 after), torch pads the sides by (1,)": conv(
                functional.pad(x, (2, 0)), w, dilation=2
            ),
        },
    )
    assert calls[2].fix == ("'VALID'", "[(1, 1)]")


def test_a_named_padding_is_shown_as_jax_spells_it():
    """torch's 'same' is 'SAME' in JAX; weight and bias may be given by name."""
    x, w, b = draw(1, 2, 5), draw(3, 2, 3), draw(3)
    calls = tried(layers.convolution, functional.conv1d, x, weight=w, bias=b, padding="same")[1:]

    assert texts(calls)[0] == "the bias is missing"
    assert texts(calls)[-1].endswith("torch pads the sides by same")
    assert calls[-1].fix == ("'VALID'", "'SAME'")
    torch.testing.assert_close(calls[-1].result, functional.conv1d(x, w, b))


def test_the_padding_of_each_axis_is_shown():
    """A pair of paddings is one number for each axis."""
    x, w = draw(1, 2, 5, 5), draw(3, 2, 3, 3)
    calls = tried(layers.convolution, functional.conv2d, x, w, None, 1, (2, 0))

    assert calls[-1].fix[1] == "[(2, 2), (0, 0)]"


def test_a_transposed_convolution_is_not_padded():
    """Only the kernel and the bias of a transposed convolution are changed."""
    x, w, b = draw(1, 2, 5), draw(2, 2, 3), draw(2)
    conv = functional.conv_transpose1d

    check(
        tried(layers.convolution, conv, x, w, b, 2),
        {
            "the kernel is flipped": conv(x, w.flip(2), b, 2),
            "the kernel's channels are swapped": conv(x, w.transpose(0, 1), b, 2),
            "the bias is missing": conv(x, w, None, 2),
        },
    )


def formulas(x: torch.Tensor, dims: tuple[int, ...], eps: float = 1e-5) -> dict[str, torch.Tensor]:
    """Return the results of a norm with another formula, without affine weights."""
    mean, std = x.mean(dims, keepdim=True), x.std(dims, keepdim=True)
    biased = x.var(dims, correction=0, keepdim=True)
    return {
        "the variance is divided by N - 1, torch divides by N": (x - mean) / (std**2 + eps).sqrt(),
        "eps is added to the standard deviation, torch adds it to the variance": (
            (x - mean) / (biased.sqrt() + eps)
        ),
        "the mean is not subtracted": x / ((x**2).mean(dims, keepdim=True) + eps).sqrt(),
    }


@pytest.mark.parametrize("training", [True, False])
def test_a_batch_norm_runs_in_the_other_mode(training):
    """A norm is rerun with the other statistics, and without its weight or its bias."""
    mean, var = draw(4, seed=4), draw(4, seed=5) ** 2

    def norm(weight, bias, training):
        return functional.batch_norm(X, mean.clone(), var.clone(), weight, bias, training)

    calls = tried(
        layers.batch_norm, functional.batch_norm, X, mean, var, W[0], B, training=training
    )
    kinds, modes = ("the running statistics", "the batch's statistics"), ("eval", "train")
    text = (
        f"the port normalises with {kinds[not training]}, torch with {kinds[training]}, because "
        f"torch's module is in {modes[training]} mode"
    )
    expected = {text: norm(W[0], B, not training)}
    if training:
        text = (
            "the port normalises with the running statistics after this batch is added to them, "
            "torch with the batch's statistics"
        )
        means, variances = mean.clone(), var.clone()
        functional.batch_norm(X, means, variances, training=True)
        expected[text] = functional.batch_norm(X, means, variances, W[0], B)
        expected |= {t: y * W[0] + B for t, y in formulas(X, (0,)).items()}
    expected["the norm's weight is missing"] = norm(None, B, training)
    expected["the norm's bias is missing"] = norm(W[0], None, training)
    check(calls, expected)
    assert calls[0].setting == f"module.{modes[not training]}()"
    assert [call.partial for call in calls if "missing" in call.mistake] == [True, True]
    assert not any(call.partial for call in calls if "missing" not in call.mistake)


def test_a_batch_norm_without_two_modes_is_left_in_its_mode():
    """Without running statistics, or without the argument, there is no other mode."""
    assert not tried(layers.batch_norm, functional.batch_norm, X, B, B**2)
    without = tried(layers.batch_norm, functional.batch_norm, X, None, None, training=True)
    check(without, formulas(X, (0,)))


def test_an_instance_norm_has_another_formula():
    x, weight, bias = draw(2, 4, 5), W[0], B
    calls = tried(layers.instance_norm, functional.instance_norm, x, None, None, weight, bias)
    check(calls[2:], {
        text: y * weight[:, None] + bias[:, None] for text, y in formulas(x, (2,)).items()
    })  # fmt: skip


def test_another_formula_of_a_batch_norm_updates_the_running_statistics():
    mean, var = torch.zeros(4, dtype=X.dtype), torch.ones(4, dtype=X.dtype)
    after = mean.clone(), var.clone()
    functional.batch_norm(X, *after, training=True)
    args = (X, mean, var)
    (divided, *_) = [
        call
        for call in tried(layers.batch_norm, functional.batch_norm, *args, training=True)
        if "divided" in call.mistake
    ]
    divided.made()
    torch.testing.assert_close((mean, var), after)


def test_the_affine_weights_of_a_norm_are_left_out():
    """Only the weights that a norm has can be missing."""
    norm = functional.layer_norm
    assert texts(tried(layers.affine, norm, X, (4,), W[0])) == ["the norm's weight is missing"]
    assert texts(tried(layers.affine, norm, X, (4,), None, B)) == ["the norm's bias is missing"]


@pytest.mark.parametrize(
    ("options", "affine"),
    [({}, False), ({"eps": 0.25}, False), ({"weight": W[0], "bias": B}, True)],
)
def test_other_forms_of_layer_norm_are_tried(options, affine):
    """The variance is divided by N - 1, eps is outside of the root, or the mean is kept."""
    calls = tried(layers.layer_norm, functional.layer_norm, X, (4,), **options)[2 * affine :]
    scale, bias = W[0] if affine else 1, B if affine else 0
    expected = formulas(X, (1,), options.get("eps", 1e-5))
    check(calls, {text: y * scale + bias for text, y in expected.items()})
    assert [call.fix for call in calls] == [("ddof=1", "ddof=0"), ("", ""), ("", "")]


INTERLEAVED = "the channels of the groups are interleaved, a group of torch has neighbouring ones"


def test_every_other_number_of_groups_is_tried():
    """Each divisor of the number of channels is tried, except torch's."""
    x = draw(2, 12, 3)
    calls = tried(layers.group_norm, functional.group_norm, x, 3)
    order = torch.tensor([0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11])

    check(
        calls,
        {"there is 1 group, torch uses 3": functional.group_norm(x, 1)}
        | {
            f"there are {n} groups, torch uses 3": functional.group_norm(x, n)
            for n in (2, 4, 6, 12)
        }
        | {INTERLEAVED: functional.group_norm(x[:, order], 3)[:, order.argsort()]}
        | {text: y.reshape(x.shape) for text, y in formulas(x.reshape(2, 3, 12), (2,)).items()},
    )
    # 65 divides 130, but more than 64 groups are not tried.
    for channels, last in ((128, 64), (130, 26)):
        wide = tried(layers.group_norm, functional.group_norm, draw(1, channels, 1), 1)
        assert [text for text in texts(wide) if "groups" in text][
            -1
        ] == f"there are {last} groups, torch uses 1"


@pytest.mark.parametrize("aligned", [True, False])
def test_the_corners_of_an_image_are_aligned_or_not(aligned):
    """An interpolation is rerun with the other `align_corners`, and with the mode "nearest"."""
    x = draw(1, 2, 3, 4)

    def resize(mode, corners):
        return functional.interpolate(x, (5, 7), mode=mode, align_corners=corners)

    check(
        tried(
            layers.interpolate, functional.interpolate, x, (5, 7),
            mode="bilinear", align_corners=aligned,
        ),
        {
            f"align_corners is {not aligned}, torch uses {aligned}": resize(
                "bilinear", not aligned
            ),
            "the mode is 'nearest', torch uses 'bilinear'": resize("nearest", None),
        },
    )  # fmt: skip
    calls = tried(layers.interpolate, functional.interpolate, x, (5, 7))
    assert texts(calls)[1] == "the mode is 'nearest', torch uses 'nearest'"


@pytest.mark.parametrize("dim", [-1, 1])
def test_the_halves_of_glu_are_exchanged_or_alternate(dim):
    """The gate is the first half, or every second element."""
    x = draw(2, 4, 6)
    a, b = x.chunk(2, dim)
    even, odd = (x[..., k::2] if dim == -1 else x[:, k::2] for k in range(2))
    check(
        tried(layers.glu, functional.glu, x, dim),
        {
            "the halves of glu are exchanged: the sigmoid is of the first half, torch takes the "
            "second": b * a.sigmoid(),
            "glu takes every second element for the gate, torch takes the second half": even
            * odd.sigmoid(),
        },
    )


def test_an_average_counts_the_padding_or_not():
    """All mistakes of an average pool, whose stride is its kernel by default."""
    x = draw(1, 2, 5)
    pool = functional.avg_pool1d
    check(
        tried(layers.pool, pool, x, 2, op="avg_pool1d"),
        {
            "count_include_pad is False, torch uses True": pool(x, 2, count_include_pad=False),
            "the padding is 'SAME' (0 before and 1 after), torch pads each side by 0": pool(
                functional.pad(x, (0, 1)), 2
            ),
            "the pool is max_pool1d, torch uses avg_pool1d": functional.max_pool1d(x, 2),
        },
    )
    calls = tried(layers.pool, pool, x, 2, padding=1, count_include_pad=False, op="avg_pool1d")
    padded = functional.pad(x, (1, 1))
    torch.testing.assert_close(calls[0].result, pool(padded, 2))
    assert texts(calls)[0] == "count_include_pad is True, torch uses False"


def test_a_maximum_is_padded_like_tensorflow():
    """A maximum pads with minus infinity, and its stride may differ from its kernel."""
    x = -draw(1, 2, 6, 5).abs()
    pool = functional.max_pool2d
    check(
        tried(layers.pool, pool, x, (3, 2), 2, 1, op="max_pool2d"),
        {
            "the padding is 'SAME' (0 before and 1 after), torch pads each side by 1": pool(
                functional.pad(x, (0, 1, 0, 1), value=-INF), (3, 2), 2
            ),
            "the padding is [(2, 0), (2, 0)] (2 before and 0 after), torch pads each side by 1": (
                pool(functional.pad(x, (2, 0, 2, 0), value=-INF), (3, 2), 2)
            ),
            "the pool is avg_pool2d, torch uses max_pool2d": functional.avg_pool2d(x, (3, 2), 2, 1),
        },
    )


def test_every_number_of_the_port_may_give_the_dropout_rate():
    """The port contains a rate, the probability to keep a value, or its inverse."""

    def dropout(x, p=0.5, training=True):  # shows its rate, where torch's would draw a mask
        return x * p

    numbers, rates = (0.37, 4.0, -2.0, 1.0, 0.0), (0.37, 0.63, 0.25, 0.75)
    for args, used in (((), 0.5), ((0.1,), 0.1)):
        calls = tried(layers.dropout, dropout, X, *args, numbers=numbers)
        expected = {
            f"the dropout rate is {p:g}, torch uses {used:g}": X * p for p in rates if p != used
        }
        expected[f"values that are kept are not divided by 1 - {used:g}"] = X * used * (1 - used)
        check(calls, expected)
        assert calls[0].fix == ("0.37", f"{used:g}")
    assert not tried(layers.dropout, dropout, X, 0.0)
    last = tried(layers.dropout, dropout, X, op="dropout2d", numbers=numbers)[-1]
    assert last.mistake.startswith("the dropout")


def test_a_bag_is_reduced_in_every_other_way():
    """The rows of a bag are averaged, added or the largest is taken."""
    bag = functional.embedding_bag
    ids, table = torch.tensor([[0, 2], [1, 1]]), draw(3, 4)
    calls = tried(layers.bag, bag, ids, table, mode="sum")

    text = "the rows of a bag are reduced by {}, torch uses sum"
    check(calls, {text.format(mode): bag(ids, table, mode=mode) for mode in ("mean", "max")})
    assert calls[0].fix == ("mean", "sum")
    assert len(tried(layers.bag, bag, ids, table)) == 2


def test_the_padding_of_a_bag_is_counted():
    """torch leaves the padding out of the sum and out of the number of rows."""
    bag, ids, table = functional.embedding_bag, torch.tensor([[2, 0], [1, 1]]), draw(3, 4)
    calls = tried(layers.bag, bag, ids, table, mode="mean", padding_idx=0)

    text = "the sum of a bag is divided by 2, torch does not count the padding"
    check(calls[-1:], {text: bag(ids, table, mode="sum", padding_idx=0) / 2})


def test_an_average_pool_that_counts_the_padding_is_not_told_as_another_padding():
    """With a kernel of 3 and a stride of 1, 'SAME' pads each side by 1, as torch does."""
    calls = tried(
        layers.pool, functional.avg_pool1d, draw(2, 3, 8), 3, 1, 1, count_include_pad=False,
        op="avg_pool1d",
    )  # fmt: skip

    assert texts(calls)[0] == "count_include_pad is True, torch uses False"
    assert not any("'SAME'" in text for text in texts(calls))


@pytest.mark.parametrize(
    ("args", "kwargs"), [((X, X, X, None, 0.1), {}), ((X, X, X), {"dropout_p": 0.1})]
)
def test_the_dropout_of_attention_is_changed(args, kwargs):
    """The rate is called dropout_p, and may be given by place; without one none is tried."""

    def attention(query, key, value, attn_mask=None, dropout_p=0.0):
        return query * dropout_p

    name = "scaled_dot_product_attention"
    calls = tried(layers.dropout, attention, *args, **kwargs, op=name, numbers=(0.2, 0.1))
    rates = {f"the dropout rate is {p:g}, torch uses 0.1": X * p for p in (0.2, 0.8, 0.9)}
    check(calls, rates)
    for none in ({}, {"dropout_p": None}):
        assert not tried(layers.dropout, attention, X, X, X, **none, op=name, numbers=(0.2,))


Q, K, V = draw(3, 2, 4, 5, 6).unbind()  # 2 sequences, 4 heads, 5 tokens, 6 features
CAUSAL = torch.ones(5, 5, dtype=torch.bool).tril()


def attend(q=Q, k=K, v=V, mask=None, scale=None):
    """Compute attention by its formula."""
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(-1).nan_to_num() @ v  # torch returns 0 for a query that sees no key


def orders(**options):
    """Return the results with the operands in another order."""
    return {
        "q and k are swapped": attend(K, Q, V, **options),
        "k and v are swapped": attend(Q, V, K, **options),
        "q and v are swapped": attend(V, K, Q, **options),
        "q, k and v are permuted": attend(K, V, Q, **options),
        "k, v and q are permuted": attend(V, Q, K, **options),
    }


def heads(**options):
    """Return the results with the heads split in another way."""

    def interleaved(x):
        return x.transpose(1, 2).reshape(2, 5, 6, 4).permute(0, 3, 1, 2)

    def unmoved(x):
        return x.transpose(1, 2).reshape(x.shape)

    return {
        "the heads are split as [head_dim, heads], torch splits as [heads, head_dim]": attend(
            *map(interleaved, (Q, K, V)), **options
        ),
        "the heads are split without moving their axis before the sequence": attend(
            *map(unmoved, (Q, K, V)), **options
        ),
    }


QUERIES = "the softmax is over the queries, torch's is over the keys"


def test_every_mistake_in_attention_is_tried():
    """All mistakes of attention without a mask, on four heads."""
    calls = tried(layers.attention, functional.scaled_dot_product_attention, Q, K, V)

    check(
        calls,
        {
            "the scale is 1": attend(scale=1.0),
            "the scale is 1/d": attend(scale=1 / 6),
            "the scale is 1/sqrt(heads * d)": attend(scale=24**-0.5),
            "there is a causal mask": attend(mask=CAUSAL),
            **orders(),
            **heads(),
            QUERIES: (Q @ K.mT / 6**0.5).softmax(-2) @ V,
        },
    )
    assert [call.partial for call in calls] == [True] + [False] * (len(calls) - 1)


WEAK = (-30.0, -1e4, 0.5)  # numbers of the port, of which negative ones may be a mask


def masks(seen):
    """Return the results with a wrong mask, for the keys that each query of a causal mask sees."""
    results = {
        "the mask is inverted": ~seen,
        "the mask lets each query see one key fewer": seen.tril(-1),
        "the mask lets each query see one key more": torch.ones_like(seen).tril(1),
        "the mask is transposed": seen.mT,
        "the mask adds -1, torch removes the masked keys": torch.where(~seen, -1.0, 0.0).double(),
        "the mask adds 1, torch removes the masked keys": torch.where(seen, 1.0, 0.0).double(),
    }
    for weak in WEAK[:2]:
        text = f"masked scores are lowered by {weak:g}"
        results[text] = torch.where(seen, 0.0, weak).double()
    return {text: attend(mask=mask) for text, mask in results.items()}


def test_every_wrong_mask_is_tried_where_torch_has_a_causal_mask():
    """A causal mask is missing, inverted, shifted, transposed, weakened or added."""
    calls = tried(
        layers.attention,
        functional.scaled_dot_product_attention,
        Q,
        K,
        V,
        is_causal=True,
        numbers=WEAK,
    )

    scores = (Q @ K.mT / 6**0.5).masked_fill(~CAUSAL, -INF)
    check(
        calls,
        {
            "the scale is 1": attend(scale=1.0, mask=CAUSAL),
            "the scale is 1/d": attend(scale=1 / 6, mask=CAUSAL),
            "the scale is 1/sqrt(heads * d)": attend(scale=24**-0.5, mask=CAUSAL),
            "the attention mask is missing": attend(),
            **masks(CAUSAL),
            "the causal part of the mask is missing": attend(),
            **orders(mask=CAUSAL),
            **heads(mask=CAUSAL),
            QUERIES: scores.softmax(-2) @ V,
        },
    )


@pytest.mark.parametrize("kind", ["bool", "minus infinity", "-1e9"])
def test_a_mask_may_be_given_in_several_ways(kind):
    """A boolean mask, infinite and large negative numbers remove the same keys."""
    weak = {"minus infinity": -INF, "-1e9": -1e9}.get(kind, 0.0)
    mask = CAUSAL if kind == "bool" else torch.where(CAUSAL, 0.0, weak).double()
    calls = tried(
        layers.attention, functional.scaled_dot_product_attention, Q, K, V, mask, numbers=WEAK
    )

    assert texts(calls)[3:5] == [
        "the attention mask is missing",
        "the mask is only causal, torch's hides further keys",
    ]
    check(calls[5:13], masks(CAUSAL))


OTHER_MASKS = (
    "inverted", "transposed", *(f"shifted by one key to the {x}" for x in ("left", "right"))
)  # fmt: skip
PADDING = torch.ones(1, 1, 1, 5, dtype=torch.bool)
PADDING[..., 3] = False


@pytest.mark.parametrize(
    ("mask", "named"),
    [
        (PADDING & CAUSAL, {
            "the mask is only causal, torch's hides further keys": CAUSAL,
            "the causal part of the mask is missing": PADDING,
        }),
        (PADDING & CAUSAL.flip(-1), {
            "the mask is a causal one, torch uses another one": CAUSAL,
            "what the mask hides from some queries is missing": PADDING,
        }),
        (PADDING, {"the mask is a causal one, torch uses another one": CAUSAL}),
    ],
    ids=["padding and causal", "padding and another", "padding"],
)  # fmt: skip
def test_a_part_of_the_mask_is_named(mask, named):
    """A mask of padding and of order has two parts, of which a port may have one alone."""
    given = mask.expand(1, 1, 5, 5)
    calls = tried(layers.attention, functional.scaled_dot_product_attention, Q, K, V, given)
    parts = [x for x in calls if x.mistake.startswith(("the mask is", "the causal", "what the"))]
    parts = [x for x in parts if x.mistake.partition(" is ")[2] not in OTHER_MASKS]
    assert texts(parts) == list(named)
    check(parts, {text: attend(mask=seen) for text, seen in named.items()})


def test_scores_that_are_lowered_little_are_not_masked():
    """A bias of -10000 and more is a bias: the keys are seen."""
    bias = torch.zeros(5, 5, dtype=torch.float64)
    bias[0, 1], bias[0, 2] = -9999.0, -1e4
    calls = tried(
        layers.attention, functional.scaled_dot_product_attention, Q, K, V, attn_mask=bias
    )
    (inverted,) = [call for call in calls if call.mistake == "the mask is inverted"]

    assert inverted.kwargs["attn_mask"].nonzero().tolist() == [[0, 2]]


def test_a_mask_that_is_not_square_is_not_transposed():
    """An attention mask that is not square is inverted where a square one is transposed."""
    q = Q[..., :3, :]
    mask = torch.ones(3, 5, dtype=torch.bool).tril(2)
    calls = tried(layers.attention, functional.scaled_dot_product_attention, q, K, V, mask)
    (turned,) = [call for call in calls if call.mistake == "the mask is transposed"]

    assert torch.equal(turned.kwargs["attn_mask"], ~mask)


def test_one_head_is_not_split_in_another_way():
    """Without an axis of heads, or with one head, there is nothing to split."""
    for q in (Q[:, 0], Q[:, :1]):
        calls = tried(layers.attention, functional.scaled_dot_product_attention, q, q, q)
        assert not any("heads are split" in text for text in texts(calls))
        assert any("heads * d" in text for text in texts(calls)) == (q.ndim == 3)
    calls = tried(layers.attention, functional.scaled_dot_product_attention, X, X, X)
    assert not any("heads" in text for text in texts(calls))


def test_a_scale_that_torch_is_given_replaces_the_default():
    """torch's own scale is not tried, and the others keep the mask."""
    calls = tried(layers.attention, functional.scaled_dot_product_attention, Q, K, V, scale=1.0)

    assert "the scale is 1" not in texts(calls)
    check(calls[1:2], {"the scale is 1/sqrt(d)": attend(scale=1 / math.sqrt(6))})
    check(calls[-1:], {QUERIES: (Q @ K.mT).softmax(-2) @ V})
