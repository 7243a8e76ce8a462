// A live policy: a rule, what it knows, and the duels that are out.
#pragma once

#include <map>
#include <optional>

#include "engine/batch.hpp"
#include "engine/ask_tell.hpp"
#include "engine/pending_pairs.hpp"
#include "model/pair_counts.hpp"

namespace duelist {

// What was decided at ask and is needed at tell.
struct Pending {
    Decision duel;
    std::vector<double> difference;
    Who arms;
};

class Player {
public:
    std::shared_ptr<const Rule> rule;
    std::optional<State> state;  // nothing before the first arms
    std::map<i64, Pending> pending;
    i64 next_id = 0;
    Tally tally;

    explicit Player(std::shared_ptr<const Rule> rule) : rule(std::move(rule)) {}

    void begin(const State& first) {
        state = first;
        pending.clear();  // they were about another state, and so was what was decided last
        tally = Tally(most_tallied());
        if (state->has_learned()) tally.drop();  // from votes that nobody has counted here
        scratch_.memo.start_over();
        rule->grow(*state);
    }

    // The number of a new duel, now pending; -1: no pair may be asked, and nothing has changed.
    i64 ask(const Table& table) {
        if (table.distinct && table.n > 1 && table.open_pairs() == 0) return -1;
        Random before = state->random;
        Decision duel = awaits_answers() ? next_beside_pending(table) : next_duel(*rule, *state, scratch_, table);
        if (duel.first < 0 || duel.second < 0) {
            state->rounds--;
            state->random = before;
            return -1;
        }
        return hand_out(duel, table);
    }

    i64 hand_out(const Decision& duel, const Table& table) {
        std::vector<double> difference(static_cast<std::size_t>(table.dim));
        subtract(table.arm(duel.first), table.arm(duel.second), table.dim, difference.data());
        Who arms{fingerprint(table.arm(duel.first), table.dim), fingerprint(table.arm(duel.second), table.dim)};
        pending.emplace(next_id, Pending{duel, std::move(difference), arms});
        return next_id++;
    }

    i64 most_tallied() const { return state->online ? Tally::MOST : Tally::MOST_EXACT; }

    // The outcome of a pending duel, which must be there.
    void tell(i64 number, double outcome, double weight) {
        auto found = pending.find(number);
        const Pending& out = found->second;
        hear(out.duel, {out.difference.data(), outcome}, weight, out.arms);
        pending.erase(found);
    }

    // What it would ask now, with duels out elsewhere counted as if they were answered; nothing changes.
    Decision consider(const Table& table, const std::vector<Out>& out, const u64* words, i64 rounds) {
        State copy = *state;
        if (words) std::copy(words, words + 4, copy.random.words.begin());
        if (rounds >= 0) copy.rounds = rounds;
        return decide_beside(copy, table, out);
    }

    // One outcome of a duel that whoever asked; what is known afterwards is a function of the outcomes in their order.
    void learn(const double* difference, double outcome, double weight, i64 layer, double share, const Who& arms) {
        next_id++;
        state->rounds++;
        rule->grow(*state, layer + 1);  // it may have been asked when more duels were out, and layers were deeper
        if (hear({0, 0, layer, share}, {difference, outcome}, weight, arms))  // other sizes move all layers
            for (i64 each = 0; each < state->n_layers(); each++)
                state->theta(each, scratch_.solver);  // now and not when next read, so that reading leaves no trace in the last bits
    }

    // The state that a batch is decided from: all its contexts in the same round. Solves leave no trace in what is known.
    State for_batch(const Contexts& contexts) {
        std::vector<double> arms = contexts.some_arms(Sizes::ENOUGH);
        i64 n = static_cast<i64>(arms.size()) / state->dim;
        state->meet(arms.data(), n, scratch_.solver);
        State copy = *state;
        copy.rounds++;
        rule->grow(copy);
        copy.adopt(copy.sizes.see(arms.data(), n, copy.dim), aside_.solver);
        if (awaits_answers()) expect(copy, waiting());
        return copy;
    }

    // What a batch leaves out, because it is out with somebody.
    Differences left_out_of_batch() const { return left_out(waiting()); }

    // How many layers a choice can name, in however many rounds.
    i64 most_layers() const {
        constexpr i64 FOREVER = i64{1} << 60;
        return rule->layers_in(FOREVER);
    }

    Scratch& scratch() { return scratch_; }

private:
    Scratch scratch_, aside_;

    // One outcome, by the policy and by the tally; whether it taught anything.
    bool hear(const Decision& duel, const Observation& seen, double weight, const Who& arms) {
        if (!take_in(*state, scratch_, duel, seen, weight)) return false;
        double mass = duel.share * weight;
        if (mass > 0.0) tally.add({arms, mass, mass * seen.outcome});
        return true;
    }

    Differences left_out(const std::vector<Out>& out) const {
        return rule->minds_pairs() ? Differences() : differences_of(out, state->dim);
    }

    static bool will_teach(const Pending& out) { return out.duel.share > 0.0 && out.duel.layer >= 0; }

    bool awaits_answers() const {
        for (const auto& [number, out] : pending)
            if (will_teach(out)) return true;
        return false;
    }

    // The duels whose answers will teach something, the first asked first.
    std::vector<Out> waiting() const {
        std::vector<Out> out;
        for (const auto& [number, duel] : pending)
            if (will_teach(duel)) out.push_back({duel.difference.data(), duel.duel.layer, duel.duel.share});
        return out;
    }

    // The next round of a policy that waits for answers: it decides as if they had come and taught it nothing but how much is known.
    Decision next_beside_pending(const Table& table) {
        state->meet(table.arms, table.n, scratch_.solver);
        rule->prepare(*state, scratch_);  // once here, and not in a copy in every round
        State copy = *state;
        Decision duel = decide_beside(copy, table, waiting());
        state->rounds++;
        rule->grow(*state);
        state->random = copy.random;
        return duel;
    }

    // The next round of a copy: in the sizes of these arms first, then what is out is counted in them.
    Decision decide_beside(State& copy, const Table& table, const std::vector<Out>& out) {
        i64 deepest = 0;
        for (const Out& duel : out) deepest = std::max(deepest, duel.layer);
        copy.rounds++;
        rule->grow(copy, deepest + 1);
        copy.meet(table.arms, table.n, aside_.solver);
        copy.adopt(copy.sizes.see(table.arms, table.n, table.dim), aside_.solver);
        expect(copy, out);
        return decide_without(left_out(out), *rule, copy, aside_, table);
    }

    void expect(State& copy, const std::vector<Out>& out) {
        aside_.memo.start_over();
        if (rule->local() && !out.empty())  // a solve makes the curvature anew: before what is out is counted
            copy.local_curvature(0, aside_.solver);
        for (const Out& duel : out)
            if (duel.share > 0.0 && duel.layer >= 0)
                copy.expect(duel.layer, duel.difference, duel.share, aside_.solver);
    }
};

}  // namespace duelist
