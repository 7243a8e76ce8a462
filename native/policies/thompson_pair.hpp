// ThompsonPair: the best arms of two draws from the posterior.
#pragma once

#include "policies/selection_rule.hpp"

namespace duelist {

class ThompsonPair : public SelectionRule {
public:
    explicit ThompsonPair(const Hyperparameters& s)
        : spread_(s.number("spread")), feel_good_(s.number("feel_good")), allow_self_duel_(s.flag("allow_self_duel")) {}

    bool local() const override { return true; }
    bool draws() const override { return true; }
    bool supports_arm_effects() const override { return true; }

    Decision decide(PolicyState& state, Workspace& workspace, const ArmTable& table) const override {
        ArmView view = whiten_all(state, workspace, table, true);
        double* drawn = workspace.line.data();
        draw_feel_good(state, view, workspace);
        ArmSubset all_arms = ArmSubset::all(table.n);
        i64 first = best_scored(drawn, all_arms, table, all_arms);
        if (first < 0) return {-1, -1, 0, 0.0};
        draw_feel_good(state, view, workspace);
        return {first, second_arm(table, first, drawn), 0, 1.0};
    }

private:
    static constexpr int DRAWS = 8;
    double spread_, feel_good_;
    bool allow_self_duel_;

    // drawn_a = x_a . theta~ with theta~ = theta_hat + spread R^-1 eps, R'R = H: x . R^-1 eps = (R'^-1 x) . eps.
    void draw_utilities(PolicyState& state, const ArmView& view, Workspace& workspace) const {
        double *noise = workspace.noise.data(), *drawn = workspace.line.data();
        for (i64 k = 0; k < view.dim; k++) noise[k] = spread_ * state.random.normal();
        for (i64 a = 0; a < view.n; a++) drawn[a] = view.u[a];
        for (i64 k = 0; k < view.dim; k++)
            for (i64 a = 0; a < view.n; a++) drawn[a] += noise[k] * view.v[k * view.stride + a];
    }

    // The utility of the best arm above the mean; invariant to a constant added to all arms.
    static double promise_of(const double* drawn, i64 n) {
        double total = 0.0;
        for (i64 a = 0; a < n; a++) total += drawn[a];
        return drawn[kernels->argmax(drawn, n)] - total / static_cast<double>(n);
    }

    // Draw utilities into workspace.line: one of DRAWS draws, with probability proportional to exp(feel_good promise).
    void draw_feel_good(PolicyState& state, const ArmView& view, Workspace& workspace) const {
        double *drawn = workspace.line.data(), *best = workspace.near_u.data();
        draw_utilities(state, view, workspace);
        if (feel_good_ == 0.0) return;
        double promise = promise_of(drawn, view.n);
        std::copy(drawn, drawn + view.n, best);
        for (int draw = 1; draw < DRAWS; draw++) {
            draw_utilities(state, view, workspace);
            double other = promise_of(drawn, view.n);
            // Keep one of two by their weights, repeatedly, which gives every draw the right probability.
            double total = std::max(promise, other) + log1p(exp_neg_abs(feel_good_ * (promise - other))) / feel_good_;
            if (log(1.0 - state.random.uniform()) < feel_good_ * (other - total))
                std::copy(drawn, drawn + view.n, best);
            promise = total;
        }
        std::copy(best, best + view.n, drawn);
    }

    i64 second_arm(const ArmTable& table, i64 first, const double* drawn) const {
        PairConstraints constraints = table.constraints();
        i64 second = -1;
        for (i64 a = 0; a < table.n; a++) {
            if (second >= 0 && !(drawn[a] > drawn[second])) continue;
            if (constraints.allows(first, a) && (allow_self_duel_ || !equal(table, first, a))) second = a;
        }
        if (second >= 0) return second;
        for (i64 step = 1; step <= table.n; step++) {  // all partners equal the first arm: take the next one
            i64 a = (first + step) % table.n;
            if (a == first || constraints.allows(first, a)) return a;
        }
        return first;
    }

    static bool equal(const ArmTable& table, i64 i, i64 j) {
        return std::equal(table.arm(i), table.arm(i) + table.dim, table.arm(j));
    }
};

}  // namespace duelist
