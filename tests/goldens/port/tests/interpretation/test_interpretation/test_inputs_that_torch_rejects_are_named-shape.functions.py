# PortError: inputs=: torch's Linear called with 1 input (float32[4, 5]) raised RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x5 and 3x2); pass inputs that its forward accepts
