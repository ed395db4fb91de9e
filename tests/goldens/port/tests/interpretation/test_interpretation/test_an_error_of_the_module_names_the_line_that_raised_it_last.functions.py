# PortError: test_interpretation.py:0 `return {"scale": 2.0}[name]`: this raised KeyError: 'width'; pass inputs on which the module runs
