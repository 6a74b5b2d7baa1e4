"""What a report or CSV of Nsight Compute says, as tables: one file a table, all listed in ``registry``."""
