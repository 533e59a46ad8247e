"""Real-world tables: reading, cleaning, and finding the columns that can be features."""

from dagsearch.tables.clean import prepared
from dagsearch.tables.read import TableError, read_table
from dagsearch.tables.roles import Table, load_table

__all__ = ["Table", "TableError", "load_table", "prepared", "read_table"]
