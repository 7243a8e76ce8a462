"""Quality of decisions and estimates, on generated and real votes."""
