"""`make bench-comparison`: features, agreement, speed and votes to an answer, beside other programs."""
