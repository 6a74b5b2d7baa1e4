"""Opened traces as the window holds them: documents, and what they are asked for. No widgets here."""
