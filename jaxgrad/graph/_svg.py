"""Compose a whole picture as SVG text; equal graphs give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping

from jaxgrad.graph._beside import Beside
from jaxgrad.graph._model import Graph, renderers
from jaxgrad.graph._panels import ROOM, Panels, fit
from jaxgrad.graph._picture import MARGIN, NARROW, Picture, Setting


NARROW_MARGIN = 8.0  # a phone has no room for margins
WIDEST = ROOM + 2 * MARGIN


def side_by_side(
    settings: Mapping[str, Setting | Graph | tuple[Graph, Graph]],
    *,
    title: str = "",
    rearranging: bool = False,
    width: float = WIDEST,
) -> str:
    """Draw the backward graphs of several settings on one layout, torch beside JAX.

    A box that a setting lacks is drawn as an outline at the same place, so that removed operations
    show as gaps. Lane headers read forward, boxes backward. A dashed red line with scissors marks
    where the gradient is stopped; a badge at the bottom shows a parameter's gradient. If every row
    has a graph of one framework only, the rows of a framework are beside each other where they fit.

    Args:
        settings: Maps a row's label to a `Setting`, a single `Graph`, or a pair (torch, JAX).
        title: The title of the picture.
        rearranging: Whether operations that only change the layout or dtype of a gradient
            (transposes, reshapes, casts) get boxes of their own. By default each is part of the
            box that feeds it, and is listed in that box's tooltip.
        width: The largest width in pixels. A narrower picture merges more operations into a box;
            400 suits a phone. A picture never gets narrower than its lanes with one box each.

    Returns:
        The text of an SVG with light and dark colours, a title, and a description for screen
        readers. Equal graphs give equal bytes.

    Raises:
        ValueError: `settings` is empty, or `width` is not a positive number.

    Example:
        >>> import jax, jax.numpy as jnp, jaxgrad.graph
        >>> def loss(w, stop):
        ...     return jnp.sum(stop(jnp.sin(w)) * w)
        >>> def graph(stop):
        ...     return jaxgrad.graph.backward_graph(lambda w: loss(w, stop), jnp.ones(3))
        >>> svg = jaxgrad.graph.side_by_side(
        ...     {"plain": graph(lambda x: x), "stopped": graph(jax.lax.stop_gradient)}
        ... )
        >>> svg[:4], "gradient stopped by stop_gradient" in svg
        ('<svg', True)

    Torch: no counterpart; torchviz draws one graph, and draws `detach` and `no_grad` alike.
    """
    if not settings:
        raise ValueError("settings is empty: pass at least one, {'plain': backward_graph(...)}")
    if not width > 0:
        raise ValueError(f"width must be a positive number of pixels, got {width!r}")
    rows = {name: _setting(value) for name, value in settings.items()}
    margin = MARGIN if width >= NARROW else NARROW_MARGIN
    room = width - 2 * margin
    sides = [
        {name: row.torch for name, row in rows.items() if row.torch is not None},
        {name: row.jax for name, row in rows.items() if row.jax is not None},
    ]
    if all(sides) and not sides[0].keys() & sides[1].keys():  # each row is one program
        panels = [
            panel
            for side, other in (sides, sides[::-1])
            for panel in fit(
                [side],
                rearranging=rearranging,
                room=room,
                beside=list(other.values()),
                compared=any(rows[name].expected for name in side),
            ).panels
        ]
        return Beside(rows, Panels(panels, stacked=True), title, room, margin).text()
    compared = any(row.expected for row in rows.values())
    sides = [side for side in sides if side]
    fitted = fit(sides, rearranging=rearranging, room=room, compared=compared)
    return Picture(rows, fitted, title, room, margin).text()


renderers["svg"] = lambda graph: side_by_side({"": graph})


def _setting(value: Setting | Graph | tuple[Graph, Graph]) -> Setting:
    if isinstance(value, Graph):
        return Setting(torch=value) if value.framework == "torch" else Setting(jax=value)
    return value if isinstance(value, Setting) else Setting(value[0], value[1])
