# PortError: test_port.py:0 `x = checkpoint(self.norms, x, use_reentrant=False)`: checkpoint around buffers that change, which torch changes again in the backward pass; port it without checkpoint
