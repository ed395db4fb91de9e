"""Write the measurements and the machine's description as JSON, markdown and HTML."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import pathlib
import platform
import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import torch

from benchmarks.growth import DEEPER, late


_ABOUT = """# What jaxgrad costs

`make bench` writes this page. Unless stated otherwise, every number is a ratio of two
programs that run alternately in one process: the median over the rounds. A ratio below 1 means that
jaxgrad, or the first program named, is cheaper. """
_ADDS = "The page `results.html` adds plots.\n"
_INK = "#010203"  # replaced by the colour of the page's text, which depends on the reader's scheme


def machine() -> dict[str, Any]:
    """Return the machine's processor, versions, threads and flags."""
    cpu = ""
    info = pathlib.Path("/proc/cpuinfo")
    if info.exists():
        match = re.search(r"model name\s*: (.*)", info.read_text())
        cpu = match[1] if match else ""
    return {
        "processor": cpu or platform.processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "device": jax.devices()[0].device_kind,
        **_cuda(),
        "torch threads": torch.get_num_threads(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "optax", "torch")},
        "flags": " ".join(
            f"{name}={os.environ[name]}"
            for name in ("XLA_FLAGS", "OMP_NUM_THREADS", "JAX_ENABLE_X64")
            if name in os.environ
        )
        or "none",
    }


def _cuda() -> dict[str, Any]:
    """Return the GPU that torch uses and its CUDA version, if torch uses one."""
    if torch.get_default_device().type != "cuda":
        return {}
    return {"torch device": torch.cuda.get_device_name(), "torch's CUDA": torch.version.cuda}


def load(folder: pathlib.Path) -> dict[str, Any]:
    """Return the records of an earlier run, so that a single section can be measured again."""
    path = folder / "results.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write(folder: pathlib.Path, records: Mapping[str, Any], sections: Mapping[str, Any]) -> None:
    """Write results.json, RESULTS.md and results.html."""
    ordered = {name: records[name] for name in sections if name in records}
    text = json.dumps(ordered, indent=1, default=float)
    (folder / "results.json").write_text(text + "\n")
    ordered = json.loads(text)  # the pages depend only on the content of results.json
    (folder / "RESULTS.md").write_text(markdown(ordered, sections))
    (folder / "results.html").write_text(page(ordered, sections))


def markdown(records: Mapping[str, Any], sections: Mapping[str, Any]) -> str:
    lines = [_about(records) + _ADDS]
    for name, entry in records.items():
        lines += [f"## {sections[name].TITLE}", ""]
        lines += [*sections[name].markdown(entry["numbers"]), ""]
        about = ", ".join(f"{key} {value}" for key, value in entry["machine"].items())
        lines += [f"<sub>{about}; {entry['minutes']:.1f} minutes</sub>", ""]
    return "\n".join(lines)


def _about(records: Mapping[str, Any]) -> str:
    """Return the introduction; its title names the GPUs that were measured."""
    gpus = sorted({entry["machine"]["device"] for entry in records.values()} - {"cpu"})
    return _ABOUT.replace("costs\n", f"costs on {' and '.join(gpus)}\n", 1) if gpus else _ABOUT


def quote(records: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the three cells of the table in docs/costs.md that come from these records."""
    rows = [row for row in records["training"]["numbers"].values() if isinstance(row, dict)]
    steps = [row for row in rows if "torch" in row]
    hand = statistics.median(row["by hand"] for row in steps)
    eager = statistics.geometric_mean([row["torch"] for row in steps])
    optimizers = records["optimizers"]["numbers"].values()
    optax = statistics.median(row["time"] for row in optimizers)
    depth = records["growth"]["numbers"]["depth"]
    slope, sizes = depth["slopes"]["bytes saved, checkpointed"], depth["sizes"]
    return (
        f"{hand:.2f} times as long as the same step written by hand in JAX (median of "
        f"{len(steps)} steps), and {eager:.2f} times as long as in torch eager (geometric mean)",
        f"{optax:.2f} times as long as optax's",
        f"grows as depth^{slope:.2f} from {late(sizes)[0]} to {sizes[-1]} layers. In theory it "
        f"grows as √depth, and deeper networks come closer: {DEEPER}",
    )


def page(records: Mapping[str, Any], sections: Mapping[str, Any]) -> str:
    """Return a self-contained HTML page: each section's finding, its plots, and its numbers."""
    from markdown_it import MarkdownIt

    style = pathlib.Path(__file__).with_name("page.css").read_text()
    render = MarkdownIt().enable("table").render
    body = render(_about(records))
    for name, entry in records.items():
        section = sections[name]
        text = render("\n".join([f"## {section.TITLE}", "", *section.markdown(entry["numbers"])]))
        finding, table, numbers = text.partition("<table>")
        drawn = plots(getattr(section, "figures", _none), entry["numbers"])
        body += f"{finding}{drawn}{_folded(table + numbers, section.TITLE, opened=not drawn)}"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>What jaxgrad costs</title>'
        f'<meta name="viewport" content="width=device-width"><style>{style}</style>'
        f"<main>{body}</main></html>\n"
    )


def _folded(html: str, title: str, *, opened: bool) -> str:
    """Return tables as a folded part of the page; a wide table scrolls by itself."""
    if not html:
        return ""
    box = f'<div class="scroll" tabindex="0" role="region" aria-label="Numbers: {title}"><table>'
    html = html.replace("<table>", box).replace("</table>", "</table></div>")
    return f"<details{' open' * opened}><summary>The numbers</summary>{html}</details>"


def plots(figures: Callable[[Any], Iterable[tuple[str, Any]]], numbers: Any) -> str:
    """Return the plots of a section, whose text has the colour of the page's text."""
    import matplotlib as mpl

    colors = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    with mpl.rc_context(dict.fromkeys(colors, _INK)):
        drawn = [
            f'<div class="plot" tabindex="0" role="img" aria-label="Plot of {name}">'
            f"{svg(figure).replace(_INK, 'currentColor')}</div>"
            for name, figure in figures(numbers)
        ]
    return f'<div class="plots">{"".join(drawn)}</div>' if drawn else ""


def svg(figure: Any) -> str:
    """Return a figure as reproducible inline SVG."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "jaxgrad", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _none(numbers: Any) -> tuple[()]:
    del numbers
    return ()
