"""The drivers: they call nodes, wait, and tell the machine; nothing is decided here."""
