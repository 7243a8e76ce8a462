// LocalPairUCB: the best pair by an upper confidence bound in the curvature at the estimate, with a shrinking bonus.
#pragma once

#include "policies/local_bonus.hpp"
#include "policies/radius_settings.hpp"

namespace duelist {

class LocalPairUCB : public RadiusRule {
public:
    using RadiusRule::RadiusRule;

    bool local() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        double horizon = radius_.horizon_in(state), beta = radius_.factor;
        if (radius_.kind == RadiusKind::theory)
            beta *= log_loss_radius(table.dim, state.rounds, state.bound, std::sqrt(state.units), state.layer(0).ridge,
                                    radius_.delta);
        if (radius_.kind == RadiusKind::tight) beta = radius_.tight(state, workspace, true);
        bool by_shape = radius_.kind == RadiusKind::shape;
        if (workspace.cache.hit(table, by_shape ? horizon : beta)) return workspace.cache.last;
        ArmView view = whiten_all(state, workspace, table, true);
        FoundPair pair = by_shape
                             ? best_local_pair(view, {state.link, 2.0 * beta, horizon}, table.constraints(), workspace)
                             : best_pair(view, beta, table.constraints(), workspace);
        return workspace.cache.store({pair.first, pair.second, 0, 1.0});
    }

    // The best of all pairs of the leader, and of all pairs among the 64 arms of largest u + r sqrt(variance), where r
    // is the bonus per width of a pair of twice the largest variance. Up to 64 arms these are all pairs.
    Decision decide_with_effects(const ArmEffectsState& known, Sfc64&, i64 t, const ArmTable& table) const override {
        ArmEffectsView view(known, table);
        PairConstraints constraints = table.constraints();
        LocalBonus bonus{known.link, 2.0 * EFFECTS_STRETCH * radius_.factor, effective_horizon(radius_.horizon, t)};
        i64 n = table.n, leader = view.leader(constraints);
        if (leader < 0) return {-1, -1, 0, 0.0};
        AlignedDoubles squares(padded(n)), near_u(padded(n)), values(padded(n));
        FoundPair found = constraints.distinct ? NO_PAIR : FoundPair{leader, leader, 2.0 * view.u()[leader]};
        auto try_pairs = [&](i64 arm, const ArmSubset& partners) {
            view.squared_widths(arm, partners, squares.data());
            for (i64 k = 0; k < partners.n; k++) near_u[k] = view.u()[partners.arm(k)];
            pair_values(bonus, view.u()[arm], near_u.data(), squares.data(), values.data(), partners.n);
            for (i64 k = 0; k < partners.n; k++) {
                i64 other = partners.arm(k);
                if (other == arm || (found.first >= 0 && !(values[k] > found.value)) || !constraints.allows(arm, other))
                    continue;
                found = {std::min(arm, other), std::max(arm, other), values[k]};
            }
        };
        try_pairs(leader, ArmSubset::all(n));
        std::vector<i64> candidates = promising_arms(view, bonus);
        for (i64 k = 0; k + 1 < static_cast<i64>(candidates.size()); k++)
            try_pairs(candidates[k], ArmSubset::after(candidates, k));
        return {found.first, found.second, 0, 1.0};
    }

private:
    static constexpr i64 PROMISING = 64;
    // Where votes choose the prior variances, widths fit the utilities and c can be smaller: 1 instead of 1.4.
    static constexpr double EFFECTS_STRETCH = 1.0 / 1.4;

    void pair_values(const LocalBonus& bonus, double own, const double* u, double* squares, double* out, i64 n) const {
        if (radius_.kind == RadiusKind::shape) return bonus.values(own, u, squares, out, n);
        for (i64 k = 0; k < n; k++) out[k] = own + u[k] + radius_.factor * std::sqrt(squares[k]);
    }

    std::vector<i64> promising_arms(const ArmEffectsView& view, const LocalBonus& bonus) const {
        i64 n = view.n();
        double widest = 2.0 * view.variance()[kernels->argmax(view.variance(), n)];
        double radius = radius_.kind == RadiusKind::shape ? bonus.radius(widest, 0.0) : radius_.factor;
        std::vector<double> scores(static_cast<std::size_t>(n));
        for (i64 a = 0; a < n; a++) scores[a] = view.u()[a] + radius * std::sqrt(std::max(view.variance()[a], 0.0));
        return ArmEffectsView::largest(scores.data(), n, PROMISING);
    }
};

}  // namespace duelist
