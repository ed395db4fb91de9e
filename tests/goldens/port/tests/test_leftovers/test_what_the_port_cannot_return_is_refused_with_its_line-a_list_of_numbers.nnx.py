# PortError: test_leftovers.py:0 `self.history.append(1)`: `history` is changed while the module runs, and the port cannot return it; return it from forward, or leave the change out
