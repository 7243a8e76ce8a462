// A live policy: a rule, what it knows, and the duels that are out.
#pragma once

#include <map>
#include <optional>

#include "engine/ask_tell.hpp"
#include "engine/batch.hpp"
#include "engine/pending_pairs.hpp"
#include "model/pair_counts.hpp"

namespace duelist {

// What was decided at ask and is needed at tell.
struct AskedDuel {
    Decision duel;
    std::vector<double> difference;
    DuelFingerprints arms;
};

class LivePolicy {
public:
    std::shared_ptr<const SelectionRule> rule;
    std::optional<PolicyState> state;  // nothing before the first arms
    std::map<i64, AskedDuel> pending;
    i64 next_id = 0;
    PairCounts tally;

    explicit LivePolicy(std::shared_ptr<const SelectionRule> rule) : rule(std::move(rule)) {}

    void begin(const PolicyState& first) {
        state = first;
        pending.clear();  // they were about another state, and so was what was decided last
        tally = PairCounts(max_counted_pairs());
        if (state->has_learned()) tally.drop();  // from votes that nobody has counted here
        workspace_.cache.start_over();
        rule->grow(*state);
    }

    // The number of a new duel, now pending; -1: no pair may be asked, and nothing has changed.
    i64 ask(const ArmTable& table) {
        if (table.distinct && table.n > 1 && table.n_allowed_pairs() == 0) return -1;
        Sfc64 before = state->random;
        Decision duel =
            has_informative_pending() ? decide_with_pending(table) : decide_round(*rule, *state, workspace_, table);
        if (duel.first < 0 || duel.second < 0) {
            state->rounds--;
            state->random = before;
            return -1;
        }
        return add_pending_duel(duel, table);
    }

    i64 add_pending_duel(const Decision& duel, const ArmTable& table) {
        std::vector<double> difference(static_cast<std::size_t>(table.dim));
        subtract(table.arm(duel.first), table.arm(duel.second), table.dim, difference.data());
        DuelFingerprints arms{fingerprint(table.arm(duel.first), table.dim),
                              fingerprint(table.arm(duel.second), table.dim)};
        pending.emplace(next_id, AskedDuel{duel, std::move(difference), arms});
        return next_id++;
    }

    i64 max_counted_pairs() const { return state->online ? PairCounts::MOST : PairCounts::MAX_EXACT; }

    // The outcome of a pending duel, which must be there.
    void tell(i64 number, double outcome, double weight) {
        auto found = pending.find(number);
        const AskedDuel& out = found->second;
        hear(out.duel, {out.difference.data(), outcome}, weight, out.arms);
        pending.erase(found);
    }

    // What it would ask now, with duels out elsewhere counted as if they were answered; nothing changes.
    Decision consider(const ArmTable& table, const std::vector<PendingDuel>& out, const u64* words, i64 rounds) {
        PolicyState copy = *state;
        if (words) std::copy(words, words + 4, copy.random.words.begin());
        if (rounds >= 0) copy.rounds = rounds;
        return decide_given_pending(copy, table, out);
    }

    // One outcome of a duel that whoever asked; what is known afterwards is a function of the outcomes in their order.
    void learn(const double* difference, double outcome, double weight, i64 layer, double share,
               const DuelFingerprints& arms) {
        next_id++;
        state->rounds++;
        rule->grow(*state, layer + 1);  // it may have been asked when more duels were out, and layers were deeper
        if (hear({0, 0, layer, share}, {difference, outcome}, weight, arms))  // other sizes move all layers
            for (i64 each = 0; each < state->n_layers(); each++)
                state->theta(
                    each,
                    workspace_.solver);  // now and not when next read, so that reading leaves no trace in the last bits
    }

    // The state that a batch is decided from: all its contexts in the same round. Solves leave no trace in what is known.
    PolicyState for_batch(const ContextArms& contexts) {
        std::vector<double> arms = contexts.some_arms(FeatureScale::ENOUGH);
        i64 n = static_cast<i64>(arms.size()) / state->dim;
        state->meet(arms.data(), n, workspace_.solver);
        PolicyState copy = *state;
        copy.rounds++;
        rule->grow(copy);
        copy.adopt(copy.scale.see(arms.data(), n, copy.dim), aside_.solver);
        if (has_informative_pending()) expect(copy, waiting());
        return copy;
    }

    // What a batch leaves out, because it is out with somebody.
    DifferenceSet pending_differences() const { return differences_to_exclude(waiting()); }

    // How many layers a choice can name, in however many rounds.
    i64 most_layers() const {
        constexpr i64 FOREVER = i64{1} << 60;
        return rule->layers_in(FOREVER);
    }

    Workspace& workspace() { return workspace_; }

private:
    Workspace workspace_, aside_;

    // One outcome, by the policy and by the tally; whether it taught anything.
    bool hear(const Decision& duel, const PairOutcome& seen, double weight, const DuelFingerprints& arms) {
        if (!learn_outcome(*state, workspace_, duel, seen, weight)) return false;
        double mass = duel.share * weight;
        if (mass > 0.0) tally.add({arms, mass, mass * seen.outcome});
        return true;
    }

    DifferenceSet differences_to_exclude(const std::vector<PendingDuel>& out) const {
        return rule->reacts_to_pending() ? DifferenceSet() : differences_of(out, state->dim);
    }

    static bool is_informative(const AskedDuel& out) { return out.duel.share > 0.0 && out.duel.layer >= 0; }

    bool has_informative_pending() const {
        for (const auto& [number, out] : pending)
            if (is_informative(out)) return true;
        return false;
    }

    // The duels whose answers will teach something, the first asked first.
    std::vector<PendingDuel> waiting() const {
        std::vector<PendingDuel> out;
        for (const auto& [number, duel] : pending)
            if (is_informative(duel)) out.push_back({duel.difference.data(), duel.duel.layer, duel.duel.share});
        return out;
    }

    // The next round of a policy that waits for answers: it decides as if they had come and taught it nothing but how much is known.
    Decision decide_with_pending(const ArmTable& table) {
        state->meet(table.features, table.n, workspace_.solver);
        rule->prepare(*state, workspace_);  // once here, and not in a copy in every round
        PolicyState copy = *state;
        Decision duel = decide_given_pending(copy, table, waiting());
        state->rounds++;
        rule->grow(*state);
        state->random = copy.random;
        return duel;
    }

    // The next round of a copy: in the sizes of these arms first, then what is out is counted in them.
    Decision decide_given_pending(PolicyState& copy, const ArmTable& table, const std::vector<PendingDuel>& out) {
        i64 deepest = 0;
        for (const PendingDuel& duel : out) deepest = std::max(deepest, duel.layer);
        copy.rounds++;
        rule->grow(copy, deepest + 1);
        copy.meet(table.features, table.n, aside_.solver);
        copy.adopt(copy.scale.see(table.features, table.n, table.dim), aside_.solver);
        expect(copy, out);
        return decide_excluding(differences_to_exclude(out), *rule, copy, aside_, table);
    }

    void expect(PolicyState& copy, const std::vector<PendingDuel>& out) {
        aside_.cache.start_over();
        if (rule->local() && !out.empty())  // a solve makes the curvature anew: before what is out is counted
            copy.local_curvature(0, aside_.solver);
        for (const PendingDuel& duel : out)
            if (duel.share > 0.0 && duel.layer >= 0)
                copy.expect(duel.layer, duel.difference, duel.share, aside_.solver);
    }
};

}  // namespace duelist
