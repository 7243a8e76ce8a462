// Simulated runs whose votes come late: a policy is asked `delay` times more before it hears of a round, as live policies are.
#pragma once

#include <deque>

#include "engine/counting_player.hpp"
#include "engine/player.hpp"

namespace duelist {

// Who was shown, and the layer that will learn the outcome, from 1; 0: none.
struct Shown {
    i64 first, second, layer;
};

// A run of a policy that knows arms by their features.
class LateRun {
public:
    LateRun(std::shared_ptr<const Rule> rule, const State& first) : player_(std::move(rule)) { player_.begin(first); }

    // The number of the next duel; -1: there was no pair to ask.
    i64 ask(const Rounds& r, i64 place, bool distinct, Shown& shown) {
        i64 id = player_.ask({r.arms + place * r.n_arms * r.dim, r.counts[place], r.dim, distinct});
        if (id < 0) return -1;
        const Pending& asked = player_.pending.at(id);
        const Decision& duel = asked.duel;
        bool differ = std::any_of(asked.difference.begin(), asked.difference.end(), [](double d) { return d != 0.0; });
        shown = {duel.first, duel.second, differ && duel.share > 0.0 && duel.layer >= 0 ? duel.layer + 1 : 0};
        return id;
    }

    void tell(i64 id, double outcome) { player_.tell(id, outcome, 1.0); }

private:
    Player player_;
};

// A run of a policy that counts wins, where arm k is the one at position k.
class LateCountingRun {
public:
    LateCountingRun(std::shared_ptr<const CountingRule> rule, const Ledger& first) : player_(std::move(rule)) {
        player_.ledger = first;
    }

    i64 ask(const Rounds& r, i64 place, bool distinct, Shown& shown) {
        while (static_cast<i64>(names_.size()) < r.counts[place]) names_.push_back(static_cast<i64>(names_.size()));
        std::vector<i64> table = player_.meet(names_.data(), r.counts[place]);
        Waiting asked = player_.decide(table, player_.ledger.random, distinct, nullptr, player_.waiting());
        if (asked.duel.none()) return -1;
        shown = {asked.first, asked.second, asked.first == asked.second ? 0 : asked.duel.layer + 1};
        player_.pending.emplace(player_.next_id, asked);
        return player_.next_id++;
    }

    void tell(i64 id, double outcome) {
        auto found = player_.pending.find(id);
        Named duel = found->second.duel;
        player_.pending.erase(found);
        player_.learn({duel.first, duel.second, outcome, 1.0, duel.layer});
    }

private:
    CountingPlayer player_;
    std::vector<i64> names_;
};

// A run, the votes that are out, and how many rounds it has been asked about.
template <class Run>
struct Late {
    Run run;
    std::deque<std::pair<i64, double>> out;
    i64 rounds = 0;
};

// One run through a stretch of rounds: ask, draw the outcome, tell the one of `delay` rounds ago. False: a round had no pair to ask.
template <class Run>
bool play_late(Late<Run>& late, const Stretch& stretch, i64 number) {
    const Rounds& r = stretch.rounds;
    i64 world = r.arm_runs > 1 ? number : 0, truths = r.utility_runs > 1 ? number : 0;
    for (i64 t = 0; t < stretch.length; t++) {
        i64 at = r.arm_rounds > 1 ? t : 0, place = world * r.arm_rounds + at;
        const double* utilities = r.utilities + (truths * r.arm_rounds + at) * r.n_arms;
        Shown shown{};
        i64 id = late.run.ask(r, place, stretch.distinct, shown);
        if (id < 0) return false;
        double chance = stretch.truth.vote_chance(utilities, shown.first, shown.second, ++late.rounds);
        double outcome = stretch.luck[number * stretch.length + t] < chance ? 1.0 : 0.0;
        double best = *std::max_element(utilities, utilities + r.counts[place]);
        stretch.log.write(number, t, shown.first, shown.second, shown.layer, outcome, utilities, best);
        late.out.emplace_back(id, outcome);
        if (static_cast<i64>(late.out.size()) <= stretch.truth.delay) continue;
        late.run.tell(late.out.front().first, late.out.front().second);
        late.out.pop_front();
    }
    return true;
}

}  // namespace duelist
