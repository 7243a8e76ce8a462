// RUCB (Zoghi, Whiteson, Munos, de Rijke, ICML 2014, Algorithm 1).
//
// integers: the hypothesized best arm B, or -1.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class RUCB : public BoundsRule {
public:
    explicit RUCB(const Hyperparameters& hyperparameters) : alpha_(hyperparameters.number("alpha")) {}

    void on_new_arms(CountingState& state, i64 before) const override {
        if (before == 0) state.integers = {-1};  // line 2
    }

    // Lines 7 and 8 of the next round: keep B while it may be best; set it if a single arm may be.
    void on_vote(CountingState& state, const CountedVote&) const override {
        double a = alpha_ * state.log_round();
        i64 last = -1, count = 0;
        for (i64 i = 0; i < state.n; i++)
            if (state.row_statistics[static_cast<std::size_t>(i)] <= a) last = i, count++;
        i64& best = state.integers[0];
        if (count == 1)
            best = last;
        else if (best >= 0 && state.row_statistics[static_cast<std::size_t>(best)] > a)
            best = -1;
    }

    CountingDecision decide(const CountingState& state, Sfc64& random, const OfferedArms& offered) const override {
        std::vector<i64> available = offered.available();
        if (available.empty()) return {};
        double a = alpha_ * state.log_round();
        std::vector<i64> may_win = undefeated(state, available, offered, a);  // line 6
        i64 c = may_win.empty() ? random_choice(random, available) : champion(random, may_win, state.integers[0]);
        return {c, challenger(state, random, offered.partners(c), c, a)};  // line 13
    }

    bool is_valid_state(const CountingState& state) const override {
        return state.reals.empty() && has_size(state.integers, 1) && state.integers[0] >= -1 &&
               state.integers[0] < state.n;
    }

private:
    double alpha_;

    // Lines 8 to 11: B with probability 1/2, else one of the others.
    static i64 champion(Sfc64& random, std::vector<i64> may_win, i64 best) {
        if (may_win.size() > 1 && holds(may_win, best)) {
            if (random.uniform() < 0.5) return best;
            std::erase(may_win, best);
        }
        return random_choice(random, may_win);
    }
};

}  // namespace duelist
