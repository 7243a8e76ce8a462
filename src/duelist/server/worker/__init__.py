"""The background worker: a process for exports, imports and analyses."""
