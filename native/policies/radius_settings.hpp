// Settings of rules with one radius: beta = factor * (radius of `kind`).
#pragma once

#include "policies/confidence_radius.hpp"
#include "policies/selection_rule.hpp"
#include "policies/tight_radius.hpp"

namespace duelist {

enum class RadiusKind : int { theory, shape, constant, tight };

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

    // beta of the present round in the norm of the precision, for a policy with one estimator.
    double flat(PolicyState& state, Workspace& workspace) const {
        if (kind == RadiusKind::tight) return tight(state, workspace, false);
        if (kind == RadiusKind::theory)
            return factor * warmed_glm_radius(state.dim, horizon_in(state), state.kappa, delta);
        if (kind == RadiusKind::shape) return factor * practical_radius(state.dim, horizon_in(state));
        return factor;
    }

    // The tight radius in the norm of the curvature or of the precision, computed once per vote learned.
    double tight(PolicyState& state, Workspace& workspace, bool local) const {
        Layer& at = state.layer(0);
        if (at.radius_for != at.learned) {
            TightRadius found = tight_radius(state, 0, delta, workspace.solver);
            at.radius = factor * (local ? found.local : found.precision);
            at.radius_for = at.learned;
        }
        return at.radius;
    }
};

// A rule with one estimator and one radius.
class RadiusRule : public SelectionRule {
public:
    explicit RadiusRule(const Hyperparameters& s) : radius_(s) {}

    // The published and the tight radius are derived for features, and the tight one from the votes themselves.
    bool supports_arm_effects() const override {
        return radius_.kind == RadiusKind::shape || radius_.kind == RadiusKind::constant;
    }

    void prepare(PolicyState& state, Workspace& workspace) const override {
        if (radius_.kind == RadiusKind::tight) radius_.tight(state, workspace, local());
        SelectionRule::prepare(state, workspace);
    }

protected:
    RadiusSettings radius_;
};

}  // namespace duelist
