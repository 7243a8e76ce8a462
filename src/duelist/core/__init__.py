"""Values that every room speaks: duels, arms, errors, arrays, files, settings."""
