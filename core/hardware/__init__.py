"""What this machine has: GPUs through NVML, the host through psutil."""
