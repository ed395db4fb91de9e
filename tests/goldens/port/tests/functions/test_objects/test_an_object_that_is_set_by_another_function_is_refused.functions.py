# PortError: test_objects.py:0 `scaler.mean = scaler.mean * 2`: `mean` of an object that is an argument is set; set it where the object is made
