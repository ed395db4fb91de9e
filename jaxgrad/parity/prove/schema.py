"""The JSON schema of a report, for programs that read `Report.to_json()` and act on it."""

from __future__ import annotations

from typing import Any

from jaxgrad.parity.prove.wording import REFERENCES


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_NUMBER = {"type": ["number", "string", "boolean", "null"]}  # NaN and complex numbers are strings


def _described(type_: dict[str, Any], text: str) -> dict[str, Any]:
    return {**type_, "description": text}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
    }


_EDIT = _object(
    {
        "file": _described(_TEXT, "path of the port's source file"),
        "line": {"type": "integer", "minimum": 1},
        "old": _described(_TEXT, "the line as it is"),
        "new": _described(_TEXT, "the line as it should be"),
        "complete": _described(
            {"type": "boolean"}, "whether all outputs agree after it, or all gradients"
        ),
    }
)
_FINDING = _object(
    {
        "surface": _described(_TEXT, "the surface on which the programs differ"),
        "torch": _described(_TEXT, "dotted path of the torch module or parameter"),
        "op": _described(_TEXT, "torch's name for the call in the module, or empty"),
        "torch_line": _described(_TEXT, "file:line of the call in torch's code, or empty"),
        "jax": _described(
            _TEXT, "file:line (module path) in the JAX program, or the path of a leaf"
        ),
        "source": _described(_TEXT, "file:line and the line of the port's code, or empty"),
        "text": _described(_TEXT, "the difference, in one sentence"),
        "index": _described(
            {"type": "array", "items": {"type": "integer"}}, "the element that differs most"
        ),
        "torch_value": _described(_NUMBER, "torch's value of that element, null if there is none"),
        "jax_value": _described(_NUMBER, "JAX's value of that element"),
        "originates": _described(
            {"type": "boolean"},
            "whether the difference begins here; false: it follows from the first divergence",
        ),
        "cause": _described(
            _TEXT, "the likely cause if a rerun confirmed it, or else an observation, or empty"
        ),
        "tested": _described(
            {"type": "boolean"}, "whether rerunning a program with a change confirmed the cause"
        ),
        "edit": _described(
            {"anyOf": [{"type": "null"}, _EDIT]},
            "a change of one line of the port, only where the cause was confirmed by a rerun",
        ),
        "ruled_out": _described(_TEXTS, "causes that were tested and do not explain it"),
    }
)
_ROW = _object(
    {
        "name": _described(_TEXT, "the leaf that was compared, by torch's name"),
        "verdict": _described(
            {"enum": ["pass", "fail", "inconclusive", "zero", "accepted", "mask", "harmless"]},
            "mask: the gradient of a mask, which is not judged; harmless: a cotangent that differs "
            "in a correct port too",
        ),
        "difference": _described(_NUMBER, "the largest difference, relative to the scale"),
        "allowed": _described(_NUMBER, "the difference that rounding alone can cause"),
    },
    argument=_described(_TEXT, "the name of an input in the signature of torch's forward"),
)
_SURFACE = _object(
    {
        "name": _TEXT,
        "verdict": {"enum": ["pass", "fail", "inconclusive", "error", "not judged"]},
        "text": _TEXT,
        "rows": {"type": "array", "items": _ROW},
        "findings": {"type": "array", "items": _FINDING},
        "control": _described(_TEXT, "the negative control: an injected error that was detected"),
    },
    compared=_described(_TEXTS, "what was compared, unless the name of the surface says it"),
)
_LISTING = _object(
    {
        "file": _described(_TEXT, "the file's name; empty for the printed form of a module"),
        "start": _described({"type": "integer", "minimum": 1}, "the number of the first line"),
        "lines": _TEXTS,
        "marked": _described(
            {"type": "array", "items": {"type": "integer"}},
            "the numbers of the lines that `first` names",
        ),
    }
)
REPORT_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "The result of jaxgrad.parity.prove",
    **_object(
        {
            "verdict": {"enum": ["pass", "fail", "inconclusive", "error"]},
            "name": _described(_TEXT, "the torch module and the JAX program"),
            "text": _described(
                _TEXT, "what to change after an error, or what a time limit left unjudged"
            ),
            "first": _described(
                {"anyOf": [{"type": "null"}, _FINDING]},
                "the first place where the programs differ: mend this, then prove again",
            ),
            "surfaces": _described(
                {"type": "object", "additionalProperties": _SURFACE},
                "the answer to each question of the proof, by name, in order",
            ),
            "notes": _TEXTS,
            "not_visible": _described(_TEXTS, "torch modules without a matching JAX value"),
            "matched": _described(
                _TEXTS, "torch modules with one, called before the first divergence of the outputs"
            ),
            "objective": _described(_TEXT, "what the gradients are gradients of"),
            "seconds": {"type": "object", "additionalProperties": {"type": "number"}},
            "versions": {"type": "object", "additionalProperties": _TEXT},
            "listings": _described(
                {"type": "object", "additionalProperties": _LISTING},
                "the source of both programs, by framework, if it can be read",
            ),
            "reference": _described(
                {"enum": list(REFERENCES)}, "the framework of the original; the other has the port"
            ),
        },
        functions=_described(
            {"type": "object", "additionalProperties": {"type": "array", "items": _LISTING}},
            "the user's other functions that each program calls, by framework",
        ),
    ),
}
