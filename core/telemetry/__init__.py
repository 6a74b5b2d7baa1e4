"""What running jobs report: the wire format, tailing files, growing series, log lines."""
