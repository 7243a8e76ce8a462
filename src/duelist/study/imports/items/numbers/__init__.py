"""Number parsing: columns of numbers as people and spreadsheets write them. A column is read only where its meaning is certain."""
