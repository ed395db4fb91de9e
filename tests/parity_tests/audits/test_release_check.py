"""The check of a release refuses wheels with the wrong files."""

from parity_tests.audits.release_check import NEEDED, contents


GOOD = [*NEEDED, "jaxgrad/__init__.py", "jaxgrad-0.1.dist-info/METADATA"]


def test_a_wheel_holds_the_package_and_the_plugin():
    """The package, the plugin and the metadata are accepted, and nothing else is."""
    assert contents(GOOD) == ""
    assert "contains tests/test_x.py" in contents([*GOOD, "tests/test_x.py"])


def test_a_wheel_without_the_plugin_is_refused():
    """A wheel must have the files that are not Python modules of the package."""
    assert contents([n for n in GOOD if n != "pytest_jaxgrad.py"]) == (
        "the wheel lacks pytest_jaxgrad.py"
    )
