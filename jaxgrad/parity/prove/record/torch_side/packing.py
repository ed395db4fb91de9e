"""Write trees of arrays, dataclasses and plain values to one .npz file, without pickle.

The file has one entry for each dtype, which concatenates all arrays of that dtype, and a JSON
header that describes the tree.
"""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np


_PLAIN = (str, int, float, bool, type(None))
_HEADER = "header"


def write(path: str | os.PathLike[str], tree: Any) -> None:
    """Write a tree to a file.

    Raises:
        TypeError: The tree contains an object of another type.
    """
    flat: dict[str, list[np.ndarray]] = {}
    sizes: dict[str, int] = {}

    def packed(x: Any) -> Any:
        if isinstance(x, np.ndarray | np.generic):
            x = np.asarray(x)
            if x.dtype.kind not in "biufc":
                raise TypeError(f"an array of dtype {x.dtype} cannot be written")
            name = x.dtype.name
            start = sizes.get(name, 0)
            flat.setdefault(name, []).append(x.ravel())
            sizes[name] = start + x.size
            return {"array": [name, start, list(x.shape)]}
        if isinstance(x, _PLAIN):
            return x
        if isinstance(x, Mapping):
            return {"dict": [[packed(key), packed(value)] for key, value in x.items()]}
        if isinstance(x, list):
            return [packed(value) for value in x]
        if isinstance(x, tuple):
            return {"tuple": [packed(value) for value in x]}
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            fields = [packed(getattr(x, field.name)) for field in dataclasses.fields(x)]
            return {type(x).__name__: fields}
        raise TypeError(f"an object of type {type(x).__name__} cannot be written")

    header = np.frombuffer(json.dumps(packed(tree)).encode(), np.uint8)
    arrays: dict[str, Any] = {name: np.concatenate(pieces) for name, pieces in flat.items()}
    with open(path, "wb") as file:
        np.savez(file, **{_HEADER: header}, **arrays)


def read(path: str | os.PathLike[str], *records: type) -> Any:
    """Read a tree from a file that `write` wrote.

    Raises:
        ValueError: The file was not written by `write`.
    """
    known = {record.__name__: record for record in records}
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop(_HEADER).tobytes())
    except (KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error

    def unpacked(x: Any) -> Any:
        if isinstance(x, list):
            return [unpacked(value) for value in x]
        if not isinstance(x, dict):
            return x
        ((kind, value),) = x.items()
        if kind == "array":
            name, start, shape = value
            size = int(np.prod(shape, dtype=np.int64))
            return arrays[name][start : start + size].reshape(shape)
        if kind == "dict":
            return {unpacked(key): unpacked(item) for key, item in value}
        if kind == "tuple":
            return tuple(unpacked(item) for item in value)
        return known[kind](*(unpacked(item) for item in value))

    return unpacked(header)
