// The selection rule of a policy that identifies arms by id and counts wins.
//
// Its state changes when a vote is learned, never when a duel is decided: `decide` only reads it and draws random
// numbers. So votes may be delayed and reordered, and the state is a function of the votes.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "counting/counting_state.hpp"
#include "policies/selection_rule.hpp"

namespace duelist {

class CountingRule {
public:
    virtual ~CountingRule() = default;

    // Arms from index `before` on are new.
    virtual void on_new_arms(CountingState&, i64) const {}

    // A vote was counted.
    virtual void on_vote(CountingState&, const CountedVote&) const {}

    // Decide the duel of round `state.round()`.
    virtual CountingDecision decide(const CountingState& state, Sfc64& random, const OfferedArms& offered) const = 0;

    // The outcome to assume for a pending duel, given those before it. By default the share that its first arm has won
    // so far.
    virtual double expected_outcome(const CountingState&, const CountingDecision&, double share) const { return share; }

    // Whether the rule could have written these integers and reals, which may come from a damaged snapshot.
    virtual bool is_valid_state(const CountingState& state) const {
        return state.integers.empty() && state.reals.empty();
    }

    // A statistic of an ordered pair that depends on its wins and losses alone.
    virtual double pair_statistic(double, double) const { return 0.0; }
    // The statistic maintained per arm over its pairs.
    enum class RowStatistic { nothing, largest, sum };
    virtual RowStatistic row_statistic() const { return RowStatistic::nothing; }

    void add_arms(CountingState& state, i64 arms) const {
        i64 before = state.n;
        if (arms <= before) return;
        state.grow(arms);
        recompute_statistics(state);
        on_new_arms(state, before);
    }

    void learn_vote(CountingState& state, const CountedVote& vote) const {
        state.count(vote);
        if (row_statistic() != RowStatistic::nothing && vote.first != vote.second) {
            update_pair(state, vote.first, vote.second);
            update_pair(state, vote.second, vote.first);
            update_row(state, vote.first);
            update_row(state, vote.second);
        }
        on_vote(state, vote);
    }

    void recompute_statistics(CountingState& state) const {
        if (row_statistic() == RowStatistic::nothing) return;
        state.pair_statistics.assign(static_cast<std::size_t>(state.n * state.n), 0.0);
        state.row_statistics.assign(static_cast<std::size_t>(state.n), 0.0);
        for (i64 i = 0; i < state.n; i++) {
            for (i64 j = 0; j < state.n; j++)
                if (i != j) update_pair(state, i, j);
            update_row(state, i);
        }
    }

private:
    void update_pair(CountingState& state, i64 i, i64 j) const {
        state.pair_statistics[state.at(i, j)] = pair_statistic(state.won(i, j), state.won(j, i));
    }
    void update_row(CountingState& state, i64 i) const {
        const double* row = state.pair_statistics.data() + i * state.n;
        double whole = 0.0;
        if (row_statistic() == RowStatistic::largest)
            for (i64 j = 0; j < state.n; j++) whole = row[j] > whole ? row[j] : whole;
        else
            for (i64 j = 0; j < state.n; j++) whole += row[j];
        state.row_statistics[static_cast<std::size_t>(i)] = whole;
    }
};

std::unique_ptr<CountingRule> make_counting_rule(const std::string& policy, const Hyperparameters& hyperparameters);
std::vector<std::string> counting_rule_names();

// -- integers and reals --------------------------------------------------------------------

inline bool are_flags(const std::vector<i64>& integers, i64 from, i64 count) {
    for (i64 k = from; k < from + count; k++)
        if (integers[static_cast<std::size_t>(k)] != 0 && integers[static_cast<std::size_t>(k)] != 1) return false;
    return true;
}

inline bool has_size(const std::vector<i64>& integers, i64 size) { return static_cast<i64>(integers.size()) == size; }
inline bool has_size(const std::vector<double>& reals, i64 size) { return static_cast<i64>(reals.size()) == size; }

// -- confidence bounds -------------------------------------------------------------------------

// Relative confidence bounds u_ij = w_ij / n_ij + sqrt(a / n_ij) with a = alpha log t, 2 for pairs that never met and
// 1/2 for i = j; l_ij = 1 - u_ji. Every round asks for all pairs whether u_ij >= 1/2. For w_ij < n_ij / 2 this is a >=
// n_ij (1/2 - w_ij / n_ij)^2; the right side, the deficit, is stored and updated with each vote.
class BoundsRule : public CountingRule {
public:
    double pair_statistic(double won, double lost) const override {
        return won < lost ? (lost - won) * (lost - won) / (4.0 * (won + lost)) : 0.0;
    }
    RowStatistic row_statistic() const override { return RowStatistic::largest; }

protected:
    // u_ij >= 1/2
    static bool may_beat(const CountingState& state, i64 i, i64 j, double a) {
        return state.pair_statistics[state.at(i, j)] <= a;
    }
    // l_ij >= 1/2: i certainly beats j
    static bool beats(const CountingState& state, i64 i, i64 j, double a) {
        double lead = state.pair_statistics[state.at(j, i)];
        return lead > 0.0 && lead >= a;
    }
    static double upper(const CountingState& state, i64 i, i64 j, double a) {
        if (i == j) return 0.5;
        double met = state.met(i, j);
        return met > 0.0 ? state.won(i, j) / met + std::sqrt(a / met) : 2.0;
    }
    // The given arms that may beat all others in the round.
    static std::vector<i64> undefeated(const CountingState& state, const std::vector<i64>& among,
                                       const OfferedArms& offered, double a) {
        std::vector<i64> found;
        for (i64 i : among) {
            bool whole = state.row_statistics[static_cast<std::size_t>(i)] <= a;
            if (!whole && offered.n < state.n) {  // the arms that beat it may not be in this round
                whole = true;
                for (i64 k = 0; k < offered.n && whole; k++) whole = may_beat(state, i, offered.arms[k], a);
            }
            if (whole) found.push_back(i);
        }
        return found;
    }
    // argmax of u_jc over the given arms, with ties broken at random and never in favor of c itself.
    static i64 challenger(const CountingState& state, Sfc64& random, const std::vector<i64>& among, i64 c, double a) {
        std::vector<i64> best = largest(among, [&](i64 j) { return upper(state, j, c, a); });
        if (best.size() > 1) std::erase(best, c);
        return random_choice(random, best);
    }
};

}  // namespace duelist
