// The rule of a policy that knows arms by who they are and counts wins.
//
// What it knows moves when a vote is learned, never when it is asked: `decide` reads, and draws random numbers. So votes may come late
// and in any order, and what is known is a function of the votes.
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

    // Arms from number `before` on are new.
    virtual void on_new_arms(CountingState&, i64) const {}

    // A vote, which is counted already.
    virtual void on_vote(CountingState&, const CountedVote&) const {}

    // The duel of round `ledger.round()`.
    virtual CountingDecision decide(const CountingState& state, Sfc64& random, const OfferedArms& offered) const = 0;

    // The outcome that a duel is taken to have while it is out, when those before it have theirs: the share that its first arm has won so far.
    virtual double expected_outcome(const CountingState&, const CountingDecision&, double share) const { return share; }

    // Whether these are notes that the rule could have written; data from a disk may hold anything.
    virtual bool is_valid_state(const CountingState& state) const {
        return state.integers.empty() && state.reals.empty();
    }

    // A number kept for every ordered pair, of its wins and losses alone.
    virtual double pair_statistic(double, double) const { return 0.0; }
    // What is kept for every arm of the numbers of its pairs: the largest, their sum, or nothing at all.
    enum class RowStatistic { nothing, largest, sum };
    virtual RowStatistic row_statistic() const { return RowStatistic::nothing; }

    void add_arms(CountingState& state, i64 arms) const {
        i64 before = state.n;
        if (arms <= before) return;
        state.grow(arms);
        rebuild(state);
        on_new_arms(state, before);
    }

    void learn_vote(CountingState& state, const CountedVote& vote) const {
        state.count(vote);
        if (row_statistic() != RowStatistic::nothing && vote.first != vote.second) {
            keep(state, vote.first, vote.second);
            keep(state, vote.second, vote.first);
            sum_up(state, vote.first);
            sum_up(state, vote.second);
        }
        on_vote(state, vote);
    }

    void rebuild(CountingState& state) const {
        if (row_statistic() == RowStatistic::nothing) return;
        state.pairs.assign(static_cast<std::size_t>(state.n * state.n), 0.0);
        state.rows.assign(static_cast<std::size_t>(state.n), 0.0);
        for (i64 i = 0; i < state.n; i++) {
            for (i64 j = 0; j < state.n; j++)
                if (i != j) keep(state, i, j);
            sum_up(state, i);
        }
    }

private:
    void keep(CountingState& state, i64 i, i64 j) const {
        state.pairs[state.at(i, j)] = pair_statistic(state.won(i, j), state.won(j, i));
    }
    void sum_up(CountingState& state, i64 i) const {
        const double* row = state.pairs.data() + i * state.n;
        double whole = 0.0;
        if (row_statistic() == RowStatistic::largest)
            for (i64 j = 0; j < state.n; j++) whole = row[j] > whole ? row[j] : whole;
        else
            for (i64 j = 0; j < state.n; j++) whole += row[j];
        state.rows[static_cast<std::size_t>(i)] = whole;
    }
};

std::unique_ptr<CountingRule> make_counting_rule(const std::string& policy, const Hyperparameters& hyperparameters);
std::vector<std::string> counting_rule_names();

// -- notes -------------------------------------------------------------------------------------

inline bool flags_only(const std::vector<i64>& integers, i64 from, i64 count) {
    for (i64 k = from; k < from + count; k++)
        if (integers[static_cast<std::size_t>(k)] != 0 && integers[static_cast<std::size_t>(k)] != 1) return false;
    return true;
}

inline bool has_size(const std::vector<i64>& integers, i64 size) { return static_cast<i64>(integers.size()) == size; }
inline bool has_size(const std::vector<double>& reals, i64 size) { return static_cast<i64>(reals.size()) == size; }

// -- confidence bounds -------------------------------------------------------------------------

// Relative confidence bounds, u_ij = w_ij / n_ij + sqrt(a / n_ij) with a = alpha log t, 2 where i and j never met, 1/2 for i = j; and
// l_ij = 1 - u_ji. Whether u_ij >= 1/2 is asked of all pairs in every round. It is the same as a >= n_ij (1/2 - w_ij / n_ij)^2 for an
// arm that has lost more than won: that number, the deficit, is kept, so that only what has changed is computed again.
class BoundsRule : public CountingRule {
public:
    double pair_statistic(double won, double lost) const override {
        return won < lost ? (lost - won) * (lost - won) / (4.0 * (won + lost)) : 0.0;
    }
    RowStatistic row_statistic() const override { return RowStatistic::largest; }

protected:
    // u_ij >= 1/2
    static bool may_beat(const CountingState& state, i64 i, i64 j, double a) {
        return state.pairs[state.at(i, j)] <= a;
    }
    // l_ij >= 1/2: i beats j for sure
    static bool beats(const CountingState& state, i64 i, i64 j, double a) {
        double lead = state.pairs[state.at(j, i)];
        return lead > 0.0 && lead >= a;
    }
    static double upper(const CountingState& state, i64 i, i64 j, double a) {
        if (i == j) return 0.5;
        double met = state.met(i, j);
        return met > 0.0 ? state.won(i, j) / met + std::sqrt(a / met) : 2.0;
    }
    // Arms that may beat all others on the table.
    static std::vector<i64> unbeaten(const CountingState& state, const std::vector<i64>& among,
                                     const OfferedArms& offered, double a) {
        std::vector<i64> found;
        for (i64 i : among) {
            bool whole = state.rows[static_cast<std::size_t>(i)] <= a;
            if (!whole && offered.n < state.n) {  // who beats it may have left
                whole = true;
                for (i64 k = 0; k < offered.n && whole; k++) whole = may_beat(state, i, offered.arms[k], a);
            }
            if (whole) found.push_back(i);
        }
        return found;
    }
    // argmax of u_jc over these arms, ties by chance; not c itself where it ties with others.
    static i64 challenger(const CountingState& state, Sfc64& random, const std::vector<i64>& among, i64 c, double a) {
        std::vector<i64> best = largest(among, [&](i64 j) { return upper(state, j, c, a); });
        if (best.size() > 1) std::erase(best, c);
        return random_choice(random, best);
    }
};

}  // namespace duelist
