"""The window: everything that needs Qt. Nothing in ``core`` imports from here."""
