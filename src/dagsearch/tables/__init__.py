"""Tables as people keep them: reading them, cleaning them, and which columns can be features."""

from dagsearch.tables.clean import prepared
from dagsearch.tables.read import Limits, TableError, TextFormat, read_table
from dagsearch.tables.roles import Roles, Table, load_table, split_target

__all__ = [
    "Limits",
    "Roles",
    "Table",
    "TableError",
    "TextFormat",
    "load_table",
    "prepared",
    "read_table",
    "split_target",
]
