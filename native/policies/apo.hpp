// APO (Das, Chakraborty, Pacchiano, Chowdhury 2024): the pair of largest uncertainty.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

class APO : public SelectionRule {
public:
    explicit APO(const Hyperparameters&) {}

    bool supports_arm_effects() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        if (workspace.cache.hit(table, 0.0)) return workspace.cache.last;
        FoundPair pair = widest_pair(whiten_all(state, workspace, table), table.constraints(), workspace);
        return workspace.cache.store({pair.first, pair.second, 0, 1.0});
    }
};

}  // namespace duelist
