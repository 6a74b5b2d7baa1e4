"""Running the same model on the machine's edge devices, and judging what comes back."""
