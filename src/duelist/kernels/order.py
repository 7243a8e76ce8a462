"""Sorting and picking, written out: NumPy's own take Numba ten times as long to compile."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from duelist.compiled import compiled_apart

Vector = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled_apart
def descending(values: Vector) -> Ints:
    """Positions from the largest value to the smallest, equal ones in their order (merge sort)."""
    n = values.size
    order, spare = np.arange(n), np.empty(n, np.int64)
    run = 1
    while run < n:
        for start in range(0, n, 2 * run):
            middle, stop = min(start + run, n), min(start + 2 * run, n)
            left, right = start, middle
            for k in range(start, stop):
                if left < middle and (right == stop or values[order[left]] >= values[order[right]]):
                    spare[k] = order[left]
                    left += 1
                else:
                    spare[k] = order[right]
                    right += 1
        order, spare = spare, order
        run *= 2
    return order


@compiled_apart
def kth_largest(values: Vector, k: int) -> float:
    """The value that k values, itself included, are at least as large as (Hoare's selection)."""
    pool = values.copy()
    low, high, target = 0, pool.size - 1, k - 1
    while low < high:
        pivot = pool[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while pool[left] > pivot:
                left += 1
            while pool[right] < pivot:
                right -= 1
            if left <= right:
                pool[left], pool[right] = pool[right], pool[left]
                left += 1
                right -= 1
        if target <= right:
            high = right
        elif target >= left:
            low = left
        else:
            break
    return pool[target]


@compiled_apart
def largest(values: Vector, k: int) -> Ints:
    """Positions of the k largest values, ascending; of equal values at the edge, the first."""
    least = kth_largest(values, k)
    room = k
    for value in values:
        if value > least:
            room -= 1
    chosen = np.empty(k, np.int64)
    count = 0
    for i in range(values.size):
        if values[i] > least or (values[i] == least and room > 0):
            if values[i] == least:
                room -= 1
            chosen[count] = i
            count += 1
    return chosen


@compiled_apart
def picked(values: Any, positions: Ints) -> Any:
    """values[positions]."""
    chosen = np.empty(positions.size, values.dtype)
    for i in range(positions.size):
        chosen[i] = values[positions[i]]
    return chosen


@compiled_apart
def largest_size(values: Vector) -> float:
    """max |value|; 0 if there are none."""
    most = 0.0
    for value in values:
        most = max(most, abs(value))
    return most


@compiled_apart
def all_equal(values: Vector) -> bool:
    """Whether every value is the first one."""
    same = True
    for value in values:
        same = same and value == values[0]
    return same
