// The randomized pair of CoLSTIM, which SupCoLSTIM uses too.
#pragma once

#include "policies/confidence_radius.hpp"
#include "policies/selection_rule.hpp"

namespace duelist {

struct Perturbation {
    double chance;  // of a separate perturbation for each arm; otherwise all share one
    double clip;
    bool centred =
        // |v_i| is the distance from the mean arm, so that shifting a feature changes nothing. The published rule is
        // not centered
        false;

    // p_t = min(1, sqrt(d log(dT) / t))
    static double coin_chance(i64 dim, double horizon, i64 t) {
        double d = static_cast<double>(dim);
        return std::min(1.0, std::sqrt(d * log(d * horizon) / static_cast<double>(t)));
    }

    // Draw noise that imitates the link: normal for probit, Gumbel otherwise; clipped.
    double draw(PolicyState& state) const {
        double noise = state.link == Link::probit ? state.random.normal() : state.random.gumbel();
        return std::max(-clip, std::min(clip, noise));
    }

    // u_i + eps_i |v_i| of each arm, stored in workspace.reach.
    double* perturbed(PolicyState& state, const ArmView& view, Workspace& workspace) const {
        bool separate = state.random.uniform() < chance;
        double shared = separate ? 0.0 : draw(state);
        double* score = workspace.reach.data();
        double* origin = workspace.noise.data();
        for (i64 k = 0; k < view.dim; k++) {
            origin[k] = 0.0;
            if (!centred) continue;
            for (i64 a = 0; a < view.n; a++) origin[k] += view.v[k * view.stride + a];
            origin[k] /= static_cast<double>(view.n);
        }
        kernels->squared_distances(view.v, view.stride, view.dim, origin, view.n, score);
        for (i64 a = 0; a < view.n; a++) score[a] = view.u[a] + (separate ? draw(state) : shared) * std::sqrt(score[a]);
        return score;
    }
};

}  // namespace duelist
