# PortError: test_made_objects.py:0 `self.last = h.tanh()`: `last` of Kept is set in one mode and read in the other, so the next call depends on this one; take it as an argument and return it
