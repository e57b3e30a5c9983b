"""Sorting, from Python."""
