"""The conventions table as one offline HTML page: every row, and a search field."""

import html
from collections.abc import Sequence

from parity_tests.operators._harness.rows import ConventionRow


HEAD = ("operator", "JAX expression", "at", "with respect to", "torch", "JAX")
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>jaxgrad: operators</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 15px system-ui; margin: 2em auto; max-width: 80em; padding: 0 1em }}
input {{ font: inherit; padding: .4em .6em; width: 20em }}
table {{ border-collapse: collapse; width: 100%; margin-top: 1em }}
td, th {{ padding: .3em .6em; text-align: left; vertical-align: top; border-top: 1px solid #8884 }}
td {{ font: 13px ui-monospace, monospace; overflow-wrap: anywhere }}
td:first-child {{ font-weight: 600; overflow-wrap: normal }}
td:nth-child(2) {{ min-width: 15em }}
tr.more td {{ border-top-color: #8882 }}
tr.more td:first-child, tr.like td:nth-child(2) {{ color: transparent }}
thead th {{ position: sticky; top: 0; background: Canvas; border: 0 }}
</style>
<h1>torch's gradient and that of the obvious JAX expression</h1>
<p>The operator of the same name in <code>jaxgrad.functional</code> has torch's gradient.</p>
<p><input id="find" type="search" placeholder="operator or JAX expression" autofocus>
<span id="count"></span></p>
<table><thead><tr>{head}</tr></thead><tbody>
{body}
</tbody></table><script>
const rows = [...document.querySelectorAll("tbody tr")];
const text = rows.map(({{ cells: [name, form] }}) =>
  (name.textContent + " " + form.textContent).toLowerCase());
function show() {{
  const words = find.value.toLowerCase().split(/\\s+/);
  let last = ["", ""], operators = 0;
  rows.forEach((row, i) => {{
    row.hidden = !words.every(word => text[i].includes(word));
    if (row.hidden) return;
    const [name, form] = [0, 1].map(cell => row.cells[cell].textContent);
    const more = name === last[0];
    row.classList.toggle("more", more);
    row.classList.toggle("like", more && form === last[1]);
    operators += !more;
    last = [name, form];
  }});
  count.textContent = operators + (operators === 1 ? " operator" : " operators");
}}
find.oninput = show;
find.value = decodeURIComponent(location.hash.slice(1));
show();
</script></html>
"""


def as_html(rows: Sequence[ConventionRow]) -> str:
    """Return one offline page; `#clamp` in its address searches for clamp."""
    body = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells(row)) + "</tr>"
        for row in rows
    )
    return PAGE.format(head="".join(f"<th>{name}</th>" for name in HEAD), body=body)


def cells(row: ConventionRow) -> tuple[str, ...]:
    return row.operator, row.form, row.at, row.by, row.torch, row.jax
