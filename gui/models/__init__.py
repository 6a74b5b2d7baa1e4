"""Qt item models over plain data of the core."""
