"""Records of the operators in `jaxgrad/functional/nn/interpolate.py`."""

import jax
import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes


inf, nan = np.inf, np.nan
LINE = np.arange(5.0).reshape(1, 1, 5)
SQUARE = np.random.default_rng(0).normal(size=(1, 1, 4, 4))
GRID = np.arange(16.0).reshape(1, 1, 4, 4)
LAST = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


def _jax_idiom(x, size=None, mode="nearest", scale_factor=None, **_):
    if size is None:
        size = int(x.shape[-1] * scale_factor)
    method = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return jax.image.resize(x, (*x.shape[:2], *[size] * (x.ndim - 2)), method)


def _interpolate(x, *args, antialias=False, **options):
    """Run torch's function, in float32 if it has no half-precision antialiasing."""
    y = x.float() if antialias and x.itemsize == 2 else x
    return torch.nn.functional.interpolate(y, *args, antialias=antialias, **options).to(x.dtype)


def _interpolation(draw, *, modes):
    mode = draw(st.sampled_from(modes))
    drawn = draw(st.integers(1, 3))
    places: int = LAST.get(mode) or drawn
    side = 5 if places < 3 else 3
    options = {}
    shape = (
        *draw(shapes(low=2, high=2, side=2)),
        *draw(st.tuples(*[st.integers(1, side)] * places)),
    )
    sizes = st.tuples(*[st.integers(1, side + 3)] * places)
    if draw(st.booleans()):
        options["size"] = draw(st.one_of(st.integers(1, side + 3), sizes))
    else:
        least = 1 / min(shape[2:])
        factors = [f for f in (0.4, 0.5, 0.6, 1.0, 1.3, 1.7, 2, 2.3) if f >= least]
        each = st.tuples(*[st.sampled_from(factors)] * places)
        chosen = draw(st.one_of(st.sampled_from(factors), each))
        factor_by_dim = chosen if isinstance(chosen, tuple) else (chosen,) * places
        out = tuple(int(n * f) for n, f in zip(shape[2:], factor_by_dim, strict=True))
        stays = [
            o in (n, 2 * n) and o != n * f
            for n, o, f in zip(shape[2:], out, factor_by_dim, strict=True)
        ]
        if any(stays) and (mode == "bicubic" or (mode == "nearest" and places != 2)):
            options["size"] = out  # torch and JAX would differ with `scale_factor`
        else:
            options["scale_factor"] = chosen
            options["recompute_scale_factor"] = draw(st.sampled_from([None, True, False]))
    if mode in LAST:
        options["align_corners"] = draw(st.sampled_from([None, True, False]))
    return draw(floats(shape)), mode, options


@operator(
    "interpolate",
    torch=_interpolate,
    num_samples=24,
    points=[
        call(LINE, 3),
        call(LINE, 3, mode="linear"),
        call(LINE, 3, mode="area"),
        call(LINE, 8, mode="linear", align_corners=True),
        call(LINE, mode="linear", scale_factor=1.7),
        call(SQUARE, 6, mode="bicubic"),
        call(SQUARE, 2, mode="bilinear"),
        call(SQUARE, 3, mode="bilinear", antialias=True),
        call(SQUARE, 3, mode="bicubic", antialias=True),
        call(SQUARE, 7, mode="bicubic", antialias=True),
        call([[[inf, 1.0, nan, 0.0, 2.0]]], 5, mode="linear"),
        call([[[inf, 1.0, nan, 0.0, 2.0]]], 7, mode="linear"),
        call(GRID, scale_factor=1.1),
        call(GRID, scale_factor=(1.1, 1.3), mode="bicubic"),
    ],
    differences=[
        PinnedDifference(
            call(LINE, scale_factor=1.1),
            {"gradient/0": ([[[1, 2, 3, 4, 5]]], [[[3, 3, 4, 5, 0]]])},
            "torch's value uses the scale factor, but its gradient copies; JAX's is the value's",
        ),
        PinnedDifference(
            call(GRID, (2, 1), mode="bilinear", antialias=True),
            {"forward/0": ([[[[61 / 14], [61 / 14]]]], [[[[61 / 14], [149 / 14]]]])},
            "torch repeats the first row if the output has one column; its gradient does not",
        ),
    ],
    raises=[
        RaisesFor(
            call(LINE),
            ValueError,
            torch="either size or scale_factor",
            jax="either size or scale_fac",
        ),
        RaisesFor(call(LINE, 3, 2.0), ValueError, "only one of"),
        RaisesFor(call(LINE, 3, align_corners=True), ValueError, "align_corners"),
        RaisesFor(call(LINE, (3, 3)), ValueError, "same number of spatial"),
        RaisesFor(call(LINE, 3, mode="bilinear"), NotImplementedError, "needs 4D"),
        RaisesFor(call(LINE, 3, mode="cubic"), NotImplementedError, "Only 3D"),
        RaisesFor(call(LINE, 3, antialias=True), ValueError, "Anti-alias"),
        RaisesFor(
            call(LINE, 3, recompute_scale_factor=True),
            ValueError,
            torch="not meaningful",
            jax="not meaning",
        ),
        RaisesFor(call(LINE, 0), RuntimeError, "greater than 0"),
    ],
    jax_idioms={"jax.image.resize(x, shape, mode)": _jax_idiom},
    source="P077 P078 P079 P080 P081 P082",
)
def interpolate(draw):
    modes = ["nearest", "nearest-exact", "area", *LAST]
    input, mode, options = _interpolation(draw, modes=modes)
    if mode in ("bilinear", "bicubic"):
        (wide,) = [options[key] for key in ("size", "scale_factor") if key in options]
        wide = wide[-1] if isinstance(wide, tuple) else wide
        columns = wide if "size" in options else int(input.shape[-1] * wide)
        options["antialias"] = (
            draw(st.booleans()) and columns > 1
        )  # with one column, torch and JAX differ
    return call(input, mode=mode, **options)


@operator("upsample", source="P077 P080")
def upsample(draw):
    input, mode, options = _interpolation(draw, modes=["nearest", "linear", "bilinear"])
    options.pop("recompute_scale_factor", None)
    return call(input, mode=mode, **options)
