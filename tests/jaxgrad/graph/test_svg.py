"""Pictures are valid, described, deterministic, and legible without colour."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import jax
import pytest

from jaxgrad.graph import Setting, backward_graph, side_by_side
from parity_tests.runner.settings import ROOT
from tests.jaxgrad.graph.programs import X, loss, net, torch_step


@pytest.mark.slow
def test_the_same_graphs_give_the_same_bytes():
    """Two processes with different hash seeds draw byte-identical pictures."""
    program = (
        "import jax, jax.numpy as jnp; from jaxgrad.graph import *; import hashlib\n"
        "p = {'l1': {'w': jnp.ones((6, 4))}, 'l2': {'w': jnp.ones((4, 1))}}\n"
        "f = lambda p: jnp.sum(jnp.tanh(jnp.ones((3, 6)) @ p['l1']['w']) @ p['l2']['w'])\n"
        "print(hashlib.sha256(side_by_side({'a': backward_graph(f, p)}).encode()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def test_a_picture_is_well_formed_and_described():
    """A picture is valid XML with a title, a description, and scoped style rules."""
    svg = side_by_side({"detach <h>": Setting(torch_step("detach"), note="a & b")}, title="1 < 2")
    root = ET.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"

    assert root.get("role") == "img"
    labelled = str(root.get("aria-labelledby")).split()
    title, desc = root.find(f"{space}title"), root.find(f"{space}desc")
    assert title is not None and desc is not None and [title.get("id"), desc.get("id")] == labelled
    assert title.text == "1 < 2"
    assert "detach <h>, torch: l1 recorded, not reached" in str(desc.text)
    assert "gradient stopped by detach" in str(desc.text)
    assert "l1 weight None" in str(desc.text)
    assert "prefers-color-scheme:dark" in svg
    rules = re.findall(r"([^{}]+)\{[^{}]*\}", svg[svg.index("<style>") + 7 : svg.index("@media")])
    assert all(".jaxgrad-graph" in name for rule in rules for name in rule.split(","))


def test_states_differ_in_shape_not_in_colour_alone():
    """Recorded and absent operations have CSS classes with different outlines, not only colours."""
    shapes = {
        cut: set(re.findall(r'<rect [^>]*class="([^"]+)"', side_by_side({"": torch_step(cut)})))
        for cut in ("", "detach", "no_grad")
    }
    assert "thin hollow" in shapes["detach"] and "none" in shapes["no_grad"]
    assert "thin hollow" not in shapes["no_grad"] and "thin hollow" not in shapes[""]


def test_notebooks_display_the_picture_of_a_graph():
    """A graph's notebook representation is the picture of that graph."""
    graph = backward_graph(loss, net(6, 4, 1), X)
    assert graph._repr_svg_() == side_by_side({"": graph})


def test_side_by_side_refuses_empty_settings():
    """Drawing a picture without any setting raises ValueError."""
    with pytest.raises(ValueError, match="settings is empty"):
        side_by_side({})


def test_a_width_limits_the_picture_and_keeps_its_gradients():
    """A narrow picture has fewer boxes than the default, and the same gradients."""
    pair = torch_step("detach"), backward_graph(loss, net(6, 4, 1), X)
    wide, narrow = side_by_side({"a": pair}), side_by_side({"a": pair}, width=400)
    sizes = [float(re.findall(r' width="([\d.]+)"', svg)[0]) for svg in (wide, narrow)]

    assert sizes[1] < 0.7 * sizes[0]
    assert narrow.count("<rect") < wide.count("<rect")


@pytest.mark.parametrize("width", [0, -5, float("nan")])
def test_a_width_that_is_not_positive_is_named(width):
    """The error names the argument and the value."""
    with pytest.raises(ValueError, match=f"width must be a positive number of pixels, got {width}"):
        side_by_side({"": torch_step("")}, width=width)


def test_a_long_line_of_code_is_wrapped():
    """A caption that is longer than its panel goes on in a second line, and none is lost."""
    words = " ".join(f"word{i}" for i in range(40))
    svg = side_by_side({"a": Setting(torch_step(""), code=(words, ""))}, width=400)
    lines = re.findall(r'class="t m c">([^<]+)<', svg)

    assert len(lines) > 2 and " ".join(lines) == words


def test_a_missing_gradient_of_jax_reads_zero_or_none():
    """`jax.grad` returns zeros for a stopped parameter, and torch has None there."""
    stopped = backward_graph(
        lambda w, v: (jax.lax.stop_gradient(w) * v).sum(), X, X, argnums=(0, 1)
    )
    svg = side_by_side({"": stopped})

    assert "0/None: jax.grad returns 0, jaxgrad.grad None" in svg
    assert "0/None" not in side_by_side({"": torch_step("detach")})
