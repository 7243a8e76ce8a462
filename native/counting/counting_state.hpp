// The state of a policy without features: wins by pair, and the variables of its rule.
//
// Arms have consecutive indices in the order in which they were first seen; `ids` are those used outside.
#pragma once

#include <algorithm>
#include <vector>

#include "numerics/random.hpp"
#include "search/arm_table.hpp"

namespace duelist {

inline constexpr i64 MAX_COUNTING_ARMS = 4096;  // the table of wins is quadratic

// A learned outcome: 1 if the first arm won, 0 if the second did. The rule defines what its layers are.
struct CountedVote {
    i64 first, second;
    double outcome, weight;
    i64 layer;
};

// The duel that a rule decided, and the layer in which its outcome will be learned.
struct CountingDecision {
    i64 first = -1, second = -1, layer = 0;
    bool none() const { return first < 0 || second < 0; }
};

inline constexpr i64 EXPLORE = 0, EXPLOIT = 1;  // layers of rules that commit to an arm

class CountingState {
public:
    i64 n = 0;      // number of arms
    i64 votes = 0;  // outcomes learned
    Sfc64 random;
    std::vector<i64> ids;
    std::vector<i64> integers;  // variables of the rule; its header defines the layout
    std::vector<double> reals;  // further variables, likewise

    // The number of the next round, from 1.
    i64 round() const { return votes + 1; }
    double log_round() const { return log(static_cast<double>(round())); }

    double won(i64 i, i64 j) const { return wins_[at(i, j)]; }
    double met(i64 i, i64 j) const { return wins_[at(i, j)] + wins_[at(j, i)]; }
    // The share of its duels with j that i has won; 1/2 without duels.
    double share(i64 i, i64 j) const {
        double total = met(i, j);
        return total > 0.0 ? won(i, j) / total : 0.5;
    }

    void count(const CountedVote& vote) {
        votes++;
        if (vote.first == vote.second) return;
        wins_[at(vote.first, vote.second)] += vote.weight * vote.outcome;
        wins_[at(vote.second, vote.first)] += vote.weight * (1.0 - vote.outcome);
    }

    // Make room for `arms` arms.
    void grow(i64 arms) {
        wins_ = resized_square(wins_, n, arms, 0.0);
        n = arms;
    }

    const std::vector<double>& wins() const { return wins_; }
    void set_wins(std::vector<double> wins) { wins_ = std::move(wins); }

    // Copy a square table of `before` rows into the corner of one of `after` rows.
    template <class T>
    static std::vector<T> resized_square(const std::vector<T>& old, i64 before, i64 after, T fill) {
        std::vector<T> made(static_cast<std::size_t>(after * after), fill);
        for (i64 i = 0; i < before; i++)
            for (i64 j = 0; j < before; j++)
                made[static_cast<std::size_t>(i * after + j)] = old[static_cast<std::size_t>(i * before + j)];
        return made;
    }

    // Statistics maintained by the rule; functions of the wins, so snapshots omit them.
    std::vector<double> pair_statistics, row_statistics;

    std::size_t at(i64 i, i64 j) const { return static_cast<std::size_t>(i * n + j); }

private:
    std::vector<double> wins_;
};

// The arms of a round by index, and the pairs of them that are allowed.
struct OfferedArms {
    const i64* arms;
    i64 n;
    bool distinct = false;
    const PairSet* excluded = nullptr;  // by index

    // A single arm can only meet itself.
    bool allows_self() const { return !distinct || n == 1; }
    bool allows(i64 i, i64 j) const { return i == j ? allows_self() : !excluded || !excluded->has(i, j); }
    bool has(i64 arm) const { return std::find(arms, arms + n, arm) != arms + n; }
    bool can_duel(i64 i) const {
        if (allows_self()) return true;
        for (i64 k = 0; k < n; k++)
            if (arms[k] != i && allows(i, arms[k])) return true;
        return false;
    }
    // Arms with an allowed partner.
    std::vector<i64> available() const {
        std::vector<i64> found;
        for (i64 k = 0; k < n; k++)
            if (can_duel(arms[k])) found.push_back(arms[k]);
        return found;
    }
    // The allowed partners of arm i.
    std::vector<i64> partners(i64 i) const {
        std::vector<i64> found;
        for (i64 k = 0; k < n; k++)
            if (allows(i, arms[k])) found.push_back(arms[k]);
        return found;
    }
};

// A uniform draw; with a single arm, no random number is used.
inline i64 random_choice(Sfc64& random, const std::vector<i64>& arms) {
    return arms.size() == 1 ? arms[0] : arms[static_cast<std::size_t>(random.below(static_cast<i64>(arms.size())))];
}

// The arms of largest value, in order.
template <class Value>
std::vector<i64> largest(const std::vector<i64>& arms, Value value) {
    std::vector<i64> best;
    double most = -INF;
    for (i64 arm : arms) {
        double here = value(arm);
        if (here > most) best.clear();
        if (!(here < most)) {  // the negation keeps arms whose value is NaN
            most = here;
            best.push_back(arm);
        }
    }
    return best;
}

inline bool holds(const std::vector<i64>& arms, i64 arm) {
    return std::find(arms.begin(), arms.end(), arm) != arms.end();
}

// An arm to exploit: against itself, or, if self-duels are not allowed, against its best rival.
inline CountingDecision against_best_rival(const CountingState& state, const OfferedArms& offered, i64 arm, i64 layer) {
    if (offered.allows_self()) return {arm, arm, layer};
    i64 partner = -1;
    for (i64 j : offered.partners(arm))
        if (partner < 0 || state.share(j, arm) > state.share(partner, arm)) partner = j;
    return {arm, partner, layer};
}

// The pair with the fewest duels, for rounds without the arms that a rule waits for.
inline CountingDecision least_compared(const CountingState& state, const OfferedArms& offered, i64 layer = EXPLORE) {
    CountingDecision found;
    for (i64 a = 0; a < offered.n; a++)
        for (i64 b = a + 1; b < offered.n; b++) {
            i64 i = offered.arms[a], j = offered.arms[b];
            if (!offered.allows(i, j)) continue;
            if (found.none() || state.met(i, j) < state.met(found.first, found.second)) found = {i, j, layer};
        }
    if (found.none() && offered.allows_self()) found = {offered.arms[0], offered.arms[0], layer};
    return found;
}

}  // namespace duelist
