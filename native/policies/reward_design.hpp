// RewardDesign: the pair whose vote adds most information about theta, tempered by pairs of pure chance.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

class RewardDesign : public Rule {
public:
    explicit RewardDesign(const Settings& s) : coverage_(s.number("coverage")) {}

    bool local() const override { return true; }
    bool draws() const override { return true; }
    bool designs() const override { return true; }

    Decision decide(State& state, Scratch& scratch, const Table& table) const override {
        bool by_chance = state.random.uniform() < coverage_;
        if (by_chance || table.n == 1) return played(uniform_pair(state.random, table));
        Limits different = table.limits();
        different.distinct = true;  // an arm against itself tells nothing
        View view = look_at_all(state, scratch, table, true);
        FoundPair pair = NO_PAIR;
        if (table.n >= MANY_ARMS) pair = most_informative(state.link, view, outermost(view, scratch), different, scratch);
        if (pair.first < 0) pair = most_informative(state.link, view, {nullptr, table.n}, different, scratch);
        return played(pair);
    }

    // The duels by chance come first, so that the others know of them.
    std::vector<ChosenPair> design(State& state, Scratch& scratch, const Contexts& contexts, i64 k,
                                   i64 threads) const override {
        const double* theta = state.theta(0, scratch.solver);
        Design chosen(state.link, theta, state.local_curvature(0, scratch.solver), contexts, threads);
        double wanted = coverage_ * static_cast<double>(k) + state.random.uniform();
        i64 by_chance = wanted >= static_cast<double>(k) ? k : wanted > 0.0 ? static_cast<i64>(wanted) : 0;
        for (i64 t = 0; t < k; t++) t < by_chance ? chosen.take_random(state.random) : chosen.take_best();
        return chosen.taken();
    }

    bool takes_own_terms() const override { return true; }

    // As above among the 64 arms that least is known about; where none of their pairs may be asked, among all pairs.
    Decision decide_free(const OwnTerms& known, Random& random, i64, const FreeTable& table) const override {
        bool by_chance = random.uniform() < coverage_;
        if (by_chance || table.n == 1) return played(uniform_pair(random, table.positions()));
        OwnView view(known, table);
        Limits different = table.positions().limits();
        different.distinct = true;
        FoundPair pair = most_informative(known.link, view, OwnView::largest(view.variance(), table.n, FREE_ARMS), different);
        if (pair.first < 0) pair = most_informative(known.link, view, OwnView::largest(view.variance(), table.n, table.n), different);
        return played(pair);
    }

private:
    static constexpr i64 OUTERMOST = 128;
    static constexpr i64 FREE_ARMS = 64;
    double coverage_;

    static Decision played(const FoundPair& pair) { return {pair.first, pair.second, 0, 1.0}; }

    // The 128 arms that lie farthest from the middle of all.
    static Listed outermost(const View& view, Scratch& scratch) {
        Numbers middle(view.dim);
        for (i64 k = 0; k < view.dim; k++) {
            const double* row = view.v + k * view.stride;
            for (i64 a = 0; a < view.n; a++) middle[k] += row[a];
            middle[k] /= static_cast<double>(view.n);
        }
        kernels->squared_distances(view.v, view.stride, view.dim, middle.data(), view.n, scratch.line.data());
        std::vector<i64> found = OwnView::largest(scratch.line.data(), view.n, OUTERMOST);
        std::copy(found.begin(), found.end(), scratch.kept.data());
        return {scratch.kept.data(), OUTERMOST};
    }

    // argmax of mu'(u_i - u_j) |v_i - v_j|^2 over the allowed pairs of the listed arms; equal ones: the first.
    static FoundPair most_informative(Link link, const View& view, const Listed& arms, const Limits& limits, Scratch& scratch) {
        i64 stride = padded(arms.n);
        const double* v = view.v;
        if (arms.names) {
            kernels->pick_columns(view.v, view.stride, view.dim, arms.names, arms.n, scratch.near.data(), stride);
            v = scratch.near.data();
        }
        FoundPair found = NO_PAIR;
        double* line = scratch.line.data();
        for (i64 a = 0; a + 1 < arms.n; a++) {
            kernels->squared_widths(v, arms.names ? stride : view.stride, view.dim, a, a + 1, arms.n, line);
            for (i64 b = a + 1; b < arms.n; b++) keep_better(link, view.u, arms.name(a), arms.name(b), line[b - a - 1], limits, found);
        }
        return found;
    }

    static FoundPair most_informative(Link link, OwnView& view, const std::vector<i64>& arms, const Limits& limits) {
        FoundPair found = NO_PAIR;
        i64 n = static_cast<i64>(arms.size());
        Numbers line(padded(n));
        for (i64 a = 0; a + 1 < n; a++) {
            view.squares(arms[a], arms.data() + a + 1, n - a - 1, line.data());
            for (i64 b = a + 1; b < n; b++) keep_better(link, view.u(), arms[a], arms[b], line[b - a - 1], limits, found);
        }
        return found;
    }

    static void keep_better(Link link, const double* u, i64 i, i64 j, double square, const Limits& limits, FoundPair& found) {
        // At most that of the largest slope; most pairs need no exponential.
        if (found.first >= 0 && !(max_slope(link) * square > found.value)) return;
        double worth = slope(link, u[i] - u[j]) * square;
        if ((found.first < 0 || worth > found.value) && limits.allows(i, j)) found = {i, j, worth};
    }
};

}  // namespace duelist
