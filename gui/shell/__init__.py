"""What the main window does besides showing pages: opening, dropping, asking, starting and leaving."""
