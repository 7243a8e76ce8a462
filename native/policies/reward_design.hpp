// RewardDesign: the pair whose vote adds most information about theta, tempered by pairs of pure chance.
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
        bool by_chance = state.random.uniform() < coverage_;
        if (by_chance || table.n == 1) return played(uniform_pair(state.random, table));
        PairConstraints different = table.constraints();
        different.distinct = true;  // an arm against itself tells nothing
        ArmView view = whiten_all(state, workspace, table, true);
        FoundPair pair = NO_PAIR;
        if (table.n >= MANY_ARMS)
            pair = most_informative(state.link, view, outermost(view, workspace), different, workspace);
        if (pair.first < 0) pair = most_informative(state.link, view, {nullptr, table.n}, different, workspace);
        return played(pair);
    }

    // The duels by chance come first, so that the others know of them.
    std::vector<DesignedPair> design(PolicyState& state, Workspace& workspace, const ContextArms& contexts, i64 k,
                                     i64 threads) const override {
        const double* theta = state.theta(0, workspace.solver);
        GreedyDesign chosen(state.link, theta, state.local_curvature(0, workspace.solver), contexts, threads);
        double wanted = coverage_ * static_cast<double>(k) + state.random.uniform();
        i64 by_chance = wanted >= static_cast<double>(k) ? k : wanted > 0.0 ? static_cast<i64>(wanted) : 0;
        for (i64 t = 0; t < k; t++) t < by_chance ? chosen.take_random(state.random) : chosen.take_best();
        return chosen.selected();
    }

    bool supports_arm_effects() const override { return true; }

    // As above among the 64 arms that least is known about; where none of their pairs may be asked, among all pairs.
    Decision decide_with_effects(const ArmEffectsState& known, Sfc64& random, i64,
                                 const ArmTable& table) const override {
        bool by_chance = random.uniform() < coverage_;
        if (by_chance || table.n == 1) return played(uniform_pair(random, table));
        ArmEffectsView view(known, table);
        PairConstraints different = table.constraints();
        different.distinct = true;
        FoundPair pair =
            most_informative(known.link, view, ArmEffectsView::largest(view.variance(), table.n, FREE_ARMS), different);
        if (pair.first < 0)
            pair = most_informative(known.link, view, ArmEffectsView::largest(view.variance(), table.n, table.n),
                                    different);
        return played(pair);
    }

private:
    static constexpr i64 OUTERMOST = 128;
    static constexpr i64 FREE_ARMS = 64;
    double coverage_;

    static Decision played(const FoundPair& pair) { return {pair.first, pair.second, 0, 1.0}; }

    // The 128 arms that lie farthest from the middle of all.
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

    // argmax of mu'(u_i - u_j) |v_i - v_j|^2 over the allowed pairs of the listed arms; equal ones: the first.
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
                keep_better(link, view.u, arms.arm(a), arms.arm(b), line[b - a - 1], constraints, found);
        }
        return found;
    }

    static FoundPair most_informative(Link link, ArmEffectsView& view, const std::vector<i64>& arms,
                                      const PairConstraints& constraints) {
        FoundPair found = NO_PAIR;
        i64 n = static_cast<i64>(arms.size());
        AlignedDoubles line(padded(n));
        for (i64 a = 0; a + 1 < n; a++) {
            view.squares(arms[a], arms.data() + a + 1, n - a - 1, line.data());
            for (i64 b = a + 1; b < n; b++)
                keep_better(link, view.u(), arms[a], arms[b], line[b - a - 1], constraints, found);
        }
        return found;
    }

    static void keep_better(Link link, const double* u, i64 i, i64 j, double square, const PairConstraints& constraints,
                            FoundPair& found) {
        // At most that of the largest slope; most pairs need no exponential.
        if (found.first >= 0 && !(max_slope(link) * square > found.value)) return;
        double worth = slope(link, u[i] - u[j]) * square;
        if ((found.first < 0 || worth > found.value) && constraints.allows(i, j)) found = {i, j, worth};
    }
};

}  // namespace duelist
