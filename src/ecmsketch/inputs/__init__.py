"""What comes from outside: items, ticks and columns, checked and turned into numbers."""
