"""Warnings for ports: where a JAX program answers differently from torch, at the values it saw.

| file          | one idea                                                                      |
|---------------|-------------------------------------------------------------------------------|
| `linter.py`   | trace a program, run it once, hand back what was found                        |
| `walking.py`  | every equation of a program with its values, turn by turn                     |
| `rules.py`    | one row for each convention: where torch and JAX part, and the remedy         |
| `places.py`   | at which elements a row holds                                                 |
| `report.py`   | what was found, for a person and for a machine                                |
"""
