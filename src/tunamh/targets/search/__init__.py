"""Searches for the modes of a posterior."""
