# PortError: test_leftovers.py:0 `self.tensors[0].add_(1)`: `tensors` is changed while the module runs, and the port cannot return it; return it from forward, or leave the change out
