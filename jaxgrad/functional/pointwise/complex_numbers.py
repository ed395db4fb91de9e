"""Complex numbers: real and imaginary parts, and torch's gradients of angles and signs.

For complex inputs, torch's gradients and cotangents are the complex conjugates of JAX's. The
functions of this package follow JAX's convention under `jax.grad`: apply
`jax.tree.map(jnp.conj, grads)` before a gradient descent step. The parity tests do the same.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, is_complex, is_floating, together
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import DtypeClassError, require_same_dtype
from jaxgrad.functional.pointwise.abs_sign import sign


def real(input: Array) -> Array:
    """Return the real part; a real array is returned unchanged.

    Example:
        >>> import jax.numpy as jnp
        >>> print(real(jnp.array([1 + 2j])))
        [1.]

    Torch: `torch.real`. `jnp.real` is the same.
    """
    return jnp.real(array(input))


def imag(input: Array) -> Array:
    """Return the imaginary part.

    Raises:
        RuntimeError: The input is real.

    Example:
        >>> import jax.numpy as jnp
        >>> print(imag(jnp.array([1 + 2j])))
        [2.]

    Torch: `torch.imag`. `jnp.imag` is the same.
    """
    input = array(input)
    if not is_complex(input):
        raise DtypeClassError(
            "imag is not implemented for tensors with non-complex dtypes, the dtype is "
            f"{input.dtype}"
        )
    return jnp.imag(input)


def conj(input: Array) -> Array:
    """Return the complex conjugate; a real array is returned unchanged.

    Example:
        >>> import jax.numpy as jnp
        >>> print(conj(jnp.array([1 + 2j])))
        [1.-2.j]

    Torch: `torch.conj`. `jnp.conj` is the same.
    """
    return jnp.conj(array(input))


def angle(input: Array) -> Array:
    """Return the angle of complex numbers; real numbers have the angle 0 or pi, with gradient 0.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(f"{angle(jnp.array(1j)):.4f}")
        1.5708

    Torch: `torch.angle`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At 0 the gradient is 0 (`jnp.angle`: NaN).
    """
    input = array(input)
    if is_complex(input):
        return _angle(input)
    return in_opmath(_real_angle, input)


@derivative(lambda t, _, z: jnp.imag(t * jnp.where(z == 0, 0, jnp.conj(z) / jnp.abs(z) ** 2)))
def _angle(z: Array) -> Array:
    return jnp.angle(z)


@derivative(None)
def _real_angle(x: Array) -> Array:
    return jnp.where(jnp.isnan(x), x, jnp.where(x < 0, jnp.pi, 0))


def sgn(input: Array) -> Array:
    """Return each complex number divided by its magnitude (0 at 0), or a real number's sign.

    Example:
        >>> import jax.numpy as jnp
        >>> print(sgn(jnp.array([3 + 4j])))
        [0.6+0.8j]

    Torch: `torch.sgn`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Complex inputs have a gradient (`jnp.sign` before JAX 0.12: 0).
    """
    input = array(input)
    return _sgn(input) if is_complex(input) else sign(input)


def _sgn_derivative(t: Any, out: Any, z: Any) -> Any:
    size = jnp.abs(z)
    tangential = t - jnp.real(jnp.conj(out) * t) * out
    return tangential * jnp.where(size == 0, 0, 1 / size)


@derivative(_sgn_derivative)
def _sgn(z: Array) -> Array:
    size = jnp.abs(z)
    return jnp.where(size == 0, 0, z / jnp.where(size == 0, 1, size))


def view_as_real(input: Array) -> Array:
    """Return the real and imaginary parts along a new last dim; torch returns a view, JAX a copy.

    Raises:
        RuntimeError: The input is real.

    Example:
        >>> import jax.numpy as jnp
        >>> print(view_as_real(jnp.array([1 + 2j])))
        [[1. 2.]]

    Torch: `torch.view_as_real`.
    """
    input = array(input)
    if not is_complex(input):
        raise DtypeClassError(
            f"view_as_real is only supported for complex tensors, the dtype is {input.dtype}"
        )
    return jnp.stack([input.real, input.imag], -1)


def view_as_complex(input: Array) -> Array:
    """Combine the pairs along the last dim into complex numbers; torch returns a view, JAX a copy.

    Raises:
        RuntimeError: The last dim does not have size 2, or the dtype is not a real float.

    Example:
        >>> import jax.numpy as jnp
        >>> print(view_as_complex(jnp.array([[1.0, 2.0]])))
        [1.+2.j]

    Torch: `torch.view_as_complex`.
    """
    input = array(input)
    if not input.ndim or input.shape[-1] != 2:
        raise RuntimeError(
            f"Tensor must have a last dimension of size 2, but its shape is {list(input.shape)}"
        )
    if not is_floating(input) or is_complex(input):
        raise RuntimeError(
            f"view_as_complex is only supported for floating point tensors, not {input.dtype}"
        )
    return jax.lax.complex(input[..., 0], input[..., 1])


def complex(real: Array, imag: Array) -> Array:
    """Combine real and imaginary parts into complex numbers.

    Raises:
        RuntimeError: The dtypes differ or are not float16, float32 or float64.

    Example:
        >>> import jax.numpy as jnp
        >>> print(complex(jnp.array(1.0), jnp.array(2.0)))
        (1+2j)

    Torch: `torch.complex`.
    """
    x, y = _real_float_pair("complex", real=real, imag=imag)
    return jax.lax.complex(x, y)


def polar(abs: Array, angle: Array, *, torch_gradient: bool = False) -> Array:
    """Combine magnitudes and angles into complex numbers.

    Args:
        abs: Magnitudes, of any shape.
        angle: Angles, of a shape that broadcasts with the magnitudes.
        torch_gradient: Whether to use torch's gradient with respect to the magnitude, which
            replaces the direction by `sgn` of the result: 0 for magnitude 0, and of the opposite
            sign for a negative one.

    Raises:
        RuntimeError: The dtypes differ or are not float16, float32 or float64.

    Example:
        >>> import jax.numpy as jnp
        >>> print(polar(jnp.array(2.0), jnp.array(0.0)))
        (2+0j)

    Torch: `torch.polar`.
    """
    x, y = _real_float_pair("polar", abs=abs, angle=angle)
    return _polar(x, y, signed=torch_gradient)


def _polar_derivative(t: Any, out: Any, _: Any, angle: Any, signed: bool) -> Any:
    return t * (_sgn(out) if signed else jax.lax.complex(jnp.cos(angle), jnp.sin(angle)))


@derivative(_polar_derivative, lambda t, out, *_, **__: t * (1j * out))
def _polar(size: Array, angle: Array, *, signed: bool) -> Array:
    del signed
    return jax.lax.complex(size * jnp.cos(angle), size * jnp.sin(angle))


def _real_float_pair(name: str, **args: Any) -> list[Array]:
    x, y = (array(z, key) for key, z in args.items())
    require_same_dtype(name, **args)
    if x.dtype not in (jnp.float32, jnp.float64, jnp.float16):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {x.dtype} and "
            f"{y.dtype}"
        )
    return jnp.broadcast_arrays(*together(x, y))
