// What Sta'D and SupCoLSTIM share: layers with unit weights and a stretched width p = eta |x - y|.
#pragma once

#include "policies/layer_walk.hpp"
#include "policies/radius_settings.hpp"

namespace duelist {

class Stagewise : public SelectionRule {
public:
    explicit Stagewise(const Hyperparameters& s) : radius_(s) {}

    i64 layers_in(i64 t) const override {
        double horizon = std::max(effective_horizon(radius_.horizon, std::max<i64>(t, 1)), 2.0);
        return layers_for(1.0 / std::sqrt(horizon));
    }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        workspace.fit(table.n, table.dim);
        double eta = stretch(state, table.n);
        double finest = 1.0 / std::sqrt(radius_.horizon_in(state));
        i64 last = state.n_layers() - 1;
        LayerWalk walk = start_walk(workspace, table, eta);
        const i64* remaining = workspace.remaining.data();
        while (true) {
            ArmView view = whiten_subset(state, workspace, table, walk.layer, remaining, walk.count);
            FoundPair wide = widest_of(view, table.constraints(remaining), workspace);
            double p = eta * std::sqrt(wide.value), threshold = power_of_two(-(walk.layer + 1));
            bool exploit = p <= finest || (walk.layer == last && !(p > threshold));
            if (p > threshold && !exploit) return {remaining[wide.first], remaining[wide.second], walk.layer, 1.0};
            add_utilities_of(state, workspace, table, walk.layer, remaining, view);
            if (exploit) return settled(state, workspace, table, walk, view, eta);
            go_deeper(walk, workspace, view.u, threshold);
        }
    }

    // The first layer in which eta |z| > 2^-s, with eta for the two arms of the duel.
    LayerAssignment place(PolicyState& state, const double* z, Workspace& workspace) const override {
        double eta = stretch(state, 2);
        for (i64 layer = 0; layer < state.n_layers(); layer++)
            if (eta * state.width(layer, z, workspace.solver) > power_of_two(-(layer + 1))) return {layer, 1.0};
        return {-1, 0.0};
    }

protected:
    // What the first of the last two arms is chosen by.
    virtual const double* scores(PolicyState& state, Workspace& workspace, const ArmTable& table,
                                 const ArmView& view) const = 0;

    RadiusSettings radius_;

private:
    // eta of the present round.
    double stretch(const PolicyState& state, i64 n_arms) const {
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

    // All p are small: the last duel, from which nothing is learned. Both arms come from the remaining ones; where no pair of them
    // may be asked, the second from all arms; else both from all.
    Decision settled(PolicyState& state, Workspace& workspace, const ArmTable& table, const LayerWalk& walk,
                     const ArmView& view, double eta) const {
        const i64* remaining = workspace.remaining.data();
        ArmSubset few{remaining, walk.count}, all_arms{nullptr, table.n};
        if (open(table, few, few)) {
            i64 first = best_scored(scores(state, workspace, table, view), few, table, few);
            i64 second = challenger(view, first, eta, table.constraints(remaining), workspace);
            return {remaining[first], remaining[second], -1, 0.0};
        }
        if (!open(table, all_arms, all_arms)) return {-1, -1, -1, 0.0};
        bool from_few = open(table, few, all_arms);
        i64 first = -1;
        if (from_few) first = remaining[best_scored(scores(state, workspace, table, view), few, table, all_arms)];
        workspace.cache.forget();  // `remaining` is kept no longer
        ArmView all = whiten_subset(state, workspace, table, walk.layer, nullptr, table.n);
        add_utilities_of(state, workspace, table, walk.layer, nullptr, all);
        if (!from_few) first = best_scored(scores(state, workspace, table, all), all_arms, table, all_arms);
        return {first, challenger(all, first, eta, table.constraints(), workspace), -1, 0.0};
    }

    // Whether some of the first arms may meet some of the second ones.
    static bool open(const ArmTable& table, const ArmSubset& firsts, const ArmSubset& seconds) {
        for (i64 a = 0; a < firsts.n; a++)
            if (may_duel(table, firsts.arm(a), seconds)) return true;
        return false;
    }
};

}  // namespace duelist
