"""The items of a study: adding, changing, retiring, features."""
