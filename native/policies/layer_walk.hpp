// The walk of layered policies through layers of increasing precision (the idea of SupLinUCB).
//
// A round starts in the first layer with all arms. Let w be the largest width of two remaining arms, times a stretch.
// If w <= finest, exploit. If w <= 2^-layer, eliminate arms and descend one layer. Otherwise explore a pair wider than
// 2^-layer. The walk ends because 2^-layers <= finest.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

// The current layer, and the number of arms that remain there, which workspace.remaining lists.
struct LayerWalk {
    i64 layer, count;
};

// A walk with the arms and the stretch of the walk before it would repeat it down to the first layer that has learned
// since. It starts at the deepest layer reached above that one.
inline LayerWalk start_walk(Workspace& workspace, const ArmTable& table, double stretch) {
    DecisionCache& cache = workspace.cache;
    if (!table.excluded && cache.update_arms(table) && cache.walk_layer >= 0 && cache.walk_key == stretch)
        return {cache.walk_layer, cache.walk_count};
    if (table.excluded) cache.clear();
    for (i64 a = 0; a < table.n; a++) workspace.remaining[a] = a;
    cache.walk_key = stretch;
    cache.walk_layer = 0;
    cache.walk_count = table.n;
    return {0, table.n};
}

// Keep the arms with u >= max u - slack and descend one layer.
inline void descend(LayerWalk& walk, Workspace& workspace, const double* u, double slack) {
    double floor = u[kernels->argmax(u, walk.count)] - slack;
    i64 left = 0;
    for (i64 a = 0; a < walk.count; a++)
        if (u[a] >= floor) workspace.remaining[left++] = workspace.remaining[a];
    left = std::max<i64>(left, 1);  // all comparisons with NaN are false
    walk = {walk.layer + 1, left};
    workspace.cache.walk_layer = walk.layer;
    workspace.cache.walk_count = walk.count;
}

}  // namespace duelist
