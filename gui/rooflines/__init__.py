"""What opened documents offer to the Roofline page, without widgets: points, ceilings, verdicts."""
