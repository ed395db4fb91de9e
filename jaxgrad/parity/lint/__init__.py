"""Find where a JAX program's gradient differs from torch's, for the values of one run.

| file          | purpose                                                                       |
|---------------|-------------------------------------------------------------------------------|
| `linter.py`   | trace a program, run it once and return a report                              |
| `walking.py`  | evaluate a program equation by equation, through loops and branches           |
| `rules.py`    | a table of the conventions in which torch and JAX differ, with a remedy each  |
| `places.py`   | masks of the elements at which a convention differs                           |
| `report.py`   | the report, as text and as JSON                                               |
| `command.py`  | the command `lint` of `python -m jaxgrad.parity`                              |
"""
