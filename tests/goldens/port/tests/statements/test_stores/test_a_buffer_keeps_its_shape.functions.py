# PortError: test_stores.py:0 `self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)`: the buffer `mean` is torch.float32[1] and is set to torch.float32[4]; give it one shape and dtype
