"""Matrix products with torch's shape checks; float16 and bfloat16 accumulate in float32."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim, exact, promoted
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional.linalg._products import as_batches, chain_product, check_inner, check_mv


def multi_dot(tensors: Sequence[Array]) -> Array:
    """Multiply several matrices in the cheapest order; the first and the last may be vectors.

    Raises:
        RuntimeError: There are fewer than two tensors, or their shapes or dtypes do not match.

    Example:
        >>> import jax.numpy as jnp
        >>> print(multi_dot([jnp.eye(2), jnp.eye(2), jnp.ones(2)]))
        [1. 1.]

    Torch: `torch.linalg.multi_dot`. `jnp.linalg.multi_dot` is the same.
    """
    reject("linalg.multi_dot", "bool", *tensors)
    arrays = [array(x, "tensors") for x in tensors]
    if len(arrays) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(arrays)}")
    for i, (x, y) in enumerate(itertools.pairwise(arrays)):
        if x.shape[-1] != y.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(x.shape)} and "
                f"{list(y.shape)} cannot be multiplied"
            )
    require_same_dtype("linalg.multi_dot", **{f"tensors[{i}]": x for i, x in enumerate(arrays)})
    return exact(chain_product, *arrays)


def matmul(input: Array, other: Array) -> Array:
    """Multiply matrices or vectors, broadcasting the batch dims.

    Raises:
        RuntimeError: An operand is 0-d, the shapes are incompatible, or the dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(matmul(jnp.eye(2), jnp.array([1.0, 2.0])))
        [1. 2.]

    Torch: `torch.matmul`. `jnp.matmul` is the same.
    """
    reject("matmul", "bool", input, other)
    x, y = array(input), array(other, "other")
    if not (x.ndim and y.ndim):
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {x.ndim}D and {y.ndim}D"
        )
    check_inner(x, y)
    require_same_dtype("matmul", input=x, other=y)
    return exact(jnp.matmul, x, y)


def mm(input: Array, mat2: Array) -> Array:
    """Multiply two matrices.

    Raises:
        RuntimeError: An operand is not 2-d, the shapes are incompatible, or the dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(mm(jnp.ones((1, 2)), jnp.ones((2, 1))))
        [[2.]]

    Torch: `torch.mm`. `jnp.matmul` is the same.
    """
    reject("mm", "bool", input, mat2)
    x, y = array(input), array(mat2, "mat2")
    for name, z in (("self", x), ("mat2", y)):
        if z.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, its shape is {list(z.shape)}")
    check_inner(x, y)
    require_same_dtype("mm", input=x, mat2=y)
    return exact(jnp.matmul, x, y)


def bmm(input: Array, mat2: Array) -> Array:
    """Multiply two batches of matrices pairwise.

    Raises:
        RuntimeError: An operand is not 3-d, the shapes are incompatible, or the dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(bmm(jnp.ones((1, 1, 2)), jnp.ones((1, 2, 1))))
        [[[2.]]]

    Torch: `torch.bmm`. `jnp.matmul` is the same.
    """
    reject("bmm", "bool", input, mat2)
    require_same_dtype("bmm", input=input, mat2=mat2)
    x, y = as_batches(input, mat2, ("batch1", "batch2"))
    return exact(jnp.matmul, x, y)


def mv(input: Array, vec: Array) -> Array:
    """Multiply a matrix by a vector.

    Raises:
        RuntimeError: `input` is not 2-d, `vec` not 1-d, or the shapes or dtypes do not match.

    Example:
        >>> import jax.numpy as jnp
        >>> print(mv(jnp.eye(2), jnp.array([1.0, 2.0])))
        [1. 2.]

    Torch: `torch.mv`. `jnp.matmul` is the same.
    """
    reject("mv", "bool", input, vec)
    require_same_dtype("mv", input=input, vec=vec)
    x, y = array(input), array(vec, "vec")
    check_mv(x, y)
    return exact(jnp.matmul, x, y)


def kron(input: Array, other: Array) -> Array:
    """Return the Kronecker product of two arrays.

    Example:
        >>> import jax.numpy as jnp
        >>> print(kron(jnp.eye(2), jnp.array([[1.0, 2.0]])))
        [[1. 2. 0. 0.]
         [0. 0. 1. 2.]]

    Torch: `torch.kron`. `jnp.kron` is the same.
    """
    # torch promotes a 0-d array like any other array here, so it gets a dim before promotion.
    x, y = promoted(*(jnp.atleast_1d(array(z)) for z in (input, other)))
    if not (jnp.ndim(input) or jnp.ndim(other)):
        x, y = x[0], y[0]
    if x.dtype == jnp.bool_:
        return jnp.kron(x.astype(int), y.astype(int)).astype(bool)
    return jnp.kron(x, y)


def tensordot(a: Array, b: Array, dims: int | Sequence[int | Sequence[int]] = 2) -> Array:
    """Contract dims of two arrays: the last `dims` of `a` with the first of `b`, or listed dims.

    Raises:
        RuntimeError: The contracted dims differ in number or size (size 1 fits any other), or the
            dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print(tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), 1))
        [[3. 3.]
         [3. 3.]]

    Torch: `torch.tensordot`.

    Differs from jax in:
        1. A contracted dim of size 1 broadcasts (`jnp.tensordot`: an error).
    """
    reject("tensordot", "bool", a, b)
    require_same_dtype("tensordot", a=a, b=b)
    x, y = array(a, "a"), array(b, "b")
    if isinstance(dims, int):
        left, right = tuple(range(-dims, 0)), tuple(range(dims))
    else:
        left, right = ((d,) if isinstance(d, int) else tuple(d) for d in dims)
    if len(left) != len(right):
        raise RuntimeError(
            "both dimension lists should have same length, but they have "
            f"{len(left)} and {len(right)}"
        )
    pairs = [
        (canonical_dim(p, x.ndim), canonical_dim(q, y.ndim))
        for p, q in zip(left, right, strict=True)
    ]
    for p, q in pairs:
        if x.shape[p] == 1:
            y = jnp.sum(y, q, keepdims=True)
        elif y.shape[q] == 1:
            x = jnp.sum(x, p, keepdims=True)
        elif x.shape[p] != y.shape[q]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {x.shape[p]} in dim {p} "
                f"and second has size {y.shape[q]} in dim {q}"
            )
    axes = tuple(p for p, _ in pairs), tuple(q for _, q in pairs)
    return exact(lambda x, y: jnp.tensordot(x, y, axes), x, y)


def einsum(equation: str | Array, *operands: Any) -> Array:
    """Sum products of operands as an Einstein-summation equation specifies.

    Args:
        equation: Labels of the dims, such as `"ij,jk->ik"`.
        *operands: Arrays, or one list of arrays. Without an equation, each array is followed by the
            list of its dims as numbers from 0 to 51, and the list of the output's dims may follow.

    Raises:
        RuntimeError: The number, dims, sizes or dtypes of the operands do not match the equation.
        ValueError: No operand is passed.

    Example:
        >>> import jax.numpy as jnp
        >>> print(einsum("ij,j->i", jnp.eye(2), jnp.array([1.0, 2.0])))
        [1. 2.]

    Torch: `torch.einsum`. `jnp.einsum` is the same.
    """
    if not operands:
        raise ValueError("einsum(): must specify the equation string and at least one operand")
    if isinstance(equation, str):
        words, listed = equation, operands
    else:
        words, listed = _equation((equation, *operands))
    if len(listed) == 1 and isinstance(listed[0], list | tuple):
        (listed,) = listed
    arrays = [array(x, "operands") for x in listed]
    _check_contractions(words, arrays)
    try:
        return exact(lambda *xs: jnp.einsum(words, *xs), *arrays)
    except (ValueError, TypeError) as error:
        shapes = [list(x.shape) for x in arrays]
        raise RuntimeError(f"einsum(): {words!r} does not fit the shapes {shapes}") from error


def _equation(pairs: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return the equation and the operands of arrays that alternate with lists of their dims."""

    def term(dims: Sequence[Any]) -> str:
        for d in dims:
            if d is not ... and not 0 <= d < len(ascii_letters):
                raise ValueError(
                    f"einsum(): subscript {d} is not in the range [0, {len(ascii_letters)})"
                )
        return "".join("..." if d is ... else (ascii_uppercase + ascii_lowercase)[d] for d in dims)

    terms = ",".join(term(dims) for dims in pairs[1::2])
    if len(pairs) % 2:
        return f"{terms}->{term(pairs[-1])}", pairs[:-1:2]
    return terms, pairs[::2]


def _check_contractions(equation: str, operands: list[Array]) -> None:
    """Raise if torch, multiplying from left to right, would contract operands of unequal dtype."""
    terms, _, out = equation.replace(" ", "").partition("->")
    labels = [_labels(term, x.shape) for term, x in zip(terms.split(","), operands, strict=False)]
    left, dtype = labels[0], operands[0].dtype
    for i, (right, x) in enumerate(zip(labels[1:], operands[1:], strict=False), start=1):
        if (left & right).difference(out, *labels[i + 1 :]):
            reject("einsum", "bool", x)
            if dtype != x.dtype:
                raise RuntimeError(
                    f"einsum(): {equation!r} needs operands of the same dtype, but operand {i} is "
                    f"{x.dtype} and the product of those before it is {dtype}"
                )
        left, dtype = left | right, jnp.promote_types(dtype, x.dtype)


def _labels(term: str, shape: tuple[int, ...]) -> set[str]:
    """Return the labels of the dims whose size is not 1."""
    first, _, last = term.partition("...")
    pairs = [*zip(first, shape, strict=False), *zip(last[::-1], shape[::-1], strict=False)]
    return {label for label, size in pairs if size != 1}
