"""Linear and bilinear layers, embeddings and embedding bags."""

from __future__ import annotations

import math

from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx import init
from jaxgrad.nnx.module import Array, Dtype, Layer, needed, value


class Linear(Layer):
    """Linear layer `input @ weight.T + bias`, with a weight of shape `(out, in)`.

    Args:
        in_features: Size of the last dim of the input.
        out_features: Size of the last dim of the output.
        bias: Whether the layer has a bias.
        dtype: Dtype of the parameters; None means float32.
        rngs: Keys for weight and bias, uniform between `-1 / sqrt(in)` and `1 / sqrt(in)`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = Linear(4, 2, rngs=nnx.Rngs(0))
        >>> print(layer(jnp.ones((3, 4), "float32")).shape, layer.weight.shape)
        (3, 2) (2, 4)

    Torch: `torch.nn.Linear`.

    Differs from flax in:
        1. The weight is `(out, in)` (flax: `kernel`, `(in, out)`), and the bias is drawn (flax: 0).
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        rngs = needed(rngs, "Linear")
        self.in_features, self.out_features = in_features, out_features
        shape = (out_features, in_features)
        self.parameter("weight", init.kaiming_uniform(a=math.sqrt(5)), rngs, shape, dtype)
        self.drawn_bias(bias, rngs, out_features, in_features, dtype)

    def __call__(self, input: Array) -> Array:
        return functional.linear(input, value(self.weight), value(self.bias))


class Bilinear(Layer):
    """Bilinear layer `input1 @ weight[k] @ input2 + bias[k]` for each output k.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = Bilinear(4, 3, 2, rngs=nnx.Rngs(0))
        >>> print(layer(jnp.ones((5, 4), "float32"), jnp.ones((5, 3), "float32")).shape)
        (5, 2)

    Torch: `torch.nn.Bilinear`.
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        rngs = needed(rngs, "Bilinear")
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        bound = 1 / math.sqrt(in1_features)
        shape = (out_features, in1_features, in2_features)
        self.parameter("weight", init.uniform(-bound, bound), rngs, shape, dtype)
        self.drawn_bias(bias, rngs, out_features, in1_features, dtype)

    def __call__(self, input1: Array, input2: Array) -> Array:
        return functional.bilinear(input1, input2, value(self.weight), value(self.bias))


class Embedding(Layer):
    """Look up rows of a trainable table.

    Args:
        num_embeddings: Number of rows.
        embedding_dim: Length of a row.
        padding_idx: Row that starts as 0 and receives no gradient.
        max_norm: Not supported; must be None.
        norm_type: Unused.
        scale_grad_by_freq: Whether to divide each row's gradient by the number of its look-ups.
        sparse: Ignored: gradients are dense (`jaxgrad.optim.sparse_adam` finds the rows).
        dtype: Dtype of the table; None means float32.
        rngs: Keys for the table, which is standard normal.

    Raises:
        AssertionError: `padding_idx` is not a row of the table.
        ValueError: `max_norm` is set; torch's forward pass would then write to the weight.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> table = Embedding(5, 2, padding_idx=0, rngs=nnx.Rngs(0))
        >>> print(table(jnp.array([0])))
        [[0. 0.]]

    Torch: `torch.nn.Embedding`.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del sparse, norm_type
        super().__init__()
        rngs = needed(rngs, "Embedding")
        _no_max_norm(max_norm, "embedding")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = _row(padding_idx, num_embeddings, "Padding_idx")
        self.scale_grad_by_freq = scale_grad_by_freq
        shape = (num_embeddings, embedding_dim)
        self.parameter("weight", _table(self.padding_idx), rngs, shape, dtype)

    def __call__(self, input: Array) -> Array:
        return functional.embedding(
            input, value(self.weight), self.padding_idx, scale_grad_by_freq=self.scale_grad_by_freq
        )


class EmbeddingBag(Layer):
    """Reduce rows of a table by sum, mean or maximum; see `Embedding` and `embedding_bag`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> bag = EmbeddingBag(5, 2, rngs=nnx.Rngs(0))
        >>> print(bag(jnp.array([[0, 1], [2, 3]])).shape)
        (2, 2)

    Torch: `torch.nn.EmbeddingBag`.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del sparse, norm_type
        super().__init__()
        rngs = needed(rngs, "EmbeddingBag")
        _no_max_norm(max_norm, "embedding_bag")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.scale_grad_by_freq, self.mode = scale_grad_by_freq, mode
        self.include_last_offset = include_last_offset
        self.padding_idx = _row(padding_idx, num_embeddings, "padding_idx")
        shape = (num_embeddings, embedding_dim)
        self.parameter("weight", _table(self.padding_idx), rngs, shape, dtype)

    def __call__(
        self, input: Array, offsets: Array | None = None, per_sample_weights: Array | None = None
    ) -> Array:
        return functional.embedding_bag(
            input, value(self.weight), offsets, mode=self.mode, padding_idx=self.padding_idx,
            scale_grad_by_freq=self.scale_grad_by_freq, per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
        )  # fmt: skip


def _table(padding: int | None) -> init.Initializer:
    """Return a standard normal initialiser that zeroes the padding row."""

    def initializer(key: Array, shape: tuple[int, ...], dtype: Dtype) -> Array:
        table = init.normal()(key, shape, dtype)
        return table if padding is None else table.at[padding].set(0)

    return initializer


def _row(index: int | None, rows: int, name: str) -> int | None:
    """Return a row index counted from the start, or None."""
    if index is None:
        return None
    if not -rows <= index < rows:
        raise AssertionError(
            f"{name} must be within num_embeddings: {index} is not one of {rows} rows"
        )
    return index % rows


def _no_max_norm(max_norm: float | None, name: str) -> None:
    if max_norm is not None:
        raise ValueError(
            f"max_norm={max_norm}: torch's forward pass writes rescaled rows to the weight, which "
            f"this layer does not; jaxgrad.functional.{name}(max_norm=) gives the same output, and "
            "jaxgrad.functional.renorm rescales a weight permanently"
        )
