# PortError: test_inplace.py:0 `torch.max(self.first(x).detach(), 1, out=(h, places))`: `out=` of several tensors is not ported; assign the results
