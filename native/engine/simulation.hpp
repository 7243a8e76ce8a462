// Simulated runs: outcomes are drawn from a model of votes that the policy does not see.
#pragma once

#include <vector>

#include "engine/ask_tell.hpp"

namespace duelist {

// How outcomes are drawn: by a link, by a table of probabilities, or without noise.
struct VoteModel {
    Link link = Link::logistic;
    bool noiseless = false;
    std::vector<double> probabilities;  // (n_arms, n_arms), the probability that the row arm wins; empty: use the link
    i64 n_probabilities = 0;
    i64 flip_first = 0;             // number of votes at the start of a run that are flipped
    double flip_probability = 0.0;  // probability that a later vote is flipped
    i64 delay = 0;                  // number of rounds before a vote is reported

    // The probability that the vote of round t (from 1) goes to the first arm.
    double vote_probability(const double* utilities, i64 first, i64 second, i64 t) const {
        double honest = win_probability(utilities, first, second);
        if (t <= flip_first) return 1.0 - honest;
        return honest + flip_probability * (1.0 - 2.0 * honest);
    }
    double win_probability(const double* utilities, i64 first, i64 second) const {
        double gap = utilities[first] - utilities[second];
        if (noiseless) return gap == 0.0 ? 0.5 : (gap > 0.0 ? 1.0 : 0.0);
        if (!probabilities.empty()) return probabilities[first * n_probabilities + second];
        return mean(link, gap);
    }
};

// Arms and utilities of a block of rounds. An extent of 1 along runs or rounds is broadcast.
struct RoundInputs {
    const double* arms;       // (arm_runs, arm_rounds, n_arms, dim)
    const i64* counts;        // (arm_runs, arm_rounds), the number of arms in each round
    const double* utilities;  // (utility_runs, arm_rounds, n_arms)
    i64 arm_runs, arm_rounds, utility_runs, n_arms, dim;
};

// The record of each round. All arrays are (runs, `horizon`); the block begins at round `start`.
struct RunLog {
    std::int32_t *first, *second;
    std::int8_t* layer;  // the layer that learned the outcome, from 1 (0: none)
    std::uint8_t* outcome;
    double *first_gap, *second_gap;  // utility of the best arm minus that of the arm shown
    i64 horizon, start;

    // Record round t of a block; `best` is the largest utility in the round.
    void write(i64 run, i64 t, i64 one, i64 other, i64 learned_in, double won, const double* utilities,
               double best_utility) const {
        i64 cell = run * horizon + start + t;
        first[cell] = static_cast<std::int32_t>(one);
        second[cell] = static_cast<std::int32_t>(other);
        layer[cell] = static_cast<std::int8_t>(learned_in);
        outcome[cell] = static_cast<std::uint8_t>(won);
        first_gap[cell] = best_utility - utilities[one];
        second_gap[cell] = best_utility - utilities[other];
    }
};

// A block of rounds of all runs.
struct RoundBlock {
    const VoteModel& vote_model;
    RoundInputs rounds;
    const double* uniforms;  // (runs, length)
    i64 length;
    bool distinct;
    RunLog log;
};

// Play one run through a block of rounds: decide, draw the outcome, learn. Return false if a round has no allowed pair.
bool play(const SelectionRule& rule, PolicyState& state, Workspace& workspace, const RoundBlock& block, i64 run);

}  // namespace duelist
