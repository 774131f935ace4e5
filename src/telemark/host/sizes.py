"""How much memory and disk the parts of a run take on Linux. Measured, rounded up; for estimates, never for results."""

from __future__ import annotations

from typing import Final

DEVICE_BYTES: Final = 4_096  # a device of the engine
SOCKET_BYTES: Final = 12_000  # kernel memory of both ends of a loopback connection
TLS_BYTES: Final = 50_000  # TLS state of a device
SESSION_BYTES: Final = 4_000  # what a small server keeps for a device
PROCESS_BYTES: Final = 120_000_000  # one engine process: Python, Arrow, record buffers
ROW_BYTES: Final = 6  # a delivery on disk; benchmarks/row_size.py measured 5.4
CORE_RATE: Final = 50_000  # messages in and out a second that a core of a load host carries without a calibration
SPARK_ROWS: Final = 1_000_000  # deliveries a second that one core analyses; docs/performance-pipeline.md: 60 M in 60 s
