"""Write docs/versions.md from the records of `make matrix` and `make device`, and from the table of
what other versions of torch and JAX change.

    python -m parity_tests.site.versions

This file needs only the standard library, because `make matrix` runs it outside of any environment.
"""

import collections
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from parity_tests.audits.environments import ROOT
from parity_tests.audits.version_changes import JAX, applying, torch_changes, torch_versions
from parity_tests.audits.version_matrix import ENTRIES, RUNS, read, records_in


PAGE = ROOT / "docs" / "versions.md"
DEVICES = {"GPU": "gpu", "TPU": "tpu"}  # entries, and the folders of their records
ROWS = {"gpu": "| NVIDIA GPU, Linux |", "tpu": "| TPU VM |"}  # how the row of a device begins
UNITS = {
    **RUNS,
    "layers": "tests of layers",
    "ports": "tests of written ports",
    "prove": "tests of `prove` and `lint`",
}
BEGIN, END = "<!-- versions:begin -->", "<!-- versions:end -->"
CHANGES = "<!-- changes:begin -->", "<!-- changes:end -->"
PROPOSED = "<!-- proposed:begin -->", "<!-- proposed:end -->"
# What `jaxgrad.functional` does about a change of each kind, in a word and in a sentence.
IN_JAXGRAD = {
    "gradient": ("both", "`functional.at` and `torch=` select the version"),
    "pinned": ("one", "one of the two; the record of the operator has both"),
    "listed": ("newer", "always the newer; the operator's test asserts that older versions differ"),
    "removed": ("removed", "raises as torch does; works in `functional.at` of an older version"),
}
VERSIONS = {"python": "Python", "jax": "JAX", "torch": "torch", "flax": "flax", "optax": "optax"}
NAMED = 2  # failing tests that a row names


class Key(NamedTuple):
    """What the records of one row have in common."""

    name: str  # of the entry
    versions: tuple[str, ...]
    device: str


def table() -> str:
    """Return the table of the matrix, the sentence under it, and a table for each device."""
    groups = list(_matrix())
    targets = [t for t in RUNS if any(r["target"] == t for _, of in groups for r in of)]
    head = ("entry", *VERSIONS.values(), *(RUNS[target] for target in targets))
    matrix = _table(head, [_matrix_row(key, records, targets) for key, records in groups])
    devices = " and ".join(dict.fromkeys(key.device for key, _ in groups))
    return "\n\n".join([matrix, f"These ran on: {devices}. {not_run()}", *_devices()])


def changed() -> str:
    """Return the table of what versions of torch and JAX changed, the newest first."""
    found = sorted(torch_changes(), key=lambda change: change.since, reverse=True)
    rows = [
        (f"torch {c.since}", _listing(c.operators), c.now, c.before, IN_JAXGRAD[c.kind][0])
        for c in found
    ]
    rows += [
        (f"JAX {c.since}", f"`{c.operator}`", "as in torch", c.difference, IN_JAXGRAD["listed"][0])
        for c in JAX
    ]
    column = "in `jaxgrad.functional`"
    legend = _table((column, "it means"), IN_JAXGRAD.values())
    return f"{legend}\n\n{_table(('since', 'operators', 'now', 'before', column), rows)}"


def proposed() -> str:
    """Return the table of torch's open changes."""
    rows = [
        (
            ", ".join(f"[#{n}](https://github.com/pytorch/pytorch/pull/{n})" for n in p.pulls),
            ", ".join(f"`{name}`" for name in p.names),
            p.then,
        )
        for p in torch_versions()["PROPOSALS"]
    ]
    return _table(("pull request", "in jaxgrad", "what would change"), rows)


def _listing(operators: Sequence[str]) -> str:
    """Return the names of operators; those of one namespace are joined."""
    plain = [f"`{name}`" for name in operators if not name.startswith("distributions.")]
    joined = len(operators) - len(plain)
    return ", ".join(plain) + (f", and {joined} of `distributions`" if joined else "")


def not_run() -> str:
    """Say which runs of the matrix have no record."""
    done = {(n, r["target"]) for n in ENTRIES for r in read(n) if "error" not in r}
    lacking = {
        name: [UNITS[target] for target in entry.runs if (name, target) not in done]
        for name, entry in ENTRIES.items()
    }
    never = [
        f"`{name}`" for name, units in lacking.items() if len(units) == len(ENTRIES[name].runs)
    ]
    entries = collections.defaultdict(list)  # those that have other runs, by what they lack
    for name, units in lacking.items():
        if 0 < len(units) < len(ENTRIES[name].runs):
            entries[f"the {' and the '.join(units)}"].append(f"`{name}`")
    partly = [f"{units} on {', '.join(names)}" for units, names in entries.items()]
    missing = "; ".join([*never, *partly])
    return f"No record yet: {missing}." if missing else "Every entry has its records."


def write() -> None:
    """Replace the tables between the markers of the page, and the results of the devices."""
    text = PAGE.read_text(encoding="utf-8")
    tables = {(BEGIN, END): table(), CHANGES: changed(), PROPOSED: proposed()}
    for (begin, end), content in tables.items():
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{content}\n{end}{rest.split(end)[1]}"
    PAGE.write_text(with_devices(text), encoding="utf-8")


def with_devices(page: str) -> str:
    """Return the page with the last cell of each device's row written from its records."""
    lines = page.split("\n")
    for device, start in ROWS.items():
        (index,) = (i for i, line in enumerate(lines) if line.startswith(start))
        head, _, _ = lines[index].removesuffix(" |").rpartition(" | ")
        records = records_in(ROOT / "benchmarks" / device / "records.json")
        lines[index] = f"{head} | {device_cell(device, records)} |"
    return "\n".join(lines)


def device_cell(device: str, records: list[dict[str, Any]]) -> str:
    """Describe the last run of the cells on a device, or what `--device` does there."""
    cells = [record for record in records if record["target"] == "parity"]
    if not cells and device == "tpu":
        return "`--device tpu` runs JAX there at highest precision, torch on the CPU; untested"
    if not cells:
        return f"`--device {device}` runs both frameworks there; untested"
    (record,) = cells
    where = f"{record['device']}, JAX {record['versions']['jax']}"
    about = f"benchmarks/{device}/README.md"
    tested = f"[tested](../{about})" if (ROOT / about).exists() else "tested"
    return f"{tested}: `--device {device}`, {short_result(record)} ({where})"


def _matrix() -> Iterator[tuple[Key, list[dict[str, Any]]]]:
    """Yield the records of each entry that have the same versions and ran on the same device."""
    for name in ENTRIES:
        groups = collections.defaultdict(list)
        for record in read(name):
            groups[_key(name, record)].append(record)
        yield from groups.items()


def _matrix_row(key: Key, records: list[dict[str, Any]], targets: Sequence[str]) -> list[str]:
    """Return a row: the versions, and a cell for each run; a failed install is in the first."""
    cells = {r["target"]: _cell(r, result(r) + differing(r)) for r in records}
    if targets:
        cells.setdefault(targets[0], cells.get("install", "–"))
    return [key.name, *key.versions, *(cells.get(target, "–") for target in targets)]


def _devices() -> Iterator[str]:
    """Yield a sentence and a table for each device, its versions and its runs."""
    for name, folder in DEVICES.items():
        records = records_in(ROOT / "benchmarks" / folder / "records.json")
        groups = collections.defaultdict(list)
        for record in sorted(records, key=lambda record: [*UNITS].index(record["target"])):
            groups[_key(name, record)].append(record)
        for key, runs in groups.items():
            shown = zip(VERSIONS.values(), key.versions, strict=True)
            installed = ", ".join(f"{what} {version}" for what, version in shown)
            yield (
                f"On a {name} ({key.device}) with {installed}, "
                f"by `python -m parity_tests.devices.record {folder}`:"
            )
            rows = [(UNITS[r["target"]], _cell(r, result(r))) for r in runs]
            yield _table((f"tests on a {name}", "pass"), rows)


def _key(name: str, record: dict[str, Any]) -> Key:
    versions = tuple(record["versions"].get(key, "–") for key in VERSIONS)
    return Key(name, versions, record["device"])


def _cell(record: dict[str, Any], text: str) -> str:
    """Return a result under the heading of its unit, with the date and the commit."""
    text = text.replace(f" {UNITS.get(record['target'])} pass", "")
    return f"{text} ({record['date']}, {record['commit'][:7]})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def short_result(record: dict[str, Any]) -> str:
    """Describe the result of a record without the names of the tests that failed."""
    if "error" in record:
        what = "not installed" if record["target"] == "install" else "did not finish"
        return f"{what}: {record['error'][:160]}".replace("|", "\\|")
    return f"{record['passed']} of {record['of']} {UNITS[record['target']]} pass"


def result(record: dict[str, Any]) -> str:
    """Describe the result of a record in one phrase."""
    text, failed = short_result(record), record.get("failed", [])
    names = ", ".join(f"`{name.rpartition('::')[2]}`" for name in failed[:NAMED])
    more = f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    return f"{text}; failing: {names}{more}" if failed else text


def differing(record: dict[str, Any]) -> str:
    """Say how many of the operators pass because they still differ as the table of changes says."""
    count = len(applying(record["versions"])) if record["target"] == "operators" else 0
    return f"; {count} of them differ as listed below" if count else ""


if __name__ == "__main__":
    sys.exit(write())
