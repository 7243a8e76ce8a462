"""Compiled numerics: plain functions on arrays, no classes."""
