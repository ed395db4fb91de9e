"""Convolutions and transposed convolutions, channels first."""

from __future__ import annotations

import math

from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx import init
from jaxgrad.nnx.module import Array, Dtype, Layer, Sizes, needed, sizes, value


_CONV = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_TRANSPOSE = {
    1: functional.conv_transpose1d,
    2: functional.conv_transpose2d,
    3: functional.conv_transpose3d,
}
_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Layer):
    spatial: int  # number of spatial dims
    transposed = False

    def _set_up(
        self, channels: tuple[int, int], kernel: Sizes, groups: int, bias: bool, dtype: Dtype,
        rngs: nnx.Rngs | None,
    ) -> None:  # fmt: skip
        in_channels, out_channels = channels
        rngs = needed(rngs, type(self).__name__)
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, count in (("in_channels", in_channels), ("out_channels", out_channels)):
            if count % groups:
                raise ValueError(f"{name} must be divisible by groups: got {count} and {groups}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = sizes(kernel, self.spatial)
        first, second = channels if self.transposed else channels[::-1]
        shape = (first, second // groups, *self.kernel_size)
        self.parameter("weight", init.kaiming_uniform(a=math.sqrt(5)), rngs, shape, dtype)
        self.drawn_bias(bias, rngs, out_channels, math.prod(shape[1:]), dtype)


class _Correlation(_Conv):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {_MODES}, but got {padding_mode!r}")
        self._set_up((in_channels, out_channels), kernel_size, groups, bias, dtype, rngs)
        self.stride = sizes(stride, self.spatial)
        self.dilation = sizes(dilation, self.spatial)
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}: write 'same' or 'valid'")
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError(
                f"padding='same' is not supported for strided convolutions: stride={stride}"
            )
        self.padding = padding if isinstance(padding, str) else sizes(padding, self.spatial)
        self.padding_mode = padding_mode

    def __call__(self, input: Array) -> Array:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = functional.pad(input, self._pad_widths(), mode=self.padding_mode)
            padding = 0
        weight, bias = value(self.weight), value(self.bias)
        options = (self.stride, padding, self.dilation, self.groups)
        return _CONV[self.spatial](input, weight, bias, *options)

    def _pad_widths(self) -> list[int]:
        """Return the padding at the start and end of each dim, last dim first, as in `pad`."""
        if self.padding == "valid":
            return [0, 0] * self.spatial
        if isinstance(self.padding, str):
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            both = [(total // 2, total - total // 2) for total in totals]
        else:
            both = [(p, p) for p in self.padding]
        return [end for pair in reversed(both) for end in pair]


class Conv1d(_Correlation):
    """Convolution of `(N, C, L)` or `(C, L)`.

    Args:
        in_channels: Number of channels of the input.
        out_channels: Number of channels of the output.
        kernel_size: Size K of the kernel; the weight is `(out, in / groups, K)`.
        stride: Step of the kernel.
        padding: Padding on each side, or "valid" (none) or "same".
        dilation: Step between the elements of the kernel.
        groups: Number of groups of channels that are convolved separately.
        bias: Whether the layer has a bias.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        dtype: Dtype of the parameters; None means float32.
        rngs: Keys for weight and bias, uniform between `-1 / sqrt(fan_in)` and `1 / sqrt(fan_in)`.

    Raises:
        ValueError: The channels are not divisible by `groups`, `padding` or `padding_mode` is
            unknown, or "same" is combined with a stride.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = Conv1d(2, 3, 3, padding=1, rngs=nnx.Rngs(0))
        >>> print(layer(jnp.ones((1, 2, 5), "float32")).shape)
        (1, 3, 5)

    Torch: `torch.nn.Conv1d`.
    """

    spatial = 1


class Conv2d(_Correlation):
    """Convolution of `(N, C, H, W)` or `(C, H, W)`; the arguments are those of `Conv1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> print(Conv2d(2, 3, 3, rngs=nnx.Rngs(0))(jnp.ones((1, 2, 5, 5), "float32")).shape)
        (1, 3, 3, 3)

    Torch: `torch.nn.Conv2d`.
    """

    spatial = 2


class Conv3d(_Correlation):
    """Convolution of `(N, C, D, H, W)` or `(C, D, H, W)`; the arguments are those of `Conv1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> print(Conv3d(2, 3, 2, rngs=nnx.Rngs(0))(jnp.ones((1, 2, 3, 3, 3), "float32")).shape)
        (1, 3, 2, 2, 2)

    Torch: `torch.nn.Conv3d`.
    """

    spatial = 3


class Transposed(_Conv):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}, '
                f"but got {padding_mode!r}"
            )
        self._set_up((in_channels, out_channels), kernel_size, groups, bias, dtype, rngs)
        self.stride = sizes(stride, self.spatial)
        self.padding = sizes(padding, self.spatial)
        self.output_padding = sizes(output_padding, self.spatial)
        self.dilation = sizes(dilation, self.spatial)

    def __call__(self, input: Array, output_size: tuple[int, ...] | None = None) -> Array:
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        weight, bias = value(self.weight), value(self.bias)
        options = (self.stride, self.padding, extra, self.groups, self.dilation)
        return _TRANSPOSE[self.spatial](input, weight, bias, *options)

    def _extra(self, input: Array, output_size: tuple[int, ...]) -> tuple[int, ...]:
        """Return the output padding that gives this output size."""
        wanted = tuple(output_size)[-self.spatial :]
        if len(output_size) not in (self.spatial, input.ndim):
            raise ValueError(
                f"{type(self).__name__}: for {input.ndim}D input, output_size must have "
                f"{self.spatial} or {input.ndim} elements (got {len(output_size)})"
            )
        shape = input.shape[-self.spatial :]
        dims = zip(shape, self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in dims]
        most = [low + s - 1 for low, s in zip(least, self.stride, strict=True)]
        if not all(a <= n <= b for a, n, b in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to "
                f"{most} (for an input of {list(shape)})"
            )
        return tuple(n - low for n, low in zip(wanted, least, strict=True))


class ConvTranspose1d(Transposed):
    """Transposed convolution of `(N, C, L)` or `(C, L)`; the weight is `(in, out / groups, K)`.

    Args:
        in_channels: Number of channels of the input.
        out_channels: Number of channels of the output.
        kernel_size: Size K of the kernel.
        stride: Step in the output from one element of the input to the next.
        padding: Number of elements to cut off each side of the output.
        output_padding: Number of elements to add to the end of the output.
        groups: Number of groups of channels that are convolved separately.
        bias: Whether the layer has a bias.
        dilation: Step between the elements of the kernel.
        padding_mode: Only "zeros" is supported.
        dtype: Dtype of the parameters; None means float32.
        rngs: Keys for weight and bias; the bounds are torch's, with `fan_in = out / groups * K`.

    Raises:
        ValueError: The channels are not divisible by `groups`, or an output size is impossible.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = ConvTranspose1d(2, 3, 3, stride=2, rngs=nnx.Rngs(0))
        >>> x = jnp.ones((1, 2, 5), "float32")
        >>> print(layer(x).shape, layer(x, (12,)).shape)
        (1, 3, 11) (1, 3, 12)

    Torch: `torch.nn.ConvTranspose1d`.
    """

    spatial = 1


class ConvTranspose2d(Transposed):
    """Transposed convolution of `(N, C, H, W)`; the arguments are those of `ConvTranspose1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = ConvTranspose2d(2, 3, 2, 2, rngs=nnx.Rngs(0))
        >>> print(layer(jnp.ones((1, 2, 2, 2), "float32")).shape)
        (1, 3, 4, 4)

    Torch: `torch.nn.ConvTranspose2d`.
    """

    spatial = 2


class ConvTranspose3d(Transposed):
    """Transposed convolution of `(N, C, D, H, W)`; the arguments are those of `ConvTranspose1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = ConvTranspose3d(2, 3, 2, 2, rngs=nnx.Rngs(0))
        >>> print(layer(jnp.ones((1, 2, 2, 2, 2), "float32")).shape)
        (1, 3, 4, 4, 4)

    Torch: `torch.nn.ConvTranspose3d`.
    """

    spatial = 3
