"""Rows on operators whose gradients differ at kinks and in defaults."""

import numpy as np

from jaxgrad._core.torch_versions import BOUND_OF_CLAMP
from parity_tests.site.cheat_sheet.row import Row, array


ZEROS = {"x": array(0.0, 0.0)}
TIES = {"x": array(1.0, 3.0, 3.0)}

ROWS = (
    Row(
        name="`relu` at 0",
        torch="F.relu(x)",
        jax="jax.nn.relu(x)",
        wrong="jnp.maximum(x, 0)",
        trap="`maximum` splits a tie evenly.",
        given={"x": array(-1.0, 0.0, 2.0)},
    ),
    Row(
        name="`clamp` at a bound",
        torch="x.clamp(0, 1)",
        jax="y = lax.stop_gradient(jnp.clip(x, 0, 1))\njnp.where((x > 0) & (x < 1), x, y)",
        jaxgrad="functional.clamp(x, 0, 1)",
        since=BOUND_OF_CLAMP,
        wrong="jnp.clip(x, 0, 1)",
        trap="`clip` gives half of the gradient at a bound, torch none. Up to torch 2.13, torch "
        'gives all of it: there, write `functional.at("2.13").clamp`.',
        given={"x": array(0.0, 0.5, 2.0)},
    ),
    Row(
        name="`abs` at 0",
        torch="x.abs()",
        jax="x * jnp.sign(x)",
        jaxgrad="functional.abs(x)",
        wrong="jnp.abs(x)",
        trap="JAX gives 1 at 0, torch 0.",
        given={"x": array(-1.0, 0.0, 2.0)},
    ),
    Row(
        name="`norm` of zeros",
        torch="x.norm()",
        jax="s = (x**2).sum()\njnp.where(s > 0, jnp.sqrt(jnp.where(s > 0, s, 1)), 0)",
        jaxgrad="functional.norm(x)",
        wrong="jnp.linalg.norm(x)",
        trap="JAX's gradient is NaN, torch's 0.",
        given=ZEROS,
    ),
    Row(
        name="`sqrt(x * x)` at 0",
        torch="(x * x).sqrt()",
        jax="jnp.sqrt(x * x)",
        wrong="jnp.sqrt(x * x + 1e-12)",
        trap="The gradient is NaN in both frameworks; an epsilon under the root hides it. The "
        "faithful port returns NaN too: correct both models.",
        given=ZEROS,
    ),
    Row(
        name="`where` around a `log(0)`",
        torch="safe = torch.where(x > 0, x, 1)\ntorch.where(x > 0, safe.log(), 0)",
        jax="safe = jnp.where(x > 0, x, 1)\njnp.where(x > 0, jnp.log(safe), 0)",
        wrong="jnp.where(x > 0, jnp.log(x), 0)",
        trap="0 times infinity is NaN, in torch too: mask the argument as well as the result.",
        given={"x": array(0.0, 0.5, 2.0)},
    ),
    Row(
        name="`max` over a dim, ties",
        torch="x.max(0).values",
        jax="x[x.argmax()]",
        jaxgrad="functional.max(x, 0)[0]",
        wrong="x.max(0)",
        trap="With a dim, torch chooses one element; JAX splits the gradient among the ties.",
        given=TIES,
    ),
    Row(
        name="`max()` of everything, ties",
        torch="x.max()",
        jax="x.max()",
        jaxgrad="functional.max(x)",
        wrong="x[x.argmax()]",
        trap="Without a dim, torch splits too.",
        given=TIES,
    ),
    Row(
        name="`var`, `std`",
        torch="x.var()",
        jax="x.var(ddof=1)",
        jaxgrad="functional.var(x)",
        wrong="x.var()",
        trap="torch divides by n - 1, NumPy and JAX by n.",
    ),
    Row(
        name="`gelu`",
        torch="F.gelu(x)",
        jax="jax.nn.gelu(x, approximate=False)",
        jaxgrad="functional.gelu(x)",
        wrong="jax.nn.gelu(x)",
        trap="JAX's default is the tanh approximation.",
    ),
    Row(
        name="`layer_norm`",
        torch="F.layer_norm(x, (3,)) * w",
        jax="jax.nn.standardize(x, epsilon=1e-5) * w",
        jaxgrad="functional.layer_norm(x, (3,)) * w",
        wrong="jax.nn.standardize(x, epsilon=1e-6) * w",
        trap="torch's eps is 1e-5; flax's default is 1e-6.",
        given={"x": array(0.0, 0.01, 0.03), "w": array(1.0, 2.0, 4.0)},
    ),
    Row(
        name="BatchNorm's running variance",
        torch="F.batch_norm(x, mean, var, training=True)",
        jax="var = 0.9 * var + 0.1 * x.var(0, ddof=1)",
        jaxgrad="var = functional.batch_norm(x, mean, var, training=True).running_var",
        wrong="var = 0.1 * var + 0.9 * x.var(0)",
        trap="torch's momentum 0.1 is flax's 0.9, and torch's running variance divides by n - 1.",
        given={"x": array([1.0], [2.0], [6.0]), "mean": array(0.0), "var": array(1.0)},
        read=("var", "var"),
    ),
    Row(
        name="dropout",
        torch="y = F.dropout(ones, p=0.25)",
        jax="keep = jax.random.bernoulli(key, 0.75, ones.shape)\n"
        "y = jnp.where(keep, ones / 0.75, 0)",
        jaxgrad="y = functional.dropout(ones, p=0.25, key=key)",
        wrong="keep = jax.random.bernoulli(key, 0.25, ones.shape)\n"
        "y = jnp.where(keep, ones / 0.25, 0)",
        trap="torch's p is the probability to drop, `bernoulli`'s to keep.",
        torch_before="ones = torch.ones(99)",
        jax_before="ones, key = jnp.ones(99), jax.random.key(0)",
        read=("y.max()", "y.max()"),
    ),
    Row(
        name="`padding_idx`",
        torch="F.embedding(ids, x, padding_idx=0)",
        jax="x.at[0].set(lax.stop_gradient(x[0]))[ids]",
        jaxgrad="functional.embedding(ids, x, padding_idx=0)",
        wrong="x[ids]",
        trap="The padding row has a value and no gradient.",
        given={"x": array([1.0], [2.0], [3.0]), "ids": np.array([0, 2, 2])},
    ),
    Row(
        name="`ignore_index`",
        torch="F.cross_entropy(x, t)  # t holds -100",
        jax="keep = t != -100\n"
        "each = optax.softmax_cross_entropy_with_integer_labels(x, jnp.where(keep, t, 0))\n"
        "(each * keep).sum() / keep.sum()",
        jaxgrad="functional.cross_entropy(x, t)",
        wrong="optax.softmax_cross_entropy_with_integer_labels(x, jnp.where(t < 0, 0, t)).mean()",
        trap="Ignored targets leave both the sum and the count of the mean.",
        given={"x": array([1.0, 2.0], [0.5, 0.0]), "t": np.array([1, -100])},
    ),
    Row(
        name="softmax of a masked row",
        torch="scores.masked_fill(mask, -torch.inf).softmax(1) * x",
        jax="jax.nn.softmax(jnp.where(mask, -jnp.inf, scores), 1) * x",
        wrong="jax.nn.softmax(scores, 1, where=~mask) * x",
        trap="If a whole row is masked, its softmax is NaN in torch; `where=` gives zeros. The "
        "faithful port returns NaN too: correct both models.",
        given={
            "x": array(1.0, 2.0),
            "scores": array([1.0, 2.0], [0.5, 0.0]),
            "mask": np.array([[False, True], [True, True]]),
        },
    ),
)
