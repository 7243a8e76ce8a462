// RCDB (Di, He, Gu 2024): the pair of MaxPairUCB, with votes weighted down by their uncertainty.
#pragma once

#include "policies/radius_settings.hpp"

namespace duelist {

class RCDB : public RadiusRule {
public:
    explicit RCDB(const Hyperparameters& s)
        : RadiusRule(s), trust_(s.number("trust")), corruption_(s.number("corruption")) {}

    bool supports_arm_effects() const override { return false; }  // it weights votes

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        double beta = radius_.flat(state, workspace), trust = trusted_width(state);
        // With a constant radius, only the trusted width shows that a guessed horizon has changed.
        if (workspace.cache.hit(table, radius_.kind == RadiusKind::constant ? trust : beta))
            return workspace.cache.last;
        ArmView view = whiten_all(state, workspace, table);
        FoundPair pair = best_pair(view, beta, table.constraints(), workspace);
        if (pair.first < 0) return {-1, -1, 0, 0.0};
        double square = view.squared_width(pair.second, pair.first);
        double weight = square <= trust * trust ? 1.0 : trust / std::sqrt(square);
        return workspace.cache.store({pair.first, pair.second, 0, weight});
    }

    LayerAssignment assign_layer(PolicyState& state, const double* z, Workspace& workspace) const override {
        double trust = trusted_width(state), width = state.width(0, z, workspace.solver);
        return {0, width <= trust ? 1.0 : trust / width};
    }

private:
    double trust_;       // 0: sqrt(d) / corruption
    double corruption_;  // 0: sqrt(T)

    // The width up to which a vote of this round has full weight.
    double trusted_width(const PolicyState& state) const {
        if (trust_ > 0.0) return trust_;
        double corruption = corruption_ > 0.0 ? corruption_ : std::sqrt(radius_.horizon_in(state));
        return std::sqrt(static_cast<double>(state.dim)) / corruption;
    }
};

}  // namespace duelist
