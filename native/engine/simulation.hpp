// Simulated runs: rounds whose outcomes are drawn from a world that the policy never sees.
#pragma once

#include <vector>

#include "engine/ask_tell.hpp"

namespace duelist {

// How outcomes come about: chances from a link, from a table, or none at all.
struct VoteModel {
    Link link = Link::logistic;
    bool noiseless = false;
    const double* table = nullptr;  // (n_arms, n_arms) chance that the row arm wins
    i64 table_size = 0;
    i64 flipped_first = 0;     // so many votes at the start of a run are turned round
    double flip_chance = 0.0;  // and each later one with this chance
    i64 delay = 0;             // a vote is told when so many more rounds have been asked about

    // The chance that the vote of round t (from 1) goes to the first arm.
    double vote_chance(const double* utilities, i64 first, i64 second, i64 t) const {
        double honest = win_chance(utilities, first, second);
        if (t <= flipped_first) return 1.0 - honest;
        return honest + flip_chance * (1.0 - 2.0 * honest);
    }
    double win_chance(const double* utilities, i64 first, i64 second) const {
        double gap = utilities[first] - utilities[second];
        if (noiseless) return gap == 0.0 ? 0.5 : (gap > 0.0 ? 1.0 : 0.0);
        if (table) return table[first * table_size + second];
        return mean(link, gap);
    }
};

// Arms and utilities of a stretch of rounds. A size of 1 along runs or rounds: the same for all of them.
struct RoundInputs {
    const double* arms;       // (arm_runs, arm_rounds, n_arms, dim)
    const i64* counts;        // (arm_runs, arm_rounds) how many of the arms are on the table
    const double* utilities;  // (utility_runs, arm_rounds, n_arms)
    i64 arm_runs, arm_rounds, utility_runs, n_arms, dim;
};

// What is written down of every round, (runs, `horizon`) each, from round `start` on.
struct RunLog {
    std::int32_t *first, *second;
    std::int8_t* layer;  // that learned the outcome, from 1; 0: none
    std::uint8_t* outcome;
    double *first_gap, *second_gap;  // how far the arms shown stay below the best on the table
    i64 horizon, start;

    // Round t of a stretch; `best` is the largest utility on the table.
    void write(i64 run, i64 t, i64 one, i64 other, i64 learned_in, double won, const double* utilities,
               double best) const {
        i64 cell = run * horizon + start + t;
        first[cell] = static_cast<std::int32_t>(one);
        second[cell] = static_cast<std::int32_t>(other);
        layer[cell] = static_cast<std::int8_t>(learned_in);
        outcome[cell] = static_cast<std::uint8_t>(won);
        first_gap[cell] = best - utilities[one];
        second_gap[cell] = best - utilities[other];
    }
};

struct RoundBlock {
    VoteModel vote_model;
    RoundInputs rounds;
    const double* uniforms;  // (runs, length)
    i64 length;
    bool distinct;
    RunLog log;
};

// One run through a stretch of rounds: ask, draw the outcome, tell. False: a round had no pair to ask.
bool play(const SelectionRule& rule, PolicyState& state, Workspace& workspace, const RoundBlock& block, i64 run);

}  // namespace duelist
