"""Import items: read files, map their columns, make features, and generate ids."""
