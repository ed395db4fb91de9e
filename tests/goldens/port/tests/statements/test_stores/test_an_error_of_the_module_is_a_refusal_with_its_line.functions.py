# PortError: test_stores.py:0 `return h * {"a": 1}["b"]`: this raised KeyError: 'b'; pass inputs on which the module runs
