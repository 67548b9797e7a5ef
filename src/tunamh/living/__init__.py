"""Rows that come and go: what was computed of every piece of the data is kept, so that a new piece costs its own rows."""
