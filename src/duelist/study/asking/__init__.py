"""Ask raters for votes on pairs."""
