"""The page of versions comes from the records of `make matrix`."""

from parity_tests.audits.version_matrix import RECORDS
from parity_tests.site import versions


RECORD = {"target": "parity", "passed": 3, "of": 4, "failed": ["a.b::c"]}


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
