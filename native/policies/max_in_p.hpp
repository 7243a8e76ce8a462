// MaxInP (Saha 2021; Di et al. 2024, section 4.4): the widest pair of the arms that may be best.
#pragma once

#include "policies/radius_settings.hpp"

namespace duelist {

class MaxInP : public RadiusRule {
public:
    using RadiusRule::RadiusRule;

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        double beta = radius_.flat(state, workspace);
        if (workspace.cache.hit(table, beta)) return workspace.cache.last;
        ArmView view = whiten_all(state, workspace, table);
        i64* promising = workspace.remaining.data();  // C_t
        i64 count = undominated(view, beta, promising, workspace);
        kernels->pick_columns(view.v, view.stride, view.dim, promising, count, workspace.near.data(), padded(count));
        ArmView kept{nullptr, workspace.near.data(), count, padded(count), view.dim};
        if (table.constraints().unconstrained()) {
            FoundPair pair = widest_pair(kept, {}, workspace);
            return workspace.cache.store({promising[pair.first], promising[pair.second], 0, 1.0});
        }
        FoundPair pair = widest_pair(kept, table.constraints(promising), workspace);
        if (pair.first >= 0) return workspace.cache.store({promising[pair.first], promising[pair.second], 0, 1.0});
        // No pair of promising arms is allowed, so one of them is paired with another arm.
        whiten_all(state, workspace, table);  // the search above may have overwritten the columns
        auto width = [](i64, i64, double square) { return square; };
        pair = best_pair_with(view, membership({promising, count}, table.n), table.constraints(), workspace, width);
        if (pair.first < 0) pair = widest_pair(view, table.constraints(), workspace);
        return workspace.cache.store({pair.first, pair.second, 0, 1.0});
    }
};

}  // namespace duelist
