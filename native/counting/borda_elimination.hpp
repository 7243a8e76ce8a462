// Successive elimination on Borda scores: the Borda reduction (Jamieson, Katariya, Deshpande, Nowak, AISTATS 2015) of
// successive elimination (Even-Dar, Mannor, Mansour, JMLR 2006).
//
// integers: per arm, whether it is active. reals: per arm its number of trials, then its number of wins.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class BordaElimination : public CountingRule {
public:
    explicit BordaElimination(const Hyperparameters& hyperparameters) : delta_(hyperparameters.number("delta")) {}

    void on_new_arms(CountingState& state, i64 before) const override {
        state.integers.resize(static_cast<std::size_t>(state.n), 1);
        std::vector<double> made(static_cast<std::size_t>(2 * state.n), 0.0);
        for (i64 i = 0; i < before; i++) {
            made[static_cast<std::size_t>(i)] = state.reals[static_cast<std::size_t>(i)];
            made[static_cast<std::size_t>(state.n + i)] = state.reals[static_cast<std::size_t>(before + i)];
        }
        state.reals = std::move(made);
    }

    void on_vote(CountingState& state, const CountedVote& vote) const override {
        if (vote.layer != EXPLORE || vote.first == vote.second || !is_in(state, vote.first)) return;
        state.reals[static_cast<std::size_t>(vote.first)] += vote.weight;
        state.reals[static_cast<std::size_t>(state.n + vote.first)] += vote.weight * vote.outcome;
        double floor = -INF;  // the largest lower bound
        for (i64 i = 0; i < state.n; i++)
            if (is_in(state, i)) floor = std::max(floor, share(state, i) - radius(state, i));
        for (i64 i = 0; i < state.n; i++)
            if (is_in(state, i) && share(state, i) + radius(state, i) < floor)
                state.integers[static_cast<std::size_t>(i)] = 0;
    }

    CountingDecision decide(const CountingState& state, Sfc64& random, const OfferedArms& offered) const override {
        i64 next = -1, count = 0;
        for (i64 i = 0; i < state.n; i++) count += is_in(state, i);
        for (i64 k = 0; k < offered.n; k++) {
            i64 i = offered.arms[k];
            if (!is_in(state, i) || !offered.can_duel(i)) continue;
            double fewer = next < 0 ? 1.0 : tried(state, next) - tried(state, i);
            if (fewer > 0.0 || (fewer == 0.0 && i < next)) next = i;
        }
        if (next < 0) return least_compared(state, offered, EXPLOIT);
        if (count == 1) return against_best_rival(state, offered, next, EXPLOIT);
        std::vector<i64> others = offered.partners(next);
        std::erase(others, next);
        if (others.empty()) return {next, next, EXPLOIT};
        return {next, random_choice(random, others), EXPLORE};
    }

    bool is_valid_state(const CountingState& state) const override {
        return has_size(state.integers, state.n) && has_size(state.reals, 2 * state.n) &&
               are_flags(state.integers, 0, state.n) && std::count(state.integers.begin(), state.integers.end(), 1) > 0;
    }

private:
    double delta_;

    static bool is_in(const CountingState& state, i64 i) { return state.integers[static_cast<std::size_t>(i)] != 0; }
    static double tried(const CountingState& state, i64 i) { return state.reals[static_cast<std::size_t>(i)]; }
    static double share(const CountingState& state, i64 i) {
        return tried(state, i) > 0.0 ? state.reals[static_cast<std::size_t>(state.n + i)] / tried(state, i) : 0.5;
    }
    // sqrt(log(4 K n^2 / delta) / (2 n)): Hoeffding's inequality, uniformly over arms and n.
    double radius(const CountingState& state, i64 i) const {
        double n = tried(state, i);
        return n > 0.0 ? std::sqrt(std::max(log(4.0 * static_cast<double>(state.n) * n * n / delta_), 0.0) / (2.0 * n))
                       : INF;
    }
};

}  // namespace duelist
