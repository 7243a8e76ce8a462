"""Import votes: plan a file, find its new votes, and append them to the log."""
