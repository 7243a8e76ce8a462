// GreedyChallenger (Di et al. 2024, equation colstim_sel): the arm of largest estimated utility, and its strongest
// challenger.
#pragma once

#include "policies/radius_settings.hpp"

namespace duelist {

class GreedyChallenger : public RadiusRule {
public:
    using RadiusRule::RadiusRule;

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        double beta = radius_.flat(state, workspace);
        if (workspace.cache.hit(table, beta)) return workspace.cache.last;
        ArmView view = whiten_all(state, workspace, table);
        ArmSubset all_arms = ArmSubset::all(table.n);
        i64 first = best_scored(view.u, all_arms, table, all_arms);
        if (first < 0) return {-1, -1, 0, 0.0};
        return workspace.cache.store(
            {first, challenger(view, first, 2.0 * beta, table.constraints(), workspace), 0, 1.0});
    }
};

}  // namespace duelist
