"""Display the current plot of matplotlib as SVG that is readable on light and on dark pages."""

import io
import re
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.text import Text

from parity_tests.notebook.display import Picture


_INK = "#010203"  # matplotlib draws text and axes in this colour, which the style below replaces
_STYLE = """\
<style>.ink-fill{fill:#1f2328}.ink-stroke{stroke:#57606a}
@media (prefers-color-scheme:dark){.ink-fill{fill:#e6edf3}.ink-stroke{stroke:#9da7b3}}</style>"""
_SETTINGS: Any = {
    "svg.fonttype": "none",  # text stays text, which scales and can be read aloud
    "svg.hashsalt": "jaxgrad",  # equal plots give equal bytes
    "font.family": "sans-serif",
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
}


def plot(title: str) -> Picture:
    """Return the current figure as a picture, and close it.

    Args:
        title: What the plot shows, for a screen reader.
    """
    figure = plt.gcf()
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_color(_INK)
    for axes in figure.axes:
        axes.patch.set_alpha(0)
        for spine in axes.spines.values():
            spine.set_edgecolor(_INK)
        axes.tick_params(which="both", color=_INK)
        if legend := axes.get_legend():
            legend.get_frame().set_alpha(0)
    figure.tight_layout()
    drawn = io.StringIO()
    with mpl.rc_context(_SETTINGS):
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    return Picture(themed(drawn.getvalue(), title))


def themed(svg: str, title: str) -> str:
    """Give an SVG of matplotlib a title, and ink that follows the page's colour scheme."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'width="([\d.]+)pt" height="([\d.]+)pt"', _in_pixels, svg, count=1)
    svg = re.sub(r'style="([^"]*)"', _classes, svg)
    return re.sub(r"(<svg [^>]*>)", rf"\1<title>{title}</title>{_STYLE}", svg, count=1)


def _classes(style: re.Match[str]) -> str:
    """Replace ink in a style by classes."""
    rules = [rule.strip() for rule in style[1].split(";") if rule.strip()]
    ink = [rule.partition(":")[0] for rule in rules if rule.endswith(_INK)]
    kept = "; ".join(rule for rule in rules if not rule.endswith(_INK))
    named = f'class="{" ".join(f"ink-{name}" for name in ink)}" ' if ink else ""
    return f'{named}style="{kept}"'


def _in_pixels(size: re.Match[str]) -> str:
    width, height = (float(n) * 4 / 3 for n in size.groups())
    return f'width="{width:.0f}" height="{height:.0f}"'
