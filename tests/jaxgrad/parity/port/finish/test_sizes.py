"""The sizes that may change are found by runs with other sizes."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.parity.port.finish.sizes import changing


def runs_of(function):
    def runs(structs):
        try:
            jax.eval_shape(function, *structs)
        except Exception:
            return False
        return True

    return runs


def test_a_size_that_the_program_fixes_stays_a_number():
    """The weights fix the last size; the first one is a symbol."""
    found = changing((np.ones((4, 3)),), runs_of(lambda x: x @ jnp.ones((3, 2))))
    pairs = zip(found.structs[0].shape, found.again[0].shape, strict=True)
    assert [found.text(*pair) for pair in pairs] == ["s0", "3"]
    assert not found.numbers


def test_a_loop_over_a_size_is_found_by_a_number():
    """JAX cannot trace the loop with a symbol, and a result may be a multiple."""

    def loop(x):
        return jnp.concatenate([x[:, n] for n in range(x.shape[1])])

    found = changing((np.ones((4, 5)),), runs_of(loop))
    ((label, number),) = found.numbers.items()
    other = found.others[label]
    assert found.structs[0].shape[1] == number != other == found.again[0].shape[1]
    assert found.text(2 * number, 2 * other) == f"2*{label}"


def test_equal_sizes_of_a_square_matrix_change_together():
    """The matrix has as many rows as x, and its sizes equal the number of features by chance."""

    def spread(x, square):
        return jnp.where(square > 0, square, 0) @ (x @ jnp.ones((4, 3)))

    found = changing((np.ones((4, 4)), np.ones((4, 4))), runs_of(spread))
    shapes = [[str(size) for size in x.shape] for x in found.structs]
    assert shapes == [["s0", "4"], ["s0", "s0"]]
