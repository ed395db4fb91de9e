# PortError: test_leaf_loops.py:0 `k.data = q.data`: `data` of a tensor is set; give the name another tensor
