"""Fuzzing of everything that reads data of others: snapshots, archives, tables, plans and payloads (`make fuzz`).

A case is a target and a number, which seeds everything about the case. A case passes if the code accepts the input or
raises a DuelistError. It fails on any other exception, on more than 5 seconds of processor time, and on more than
500 MB of memory.

    python -m tests.fuzzing.worker archives --first 1234 --cases 1      # repeat one case
"""
