# PortError: test_leftovers.py:0 `self.object.count += 1`: `count` is read and then set while the module runs, so the next call depends on this one; take it as an argument and return it
