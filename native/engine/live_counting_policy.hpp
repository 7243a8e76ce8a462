// A live policy that counts wins: a rule, its state, and the pending duels. And the same in simulated runs.
#pragma once

#include <map>
#include <span>
#include <unordered_map>

#include "counting/counting_rule.hpp"
#include "engine/simulation.hpp"

namespace duelist {

// A pending duel: the arms by index, and their positions in the round.
struct PendingCountingDuel {
    CountingDecision duel;
    i64 first, second;
};

class LiveCountingPolicy {
public:
    std::shared_ptr<const CountingRule> rule;
    CountingState state;
    std::map<i64, PendingCountingDuel> pending;
    i64 next_id = 0;

    explicit LiveCountingPolicy(std::shared_ptr<const CountingRule> rule) : rule(std::move(rule)) {}

    // The indices of arms, some of which may be new.
    std::vector<i64> indices_of(std::span<const i64> ids) {
        std::vector<i64> indices;
        i64 known = state.n;
        for (i64 id : ids) {
            auto [place, fresh] = index_of_.try_emplace(id, known);
            if (fresh) {
                state.ids.push_back(id);
                known++;
            }
            indices.push_back(place->second);
        }
        rule->add_arms(state, known);
        return indices;
    }

    i64 n_unseen(std::span<const i64> ids) const {
        return std::count_if(ids.begin(), ids.end(), [&](i64 id) { return !index_of_.count(id); });
    }

    // Decide a duel, with positions in the round. Changes nothing but `random`. `waiting` are duels pending elsewhere.
    PendingCountingDuel decide(const std::vector<i64>& arms, Sfc64& random, bool distinct, const PairSet* excluded,
                               const std::vector<CountingDecision>& waiting) const {
        OfferedArms offered{arms.data(), static_cast<i64>(arms.size()), distinct, excluded};
        CountingDecision duel = waiting.empty() ? rule->decide(state, random, offered)
                                                : rule->decide(expected_state(waiting), random, offered);
        if (duel.none()) return {{}, -1, -1};
        return {duel, position(arms, duel.first), position(arms, duel.second)};
    }

    std::vector<CountingDecision> pending_duels() const {
        std::vector<CountingDecision> duels;
        for (const auto& [id, asked] : pending) duels.push_back(asked.duel);
        return duels;
    }

    void learn(const CountedVote& vote) { rule->learn_vote(state, vote); }

    // Replace the state, as when restoring a snapshot.
    void replace_state(CountingState known) {
        state = std::move(known);
        rule->recompute_statistics(state);
        index_of_.clear();
        for (i64 k = 0; k < state.n; k++) index_of_.emplace(state.ids[static_cast<std::size_t>(k)], k);
    }

private:
    std::unordered_map<i64, i64> index_of_;

    static i64 position(const std::vector<i64>& arms, i64 arm) {
        return std::find(arms.begin(), arms.end(), arm) - arms.begin();
    }

    // The state if pending duels end as their rule expects.
    CountingState expected_state(const std::vector<CountingDecision>& waiting) const {
        CountingState expected = state;
        for (const CountingDecision& duel : waiting) {
            double outcome = rule->expected_outcome(expected, duel, state.share(duel.first, duel.second));
            rule->learn_vote(expected, {duel.first, duel.second, outcome, 1.0, duel.layer});
        }
        return expected;
    }
};

// Play one run through a block of rounds, where the id of an arm is its position. Return false if a round has no
// allowed pair.
bool play(const CountingRule& rule, CountingState& state, const RoundBlock& block, i64 run);

}  // namespace duelist
