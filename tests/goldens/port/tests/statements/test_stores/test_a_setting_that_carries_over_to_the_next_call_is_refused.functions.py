# PortError: test_stores.py:0 `self.factor += 1`: `factor` is read and then set on a module while it runs, so the next call depends on this one; take it as an argument and return it
