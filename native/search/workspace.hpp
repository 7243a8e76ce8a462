// Buffers of a decision, and a cache of the last decision. Neither is part of a policy's state: with a fresh workspace
// a policy decides the same bit for bit, only more slowly the first time.
#pragma once

#include "model/solvers.hpp"
#include "search/arm_table.hpp"

namespace duelist {

// A duel: two arms, the layer that learns the outcome (-1: none), and the weight w^2 of the outcome there.
struct Decision {
    i64 first, second, layer;
    double share;
};

// The last decision and the arms it was about.
struct DecisionCache {
    AlignedDoubles arms;
    i64 n = -1, dim = -1;
    bool distinct = false;
    bool decided = false;  // no outcome was learned since `last`
    double key = 0.0;      // the radius, or whatever else determined `last`
    Decision last{};
    i64 walk_layer = -1, walk_count = 0;  // where a walk through the layers can start
    double walk_key = 0.0;

    void clear() { n = -1; }

    // Clear everything, because another state decides next.
    void reset() {
        clear();
        walk_layer = -1;
    }

    // Whether these are the arms of the last call, bit for bit, with the same constraint. If not, store them.
    bool update_arms(const ArmTable& table) {
        i64 size = table.n * table.dim;
        if (n == table.n && dim == table.dim && distinct == table.distinct &&
            kernels->same_bits(arms.data(), table.features, size))
            return true;
        double* to = arms.fit(size);
        std::copy(table.features, table.features + size, to);
        n = table.n;
        dim = table.dim;
        distinct = table.distinct;
        walk_layer = -1;
        decided = false;
        return false;
    }

    // Whether arms, constraint and key are those of the last decision and no outcome was learned since. A rule that is not
    // randomized then decides the same again.
    bool hit(const ArmTable& table, double now) {
        if (table.excluded) {  // exclusions change from round to round
            clear();
            return false;
        }
        bool same = update_arms(table) && decided && key == now;
        key = now;
        if (!same) decided = false;  // until `store` is called
        return same;
    }

    Decision store(const Decision& decision) {
        decided = true;
        last = decision;
        return decision;
    }

    void invalidate(i64 layer) {
        decided = false;
        if (walk_layer > layer) walk_layer = -1;  // the walk has to visit this layer again
    }
};

struct Workspace {
    DecisionCache cache;
    SolverWorkspace solver;
    AlignedIndices remaining, kept;
    AlignedDoubles u, v, reach, line, near, near_u, noise;

    void fit(i64 n, i64 dim) {
        remaining.fit(n);
        kept.fit(n);
        for (AlignedDoubles* numbers : {&u, &reach, &line, &near_u}) numbers->fit(padded(n));
        v.fit(dim * padded(n));
        near.fit(dim * padded(n));
        noise.fit(dim);
    }
};

}  // namespace duelist
