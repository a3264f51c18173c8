collect_ignore = ["replaced"]
"""Its modules have the names of those that they replace."""
