# PortError: test_static_inputs.py:0 `return x[x > 0] if several else x`: a mask as an index makes a size that depends on values; use torch.where
