// InfoMax (Melikidze et al. 2026, after Saha 2021): the pair with the widest confidence interval for its win
// probability.
#pragma once

#include "policies/arm_bounds.hpp"

namespace duelist {

class InfoMax : public SelectionRule {
public:
    explicit InfoMax(const Hyperparameters& s) : scale_(s.number("scale")) {}

    bool local() const override { return true; }
    bool reacts_to_pending() const override { return false; }
    bool supports_arm_effects() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        if (workspace.cache.hit(table, 0.0)) return workspace.cache.last;
        if (table.n == 1) return workspace.cache.store({0, 0, 0, 1.0});
        ArmBounds arms = bounds_of_arms(state, workspace, table, scale_);
        FoundPair pair = with_link(state.link, [&](auto link) { return loosest(link, arms, table.constraints()); });
        return workspace.cache.store({pair.first, pair.second, 0, 1.0});
    }

private:
    double scale_;

    // argmax over allowed i < j of mu(high_i - low_j) - mu(low_i - high_j); ties go to the first.
    template <class L>
    static FoundPair loosest(L link, const ArmBounds& arms, const PairConstraints& constraints) {
        FoundPair found = NO_PAIR;
        for (i64 i = 0; i + 1 < arms.n; i++)
            for (i64 j = i + 1; j < arms.n; j++) {
                double most = arms.high(i) - arms.low(j), least = arms.low(i) - arms.high(j);
                // The difference is at most L_mu (most - least), so well-known pairs need no exponential.
                if (found.first >= 0 && link.max_slope * (most - least) < found.value) continue;
                double value = link.mean(most) - link.mean(least);
                if ((found.first < 0 || value > found.value) && constraints.allows(i, j)) found = {i, j, value};
            }
        return found;
    }
};

}  // namespace duelist
