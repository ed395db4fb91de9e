"""Mixed precision: torch's autocast and gradient scaling.

| file             | one idea                                                                    |
|------------------|-----------------------------------------------------------------------------|
| `autocast.py`    | evaluate a function with torch's dtype for each operation                   |
| `grad_scaler.py` | scale a float16 loss, unscale its gradients, skip a step that is not finite |
| `_lists.py`      | torch's lists of operations, and their names in JAX                         |
| `_program.py`    | a traced program as a graph of producers, consumers and views               |
| `_operations.py` | groups of equations that torch computes as one operation                    |
| `_norm.py`       | the equations of a normalization                                            |
| `_weights.py`    | arguments that only products use, which torch casts once                    |
| `_binding.py`    | run one equation in other dtypes                                            |
"""
