// Interleaved Filter 2 (Yue, Broder, Kleinberg, Joachims, JCSS 2012, Algorithm 2).
//
// integers: the candidate, the number of the pass over its opponents (from 1), and per arm whether it is in W. reals:
// per arm its duels with this candidate, then the candidate's wins among these.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class InterleavedFilter : public CountingRule {
public:
    explicit InterleavedFilter(const Hyperparameters& hyperparameters) : horizon_(hyperparameters.number("horizon")) {}

    void on_new_arms(CountingState& state, i64 before) const override {
        if (before == 0) state.integers = {state.random.below(state.n), 1};
        state.integers.resize(static_cast<std::size_t>(2 + state.n), 1);
        if (before == 0) in_w(state, state.integers[0]) = 0;
        std::vector<double> made(static_cast<std::size_t>(2 * state.n), 0.0);
        for (i64 b = 0; b < before; b++) {
            made[static_cast<std::size_t>(b)] = state.reals[static_cast<std::size_t>(b)];
            made[static_cast<std::size_t>(state.n + b)] = state.reals[static_cast<std::size_t>(before + b)];
        }
        state.reals = std::move(made);
    }

    void on_vote(CountingState& state, const CountedVote& vote) const override {
        i64 candidate = state.integers[0], b = vote.first == candidate ? vote.second : vote.first;
        if ((vote.first != candidate && vote.second != candidate) || vote.layer != EXPLORE || !in_w(state, b)) return;
        times(state, b) += vote.weight;
        wins(state, b) += vote.weight * (vote.first == candidate ? vote.outcome : 1.0 - vote.outcome);
        if (!pass_is_over(state)) return;
        state.integers[1]++;
        i64 winner = -1;
        for (i64 other = state.n - 1; other >= 0; other--) {
            if (!in_w(state, other)) continue;
            double mean = share(state, other), c = radius(state, other);
            if (mean - c >= 0.5)
                in_w(state, other) = 0;
            else if (mean + c <= 0.5)
                winner = other;
        }
        if (winner >= 0) succeed(state, winner);
    }

    CountingDecision decide(const CountingState& state, Sfc64&, const OfferedArms& offered) const override {
        i64 candidate = state.integers[0], awaited = -1, any = -1;
        if (!offered.has(candidate) || !offered.can_duel(candidate)) return least_compared(state, offered, EXPLOIT);
        bool over = true;
        for (i64 b = 0; b < state.n; b++) over = over && !in_w(state, b);
        if (over) return against_best_rival(state, offered, candidate, EXPLOIT);
        for (i64 b : offered.partners(candidate)) {
            if (!in_w(state, b)) continue;
            if (any < 0 || b < any) any = b;
            if (times(state, b) < static_cast<double>(state.integers[1]) && (awaited < 0 || b < awaited)) awaited = b;
        }
        if (any < 0) return against_best_rival(state, offered, candidate, EXPLOIT);
        return {candidate, awaited >= 0 ? awaited : any, EXPLORE};
    }

    bool is_valid_state(const CountingState& state) const override {
        return has_size(state.integers, 2 + state.n) && has_size(state.reals, 2 * state.n) &&
               are_flags(state.integers, 2, state.n) && state.integers[0] >= 0 && state.integers[0] < state.n &&
               state.integers[1] >= 1 && state.integers[1] <= MAX_ROUNDS;
    }

private:
    double horizon_;

    static i64& in_w(CountingState& state, i64 b) { return state.integers[static_cast<std::size_t>(2 + b)]; }
    static bool in_w(const CountingState& state, i64 b) { return state.integers[static_cast<std::size_t>(2 + b)] != 0; }
    static double& times(CountingState& state, i64 b) { return state.reals[static_cast<std::size_t>(b)]; }
    static double times(const CountingState& state, i64 b) { return state.reals[static_cast<std::size_t>(b)]; }
    static double& wins(CountingState& state, i64 b) { return state.reals[static_cast<std::size_t>(state.n + b)]; }
    static double share(CountingState& state, i64 b) {
        return times(state, b) > 0.0 ? wins(state, b) / times(state, b) : 0.5;
    }
    // sqrt(4 log(1 / delta) / t), delta = 1 / (T K^2)
    double radius(CountingState& state, i64 b) const {
        double arms = static_cast<double>(state.n);
        return times(state, b) > 0.0 ? std::sqrt(4.0 * log(horizon_ * arms * arms) / times(state, b)) : 1.0;
    }

    // Whether all opponents were compared in this pass, or one of them twice, because the others are not offered.
    static bool pass_is_over(const CountingState& state) {
        double pass = static_cast<double>(state.integers[1]);
        bool all = true;
        for (i64 b = 0; b < state.n; b++) {
            if (!in_w(state, b)) continue;
            if (times(state, b) > pass) return true;
            all = all && times(state, b) >= pass;
        }
        return all;
    }

    // Make the winner the next candidate. Arms that the old one was ahead of are dropped, and the counts are reset.
    static void succeed(CountingState& state, i64 winner) {
        for (i64 b = 0; b < state.n; b++)
            if (share(state, b) > 0.5) in_w(state, b) = 0;
        in_w(state, winner) = 0;
        state.integers[0] = winner;
        state.integers[1] = 1;
        std::fill(state.reals.begin(), state.reals.end(), 0.0);
    }
};

}  // namespace duelist
