"""What policies are worth for the jobs that people have: name the best arm, rank them all, show good ones."""
