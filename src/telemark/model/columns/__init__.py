"""The registry of columns: name, type, unit, direction and meaning of everything that is stored, once.

Schemas, thresholds, comparisons, score cards, `telemark sql --help` and the reference pages all read it.
"""

from telemark.model.columns.column import Better, Column, Table, Unit
from telemark.model.columns.measured import of_server_host
from telemark.model.columns.named import KEY
from telemark.model.columns.records import RECORD_TABLES
from telemark.model.columns.results import CARD, POINTS, RESULT_TABLES, card_of
from telemark.model.columns.statistics import FULL, between_hosts

__all__ = [
    "CARD",
    "FULL",
    "KEY",
    "POINTS",
    "RECORD_TABLES",
    "RESULT_TABLES",
    "Better",
    "Column",
    "Table",
    "Unit",
    "between_hosts",
    "card_of",
    "of_server_host",
]
