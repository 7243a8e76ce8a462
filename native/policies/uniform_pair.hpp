// UniformPair: a uniformly random pair of different arms.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

class UniformPair : public SelectionRule {
public:
    explicit UniformPair(const Hyperparameters&) {}

    bool draws() const override { return true; }

    Decision decide(PolicyState& state, Workspace&, const ArmTable& table) const override {
        FoundPair pair = uniform_pair(state.random, table);
        return {pair.first, pair.second, 0, 1.0};
    }

    bool supports_arm_effects() const override { return true; }

    Decision decide_with_effects(const ArmEffectsState&, Sfc64& random, i64, const ArmTable& table) const override {
        FoundPair pair = uniform_pair(random, table);
        return {pair.first, pair.second, 0, 1.0};
    }
};

}  // namespace duelist
