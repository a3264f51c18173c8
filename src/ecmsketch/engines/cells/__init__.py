"""Cells: a window counter in each cell of one Count-Min table, as in the paper."""
