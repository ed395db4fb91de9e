"""Find where the gradient of a JAX program differs from torch's, at the values it is run with.

| file          | one idea                                                                      |
|---------------|-------------------------------------------------------------------------------|
| `linter.py`   | trace a program, run it once and return a report                              |
| `walking.py`  | evaluate a program equation by equation, through loops and branches           |
| `rules.py`    | a table of the conventions in which torch and JAX differ, with a remedy each  |
| `places.py`   | masks of the elements at which a convention differs                           |
| `report.py`   | the report, as text and as JSON                                               |
"""
