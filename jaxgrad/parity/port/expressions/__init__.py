"""Interpret expressions that are no calls: operators, conditions, attributes and elements."""
