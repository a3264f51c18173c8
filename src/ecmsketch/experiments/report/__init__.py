"""A report of stored results: figures, tables and checked claims."""
