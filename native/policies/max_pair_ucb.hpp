// MaxPairUCB (Di et al. 2024, sections 4.4 and 6): argmax over pairs of (x + y) . theta + beta |x - y|.
#pragma once

#include "policies/radius_settings.hpp"

namespace duelist {

class MaxPairUCB : public RadiusRule {
public:
    using RadiusRule::RadiusRule;

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        double beta = radius_.flat(state, workspace);
        if (workspace.cache.hit(table, beta)) return workspace.cache.last;
        ArmView view = whiten_all(state, workspace, table);
        FoundPair pair = best_pair(view, beta, table.constraints(), workspace);
        return workspace.cache.store({pair.first, pair.second, 0, 1.0});
    }
};

}  // namespace duelist
