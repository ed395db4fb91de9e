"""Common porting mistakes, written as changes of one torch call."""
