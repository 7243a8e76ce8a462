"""Every change of the schema, one file each in `versions/`, applied in order; never edited once released."""
