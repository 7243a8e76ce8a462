"""How raters vote: speed, side, agreement, reliability, careless raters."""
