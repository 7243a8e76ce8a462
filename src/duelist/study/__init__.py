"""Live studies: ask and tell that survive anything."""
