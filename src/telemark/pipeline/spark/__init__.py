"""Spark itself: its session, the record tables as DataFrames, and folders behind URLs."""
