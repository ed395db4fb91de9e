# PortError: test_func_gradients.py:0 `return self.second(x) * torch.func.grad(self.energy)(2.0)`: torch.func.grad over arguments that are not tensors; name the tensors with argnums=
