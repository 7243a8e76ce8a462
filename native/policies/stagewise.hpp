// What Sta'D and SupCoLSTIM share: layers with unit weights and the stretched width p = eta |x - y|.
#pragma once

#include "policies/layer_walk.hpp"
#include "policies/radius_settings.hpp"

namespace duelist {

class Stagewise : public SelectionRule {
public:
    explicit Stagewise(const Hyperparameters& s) : radius_(s) {}

    i64 layers_in_round(i64 t) const override {
        double horizon = std::max(effective_horizon(radius_.horizon, std::max<i64>(t, 1)), 2.0);
        return layers_for(1.0 / std::sqrt(horizon));
    }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        workspace.fit(table.n, table.dim);
        double finest = 1.0 / std::sqrt(radius_.horizon_in(state));
        i64 last = state.n_layers() - 1;
        // A tight radius belongs to a layer and changes only with its votes, as the walk requires.
        double key = radius_.kind == RadiusKind::tight ? 0.0 : stretch(state, workspace.solver, 0, table.n);
        LayerWalk walk = start_walk(workspace, table, key);
        const i64* remaining = workspace.remaining.data();
        while (true) {
            ArmView view = whiten_subset(state, workspace, table, walk.layer, remaining, walk.count);
            FoundPair wide = widest_of(view, table.constraints(remaining), workspace);
            double eta = stretch(state, workspace.solver, walk.layer, table.n);
            double p = eta * std::sqrt(wide.value), threshold = power_of_two(-(walk.layer + 1));
            bool exploit = p <= finest || (walk.layer == last && !(p > threshold));
            if (p > threshold && !exploit) return {remaining[wide.first], remaining[wide.second], walk.layer, 1.0};
            add_utilities_of(state, workspace, table, walk.layer, remaining, view);
            if (exploit) return final_duel(state, workspace, table, walk, view, eta);
            descend(walk, workspace, view.u, threshold);
        }
    }

    // The first layer with eta |z| > 2^-s, with eta for the two arms of the duel.
    LayerAssignment assign_layer(PolicyState& state, const double* z, Workspace& workspace) const override {
        for (i64 layer = 0; layer < state.n_layers(); layer++) {
            double eta = stretch(state, workspace.solver, layer, 2);
            if (eta * state.width(layer, z, workspace.solver) > power_of_two(-(layer + 1))) return {layer, 1.0};
        }
        return {-1, 0.0};
    }

    void prepare(PolicyState& state, Workspace& workspace) const override {
        SelectionRule::prepare(state, workspace);
        for (i64 layer = 0; layer < state.n_layers(); layer++) stretch(state, workspace.solver, layer, 2);
    }

protected:
    // The scores that select the first arm once exploration is over.
    virtual const double* scores(PolicyState& state, Workspace& workspace, const ArmTable& table,
                                 const ArmView& view) const = 0;

    RadiusSettings radius_;

private:
    // eta of a layer in the present round.
    double stretch(PolicyState& state, SolverWorkspace& solver, i64 number, i64 n_arms) const {
        if (radius_.kind == RadiusKind::tight) {
            Layer& at = state.layer(number);
            if (at.radius_for != at.learned) {
                double delta = delta_of_layer(radius_.delta, number);
                at.radius = radius_.factor * tight_radius(state, number, delta, solver).precision;
                at.radius_for = at.learned;
            }
            return at.radius;
        }
        double horizon = radius_.horizon_in(state);
        if (radius_.kind == RadiusKind::theory)
            return radius_.factor * stagewise_radius(n_arms, horizon, state.kappa, radius_.delta);
        if (radius_.kind == RadiusKind::shape) return radius_.factor * practical_radius(1, horizon);
        return radius_.factor;
    }

    static FoundPair widest_of(const ArmView& view, const PairConstraints& constraints, Workspace& workspace) {
        PairConstraints of_different{false, constraints.excluded, constraints.positions};
        return widest_pair(view, of_different, workspace);
    }

    // All p are small: the last duel, whose outcome is not learned. Both arms come from the remaining ones if some pair
    // of these is allowed; otherwise one of them, or else neither.
    Decision final_duel(PolicyState& state, Workspace& workspace, const ArmTable& table, const LayerWalk& walk,
                        const ArmView& view, double eta) const {
        const i64* remaining = workspace.remaining.data();
        ArmSubset remaining_arms{remaining, walk.count}, all_arms = ArmSubset::all(table.n);
        if (any_allowed(table, remaining_arms, remaining_arms)) {
            i64 first = best_scored(scores(state, workspace, table, view), remaining_arms, table, remaining_arms);
            i64 second = challenger(view, first, eta, table.constraints(remaining), workspace);
            return {remaining[first], remaining[second], -1, 0.0};
        }
        if (!any_allowed(table, all_arms, all_arms)) return {-1, -1, -1, 0.0};
        bool from_remaining = any_allowed(table, remaining_arms, all_arms);
        i64 first = -1;
        if (from_remaining)
            first = remaining[best_scored(scores(state, workspace, table, view), remaining_arms, table, all_arms)];
        workspace.cache.clear();  // `remaining` is overwritten
        ArmView all = whiten_subset(state, workspace, table, walk.layer, nullptr, table.n);
        add_utilities_of(state, workspace, table, walk.layer, nullptr, all);
        if (!from_remaining) first = best_scored(scores(state, workspace, table, all), all_arms, table, all_arms);
        return {first, challenger(all, first, eta, table.constraints(), workspace), -1, 0.0};
    }

    // Whether some pair of these arms is allowed.
    static bool any_allowed(const ArmTable& table, const ArmSubset& firsts, const ArmSubset& seconds) {
        for (i64 a = 0; a < firsts.n; a++)
            if (may_duel(table, firsts.arm(a), seconds)) return true;
        return false;
    }
};

}  // namespace duelist
