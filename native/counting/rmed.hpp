// Relative Minimum Empirical Divergence: RMED1, RMED2 and RMED2FH (Komiyama, Honda, Kashima, Nakagawa, COLT 2015,
// Algorithm 1).
//
// integers: the phase; per arm whether it is in L_C, L_R and L_N, and its opponent b*, -1 unless fixed (RMED2FH).
#pragma once

#include <optional>

#include "counting/counting_rule.hpp"
#include "numerics/beta.hpp"

namespace duelist {

class RMED : public CountingRule {
public:
    explicit RMED(const Hyperparameters& hyperparameters)
        : variant_(static_cast<Variant>(hyperparameters.whole("variant"))),
          alpha_(hyperparameters.number("alpha")),
          weight_(hyperparameters.number("weight")),
          power_(hyperparameters.number("power")),
          draws_(hyperparameters.number("draws")) {
        if (variant_ < one || variant_ > two_with_horizon)
            throw std::invalid_argument("There is no such variant of RMED.");
    }

    // N_ij d(mu_ij, 1/2) if arm i does not beat j; I_i is the sum over j.
    double pair_statistic(double won, double lost) const override {
        return won < lost ? (won + lost) * divergence_from_half(won / (won + lost)) : 0.0;
    }
    RowStatistic row_statistic() const override { return RowStatistic::sum; }

    // New arms join the pass, and their pairs are drawn as in the initial phase.
    void on_new_arms(CountingState& state, i64 before) const override {
        std::vector<i64> made(static_cast<std::size_t>(1 + 4 * state.n), 0);
        made[0] = INITIAL;
        for (i64 part = 0; part < 4; part++)
            for (i64 i = 0; i < state.n; i++) {
                i64 fresh = part < 2 ? 1 : part == 2 ? 0 : -1;
                made[static_cast<std::size_t>(1 + part * state.n + i)] =
                    i < before ? state.integers[static_cast<std::size_t>(1 + part * before + i)] : fresh;
            }
        state.integers = std::move(made);
    }

    void on_vote(CountingState& state, const CountedVote& vote) const override {
        i64& phase = state.integers[0];
        if (vote.layer != DRAWN) phase = phase_after(state, phase);
        if (vote.layer != DRAWN || !current(state)[vote.first]) return;
        current(state)[vote.first] = 0;
        remaining(state)[vote.first] = 0;
        double least = *std::min_element(state.row_statistics.begin(), state.row_statistics.end());
        double limit = log(static_cast<double>(state.votes)) + exploration(state.n);
        for (i64 j = 0; j < state.n; j++)
            if (!remaining(state)[j] && state.row_statistics[static_cast<std::size_t>(j)] - least <= limit)
                following(state)[j] = 1;
        if (std::count(current(state), current(state) + state.n, 1) > 0) return;
        for (i64 j = 0; j < state.n; j++) {
            current(state)[j] = remaining(state)[j] = following(state)[j];
            following(state)[j] = 0;
        }
        if (phase == PASS && variant_ == two && lacking(state, all_arms(state))) phase = TOPPING_UP;
    }

    CountingDecision decide(const CountingState& state, Sfc64&, const OfferedArms& offered) const override {
        if (state.integers[0] == INITIAL)
            if (auto pair = undrawn(state, offered)) return {pair->first, pair->second};
        if (state.integers[0] == TOPPING_UP)
            if (auto pair = lacking(state, offered)) return {pair->first, pair->second};
        i64 best = likeliest(state, offered);
        if (best < 0) return {};
        i64 l = best;
        for (i64 k = 0; k < offered.n; k++) {
            i64 i = offered.arms[k];
            if (!current(state)[i] || !offered.can_duel(i)) continue;
            if (!current(state)[l] || i < l) l = i;
        }
        return {l, opponent(state, offered, l, best), DRAWN};
    }

    bool is_valid_state(const CountingState& state) const override {
        if (!state.reals.empty() || !has_size(state.integers, 1 + 4 * state.n) ||
            !are_flags(state.integers, 1, 3 * state.n) || state.integers[0] < INITIAL || state.integers[0] > PASS)
            return false;
        for (i64 i = 0; i < state.n; i++)
            if (fixed(state, i) < -1 || fixed(state, i) >= state.n) return false;
        return true;
    }

private:
    enum Variant { one = 1, two = 2, two_with_horizon = 3 };
    enum Phase : i64 { INITIAL = 0, TOPPING_UP = 1, PASS = 2 };
    static constexpr i64 DRAWN = 1;  // layer of the draws of a pass; other draws are only counted
    using Pair = std::pair<i64, i64>;

    Variant variant_;
    double alpha_, weight_, power_, draws_;

    static i64* current(CountingState& state) { return state.integers.data() + 1; }                  // L_C
    static i64* remaining(CountingState& state) { return state.integers.data() + 1 + state.n; }      // L_R
    static i64* following(CountingState& state) { return state.integers.data() + 1 + 2 * state.n; }  // L_N
    static const i64* current(const CountingState& state) { return state.integers.data() + 1; }
    static i64 fixed(const CountingState& state, i64 i) {
        return state.integers[static_cast<std::size_t>(1 + 3 * state.n + i)];
    }
    static i64& fixed(CountingState& state, i64 i) {
        return state.integers[static_cast<std::size_t>(1 + 3 * state.n + i)];
    }

    // f(K)
    double exploration(i64 arms) const { return weight_ / exp_neg_abs(power_ * log(static_cast<double>(arms))); }
    // log log t, or 0 where it is not positive
    static double log_log(double t) { return t > E ? log(log(t)) : 0.0; }

    static OfferedArms all_arms(const CountingState& state) {
        static thread_local std::vector<i64> all;
        while (static_cast<i64>(all.size()) < state.n) all.push_back(static_cast<i64>(all.size()));
        return {all.data(), state.n};
    }

    // The first pair with fewer than `times` duels.
    static std::optional<Pair> below(const CountingState& state, const OfferedArms& offered, double times) {
        for (i64 x = 0; x < offered.n; x++)
            for (i64 y = x + 1; y < offered.n; y++)
                if (state.met(offered.arms[x], offered.arms[y]) < times &&
                    offered.allows(offered.arms[x], offered.arms[y]))
                    return Pair(offered.arms[x], offered.arms[y]);
        return std::nullopt;
    }
    std::optional<Pair> undrawn(const CountingState& state, const OfferedArms& offered) const {
        return below(state, offered, draws_);
    }
    std::optional<Pair> lacking(const CountingState& state, const OfferedArms& offered) const {
        return below(state, offered, alpha_ * log_log(static_cast<double>(state.round())));
    }

    // i*(t): the arm of smallest I_i.
    static i64 likeliest(const CountingState& state, const OfferedArms& offered) {
        i64 best = -1;
        for (i64 k = 0; k < offered.n; k++) {
            i64 i = offered.arms[k];
            double gap = best < 0 ? -1.0
                                  : state.row_statistics[static_cast<std::size_t>(i)] -
                                        state.row_statistics[static_cast<std::size_t>(best)];
            if ((gap < 0.0 || (gap == 0.0 && i < best)) && offered.can_duel(i)) best = i;
        }
        return best;
    }

    i64 opponent(const CountingState& state, const OfferedArms& offered, i64 l, i64 best) const {
        if (variant_ != one) {
            i64 b = fixed(state, l) >= 0 ? fixed(state, l) : cheapest(state, l, best);
            double times = log_log(static_cast<double>(state.round()));
            bool often = state.met(l, best) * times >= state.met(l, b);
            if (b != l && state.share(l, b) <= 0.5 && often && offered.has(b) && offered.allows(l, b)) return b;
        }
        bool loses = false;  // whether l loses to or ties with some arm (the set O is not empty)
        for (i64 k = 0; k < offered.n; k++)
            loses = loses || (offered.arms[k] != l && state.share(l, offered.arms[k]) <= 0.5);
        bool to_best = best != l && state.share(l, best) <= 0.5;
        if ((to_best || !loses) && offered.allows(l, best)) return best;
        i64 worst = -1;
        for (i64 j : offered.partners(l))
            if (j != l && (worst < 0 || state.share(l, j) < state.share(l, worst))) worst = j;
        return worst < 0 ? l : worst;
    }

    // b*: the opponent j of smallest cost per information about arm i, (gap_i + gap_j) / d(mu_ij, 1/2).
    static i64 cheapest(const CountingState& state, i64 i, i64 best) {
        constexpr double LEAST_COST = 0.01;  // estimated gaps may be negative
        i64 found = best;
        double least = INF;
        for (i64 j = 0; j < state.n; j++) {
            if (j == i || state.share(i, j) >= 0.5) continue;
            double cost = std::max(state.share(best, i) + state.share(best, j) - 1.0, LEAST_COST);
            double ratio = cost / divergence_from_half(state.share(i, j));
            if (ratio < least) least = ratio, found = j;
        }
        return found;
    }

    // The phase after a draw outside of passes.
    i64 phase_after(CountingState& state, i64 phase) const {
        if (phase == INITIAL && !undrawn(state, all_arms(state))) {
            if (variant_ == two_with_horizon) fix_opponents(state);
            phase = variant_ == two ? TOPPING_UP : PASS;
        }
        return phase == TOPPING_UP && !lacking(state, all_arms(state)) ? i64{PASS} : phase;
    }

    void fix_opponents(CountingState& state) const {
        i64 best = likeliest(state, all_arms(state));
        for (i64 i = 0; i < state.n; i++)
            if (fixed(state, i) < 0) fixed(state, i) = cheapest(state, i, best);
    }
};

}  // namespace duelist
