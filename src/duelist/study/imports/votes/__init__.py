"""Import votes: plan a file, find out which of its votes are new, and append them to the log."""
