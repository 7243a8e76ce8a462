// RewardDesign: the pair with the most information about theta, mixed with uniform pairs.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

class RewardDesign : public SelectionRule {
public:
    explicit RewardDesign(const Hyperparameters& s) : coverage_(s.number("coverage")) {}

    bool local() const override { return true; }
    bool draws() const override { return true; }
    bool designs() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        bool at_random = state.random.uniform() < coverage_;
        if (at_random || table.n == 1) return decision(uniform_pair(state.random, table));
        PairConstraints different = table.constraints();
        different.distinct = true;  // a self-duel has no information
        ArmView view = whiten_all(state, workspace, table, true);
        FoundPair pair = NO_PAIR;
        if (table.n >= MANY_ARMS)
            pair = most_informative(state.link, view, outermost(view, workspace), different, workspace);
        if (pair.first < 0) pair = most_informative(state.link, view, {nullptr, table.n}, different, workspace);
        return decision(pair);
    }

    // Random pairs come first, so that the others account for them.
    std::vector<DesignedPair> design(PolicyState& state, Workspace& workspace, const ContextArms& contexts, i64 k,
                                     i64 threads) const override {
        const double* theta = state.theta(0, workspace.solver);
        GreedyDesign chosen(state.link, theta, state.local_curvature(0, workspace.solver), contexts, threads);
        double wanted = coverage_ * static_cast<double>(k) + state.random.uniform();
        i64 at_random = wanted >= static_cast<double>(k) ? k : wanted > 0.0 ? static_cast<i64>(wanted) : 0;
        for (i64 t = 0; t < k; t++) t < at_random ? chosen.select_random(state.random) : chosen.select_best();
        return chosen.selected();
    }

    bool supports_arm_effects() const override { return true; }

    // As above, among the 64 arms of largest variance. If their pairs are all excluded, among all.
    Decision decide_with_effects(const ArmEffectsState& known, Sfc64& random, i64,
                                 const ArmTable& table) const override {
        bool at_random = random.uniform() < coverage_;
        if (at_random || table.n == 1) return decision(uniform_pair(random, table));
        ArmEffectsView view(known, table);
        PairConstraints different = table.constraints();
        different.distinct = true;
        FoundPair pair = most_informative(known.link, view,
                                          ArmEffectsView::largest(view.variance(), table.n, MOST_UNCERTAIN), different);
        if (pair.first < 0)
            pair = most_informative(known.link, view, ArmEffectsView::largest(view.variance(), table.n, table.n),
                                    different);
        return decision(pair);
    }

private:
    static constexpr i64 OUTERMOST = 128;
    static constexpr i64 MOST_UNCERTAIN = 64;
    double coverage_;

    static Decision decision(const FoundPair& pair) { return {pair.first, pair.second, 0, 1.0}; }

    // The OUTERMOST arms farthest from the mean.
    static ArmSubset outermost(const ArmView& view, Workspace& workspace) {
        AlignedDoubles middle(view.dim);
        for (i64 k = 0; k < view.dim; k++) {
            const double* row = view.v + k * view.stride;
            for (i64 a = 0; a < view.n; a++) middle[k] += row[a];
            middle[k] /= static_cast<double>(view.n);
        }
        kernels->squared_distances(view.v, view.stride, view.dim, middle.data(), view.n, workspace.line.data());
        std::vector<i64> found = ArmEffectsView::largest(workspace.line.data(), view.n, OUTERMOST);
        std::copy(found.begin(), found.end(), workspace.kept.data());
        return {workspace.kept.data(), OUTERMOST};
    }

    // argmax of mu'(u_i - u_j) |v_i - v_j|^2 over allowed pairs of the listed arms; ties go to the first.
    static FoundPair most_informative(Link link, const ArmView& view, const ArmSubset& arms,
                                      const PairConstraints& constraints, Workspace& workspace) {
        i64 stride = padded(arms.n);
        const double* v = view.v;
        if (arms.positions) {
            kernels->pick_columns(view.v, view.stride, view.dim, arms.positions, arms.n, workspace.near.data(), stride);
            v = workspace.near.data();
        }
        FoundPair found = NO_PAIR;
        double* line = workspace.line.data();
        for (i64 a = 0; a + 1 < arms.n; a++) {
            kernels->squared_widths(v, arms.positions ? stride : view.stride, view.dim, a, a + 1, arms.n, line);
            for (i64 b = a + 1; b < arms.n; b++)
                keep_if_better(link, view.u, arms.arm(a), arms.arm(b), line[b - a - 1], constraints, found);
        }
        return found;
    }

    static FoundPair most_informative(Link link, ArmEffectsView& view, const std::vector<i64>& arms,
                                      const PairConstraints& constraints) {
        FoundPair found = NO_PAIR;
        i64 n = static_cast<i64>(arms.size());
        AlignedDoubles line(padded(n));
        for (i64 a = 0; a + 1 < n; a++) {
            view.squared_widths(arms[a], ArmSubset::after(arms, a), line.data());
            for (i64 b = a + 1; b < n; b++)
                keep_if_better(link, view.u(), arms[a], arms[b], line[b - a - 1], constraints, found);
        }
        return found;
    }

    static void keep_if_better(Link link, const double* u, i64 i, i64 j, double square,
                               const PairConstraints& constraints, FoundPair& found) {
        // The value is at most that of the largest slope, so most pairs need no exponential.
        if (found.first >= 0 && !(max_slope(link) * square > found.value)) return;
        double value = slope(link, u[i] - u[j]) * square;
        if ((found.first < 0 || value > found.value) && constraints.allows(i, j)) found = {i, j, value};
    }
};

}  // namespace duelist
