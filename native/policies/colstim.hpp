// CoLSTIM (Bengs, Saha, Huellermeier 2022): the first arm imitates the feedback by perturbed utilities, the second
// challenges it.
#pragma once

#include "policies/perturbation.hpp"
#include "policies/radius_settings.hpp"

namespace duelist {

class CoLSTIM : public RadiusRule {
public:
    explicit CoLSTIM(const Hyperparameters& s) : RadiusRule(s), clip_(s.number("clip")), warmup_(s.whole("warmup")) {}

    bool draws() const override { return true; }
    // The default warm-up of d K rounds would be K^2 uniform pairs.
    bool supports_arm_effects() const override { return warmup_ >= 0 && RadiusRule::supports_arm_effects(); }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        i64 t = state.rounds;
        i64 warmup = warmup_ >= 0 ? warmup_ : table.dim * table.n;
        if (t <= warmup) {
            FoundPair pair = uniform_pair(state.random, table);
            return {pair.first, pair.second, 0, 1.0};
        }
        ArmView view = whiten_all(state, workspace, table);
        double horizon = radius_.horizon_in(state);
        double clip = clip_ > 0.0 ? clip_ : practical_radius(table.dim, horizon);
        Perturbation noise{Perturbation::coin_chance(table.dim, horizon, t), clip, state.scale.adaptive};
        ArmSubset all_arms = ArmSubset::all(table.n);
        i64 first = best_scored(noise.perturbed(state, view, workspace), all_arms, table, all_arms);
        if (first < 0) return {-1, -1, 0, 0.0};
        return {first, challenger(view, first, radius_.flat(state, workspace), table.constraints(), workspace), 0, 1.0};
    }

private:
    double clip_;  // 0: sqrt(d log T)
    i64 warmup_;   // -1: d K
};

}  // namespace duelist
