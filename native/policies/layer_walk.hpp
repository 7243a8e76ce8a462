// What layered policies share: the walk through layers of rising precision (SupLinUCB's idea).
//
// A round starts in the first layer with all arms. In a layer, with w the largest width of two remaining arms (times a stretch):
// w <= finest: exploit; w <= 2^-layer: drop arms and go one layer deeper; otherwise explore a pair wider than 2^-layer. Since
// 2^-layers <= finest, the walk ends.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

// Where a walk is: a layer, and how many arms remain there, listed in scratch.remaining.
struct Walk {
    i64 layer, count;
};

// A walk that meets the arms and the stretch of the walk before it would repeat it down to the first layer that has
// learned since, so it starts from the deepest layer reached above that one.
inline Walk start_walk(Scratch& scratch, const Table& table, double stretch) {
    Memo& memo = scratch.memo;
    if (!table.out && memo.same_arms(table) && memo.walk_layer >= 0 && memo.walk_key == stretch)
        return {memo.walk_layer, memo.walk_count};
    if (table.out) memo.forget();
    for (i64 a = 0; a < table.n; a++) scratch.remaining[a] = a;
    memo.walk_key = stretch;
    memo.walk_layer = 0;
    memo.walk_count = table.n;
    return {0, table.n};
}

// Keep the arms with u >= max u - slack, and go one layer deeper.
inline void go_deeper(Walk& walk, Scratch& scratch, const double* u, double slack) {
    double floor = u[kernels->argmax(u, walk.count)] - slack;
    i64 left = 0;
    for (i64 a = 0; a < walk.count; a++)
        if (u[a] >= floor) scratch.remaining[left++] = scratch.remaining[a];
    left = std::max<i64>(left, 1);  // numbers that overflow are larger than nothing
    walk = {walk.layer + 1, left};
    scratch.memo.walk_layer = walk.layer;
    scratch.memo.walk_count = walk.count;
}

}  // namespace duelist
