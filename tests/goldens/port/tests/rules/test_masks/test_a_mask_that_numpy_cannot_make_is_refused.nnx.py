# PortError: test_masks.py:0 `return (h @ h.T)[own]`: this mask as an index depends on sizes alone, but it is not made by operators that numpy has too in the function that uses it; use torch.where
