// A live policy that counts wins: a rule, what it knows, and the duels that are out. And the same in simulated runs.
#pragma once

#include <map>
#include <unordered_map>

#include "counting/counting_rule.hpp"
#include "engine/simulation.hpp"

namespace duelist {

// A duel that is out: who meets whom inside, and the positions that they had on the table.
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

    // The numbers inside of arms, of which some may be new.
    std::vector<i64> add_arms(const i64* names, i64 n) {
        std::vector<i64> inside;
        i64 known = state.n;
        for (i64 k = 0; k < n; k++) {
            auto [place, fresh] = inside_.try_emplace(names[k], known);
            if (fresh) {
                state.names.push_back(names[k]);
                known++;
            }
            inside.push_back(place->second);
        }
        rule->add_arms(state, known);
        return inside;
    }
    i64 unseen(const i64* names, i64 n) const {
        return std::count_if(names, names + n, [&](i64 name) { return !inside_.count(name); });
    }

    // The duel of these arms, with positions on the table; nothing changes but what `random` draws. `out` are duels with somebody else.
    PendingCountingDuel decide(const std::vector<i64>& table, Sfc64& random, bool distinct, const PairSet* out,
                               const std::vector<CountingDecision>& waiting) const {
        OfferedArms offered{table.data(), static_cast<i64>(table.size()), distinct, out};
        CountingDecision duel =
            waiting.empty() ? rule->decide(state, random, offered) : rule->decide(expecting(waiting), random, offered);
        if (duel.none()) return {{}, -1, -1};
        return {duel, position(table, duel.first), position(table, duel.second)};
    }

    std::vector<CountingDecision> waiting() const {
        std::vector<CountingDecision> out;
        for (const auto& [id, duel] : pending) out.push_back(duel.duel);
        return out;
    }

    void learn(const CountedVote& vote) { rule->learn_vote(state, vote); }

    // What is known, when it comes from elsewhere.
    void set(CountingState known) {
        state = std::move(known);
        rule->rebuild(state);
        inside_.clear();
        for (i64 k = 0; k < state.n; k++) inside_.emplace(state.names[static_cast<std::size_t>(k)], k);
    }

private:
    std::unordered_map<i64, i64> inside_;

    static i64 position(const std::vector<i64>& table, i64 arm) {
        return std::find(table.begin(), table.end(), arm) - table.begin();
    }

    // What would be known if duels that are out went as their rule foretells.
    CountingState expecting(const std::vector<CountingDecision>& out) const {
        CountingState expected = state;
        for (const CountingDecision& duel : out) {
            double outcome = rule->expected_outcome(expected, duel, state.share(duel.first, duel.second));
            rule->learn_vote(expected, {duel.first, duel.second, outcome, 1.0, duel.layer});
        }
        return expected;
    }
};

// One run through a stretch of rounds, where arm k is the one at position k. False: a round had no pair to ask.
bool play(const CountingRule& rule, CountingState& state, const RoundBlock& stretch, i64 run);

}  // namespace duelist
