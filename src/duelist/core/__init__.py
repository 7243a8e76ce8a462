"""Values shared by all rooms: arms, duels, errors, arrays, files, seeds, settings."""
