"""A request has the defaults of `prove`."""

import dataclasses
import inspect

from jaxgrad.parity import prove
from jaxgrad.parity.prove.request import Request


def test_the_defaults_are_those_of_prove():
    """An argument that is left out means the same in `Request` and in `prove`."""
    defaults = {f.name: f.default for f in dataclasses.fields(Request)}
    for name, parameter in inspect.signature(prove).parameters.items():
        if name not in ("progress", "time_limit") and parameter.default is not parameter.empty:
            expected = (None, None) if name in ("outputs", "loss") else parameter.default
            assert defaults[name] == expected, name
