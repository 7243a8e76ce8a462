"""How raters vote: speed, side, agreement, outliers."""
