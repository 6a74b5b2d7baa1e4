"""Charts that move while a job runs: ticks, axes, curves, heat maps and what one can do with them.

Knows core's series and the theme's colours, no pages and no widgets of the shell.
"""
