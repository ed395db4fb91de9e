# PortError: inputs=: torch's Linear called with 0 inputs raised TypeError: Linear.forward() missing 1 required positional argument: 'input'; pass inputs that its forward accepts
