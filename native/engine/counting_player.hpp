// A live policy that counts wins: a rule, what it knows, and the duels that are out. And the same in simulated runs.
#pragma once

#include <map>
#include <unordered_map>

#include "engine/simulation.hpp"
#include "counting/counting_rule.hpp"

namespace duelist {

// A duel that is out: who meets whom inside, and the positions that they had on the table.
struct Waiting {
    Named duel;
    i64 first, second;
};

class CountingPlayer {
public:
    std::shared_ptr<const CountingRule> rule;
    Ledger ledger;
    std::map<i64, Waiting> pending;
    i64 next_id = 0;

    explicit CountingPlayer(std::shared_ptr<const CountingRule> rule) : rule(std::move(rule)) {}

    // The numbers inside of arms, of which some may be new.
    std::vector<i64> meet(const i64* names, i64 n) {
        std::vector<i64> inside;
        i64 known = ledger.n;
        for (i64 k = 0; k < n; k++) {
            auto [place, fresh] = inside_.try_emplace(names[k], known);
            if (fresh) {
                ledger.names.push_back(names[k]);
                known++;
            }
            inside.push_back(place->second);
        }
        rule->meet(ledger, known);
        return inside;
    }
    i64 unseen(const i64* names, i64 n) const {
        return std::count_if(names, names + n, [&](i64 name) { return !inside_.count(name); });
    }

    // The duel of these arms, with positions on the table; nothing changes but what `random` draws. `out` are duels with somebody else.
    Waiting decide(const std::vector<i64>& table, Random& random, bool distinct, const PairSet* out,
                   const std::vector<Named>& waiting) const {
        Field field{table.data(), static_cast<i64>(table.size()), distinct, out};
        Named duel = waiting.empty() ? rule->decide(ledger, random, field) : rule->decide(expecting(waiting), random, field);
        if (duel.none()) return {{}, -1, -1};
        return {duel, position(table, duel.first), position(table, duel.second)};
    }

    std::vector<Named> waiting() const {
        std::vector<Named> out;
        for (const auto& [id, duel] : pending) out.push_back(duel.duel);
        return out;
    }

    void learn(const Vote& vote) { rule->hear(ledger, vote); }

    // What is known, when it comes from elsewhere.
    void set(Ledger known) {
        ledger = std::move(known);
        rule->rebuild(ledger);
        inside_.clear();
        for (i64 k = 0; k < ledger.n; k++) inside_.emplace(ledger.names[static_cast<std::size_t>(k)], k);
    }

private:
    std::unordered_map<i64, i64> inside_;

    static i64 position(const std::vector<i64>& table, i64 arm) { return std::find(table.begin(), table.end(), arm) - table.begin(); }

    // What would be known if duels that are out went as their rule foretells.
    Ledger expecting(const std::vector<Named>& out) const {
        Ledger expected = ledger;
        for (const Named& duel : out) {
            double outcome = rule->foretold(expected, duel, ledger.share(duel.first, duel.second));
            rule->hear(expected, {duel.first, duel.second, outcome, 1.0, duel.layer});
        }
        return expected;
    }
};

// One run through a stretch of rounds, where arm k is the one at position k. False: a round had no pair to ask.
bool play(const CountingRule& rule, Ledger& ledger, const Stretch& stretch, i64 run);

}  // namespace duelist
