"""How raters differ: reliability, side bias, habit of ties and lapses, estimated with the utilities; careless raters."""
