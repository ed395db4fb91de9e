# PortError: test_port.py:0 `x.kept = self`: `kept` of a tensor is set; give the name another tensor
