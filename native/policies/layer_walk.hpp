// What layered policies share: the walk through layers of rising precision (SupLinUCB's idea).
//
// A round starts in the first layer with all arms. In a layer, with w the largest width of two remaining arms (times a stretch):
// w <= finest: exploit; w <= 2^-layer: drop arms and go one layer deeper; otherwise explore a pair wider than 2^-layer. Since
// 2^-layers <= finest, the walk ends.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

// Where a walk is: a layer, and how many arms remain there, listed in scratch.remaining.
struct LayerWalk {
    i64 layer, count;
};

// A walk that meets the arms and the stretch of the walk before it would repeat it down to the first layer that has
// learned since, so it starts from the deepest layer reached above that one.
inline LayerWalk start_walk(Workspace& workspace, const ArmTable& table, double stretch) {
    DecisionCache& cache = workspace.cache;
    if (!table.excluded && cache.same_arms(table) && cache.walk_layer >= 0 && cache.walk_key == stretch)
        return {cache.walk_layer, cache.walk_count};
    if (table.excluded) cache.forget();
    for (i64 a = 0; a < table.n; a++) workspace.remaining[a] = a;
    cache.walk_key = stretch;
    cache.walk_layer = 0;
    cache.walk_count = table.n;
    return {0, table.n};
}

// Keep the arms with u >= max u - slack, and go one layer deeper.
inline void go_deeper(LayerWalk& walk, Workspace& workspace, const double* u, double slack) {
    double floor = u[kernels->argmax(u, walk.count)] - slack;
    i64 left = 0;
    for (i64 a = 0; a < walk.count; a++)
        if (u[a] >= floor) workspace.remaining[left++] = workspace.remaining[a];
    left = std::max<i64>(left, 1);  // numbers that overflow are larger than nothing
    walk = {walk.layer + 1, left};
    workspace.cache.walk_layer = walk.layer;
    workspace.cache.walk_count = walk.count;
}

}  // namespace duelist
