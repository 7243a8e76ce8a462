// Interleaved Filter 2 (Yue, Broder, Kleinberg, Joachims, JCSS 2012, Algorithm 2).
//
// notes: the candidate, the pass over its opponents from 1, and of every arm whether it is in W.
// tallies: of every arm how often it met this candidate, then how often the candidate won.
#pragma once

#include "counting/counting_rule.hpp"

namespace duelist {

class InterleavedFilter : public CountingRule {
public:
    explicit InterleavedFilter(const Settings& settings) : horizon_(settings.number("horizon")) {}

    void join(Ledger& ledger, i64 before) const override {
        if (before == 0) ledger.notes = {ledger.random.below(ledger.n), 1};
        ledger.notes.resize(static_cast<std::size_t>(2 + ledger.n), 1);
        if (before == 0) in_w(ledger, ledger.notes[0]) = 0;
        std::vector<double> made(static_cast<std::size_t>(2 * ledger.n), 0.0);
        for (i64 b = 0; b < before; b++) {
            made[static_cast<std::size_t>(b)] = ledger.tallies[static_cast<std::size_t>(b)];
            made[static_cast<std::size_t>(ledger.n + b)] = ledger.tallies[static_cast<std::size_t>(before + b)];
        }
        ledger.tallies = std::move(made);
    }

    void heard(Ledger& ledger, const Vote& vote) const override {
        i64 candidate = ledger.notes[0], b = vote.first == candidate ? vote.second : vote.first;
        if ((vote.first != candidate && vote.second != candidate) || vote.layer != EXPLORE || !in_w(ledger, b)) return;
        times(ledger, b) += vote.weight;
        wins(ledger, b) += vote.weight * (vote.first == candidate ? vote.outcome : 1.0 - vote.outcome);
        if (!pass_is_over(ledger)) return;
        ledger.notes[1]++;
        i64 winner = -1;
        for (i64 other = ledger.n - 1; other >= 0; other--) {
            if (!in_w(ledger, other)) continue;
            double mean = share(ledger, other), c = radius(ledger, other);
            if (mean - c >= 0.5) in_w(ledger, other) = 0;
            else if (mean + c <= 0.5) winner = other;
        }
        if (winner >= 0) succeed(ledger, winner);
    }

    Named decide(const Ledger& ledger, Random&, const Field& field) const override {
        i64 candidate = ledger.notes[0], awaited = -1, any = -1;
        if (!field.has(candidate) || !field.can_meet(candidate)) return least_met(ledger, field, EXPLOIT);
        bool over = true;
        for (i64 b = 0; b < ledger.n; b++) over = over && !in_w(ledger, b);
        if (over) return beside(ledger, field, candidate, EXPLOIT);
        for (i64 b : field.partners(candidate)) {
            if (!in_w(ledger, b)) continue;
            if (any < 0 || b < any) any = b;
            if (times(ledger, b) < static_cast<double>(ledger.notes[1]) && (awaited < 0 || b < awaited)) awaited = b;
        }
        if (any < 0) return beside(ledger, field, candidate, EXPLOIT);
        return {candidate, awaited >= 0 ? awaited : any, EXPLORE};
    }

    bool could_have_written(const Ledger& ledger) const override {
        return has_size(ledger.notes, 2 + ledger.n) && has_size(ledger.tallies, 2 * ledger.n) && flags_only(ledger.notes, 2, ledger.n) &&
               ledger.notes[0] >= 0 && ledger.notes[0] < ledger.n && ledger.notes[1] >= 1 && ledger.notes[1] <= MOST_ROUNDS;
    }

private:
    double horizon_;

    static i64& in_w(Ledger& ledger, i64 b) { return ledger.notes[static_cast<std::size_t>(2 + b)]; }
    static bool in_w(const Ledger& ledger, i64 b) { return ledger.notes[static_cast<std::size_t>(2 + b)] != 0; }
    static double& times(Ledger& ledger, i64 b) { return ledger.tallies[static_cast<std::size_t>(b)]; }
    static double times(const Ledger& ledger, i64 b) { return ledger.tallies[static_cast<std::size_t>(b)]; }
    static double& wins(Ledger& ledger, i64 b) { return ledger.tallies[static_cast<std::size_t>(ledger.n + b)]; }
    static double share(Ledger& ledger, i64 b) { return times(ledger, b) > 0.0 ? wins(ledger, b) / times(ledger, b) : 0.5; }
    // sqrt(4 log(1 / delta) / t), delta = 1 / (T K^2)
    double radius(Ledger& ledger, i64 b) const {
        double arms = static_cast<double>(ledger.n);
        return times(ledger, b) > 0.0 ? std::sqrt(4.0 * log(horizon_ * arms * arms) / times(ledger, b)) : 1.0;
    }

    // All opponents have been met; or one of them once more, because the others are not to be had.
    static bool pass_is_over(const Ledger& ledger) {
        double pass = static_cast<double>(ledger.notes[1]);
        bool all = true;
        for (i64 b = 0; b < ledger.n; b++) {
            if (!in_w(ledger, b)) continue;
            if (times(ledger, b) > pass) return true;
            all = all && times(ledger, b) >= pass;
        }
        return all;
    }

    // The winner is the next candidate. Arms that the old one was ahead of are dropped with it, and all counts begin anew.
    static void succeed(Ledger& ledger, i64 winner) {
        for (i64 b = 0; b < ledger.n; b++)
            if (share(ledger, b) > 0.5) in_w(ledger, b) = 0;
        in_w(ledger, winner) = 0;
        ledger.notes[0] = winner;
        ledger.notes[1] = 1;
        std::fill(ledger.tallies.begin(), ledger.tallies.end(), 0.0);
    }
};

}  // namespace duelist
