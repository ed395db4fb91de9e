"""Trees of arrays, records and plain values as one .npz file, without pickle.

The arrays lie end to end, one entry a dtype; a JSON header says how the tree is made of them.
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
    """Write a tree.

    Args:
      path: Where to, as it is: no suffix is added.
      tree: Dicts, lists, tuples, dataclasses, numpy arrays and scalars, strings, numbers, None.

    Raises:
      TypeError: Something else is in it.
    """
    flat: dict[str, list[np.ndarray]] = {}
    sizes: dict[str, int] = {}

    def packed(x: Any) -> Any:
        if isinstance(x, np.ndarray | np.generic):
            x = np.asarray(x)
            if x.dtype.kind not in "biufc":
                raise TypeError(f"an array of dtype {x.dtype} cannot be written")
            kind = x.dtype.name
            start = sizes.get(kind, 0)
            flat.setdefault(kind, []).append(x.ravel())
            sizes[kind] = start + x.size
            return {"array": [kind, start, list(x.shape)]}
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
        raise TypeError(f"a {type(x).__name__} cannot be written")

    header = np.frombuffer(json.dumps(packed(tree)).encode(), np.uint8)
    arrays: dict[str, Any] = {kind: np.concatenate(parts) for kind, parts in flat.items()}
    with open(path, "wb") as file:
        np.savez(file, **{_HEADER: header}, **arrays)


def read(path: str | os.PathLike[str], *records: type) -> Any:
    """Read what `write` wrote.

    Args:
      path: Of the file.
      records: The dataclasses that may be in it.

    Raises:
      ValueError: It is no such file.
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
