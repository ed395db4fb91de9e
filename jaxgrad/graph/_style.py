"""Define the picture's style sheet: light and dark colours, and shapes that need no colour."""

from __future__ import annotations


# For each hue: lane background, box fill and box outline; first in light mode, then in dark.
_HUES = (
    (("#eef3fb", "#c3d7f3", "#2a62b8"), ("#18212f", "#263f63", "#86b1f0")),
    (("#ecf6f0", "#b9e2cd", "#177148"), ("#15241d", "#1f4a37", "#6fcf9f")),
    (("#fbf3e4", "#f5d9a4", "#8d5a00"), ("#272015", "#553f14", "#e6b450")),
    (("#f3eefb", "#d8caf3", "#6a3fb5"), ("#20192e", "#40306a", "#b79cf0")),
    (("#e7f5f7", "#b4dfe5", "#0f6b79"), ("#132528", "#1b4b54", "#6cc8d6")),
    (("#fbedf2", "#f2c6d4", "#a8345c"), ("#2a1820", "#5c2a3e", "#ee94b2")),
)
_GRAY = (("#f2f2f0", "#d6d6d2", "#55575a"), ("#222427", "#3d4045", "#b4b8bd"))
_PAGE = {
    ".bg{fill": ("#ffffff", "#14181e"),
    ".t{fill": ("#1c1d1f", "#e7e7e3"),
    ".dim{fill": ("#62666c", "#9ca1a8"),
    ".on{fill": ("#ffffff", "#101214"),
    ".hollow{fill": ("#ffffff", "#14181e"),
    ".w{stroke": ("#1c1d1f", "#e7e7e3"),
    ".ah{fill": ("#1c1d1f", "#e7e7e3"),
    ".rec{stroke": ("#777b81", "#8f949b"),
    ".ghost{stroke": ("#a9adb2", "#5c6168"),
    ".rule{stroke": ("#dcdcd6", "#33373d"),
    ".bad,.gone{stroke": ("#c0262d", "#ff7b7f"),
    ".cut{stroke": ("#c0262d", "#ff7b7f"),
    ".red{fill": ("#b01e25", "#ff8b8f"),
    ".halo{stroke": ("#ffffff", "#14181e"),
    ".err{stroke": ("#c0262d", "#ff7b7f"),
    ".errbg,.errbg.err{fill": ("#fdf0f0", "#301a1c"),
    ".ok{fill": ("#177148", "#6fcf9f"),
}
_SHAPES = """
text{font:13px system-ui,"DejaVu Sans",Verdana,sans-serif}
.m{font:12px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
.c{font-size:12px}.b{font-weight:700}.i{font-style:italic}.s{font-size:12px}.h{font-size:16px}
.mid{text-anchor:middle}.halo{paint-order:stroke;stroke-width:3.5;stroke-linejoin:round}
.w,.rec,.ghost,.cut,.rule,.err,.bad,.gone{fill:none}
.w{stroke-width:1.3}.rec{stroke-width:1}.ghost{stroke-width:1;stroke-dasharray:1.5 3}
.cut{stroke-width:1.6;stroke-dasharray:4 3}.sc{fill:none;stroke-dasharray:none;stroke-width:1.5}
.bad{stroke-width:2.6}.gone{stroke-width:2.2;stroke-dasharray:2 4}
.err{stroke-width:2}.none{stroke-dasharray:2 2.5;fill:none}.clear{fill:none}
.full{stroke-width:1.2}.thin{stroke-width:1}
"""
HUES = len(_HUES)


def style() -> str:
    """Return the `<style>` element of a picture, scoped to `.jaxgrad-graph`."""
    light, dark = _rules(0), _rules(1)
    scoped = [_scoped(rule) for rule in _SHAPES.replace("\n", "").split("}") if rule]
    night = "".join(map(_scoped, dark))
    return (
        "<style>"
        + "".join([*scoped, *map(_scoped, light)])
        + f"@media (prefers-color-scheme:dark){{{night}}}</style>"
    )


def _rules(theme: int) -> list[str]:
    rules = [f"{name}:{colors[theme]}" for name, colors in _PAGE.items()]
    for i, hue in enumerate((*_HUES, _GRAY)):
        ground, box, line = hue[theme]
        rules += [
            f".h{i} .lane{{fill:{ground}",
            f".h{i} .full{{fill:{box};stroke:{line}",
            f".h{i} .thin,.h{i} .none{{stroke:{line}",
            f".h{i} .solid{{fill:{line}",
        ]
    return rules


def _scoped(rule: str) -> str:
    names, _, body = rule.partition("{")
    return ",".join(f".jaxgrad-graph {name}" for name in names.split(",")) + "{" + body + "}"
