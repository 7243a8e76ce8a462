// Beat the Mean (Yue, Joachims, ICML 2011, Algorithm 1).
//
// integers: per arm, whether it is in W. reals: per ordered pair (b, c), the duels in which b was compared with c to
// estimate its mean, then how many of these b won; then per arm n_b, its duels with arms in W, and w_b, its wins among
// these.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class BeatTheMean : public CountingRule {
public:
    explicit BeatTheMean(const Hyperparameters& hyperparameters)
        : width_(hyperparameters.number("width")), horizon_(hyperparameters.number("horizon")) {}

    void on_new_arms(CountingState& state, i64 before) const override {
        auto from = state.reals.begin();
        std::vector<double> met(from, from + before * before), won(from + before * before, from + 2 * before * before);
        met = CountingState::resized_square(met, before, state.n, 0.0);
        won = CountingState::resized_square(won, before, state.n, 0.0);
        state.reals = std::move(met);
        state.reals.insert(state.reals.end(), won.begin(), won.end());
        state.reals.resize(static_cast<std::size_t>(2 * state.n * (state.n + 1)), 0.0);
        state.integers.resize(static_cast<std::size_t>(state.n), 1);
        for (i64 b = 0; b < state.n; b++) sum_up(state, b);
    }

    void on_vote(CountingState& state, const CountedVote& vote) const override {
        std::vector<i64> working = active(state);
        if (vote.layer != EXPLORE || working.size() < 2 || !is_in(state, vote.first) || !is_in(state, vote.second))
            return;
        state.reals[state.at(vote.first, vote.second)] += vote.weight;
        state.reals[static_cast<std::size_t>(state.n * state.n) + state.at(vote.first, vote.second)] +=
            vote.weight * vote.outcome;
        sum_up(state, vote.first);
        double fewest = INF;
        i64 worst = working[0], best = working[0];
        for (i64 b : working) {
            fewest = std::min(fewest, times(state, b));
            if (mean(state, b) < mean(state, worst)) worst = b;
            if (mean(state, b) > mean(state, best)) best = b;
        }
        double c = fewest > 0.0 ? width_ * std::sqrt(log(2.0 * horizon_ * static_cast<double>(state.n)) / fewest) : 1.0;
        if (mean(state, worst) + c > mean(state, best) - c) return;
        state.integers[static_cast<std::size_t>(worst)] = 0;
        for (i64 b = 0; b < state.n; b++) sum_up(state, b);
    }

    CountingDecision decide(const CountingState& state, Sfc64& random, const OfferedArms& offered) const override {
        std::vector<i64> working = active(state), present;
        for (i64 b : working)
            if (offered.has(b) && offered.can_duel(b)) present.push_back(b);
        if (present.empty()) return least_compared(state, offered, EXPLOIT);
        if (working.size() == 1) return against_best_rival(state, offered, working[0], EXPLOIT);
        i64 b = random_choice(random, largest(present, [&](i64 arm) { return -times(state, arm); }));
        std::vector<i64> partners;
        for (i64 other : offered.partners(b))
            if (is_in(state, other)) partners.push_back(other);
        if (partners.empty()) return {b, random_choice(random, offered.partners(b)), EXPLOIT};
        return {b, random_choice(random, partners), EXPLORE};
    }

    bool is_valid_state(const CountingState& state) const override {
        return has_size(state.integers, state.n) && has_size(state.reals, 2 * state.n * (state.n + 1)) &&
               are_flags(state.integers, 0, state.n) && std::count(state.integers.begin(), state.integers.end(), 1) > 0;
    }

private:
    double width_, horizon_;

    static bool is_in(const CountingState& state, i64 b) { return state.integers[static_cast<std::size_t>(b)] != 0; }
    static std::vector<i64> active(const CountingState& state) {
        std::vector<i64> found;
        for (i64 b = 0; b < state.n; b++)
            if (is_in(state, b)) found.push_back(b);
        return found;
    }
    static double times(const CountingState& state, i64 b) {
        return state.reals[static_cast<std::size_t>(2 * state.n * state.n + b)];
    }
    static double wins(const CountingState& state, i64 b) {
        return state.reals[static_cast<std::size_t>(2 * state.n * state.n + state.n + b)];
    }
    // The share of its duels that b has won; 1/2 without duels.
    static double mean(const CountingState& state, i64 b) {
        return times(state, b) > 0.0 ? wins(state, b) / times(state, b) : 0.5;
    }
    static void sum_up(CountingState& state, i64 b) {
        double met = 0.0, won = 0.0;
        for (i64 c = 0; c < state.n; c++)
            if (is_in(state, c)) {
                met += state.reals[state.at(b, c)];
                won += state.reals[static_cast<std::size_t>(state.n * state.n) + state.at(b, c)];
            }
        state.reals[static_cast<std::size_t>(2 * state.n * state.n + b)] = met;
        state.reals[static_cast<std::size_t>(2 * state.n * state.n + state.n + b)] = won;
    }
};

}  // namespace duelist
