"""One reader a format: from a file to frozen tables."""
