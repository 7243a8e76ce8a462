"""Parse columns of numbers as people and spreadsheets write them.

A column is used only where its meaning is certain.
"""
