"""Render a picture as PNG, for places that cannot show SVG."""

from __future__ import annotations

import importlib


def png(svg: str, *, scale: float = 2.0) -> bytes:
    """Draw the SVG of `side_by_side` as a PNG, in its light colours.

    Args:
        svg: The text of an SVG.
        scale: Pixels for each unit of the SVG.

    Returns:
        The bytes of a PNG file.

    Raises:
        ModuleNotFoundError: The optional package `resvg_py` is not installed.

    Example:
        >>> import jax.numpy as jnp, jaxgrad.graph
        >>> graph = jaxgrad.graph.backward_graph(jnp.sum, jnp.ones(3))
        >>> svg = jaxgrad.graph.side_by_side({"sum": graph})
        >>> try:
        ...     start = jaxgrad.graph.png(svg)[1:4]
        ... except ModuleNotFoundError as error:  # without the extra
        ...     start = b"PNG" if "resvg_py" in str(error) else b""
        >>> start
        b'PNG'

    Torch: no counterpart; torchviz calls the graphviz program.
    """
    try:
        resvg = importlib.import_module("resvg_py")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "rendering a PNG needs resvg_py, which is not installed: pip install resvg_py; "
            "the SVG needs no extra package"
        ) from None
    return bytes(resvg.svg_to_bytes(svg_string=svg, zoom=scale))
