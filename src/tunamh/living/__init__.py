"""Rows that come and go: what was computed of every piece of the data is kept; a new piece costs its own rows."""
