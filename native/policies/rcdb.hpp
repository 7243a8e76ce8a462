// RCDB (Di, He, Gu 2024): MaxPairUCB's pair; votes count for less the less was known about them.
#pragma once

#include "policies/radius_settings.hpp"

namespace duelist {

class RCDB : public SelectionRule {
public:
    explicit RCDB(const Hyperparameters& s)
        : radius_(s), trust_(s.number("trust")), corruption_(s.number("corruption")) {}

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        double beta = radius_.flat(state), trust = trusted_width(state);
        // Where the radius is a constant, only the trust tells that a guessed horizon has moved on.
        if (workspace.cache.recall(table, radius_.kind == RadiusKind::constant ? trust : beta))
            return workspace.cache.last;
        ArmView view = whiten_all(state, workspace, table);
        FoundPair pair = best_pair(view, beta, table.constraints(), workspace);
        if (pair.first < 0) return {-1, -1, 0, 0.0};
        double square = view.square(pair.second, pair.first);
        double weight = square <= trust * trust ? 1.0 : trust / std::sqrt(square);
        return workspace.cache.remember({pair.first, pair.second, 0, weight});
    }

    LayerAssignment place(PolicyState& state, const double* z, Workspace& workspace) const override {
        double trust = trusted_width(state), width = state.width(0, z, workspace.solver);
        return {0, width <= trust ? 1.0 : trust / width};
    }

private:
    RadiusSettings radius_;
    double trust_;       // 0: sqrt(d) / corruption
    double corruption_;  // 0: sqrt(T)

    // The width up to which a vote of this round counts in full.
    double trusted_width(const PolicyState& state) const {
        if (trust_ > 0.0) return trust_;
        double corruption = corruption_ > 0.0 ? corruption_ : std::sqrt(radius_.horizon_in(state));
        return std::sqrt(static_cast<double>(state.dim)) / corruption;
    }
};

}  // namespace duelist
