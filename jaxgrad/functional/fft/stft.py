"""Short-time Fourier transform and its inverse, with torch's frames, padding and windows."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, floating, is_complex, is_floating, require
from jaxgrad.functional._core.dtypes import DtypeClassError
from jaxgrad.functional.fft._transforms import normalize
from jaxgrad.functional.indexing.pad import pad


def stft(
    input: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Array:
    """Short-time Fourier transform: Fourier transforms of overlapping windowed frames.

    Args:
        input: Signal, `(N, L)` or `(L,)`.
        n_fft: Length of a frame.
        hop_length: Step from one frame to the next; None means `n_fft // 4`.
        win_length: Length of the window, which is centred in a frame; None means `n_fft`.
        window: Window, `(win_length,)`; None means ones.
        center: Whether to center each frame at its time by padding half a frame at both ends.
        pad_mode: Mode of this padding, as in `pad`.
        normalized: Whether to divide by the square root of `n_fft`.
        onesided: Whether to return only non-negative frequencies; None means True for real input.
        return_complex: Whether to return complex numbers, not real pairs in an extra last dim.
            Required if input and window are real.
        align_to_window: Without `center`: whether the first window, not its frame, starts at 0.

    Returns:
        The transforms, `(N, frequencies, frames)`.

    Raises:
        RuntimeError: A size does not fit, or `return_complex` is missing.

    Example:
        >>> import jax.numpy as jnp
        >>> print(stft(jnp.ones(4), 2, 2, center=False, return_complex=True).real)
        [[2. 2.]
         [0. 0.]]

    Torch: `torch.stft`.
    """
    x = array(input)
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if not is_floating(x):
        raise RuntimeError(
            f"stft: expected a tensor of floating point or complex values, got {x.dtype}"
        )
    if x.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {x.ndim} dims")
    complex_ = is_complex(x) or (window is not None and is_complex(array(window, "window")))
    if return_complex is None and not complex_:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs; pass True, or "
            "False for real and imaginary parts"
        )
    hop, width = _lengths("stft", n_fft, hop_length, win_length)
    if center:
        batched = pad(x.reshape(1, -1, x.shape[-1]), (n_fft // 2, n_fft // 2), pad_mode)
        x = batched.reshape(*x.shape[:-1], -1)
    elif align_to_window:
        length, side = x.shape[-1], (n_fft - width) // 2
        x = pad(x, (side, side))
        over = (length - width) // hop * hop + n_fft - x.shape[-1]
        if over > 0:
            raise RuntimeError(
                f"stft: align_to_window pads {side} zeros on each side for n_fft={n_fft} and "
                f"win_length={width}, but the last frame ends {over} past that; make both even or "
                "both odd"
            )
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft < {x.shape[-1]}, but got n_fft={n_fft}")
    half = not complex_ if onesided is None else onesided
    _check_onesided(half, complex_)
    frames = _frames(x, n_fft, hop)
    if window is not None or width < n_fft:
        frames = frames * _window("stft", window, width, n_fft, x)
    transform = jnp.fft.rfft if half else jnp.fft.fft
    y = normalize(transform, transform(frames), [n_fft], "ortho" if normalized else None)
    y = jnp.swapaxes(y, -1, -2)
    if return_complex or return_complex is None:
        return y
    return jnp.stack([y.real, y.imag], -1)


def istft(
    input: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Array:
    """Inverse of `stft`: the signal whose frames are the least-squares fit to the input.

    Args:
        input: Complex transforms, `(N, frequencies, frames)` or `(frequencies, frames)`.
        n_fft: Length of a frame.
        hop_length: Step from one frame to the next; None means `n_fft // 4`.
        win_length: Length of the window, which is centred in a frame; None means `n_fft`.
        window: Window, `(win_length,)`; None means ones.
        center: Whether `stft` padded half a frame at both ends.
        normalized: Whether `stft` divided by the square root of `n_fft`.
        onesided: Whether the frequencies are all non-negative; None infers it from their number.
        length: Length to which the signal is cut or zero-padded; None means no change.
        return_complex: Whether the signal is complex.

    Raises:
        TypeError: The input is real (it is a RuntimeError as well, as in torch before 2.14).
        RuntimeError: A size does not fit, or the windows leave a gap (under
            `jit` only with `checkify`).

    Example:
        >>> import jax.numpy as jnp
        >>> y = stft(jnp.arange(4.0), 2, 1, return_complex=True)
        >>> print(istft(y, 2, 1).round(4))
        [0. 1. 2. 3.]

    Torch: `torch.istft`.
    """
    x = array(input)
    if not is_complex(x):
        raise DtypeClassError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            f"return_complex=True, but got {x.dtype}"
        )
    if x.ndim not in (2, 3) or not x.size:
        raise RuntimeError(
            f"istft: expected a tensor with 2 or 3 dims and elements, but got {list(x.shape)}"
        )
    hop, width = _lengths("istft", n_fft, hop_length, win_length)
    size = x.shape[-2]
    half = size != n_fft if onesided is None else onesided
    if size != (n_fft // 2 + 1 if half else n_fft):
        raise RuntimeError(
            f"istft: expected the frequency dimension to be {n_fft // 2 + 1 if half else n_fft} "
            f"for n_fft={n_fft} and onesided={half}, but got {size}"
        )
    complex_ = window is not None and is_complex(array(window, "window"))
    if complex_ and not return_complex:
        raise RuntimeError("istft: a complex window needs return_complex=True")
    if return_complex:
        _check_onesided(half, True)
    w = _window("istft", window, width, n_fft, x.real)
    x = jnp.swapaxes(x, -1, -2)
    if return_complex:
        frames = jnp.fft.ifft(x)
    else:
        frames = jnp.fft.irfft(x[..., : n_fft // 2 + 1], n_fft)
    frames = normalize(jnp.fft.ifft, frames, [n_fft], "ortho" if normalized else None)
    total = _overlap_add(frames * w, hop)
    weight = _overlap_add(jnp.broadcast_to(w * w, (x.shape[-2], n_fft)), hop)
    end = total.shape[-1] - (n_fft // 2 if center else 0)
    begin = n_fft // 2 if center else 0
    end = end if length is None else begin + length
    total, weight = total[..., begin:end], weight[begin:end]
    require(
        jnp.all(jnp.abs(jax.lax.stop_gradient(weight)) > 1e-11),
        RuntimeError("istft: window overlap add min: 1; the windows leave a gap in the signal"),
    )
    # XLA's complex quotient is infinite where torch's is NaN; `total * (1 / weight)` gives NaN too.
    signal = total * (1 / weight) if is_complex(weight) else total / weight
    missing = end - begin - signal.shape[-1]
    return pad(signal, (0, missing)) if missing > 0 else signal


def _lengths(name: str, n_fft: int, hop: int | None, width: int | None) -> tuple[int, int]:
    hop = n_fft // 4 if hop is None else hop
    width = n_fft if width is None else width
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(
            f"{name}: expected 0 < win_length <= n_fft, but got win_length={width} and "
            f"n_fft={n_fft}"
        )
    return hop, width


def _check_onesided(half: bool, complex_: bool) -> None:
    if half and complex_:
        raise RuntimeError(
            "Cannot have onesided output if window or input is complex; pass onesided=False"
        )


def _window(name: str, window: Any, width: int, n_fft: int, like: Array) -> Array:
    """Return the window, zero-padded to the frame length."""
    w = jnp.ones(width, like.dtype) if window is None else floating(array(window, "window"))
    if w.shape != (width,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={width}, but got "
            f"window with size {list(w.shape)}"
        )
    left = (n_fft - width) // 2
    return pad(w, (left, n_fft - width - left))


def _frames(x: Array, n_fft: int, hop: int) -> Array:
    count = 1 + (x.shape[-1] - n_fft) // hop
    return x[..., hop * jnp.arange(count)[:, None] + jnp.arange(n_fft)]


def _overlap_add(frames: Array, hop: int) -> Array:
    """Sum overlapping frames into one signal."""
    count, n_fft = frames.shape[-2:]
    at = hop * jnp.arange(count)[:, None] + jnp.arange(n_fft)
    size = n_fft + hop * (count - 1)
    return jnp.zeros((*frames.shape[:-2], size), frames.dtype).at[..., at].add(frames)
