"""GPUs and TPUs: what can be checked without one, and what to run where there is one.

| file          | one idea                                                              |
|---------------|-----------------------------------------------------------------------|
| `program.py`  | a program, and whether JAX can lower it for a GPU and for a TPU       |
| `programs.py` | every public function as such a program                               |
| `layers.py`   | the layers of `jaxgrad.nnx` and its initialisers as programs          |
| `record.py`   | `make device`: run everything on a GPU or TPU, and record the results |
| `exports.py`  | `make exports`: lower them all, and write docs/accelerators.md        |
"""
