"""Write the stepper: `python -m parity_tests.site.stepper.page`.

The page is one file that works offline: the recorded states, the style and the script are in it.
"""

import json
import pathlib
from typing import Any

import markupsafe

from jaxgrad.parity.prove.page import template
from parity_tests.runner.settings import ROOT
from parity_tests.site.stepper.record import record


PAGE = ROOT / "docs" / "_static" / "stepper.html"
HERE = pathlib.Path(__file__).parent


def page(data: dict[str, Any]) -> str:
    """Return the page for recorded states."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return template(HERE / "page.html.j2").render(
        data=markupsafe.Markup(text.replace("<", "\\u003c")),
        style=_file("stepper.css"),
        script=_file("stepper.js"),
    )


def recorded() -> dict[str, Any]:
    """Return the recorded states that the written page holds."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition('id="data">')
    return json.loads(rest.partition("</script>")[0])


def _file(name: str) -> markupsafe.Markup:
    return markupsafe.Markup((HERE / name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(record()), encoding="utf-8")
