"""Data that change: files are added, changed or deleted, and rows are forgotten.

A cache keeps what tunamh has computed from each piece of the data. So the next run reads only pieces that are new or
changed.
"""
