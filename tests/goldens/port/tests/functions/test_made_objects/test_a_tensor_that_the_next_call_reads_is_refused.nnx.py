# PortError: test_made_objects.py:0 `self.last = h`: `last` is read and then set while the module runs, so the next call depends on this one; take it as an argument and return it
