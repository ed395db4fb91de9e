# PortError: mymodel.py:0 `return x * x.max().item()`: item() reads the value of a tensor, which is not known when JAX traces; keep it as a tensor, or pass the number as an argument
