// Double Thompson Sampling (Wu, Liu, NeurIPS 2016, Algorithm 1), D-TS, and D-TS+, which breaks ties by estimated regret.
#pragma once

#include "counting/counting_rule.hpp"
#include "numerics/beta.hpp"

namespace duelist {

class DTS : public BoundsRule {
public:
    explicit DTS(const Hyperparameters& hyperparameters)
        : alpha_(hyperparameters.number("alpha")), plus_(hyperparameters.flag("plus")) {}

    CountingDecision decide(const CountingState& state, Sfc64& random, const OfferedArms& offered) const override {
        std::vector<i64> available = offered.available();
        if (available.empty()) return {};
        double a = alpha_ * state.log_round();
        // Lines 5 and 6.
        std::vector<i64> candidates = largest(available, [&](i64 i) { return upper_score(state, offered, i, a); });
        i64 first = candidates.size() == 1 ? candidates[0]
                    : plus_                ? least_regret(state, random, offered, candidates)
                                           : most_sampled_wins(state, random, offered, candidates);
        return {first, second_of(state, random, offered, first, a)};
    }

private:
    double alpha_;
    bool plus_;

    // The upper bound of the Copeland score: the number of arms j with u_ij > 1/2.
    static double upper_score(const CountingState& state, const OfferedArms& offered, i64 i, double a) {
        i64 score = 0;
        for (i64 k = 0; k < offered.n; k++) {
            i64 j = offered.arms[k];
            score += j != i && (state.pair_statistics[state.at(i, j)] < a || state.met(i, j) == 0.0);
        }
        return static_cast<double>(score);
    }

    static double sample(const CountingState& state, Sfc64& random, i64 i, i64 j) {
        return draw_beta(random, state.won(i, j) + 1.0, state.won(j, i) + 1.0);
    }

    // Lines 7 to 10. Only candidates need theta_ij, so only these are drawn.
    static i64 most_sampled_wins(const CountingState& state, Sfc64& random, const OfferedArms& offered,
                                 const std::vector<i64>& candidates) {
        std::vector<double> wins(static_cast<std::size_t>(state.n), 0.0);
        std::vector<char> read(static_cast<std::size_t>(state.n), 0);
        for (i64 i : candidates) read[static_cast<std::size_t>(i)] = 1;
        for (i64 x = 0; x < offered.n; x++)
            for (i64 y = x + 1; y < offered.n; y++) {
                i64 i = offered.arms[x], j = offered.arms[y];
                if (!read[static_cast<std::size_t>(i)] && !read[static_cast<std::size_t>(j)]) continue;
                double theta = sample(state, random, i, j);
                wins[static_cast<std::size_t>(i)] += theta > 0.5;
                wins[static_cast<std::size_t>(j)] += theta < 0.5;
            }
        return random_choice(random, largest(candidates, [&](i64 i) { return wins[static_cast<std::size_t>(i)]; }));
    }

    // D-TS+: of the candidates with the most sampled wins, the one of smallest regret bound, the sum over j of the
    // regret of (i, j) divided by the divergence of theta_ij.
    static i64 least_regret(const CountingState& state, Sfc64& random, const OfferedArms& offered,
                            const std::vector<i64>& candidates) {
        std::vector<double> wins(static_cast<std::size_t>(state.n), 0.0),
            theta(static_cast<std::size_t>(state.n * state.n), 0.5);
        for (i64 x = 0; x < offered.n; x++)
            for (i64 y = x + 1; y < offered.n; y++) {
                i64 i = offered.arms[x], j = offered.arms[y];
                double drawn = sample(state, random, i, j);
                theta[state.at(i, j)] = drawn;
                theta[state.at(j, i)] = 1.0 - drawn;
                wins[static_cast<std::size_t>(i)] += drawn > 0.5;
                wins[static_cast<std::size_t>(j)] += drawn < 0.5;
            }
        std::vector<i64> tied = largest(candidates, [&](i64 i) { return wins[static_cast<std::size_t>(i)]; });
        i64 best = -1;
        double least = INF;
        for (i64 i : tied) {
            double regret = 0.0, most = wins[static_cast<std::size_t>(i)];
            for (i64 k = 0; k < offered.n; k++) {
                i64 j = offered.arms[k];
                double p = theta[state.at(i, j)];
                if (p != 0.5) regret += (most - wins[static_cast<std::size_t>(j)]) / divergence_from_half(p);
            }
            if (best < 0 || regret < least) best = i, least = regret;
        }
        return best;
    }

    // Lines 12 and 13: the arm j of largest sampled theta_j against the first, among those with l_j <= 1/2.
    static i64 second_of(const CountingState& state, Sfc64& random, const OfferedArms& offered, i64 first, double a) {
        std::vector<i64> open, partners = offered.partners(first);
        for (i64 j : partners)
            if (may_beat(state, first, j, a)) open.push_back(j);
        if (open.empty()) open = partners;
        if (open.size() == 1) return open[0];
        i64 best = -1;
        double most = -INF;
        for (i64 j : open) {
            double theta = j == first ? 0.5 : sample(state, random, j, first);
            if (theta > most) best = j, most = theta;
        }
        return best;
    }
};

}  // namespace duelist
