"""Parts that several pages or the window use. They know the theme, never a page or the run."""
