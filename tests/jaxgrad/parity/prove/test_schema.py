"""Real reports satisfy the JSON schema, and the schema describes every field."""

import dataclasses
import json

import jsonschema
import pytest

from jaxgrad.parity import REPORT_SCHEMA, Finding, Report, Surface
from jaxgrad.parity.prove.edits import Edit
from tests.jaxgrad.parity.prove._helpers import port, proved


def check(report: Report) -> None:
    jsonschema.validate(json.loads(report.to_json()), REPORT_SCHEMA)


def test_reports_of_every_verdict_satisfy_the_schema(arguments):
    """A pass, a failure with its source lines, and an error satisfy the schema."""
    check(proved(arguments))
    check(Report.error("fn is int", "int | fn", {"torch": 0.5}))
    wrong = proved(arguments, fn=lambda p, x: port(p, x, eps=1e-6))
    check(wrong)

    assert wrong.first.source.startswith("_helpers.py:")
    assert wrong.first.torch_line.startswith("_helpers.py:")
    assert wrong.first.ruled_out
    assert Report.from_dict(json.loads(wrong.to_json())).first == wrong.first


def test_values_that_json_lacks_are_strings():
    """NaN, infinities and complex numbers satisfy the schema as strings."""
    finding = Finding("forward", "fc", "net.py:3", "off", (0,), float("nan"), 1 + 2j)
    finding = dataclasses.replace(finding, edit=Edit("net.py", 3, "a", "b"), ruled_out=("c",))
    surface = Surface("forward", "fail", "", findings=(finding,))
    report = Report("fail", {"forward": surface}, finding)
    check(report)
    first = Report.from_dict(json.loads(report.to_json())).first

    assert first is not None
    assert (first.edit, first.ruled_out) == (finding.edit, ("c",))


@pytest.mark.parametrize(
    "change",
    [{"verdict": "maybe"}, {"first": {"surface": "forward"}}, {"notes": "one"}, {"surfaces": []}],
)
def test_other_objects_violate_the_schema(change):
    """A wrong verdict, an incomplete finding and wrong types are rejected."""
    report = Report("pass", {"forward": Surface("forward", "pass", "")}).to_dict()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report | change, REPORT_SCHEMA)


def test_every_field_is_described():
    """The schema lists every field of a finding and of an edit."""
    first = REPORT_SCHEMA["properties"]["first"]["anyOf"][1]["properties"]
    edit = first["edit"]["anyOf"][1]["properties"]

    assert set(first) == {field.name for field in dataclasses.fields(Finding)}
    assert set(edit) == {field.name for field in dataclasses.fields(Edit)}
