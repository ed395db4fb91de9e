"""The page of versions comes from the records of `make matrix`."""

import json
import re

from parity_tests.audits.version_matrix import RECORDS, records_in
from parity_tests.case import load
from parity_tests.site import versions


RECORD = {"target": "parity", "passed": 3, "of": 4, "failed": ["a.b::c"], "commit": "1234567"}


def test_the_page_has_the_table_of_the_committed_records():
    """`docs/versions.md` has the table that `make matrix` writes from the records."""
    text = versions.PAGE.read_text(encoding="utf-8")
    shown = text.split(versions.BEGIN)[1].split(versions.END)[0].strip()

    assert shown == versions.table(), "run python -m parity_tests.site.versions"


def test_every_record_belongs_to_an_entry():
    """A record of an entry that no longer exists would be kept but not shown."""
    assert {p.stem for p in RECORDS.glob("*.json")} <= set(versions.ENTRIES)


def test_a_result_names_what_fails():
    """A result gives the counts and names the failing tests, or says why nothing ran."""
    assert versions.result(RECORD) == "3 of 4 cells pass; failing: `c`"
    assert versions.result({**RECORD, "passed": 4, "failed": []}) == "4 of 4 cells pass"
    refused = {"target": "install", "error": "No matching distribution found"}
    assert versions.result(refused) == "not installed: No matching distribution found"


def test_operators_that_pass_by_differing_are_counted():
    """Of the operators that pass with torch 2.11, those of the table of changes are counted."""
    record = {"target": "operators", "versions": {"torch": "2.11.0", "jax": "0.10.2"}}
    pinned = {"torch": "2.13.0+cpu", "jax": "0.10.2"}

    assert versions.differing(record) == "; 11 of them differ as listed below"
    assert versions.differing({**record, "versions": pinned}) == ""
    assert versions.differing({**record, "target": "parity"}) == ""


def test_the_behaviours_that_a_gpu_does_not_run_are_counted():
    """The page says how many behaviours run on a CPU alone, and which."""
    absent = [case for case in load().values() if "gpu" not in case.devices]
    distributed = sum(case.theme == "distributed" for case in absent)
    others = [case.id for case in absent if case.theme != "distributed"]

    page = " ".join(versions.PAGE.read_text(encoding="utf-8").split())
    assert (
        f"{len(absent)} of the {len(load())} behaviours are not run: the {distributed} of" in page
    )
    assert others == ["grad_modes/numpy", "grad_modes/detach_shares_storage"], "two, about memory"


def test_a_run_without_a_record_is_named(monkeypatch):
    """The page names the entries that never ran, and the runs that an entry lacks."""
    records = {"floor": [{**RECORD, "target": "parity"}], "newest": [{"target": "parity"}]}
    records["newest"] += [{"target": "operators"}, {"target": "scripts"}]
    failed = {"pins-3.12": [{"target": "install", "error": "no torch"}]}
    monkeypatch.setattr(versions, "read", lambda name: (records | failed).get(name, []))

    assert versions.not_run() == (
        "No record yet: `pins-3.11`; `pins-3.12`; `pins-3.13`; `nightly`; the operators on `floor`."
    )
    monkeypatch.setattr(versions, "read", lambda _: records["newest"])
    assert versions.not_run() == "Every entry has its records."


def test_the_page_shows_the_last_run_on_a_device():
    """The rows of the GPU and the TPU are what `make device` writes from its records."""
    text = versions.PAGE.read_text(encoding="utf-8")

    assert versions.with_devices(text) == text, "run python -m parity_tests.site.versions"


def test_a_run_on_a_tpu_changes_the_page(monkeypatch, tmp_path):
    """After `make device DEVICE=tpu`, the row of the TPU gives its result; other rows remain."""
    page = versions.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    folder = tmp_path / "benchmarks" / "tpu"
    folder.mkdir(parents=True)
    record = {**RECORD, "device": "TPU v9", "versions": {"jax": "0.12.0"}}
    (folder / "records.json").write_text(json.dumps([record]))

    changed = versions.with_devices(page).split("\n")

    (row,) = (line for line in changed if line.startswith("| TPU VM |"))
    cell = "tested: `--device tpu`, 3 of 4 cells pass (TPU v9, JAX 0.12.0)"
    assert row == f"| TPU VM | `pip install 'jax[tpu]'` | as on CPU | {cell} |"
    assert len(set(changed) ^ set(page.split("\n"))) == 4, "the rows of the two devices change"
    assert any("`--device gpu` runs both frameworks there; untested" in line for line in changed)


def test_the_page_has_the_operators_that_other_versions_change():
    """The page lists each change with both sides, the newest version first."""
    text = versions.PAGE.read_text(encoding="utf-8")
    begin, end = versions.CHANGES
    shown = text.split(begin)[1].split(end)[0].strip()

    assert shown == versions.changed(), "run python -m parity_tests.site.versions"
    assert (
        "| torch 2.13 | `trace` | float16 and bfloat16 work | float16 and bfloat16 raise |" in shown
    )
    assert (
        shown.index("| torch 2.15 |") < shown.index("| torch 2.14 |") < shown.index("| JAX 0.9 |")
    )


def test_commits_have_one_length():
    """Every row of the table names its commit by seven digits, however long its record has it."""
    commits = re.findall(r"\(\d{4}-\d\d-\d\d, (\w+)\)", versions.table())

    assert len(commits) == sum(len(versions.read(name)) for name in versions.ENTRIES) + len(
        records_in(versions.ROOT / "benchmarks" / "gpu" / "records.json")
    )
    assert {len(commit) for commit in commits} == {7}


def test_an_entry_has_one_row_for_the_same_versions(monkeypatch):
    """The runs of an entry are cells of one row, and other versions begin another row."""
    first = {"python": "3.11.7", "jax": "0.10.2", "torch": "2.13.0"}
    about = {"versions": first, "device": "CPU", "date": "2026-11-30", "commit": "1234567"}
    operators = {**about, "target": "operators", "passed": 4, "of": 4}
    newer = {**operators, "versions": {**first, "torch": "2.15.0"}}
    refused = {**about, "target": "install", "error": "No torch", "versions": {"python": "3.13"}}
    records = {"floor": [{**RECORD, **about}, operators, newer], "newest": [refused]}
    monkeypatch.setattr(versions, "read", lambda name: records.get(name, []))
    monkeypatch.setattr(versions, "DEVICES", {})

    head, _, *rows = versions.table().partition("\n\n")[0].splitlines()

    when = "(2026-11-30, 1234567)"
    assert head == "| entry | Python | JAX | torch | flax | optax | cells | operators |"
    assert rows == [
        "| floor | 3.11.7 | 0.10.2 | 2.13.0 | – | – "
        f"| 3 of 4; failing: `c` {when} | 4 of 4 {when} |",
        f"| floor | 3.11.7 | 0.10.2 | 2.15.0 | – | – | – | 4 of 4 {when} |",
        f"| newest | 3.13 | – | – | – | – | not installed: No torch {when} | – |",
    ]
