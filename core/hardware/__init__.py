"""What GPUs this machine has and what they do, through NVML."""
