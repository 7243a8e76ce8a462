// Winner Stays for weak regret, WS-W, and for strong regret, WS-S (Chen, Frazier, ICML 2017).
//
// reals: per arm q, duels won minus duels lost; WS-S also stores beta^l. integers: the two arms of the last duel, or
// -1; WS-S also stores the round l, the number of exploiting duels left, and their arm.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class WSW : public CountingRule {
public:
    explicit WSW(const Hyperparameters&) {}

    void on_new_arms(CountingState& state, i64 before) const override {
        if (before == 0) state.integers = {-1, -1};
        state.reals.resize(static_cast<std::size_t>(state.n), 0.0);
    }

    void on_vote(CountingState& state, const CountedVote& vote) const override { note(state, vote); }

    // The arm that is ahead wins, or the first on a tie: with a draw no arm would move, and the next rater would get
    // the same pair.
    double expected_outcome(const CountingState& state, const CountingDecision& duel, double) const override {
        auto q = [&](i64 arm) { return state.reals[static_cast<std::size_t>(arm)]; };
        return q(duel.first) >= q(duel.second) ? 1.0 : 0.0;
    }

    CountingDecision decide(const CountingState& state, Sfc64& random, const OfferedArms& offered) const override {
        std::vector<i64> available = offered.available();
        if (available.empty()) return {};
        i64 first = leader(state, random, available);
        std::vector<i64> partners = offered.partners(first);
        if (partners.size() > 1) std::erase(partners, first);
        return {first, leader(state, random, partners)};
    }

    bool is_valid_state(const CountingState& state) const override {
        return has_size(state.integers, 2) && has_size(state.reals, state.n) && arms_or_none(state);
    }

protected:
    static bool arms_or_none(const CountingState& state) {
        return state.integers[0] >= -1 && state.integers[0] < state.n && state.integers[1] >= -1 &&
               state.integers[1] < state.n;
    }

    static void note(CountingState& state, const CountedVote& vote) {
        if (vote.first == vote.second) return;
        double lead = vote.weight * (2.0 * vote.outcome - 1.0);
        state.reals[static_cast<std::size_t>(vote.first)] += lead;
        state.reals[static_cast<std::size_t>(vote.second)] -= lead;
        state.integers[0] = vote.first;
        state.integers[1] = vote.second;
    }

    // argmax of q. Ties go to the first arm of the last duel, then to the second, then to a random one.
    static i64 leader(const CountingState& state, Sfc64& random, const std::vector<i64>& among) {
        std::vector<i64> best = largest(among, [&](i64 i) { return state.reals[static_cast<std::size_t>(i)]; });
        if (holds(best, state.integers[0])) return state.integers[0];
        if (holds(best, state.integers[1])) return state.integers[1];
        return random_choice(random, best);
    }
};

class WSS : public WSW {
public:
    explicit WSS(const Hyperparameters& hyperparameters) : WSW(hyperparameters), beta_(hyperparameters.number("beta")) {
        if (!(beta_ > 1.0)) throw std::invalid_argument("beta must be greater than 1.");
    }

    void on_new_arms(CountingState& state, i64 before) const override {
        double power = before == 0 ? std::min(beta_, static_cast<double>(MAX_ROUNDS)) : state.reals.back();
        if (before == 0) state.integers = {-1, -1, 1, 0, -1};
        state.reals.resize(static_cast<std::size_t>(before));
        state.reals.resize(static_cast<std::size_t>(state.n), 0.0);
        state.reals.push_back(power);
    }

    void on_vote(CountingState& state, const CountedVote& vote) const override {
        i64 &l = state.integers[2], &left = state.integers[3], &best = state.integers[4];
        if (vote.layer == EXPLOIT) {
            left = std::max<i64>(left - 1, 0);
            return;
        }
        note(state, vote);
        if (left > 0 || !round_is_over(state, l)) return;
        auto q = state.reals.begin();
        best = std::max_element(q, q + state.n) - q;
        double& power = state.reals.back();
        left = static_cast<i64>(std::min(power, static_cast<double>(MAX_ROUNDS)));
        power = std::min(power * beta_, static_cast<double>(MAX_ROUNDS));
        l++;
    }

    CountingDecision decide(const CountingState& state, Sfc64& random, const OfferedArms& offered) const override {
        i64 best = state.integers[4];
        if (state.integers[3] > 0 && offered.has(best) && offered.can_duel(best))
            return against_best_rival(state, offered, best, EXPLOIT);
        return WSW::decide(state, random, offered);
    }

    bool is_valid_state(const CountingState& state) const override {
        constexpr double MOST = static_cast<double>(MAX_ROUNDS);
        if (!has_size(state.integers, 5) || !has_size(state.reals, state.n + 1) || !arms_or_none(state)) return false;
        i64 l = state.integers[2], left = state.integers[3], best = state.integers[4];
        double power = state.reals.back();
        return l >= 1 && l <= MAX_ROUNDS && left >= 0 && best >= -1 && best < state.n && (left == 0 || best >= 0) &&
               power >= 1.0 && power <= MOST;
    }

private:
    double beta_;

    // Round l ends when all arms but one have q = -l.
    static bool round_is_over(const CountingState& state, i64 l) {
        auto q = state.reals.begin();
        return std::count_if(q, q + state.n, [l](double lead) { return lead > -static_cast<double>(l); }) <= 1;
    }
};

}  // namespace duelist
