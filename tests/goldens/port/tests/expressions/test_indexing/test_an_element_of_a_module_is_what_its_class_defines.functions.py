"""JAX port of Picks (expressions/test_indexing.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def picks(p, x):
    """Picks (expressions/test_indexing.py:0): x (N, 4) -> (N, 2)."""
    return x @ getitem(p["rows"]).T + getitem_2(p["rows"])


def getitem(p):
    """Rows.__getitem__ (expressions/test_indexing.py:0): returns (2, 4)."""
    return p["weight"][1:3] * 2


def getitem_2(p):
    """Rows.__getitem__ (expressions/test_indexing.py:0): returns (2,)."""
    return p["weight"][0, :2] * 2

# ---- the next port of this test ----
"""JAX port of Picks (expressions/test_indexing.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""


def picks(p, x):
    """Picks (expressions/test_indexing.py:0): x (N, 4) -> (N, 2)."""
    return x @ getitem(p["rows"]).T + getitem_2(p["rows"])


def getitem(p):
    """Rows.__getitem__ (expressions/test_indexing.py:0): returns (2, 4)."""
    return p["weight"][1:3] * 2


def getitem_2(p):
    """Rows.__getitem__ (expressions/test_indexing.py:0): returns (2,)."""
    return p["weight"][0, :2] * 2
