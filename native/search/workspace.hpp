// Room that a decision works in, and what was decided last. Nothing in it is knowledge: a policy with a fresh scratch decides
// the same, to the bit, only slower the first time.
#pragma once

#include "model/solvers.hpp"
#include "search/arm_table.hpp"

namespace duelist {

// A duel decided: two arms, the estimator that will learn the outcome (-1: none), and the weight w^2 it enters with.
struct Decision {
    i64 first, second, layer;
    double share;
};

// What was decided last, and for which arms.
struct DecisionCache {
    AlignedDoubles seen;
    i64 n = -1, dim = -1;
    bool distinct = false;
    bool decided = false;  // nothing was learned since `last`
    double key = 0.0;      // the radius, or whatever else `last` was decided by
    Decision last{};
    i64 walk_layer = -1, walk_count = 0;  // how far a walk through the layers can start
    double walk_key = 0.0;

    void forget() { n = -1; }

    // Nothing is remembered, neither arms nor where a walk through the layers can start: another state decides.
    void start_over() {
        forget();
        walk_layer = -1;
    }

    // Whether these are the arms seen last, bit for bit, and the same may be asked; if not, they are now.
    bool same_arms(const ArmTable& table) {
        i64 size = table.n * table.dim;
        if (n == table.n && dim == table.dim && distinct == table.distinct &&
            kernels->same_bits(seen.data(), table.features, size))
            return true;
        double* to = seen.fit(size);
        std::copy(table.features, table.features + size, to);
        n = table.n;
        dim = table.dim;
        distinct = table.distinct;
        walk_layer = -1;
        decided = false;
        return false;
    }

    // Whether the last decision was about these arms and this key, and nothing was learned since: a rule that draws no
    // random numbers then decides the same again.
    bool recall(const ArmTable& table, double now) {
        if (table.excluded) {  // what is out with others changes from round to round
            forget();
            return false;
        }
        bool same = same_arms(table) && decided && key == now;
        key = now;
        if (!same) decided = false;  // until this round is remembered
        return same;
    }

    Decision remember(const Decision& decision) {
        decided = true;
        last = decision;
        return decision;
    }

    void learned_in(i64 layer) {
        decided = false;
        if (walk_layer > layer) walk_layer = -1;  // a walk through the layers must look at this one again
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
