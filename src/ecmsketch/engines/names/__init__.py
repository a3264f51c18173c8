"""Names of items: candidates for heavy hitters, and the texts behind their hashes."""
