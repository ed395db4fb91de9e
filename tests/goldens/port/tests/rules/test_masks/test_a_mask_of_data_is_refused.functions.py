# PortError: test_masks.py:0 `return h[(own & (x[:, :1] > 0)).any(1)]`: a mask as an index makes a size that depends on values; use torch.where
