"""Frozen dataclasses that describe what to run. No I/O, no pyspark, no sockets."""
