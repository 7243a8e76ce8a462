"""Reports of experiments: findings, figures, pages, and the templates of their text."""
