# PortError: test_stores.py:0 `del self.first`: `first` is deleted, and this run has not set it where it is deleted; leave it
