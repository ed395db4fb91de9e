"""Interpret expressions other than calls: operators, conditions, attributes and elements."""
