"""Rows from anywhere: Parquet files, blocks of your own, data frames of a cluster."""

from .opening import open_rows

__all__ = ["open_rows"]
