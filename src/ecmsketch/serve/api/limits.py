"""How much one request may ask for."""

MAX_K = 1_000
"""Items that a list has at most."""
MAX_STEPS = 1_000
"""Steps that a history has at most."""
MAX_ITEMS = 100
"""Items that one request may ask about."""
MAX_ITEM_LENGTH = 16_384
"""Characters of an item."""
MAX_SITES = 1_000
"""Sites that one request may name."""
MAX_SHARES = 100
"""Quantiles that one request may ask for."""
MAX_ALERTS = 1_000
"""Alerts that one answer holds."""
