"""Cluster jobs on Spark and the data that they read."""
