"""How people take part in a study: how they arrive, what they see besides pairs, and how they leave."""
