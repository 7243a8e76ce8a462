// Simulated runs whose votes come late: a policy is asked `delay` times more before it hears of a round, as live policies are.
#pragma once

#include <deque>

#include "engine/counting_player.hpp"
#include "engine/player.hpp"

namespace duelist {

// Who was shown, and the layer that will learn the outcome, from 1; 0: none.
struct ShownDuel {
    i64 first, second, layer;
};

// A run of a policy that knows arms by their features.
class DelayedPolicyRun {
public:
    DelayedPolicyRun(std::shared_ptr<const SelectionRule> rule, const PolicyState& first) : policy_(std::move(rule)) {
        policy_.begin(first);
    }

    // The number of the next duel; -1: there was no pair to ask.
    i64 ask(const RoundInputs& r, i64 place, bool distinct, ShownDuel& shown) {
        i64 id = policy_.ask({r.arms + place * r.n_arms * r.dim, r.counts[place], r.dim, distinct});
        if (id < 0) return -1;
        const AskedDuel& asked = policy_.pending.at(id);
        const Decision& duel = asked.duel;
        bool differ = std::any_of(asked.difference.begin(), asked.difference.end(), [](double d) { return d != 0.0; });
        shown = {duel.first, duel.second, differ && duel.share > 0.0 && duel.layer >= 0 ? duel.layer + 1 : 0};
        return id;
    }

    void tell(i64 id, double outcome) { policy_.tell(id, outcome, 1.0); }

private:
    LivePolicy policy_;
};

// A run of a policy that counts wins, where arm k is the one at position k.
class DelayedCountingRun {
public:
    DelayedCountingRun(std::shared_ptr<const CountingRule> rule, const CountingState& first)
        : policy_(std::move(rule)) {
        policy_.state = first;
    }

    i64 ask(const RoundInputs& r, i64 place, bool distinct, ShownDuel& shown) {
        while (static_cast<i64>(names_.size()) < r.counts[place]) names_.push_back(static_cast<i64>(names_.size()));
        std::vector<i64> table = policy_.add_arms(names_.data(), r.counts[place]);
        PendingCountingDuel asked = policy_.decide(table, policy_.state.random, distinct, nullptr, policy_.waiting());
        if (asked.duel.none()) return -1;
        shown = {asked.first, asked.second, asked.first == asked.second ? 0 : asked.duel.layer + 1};
        policy_.pending.emplace(policy_.next_id, asked);
        return policy_.next_id++;
    }

    void tell(i64 id, double outcome) {
        auto found = policy_.pending.find(id);
        CountingDecision duel = found->second.duel;
        policy_.pending.erase(found);
        policy_.learn({duel.first, duel.second, outcome, 1.0, duel.layer});
    }

private:
    LiveCountingPolicy policy_;
    std::vector<i64> names_;
};

// A run, the votes that are out, and how many rounds it has been asked about.
template <class Run>
struct DelayedRun {
    Run run;
    std::deque<std::pair<i64, double>> out;
    i64 rounds = 0;
};

// One run through a stretch of rounds: ask, draw the outcome, tell the one of `delay` rounds ago. False: a round had no pair to ask.
template <class Run>
bool play_delayed(DelayedRun<Run>& delayed, const RoundBlock& block, i64 number) {
    const RoundInputs& r = block.rounds;
    i64 world = r.arm_runs > 1 ? number : 0, utility_run = r.utility_runs > 1 ? number : 0;
    for (i64 t = 0; t < block.length; t++) {
        i64 at = r.arm_rounds > 1 ? t : 0, place = world * r.arm_rounds + at;
        const double* utilities = r.utilities + (utility_run * r.arm_rounds + at) * r.n_arms;
        ShownDuel shown{};
        i64 id = delayed.run.ask(r, place, block.distinct, shown);
        if (id < 0) return false;
        double chance = block.vote_model.vote_chance(utilities, shown.first, shown.second, ++delayed.rounds);
        double outcome = block.uniforms[number * block.length + t] < chance ? 1.0 : 0.0;
        double best = *std::max_element(utilities, utilities + r.counts[place]);
        block.log.write(number, t, shown.first, shown.second, shown.layer, outcome, utilities, best);
        delayed.out.emplace_back(id, outcome);
        if (static_cast<i64>(delayed.out.size()) <= block.vote_model.delay) continue;
        delayed.run.tell(delayed.out.front().first, delayed.out.front().second);
        delayed.out.pop_front();
    }
    return true;
}

}  // namespace duelist
