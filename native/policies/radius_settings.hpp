// Settings of rules with one radius: beta = factor * (radius of `kind`).
#pragma once

#include "policies/confidence_radius.hpp"
#include "policies/selection_rule.hpp"

namespace duelist {

enum class RadiusKind : int { theory, shape, constant };

struct RadiusSettings {
    i64 horizon;
    RadiusKind kind;
    double factor, delta;

    explicit RadiusSettings(const Hyperparameters& s)
        : horizon(s.whole("horizon")),
          kind(static_cast<RadiusKind>(s.whole("kind"))),
          factor(s.number("factor")),
          delta(s.number("delta")) {}

    double horizon_in(const PolicyState& state) const { return effective_horizon(horizon, state.rounds); }

    // beta of the present round for a policy with one estimator.
    double flat(const PolicyState& state) const {
        if (kind == RadiusKind::theory)
            return factor * warmed_glm_radius(state.dim, horizon_in(state), state.kappa, delta);
        if (kind == RadiusKind::shape) return factor * practical_radius(state.dim, horizon_in(state));
        return factor;
    }
};

}  // namespace duelist
