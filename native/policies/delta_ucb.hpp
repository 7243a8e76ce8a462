// DeltaUCB (Melikidze et al. 2026): the pair with the largest plausible gap.
#pragma once

#include "policies/arm_bounds.hpp"

namespace duelist {

class DeltaUCB : public SelectionRule {
public:
    explicit DeltaUCB(const Hyperparameters& s) : scale_(s.number("scale")) {}

    bool local() const override { return true; }
    bool reacts_to_pending() const override { return false; }
    bool supports_arm_effects() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        if (workspace.cache.hit(table, 0.0)) return workspace.cache.last;
        if (table.n == 1) return workspace.cache.store({0, 0, 0, 1.0});
        FoundPair pair = largest_gap(bounds_of_arms(state, workspace, table, scale_), table.constraints());
        return workspace.cache.store({pair.first, pair.second, 0, 1.0});
    }

private:
    double scale_;

    // argmax of high_i - low_j over allowed i != j; ties go to the first in row order.
    static FoundPair largest_gap(const ArmBounds& arms, const PairConstraints& constraints) {
        i64 lowest = lowest_but(arms, -1), next = lowest_but(arms, lowest);
        FoundPair found = NO_PAIR;
        for (i64 i = 0; i < arms.n; i++) {
            i64 j = i == lowest ? next : lowest;
            if (found.first >= 0 && !(arms.high(i) - arms.low(j) > found.value)) continue;
            if (constraints.excluded) j = lowest_partner(arms, i, constraints);
            if (j < 0) continue;
            double gap = arms.high(i) - arms.low(j);
            if (found.first < 0 || gap > found.value) found = {i, j, gap};
        }
        return found;
    }

    static i64 lowest_but(const ArmBounds& arms, i64 differences_to_exclude) {
        i64 found = -1;
        for (i64 a = 0; a < arms.n; a++)
            if (a != differences_to_exclude && (found < 0 || arms.low(a) < arms.low(found))) found = a;
        return found;
    }

    static i64 lowest_partner(const ArmBounds& arms, i64 i, const PairConstraints& constraints) {
        i64 found = -1;
        for (i64 a = 0; a < arms.n; a++)
            if (a != i && (found < 0 || arms.low(a) < arms.low(found)) && constraints.allows(i, a)) found = a;
        return found;
    }
};

}  // namespace duelist
